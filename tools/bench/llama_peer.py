#!/usr/bin/env python3
"""llama.cpp on a model of SmolLM2's sizes, one line of JSON: 64 tokens one by one after a prompt of 64, or a prompt of 448.

    llama_peer.py smol|prompt --file MODEL.gguf [--weights FORMAT] [--threads N] [--reps N]

If the file's matrices are not all of the format, a copy that has them so is written beside it once. Needs llama-cpp-python and gguf.
"""
import argparse
import json
import pathlib
import resource
import time

import gguf
import llama_cpp as ll
import numpy as np

quiet = ll.llama_log_callback(lambda *_: None)  # lives as long as the library that calls it


def converted(source, form):
    """The path of `source` with every matrix in this format, and the bytes of its tensors."""
    path = source.with_name(f"{source.name.split('.')[0]}.all-{form}.gguf")
    if not path.exists():
        reader = gguf.GGUFReader(source)
        writer = gguf.GGUFWriter(path.with_suffix(".part"), reader.fields["general.architecture"].contents())
        for field in reader.fields.values():
            if not field.name.startswith("GGUF.") and field.name != "general.architecture":
                writer.add_key_value(field.name, field.contents(), field.types[0], field.types[-1])
        for tensor in reader.tensors:
            kind = gguf.GGMLQuantizationType[form if len(tensor.shape) == 2 else "F32"]
            values = gguf.quants.dequantize(tensor.data, tensor.tensor_type)
            writer.add_tensor(tensor.name, gguf.quants.quantize(values, kind), raw_dtype=kind)
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
        writer.close()
        path.with_suffix(".part").rename(path)
    return path, sum(int(tensor.n_bytes) for tensor in gguf.GGUFReader(path).tensors)


class Model:
    def __init__(self, path, threads, extra_buffers=True):
        ll.llama_backend_init()
        loading = ll.llama_model_default_params()
        loading.use_extra_bufts = extra_buffers  # weights in other layouts, for AMX among others
        self.model = ll.llama_model_load_from_file(str(path).encode(), loading)
        options = ll.llama_context_default_params()
        options.n_ctx = options.n_batch = options.n_ubatch = 512
        options.n_threads = options.n_threads_batch = threads
        self.context = ll.llama_init_from_model(self.model, options)
        self.vocabulary = ll.llama_vocab_n_tokens(ll.llama_model_get_vocab(self.model))

    def clear(self):
        ll.llama_memory_clear(ll.llama_get_memory(self.context), True)

    def tokenize(self, text, special=False):
        data = text.encode()
        ids = (ll.llama_token * (len(data) + 8))()
        vocab = ll.llama_model_get_vocab(self.model)
        return ids[:ll.llama_tokenize(vocab, data, len(data), ids, len(ids), False, special)]

    def next(self, ids):
        """The most likely token after those so far and these."""
        array = (ll.llama_token * len(ids))(*ids)
        if ll.llama_decode(self.context, ll.llama_batch_get_one(array, len(ids))) != 0:
            raise SystemExit("llama_decode failed")
        logits = ll.llama_get_logits_ith(self.context, -1)
        return int(np.ctypeslib.as_array(logits, (self.vocabulary,)).argmax())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("workload", choices=["smol", "prompt"])
    parser.add_argument("--file", type=pathlib.Path, required=True)
    parser.add_argument("--weights", default="Q8_0", help="float32, bfloat16, Q8_0, Q4_0, Q4_1")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--reps", type=int, default=3)
    parser.add_argument("--no-amx", action="store_true", help="without AMX, which faults in some virtual machines")
    asked = parser.parse_args()
    form = {"float32": "F32", "bfloat16": "BF16"}.get(asked.weights, asked.weights)
    path, size = converted(asked.file, form)
    ll.llama_log_set(quiet, None)
    model = Model(path, asked.threads, extra_buffers=not asked.no_amx)
    ids = np.random.default_rng(0).integers(0, model.vocabulary, 448).tolist()

    rates, began = [], time.perf_counter()
    for i in range(1 + asked.reps):  # the first is a warm-up
        if len(rates) > 1 and time.perf_counter() > began + 60:
            break  # beside busy processes its threads wait long for each other
        model.clear()
        if asked.workload == "prompt":
            start = time.perf_counter()
            model.next(ids)
            rates.append(448 / (time.perf_counter() - start))
        else:
            new = model.next(ids[:64])
            start = time.perf_counter()
            for _ in range(64):
                new = model.next([new])
            rates.append(64 / (time.perf_counter() - start))
    print(json.dumps({
        "workload": asked.workload,
        "peer": "llama.cpp " + ll.__version__,
        "weights": asked.weights,
        "threads": asked.threads,
        "tokens_per_s": round(max(rates[1:]), 2),
        "median_tokens_per_s": round(float(np.median(rates[1:])), 2),
        "weights_mb": round(size / 1e6, 1),
        "peak_rss_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, 1),
    }))


if __name__ == "__main__":
    main()
