#!/usr/bin/env python3
"""Writes io/python.gguf beside this script, with Python's package gguf: metadata and tensors of every type that Weft reads.

    python3 make_gguf_golden.py            needs gguf 0.19.0, numpy 2.4.6

What it holds follows from the names, and tests/io/test_gguf.cpp knows the same rules; beside each matrix in blocks stands
what gguf.dequantize makes of it.
"""
import pathlib
import zlib

import gguf
import numpy as np

# the offsets of the halves in a block
HALVES = {"Q8_0": [0], "Q4_0": [0], "Q4_1": [0, 2], "Q5_0": [0], "Q5_1": [0, 2], "Q4_K": [0, 2], "Q5_K": [0, 2], "Q6_K": [208]}

path = pathlib.Path(__file__).parent / "io/python.gguf"
writer = gguf.GGUFWriter(path, "llama")
writer.add_custom_alignment(64)
for name, low, high in [("uint8", 0, 2**8 - 1), ("int8", -2**7, 2**7 - 1), ("uint16", 0, 2**16 - 1), ("int16", -2**15, 2**15 - 1),
                        ("uint32", 0, 2**32 - 1), ("int32", -2**31, 2**31 - 1), ("uint64", 0, 2**63 - 1), ("int64", -2**63, 2**63 - 1)]:
    getattr(writer, "add_" + name)("value." + name, high)
    writer.add_key_value("array." + name, [low, 1, high], gguf.GGUFValueType.ARRAY, gguf.GGUFValueType[name.upper()])
writer.add_float32("value.float32", 0.1)
writer.add_float64("value.float64", 0.1)
writer.add_key_value("array.float32", [-0.5, 0.1, float("inf")], gguf.GGUFValueType.ARRAY, gguf.GGUFValueType.FLOAT32)
writer.add_key_value("array.float64", [-0.5, 0.1, float("inf")], gguf.GGUFValueType.ARRAY, gguf.GGUFValueType.FLOAT64)
writer.add_bool("value.bool", True)
writer.add_array("array.bool", [True, False, True])
writer.add_string("value.string", "größe\n")
writer.add_array("array.string", ["a", "größe", " Ġthe"])


def halves(*shape):
    """−1, −0.5, 0, 0.5 … row by row."""
    return ((np.arange(int(np.prod(shape))) - 2) / 2).reshape(shape)


writer.add_tensor("F32", halves(2, 3, 4, 5).astype("f4"))
writer.add_tensor("F16", halves(3, 4).astype("f2"))
bf16 = gguf.GGMLQuantizationType.BF16
writer.add_tensor("BF16", gguf.quantize(halves(3, 4).astype("f4"), bf16), raw_dtype=bf16)
writer.add_tensor("F64", halves(2, 1, 3).astype("f8"))
writer.add_tensor("I64", np.array([-2**63, -1, 2**63 - 1]))
for name, places in HALVES.items():
    kind, draw = gguf.GGMLQuantizationType[name], np.random.default_rng(zlib.crc32(name.encode()))
    length, bytes_of = gguf.GGML_QUANT_SIZES[kind]
    blocks = draw.integers(0, 256, (2, 256 // length, bytes_of), dtype=np.uint8)
    for place in places:
        blocks[..., place:place + 2] = draw.normal(size=(2, 256 // length, 1)).astype("<f2").view(np.uint8)
    rows = blocks[:, :64 // length + 1].reshape(2, -1)  # (2, 96) or (2, 256) weights
    writer.add_tensor(name, rows, raw_dtype=kind)
    writer.add_tensor(name + ".weights", gguf.dequantize(rows, kind))
writer.write_header_to_file()
writer.write_kv_data_to_file()
writer.write_tensors_to_file()
writer.close()

reader = gguf.GGUFReader(path)
for tensor in reader.tensors:
    print(f"{tensor.name:14} {tensor.tensor_type.name:5} {tuple(int(n) for n in reversed(tensor.shape))}")
print(path.stat().st_size, "bytes")
