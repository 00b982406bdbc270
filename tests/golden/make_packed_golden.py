#!/usr/bin/env python3
"""Writes packed_formats.npz beside this script: blocks of GGUF's formats and what Python's package gguf makes of them.

    python3 make_packed_golden.py            needs gguf 0.19.0, numpy 2.4.6

<format>/blocks    (blocks, bytes) random bytes; the scales are random halves and, in each place, special ones
<format>/weights   (blocks, length) gguf.dequantize of them
<format>/rows      (rows, 32) weights to pack, for Q8_0, Q4_0 and Q4_1
<format>/packed    (rows, bytes) gguf.quantize of them
"""
import pathlib
import zlib

import gguf
import numpy as np

# the offsets of the halves in a block
HALVES = {"Q8_0": [0], "Q4_0": [0], "Q4_1": [0, 2], "Q5_0": [0], "Q5_1": [0, 2], "Q4_K": [0, 2], "Q5_K": [0, 2], "Q6_K": [208]}
PACKED = ["Q8_0", "Q4_0", "Q4_1"]
# 0, −0, the smallest, the largest subnormal, the least normal, 1, −1, the largest, ∞, −∞, NaN, −NaN, a signalling NaN
SPECIAL = [0x0000, 0x8000, 0x0001, 0x83FF, 0x0400, 0x3C00, 0xBC00, 0x7BFF, 0xFBFF, 0x7C00, 0xFC00, 0x7E00, 0xFE01, 0x7C01]
CROSSED = [0x0000, 0x8000, 0x8001, 0x7BFF, 0x7C00, 0xFC00, 0x7E00]  # in both places of a format that has two


def random_blocks(name, draw):
    places, bytes_of = HALVES[name], gguf.GGML_QUANT_SIZES[gguf.GGMLQuantizationType[name]][1]
    scales = [[None] * len(places) for _ in range(16)]  # None: as drawn
    for i in range(len(places)):
        scales += [[special if k == i else None for k in range(len(places))] for special in SPECIAL]
    if len(places) == 2:
        scales += [[a, b] for a in CROSSED for b in CROSSED]
    blocks = draw.integers(0, 256, (len(scales), bytes_of), dtype=np.uint8)
    for block, halves in zip(blocks, scales):
        for place, half in zip(places, halves):
            if half is not None:
                block[place:place + 2] = half & 255, half >> 8
    return blocks


def rows_to_pack(name, draw):
    normal, flat = draw.standard_normal, np.ones(32)
    rows = [size * normal(32) for size in [1, 1, 0.02, 1e-3, 1e-5, 1e-6, 3e-8, 1e-20, 1e-30, 1e-35, 1000, 1e4] for _ in range(3)]
    rows += [value * flat for value in [0.0, -0.0, 1.5, -2, 0.1, -0.1, 1e-7, 65504, -65504, 1e-45 if name == "Q4_1" else 1e-30]]
    rows += [65504 * draw.uniform(-1, 1, 32) for _ in range(3)]
    for place in [0, 15, 16, 31]:  # an outlier
        for value in [50, -50]:
            rows.append(0.01 * normal(32))
            rows[-1][place] = value
    for sign in [1, -1]:  # two weights equally far from 0: the first counts
        rows.append(normal(32).clip(-2, 2))
        rows[-1][[5, 20]] = 3 * sign, -3 * sign
    rows.append(normal(32) + 1000)  # a large m beside a small d
    # halfway between two q: where d = 1, and to within 4 units of the last place where d is any number; there it matters
    # that the product is rounded before the half is added, most of all where the sum is small
    low, high = {"Q8_0": (-127, 127), "Q4_0": (-8, 7), "Q4_1": (0, 15)}[name]
    between = low + 0.5 + np.linspace(0, high - low - 1, 30).round()
    rows += [sign * np.array([low, *between, high]) for sign in ([1] if name == "Q4_1" else [1, -1])]
    for d in draw.uniform(0.5, 2, 16).astype(np.float32):
        near = np.outer((low + 0.5 + np.arange(3)) * d, 1 + np.arange(-4, 5) * 2.0**-24).ravel()
        rows.append(np.array([low * d, *near, *between[:4] * d][:31] + [high * d]))
    return np.array(rows, np.float32)


arrays = {}
for name in HALVES:
    kind, draw = gguf.GGMLQuantizationType[name], np.random.default_rng(zlib.crc32(name.encode()))
    arrays[f"{name}/blocks"] = random_blocks(name, draw)
    with np.errstate(invalid="ignore"):  # 0·∞, ∞ − ∞
        arrays[f"{name}/weights"] = gguf.dequantize(arrays[f"{name}/blocks"], kind)
    if name in PACKED:
        arrays[f"{name}/rows"] = rows_to_pack(name, draw)
        arrays[f"{name}/packed"] = gguf.quantize(arrays[f"{name}/rows"], kind)
path = pathlib.Path(__file__).parent / "packed_formats.npz"
np.savez_compressed(path, **arrays)
for name, x in arrays.items():
    print(f"{name:14} {x.dtype} {x.shape}")
print(path.stat().st_size, "bytes")
