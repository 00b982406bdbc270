#!/usr/bin/env python3
"""Writes gguf_keys.json: what each key of a GGUF file's metadata does in llama.cpp, for small models of each architecture that
lm::Decoder reads.

    pip install xllamacpp==2026.10.11549 gguf==0.19.0 numpy
    python3 tests/golden/make_gguf_keys_golden.py              all architectures, in a quarter of an hour; or some:
    python3 tests/golden/make_gguf_keys_golden.py gemma3

Every key that llama.cpp knows, by the texts in its library, is added to a file of each architecture with values of each type;
and some together with others. "same" lists the keys with which no value changed anything, "cases" has for the others the
log-probabilities of eight tokens after twelve, or null where llama.cpp refuses the file. The weights follow from the tensors'
names (`values`), so that the golden file holds none, and tests/lm/test_pretrained_gguf.cpp has the same.
"""
import json
import os
import pathlib
import re
import select
import sys
import tempfile

import gguf
import numpy as np
import xllamacpp as llama

IDS = [5, 17, 33, 200, 91, 4, 260, 120, 77, 63, 5, 241]
SHOWN = [0, 7, 50, 101, 150, 199, 230, 263]  # the tokens whose log-probabilities are kept
TOKENS = ["<unk>", "<s>", "</s>"] + [f"<0x{i:02X}>" for i in range(128)] + [f"x{i}" for i in range(133)]
YARN = {"rope.scaling.type": "yarn", "rope.scaling.factor": 4.0, "rope.scaling.original_context_length": 8}
LINEAR = {"rope.scaling.type": "linear", "rope.scaling.factor": 3.0}
FACTORS = {"rope_freqs.weight": [4]}


def values(name, shape):
    """The weights of a tensor: the same formula as in the test."""
    if name == "rope_freqs.weight":
        return np.array([1, 1.5, 4, 8], "f4")
    i, seed = np.arange(int(np.prod(shape)), dtype=np.int64), sum(name.encode())
    u = ((i * i * 31 + i * 17 + i // 7 * 53 + seed * 101) % 997) / 498.5 - 1
    if len(shape) == 2:
        u = u * (0.5 if "embd" in name else (6 / shape[1]) ** 0.5)
    else:
        u = u * 0.4 + (0 if name.endswith("bias") else 1)
    return u.reshape(shape).astype("f4")


def model(architecture):
    """The shapes of the tensors, and the keys, of a small model."""
    C, H, F = 16, 4, 24
    D = 4 if architecture in ("gpt2", "qwen2") else 8
    K, L = 4 if architecture == "gpt2" else 2, 7 if architecture == "gemma3" else 2
    t = {"token_embd.weight": [len(TOKENS), C], "output_norm.weight": [C]}
    if architecture == "gpt2":
        t |= {"position_embd.weight": [64, C], "output_norm.bias": [C]}
    if architecture == "llama":
        t["output.weight"] = [len(TOKENS), C]
    for i in range(L):
        block = {"attn_norm.weight": [C], "ffn_norm.weight": [C], "attn_output.weight": [C, H * D], "ffn_up.weight": [F, C],
                 "ffn_down.weight": [C, F]}
        if architecture == "gpt2":
            block |= {"attn_norm.bias": [C], "ffn_norm.bias": [C], "attn_qkv.weight": [3 * C, C], "attn_qkv.bias": [3 * C],
                      "attn_output.bias": [C], "ffn_up.bias": [F], "ffn_down.bias": [C]}
        else:
            block |= {"attn_q.weight": [H * D, C], "attn_k.weight": [K * D, C], "attn_v.weight": [K * D, C], "ffn_gate.weight": [F, C]}
        if architecture == "qwen2":
            block |= {"attn_q.bias": [H * D], "attn_k.bias": [K * D], "attn_v.bias": [K * D]}
        if architecture in ("qwen3", "gemma3"):
            block |= {"attn_q_norm.weight": [D], "attn_k_norm.weight": [D]}
        if architecture == "gemma3":
            block |= {"post_attention_norm.weight": [C], "post_ffw_norm.weight": [C]}
        t |= {f"blk.{i}.{name}": shape for name, shape in block.items()}
    keys = {"context_length": 64, "embedding_length": C, "block_count": L, "feed_forward_length": F, "attention.head_count": H,
            "attention.head_count_kv": K, f"attention.layer_norm_{'' if architecture == 'gpt2' else 'rms_'}epsilon": 1e-5}
    if architecture != "gpt2":
        keys |= {"rope.freq_base": 500.0, "attention.key_length": D, "attention.value_length": D}
    if architecture == "gemma3":
        keys["attention.sliding_window"] = 5
    return t, keys


def write(path, architecture, keys, tensors):
    kinds = gguf.GGUFValueType
    writer = gguf.GGUFWriter(path, architecture)

    def kind(x):
        return kinds.BOOL if isinstance(x, bool) else kinds.UINT32 if isinstance(x, int) else kinds.FLOAT32 if isinstance(x, float) else kinds.STRING

    for key, x in keys.items():
        name = f"{architecture}.{key}"
        writer.add_key_value(name, x, kinds.ARRAY, kind(x[0])) if isinstance(x, list) else writer.add_key_value(name, x, kind(x))
    writer.add_string("tokenizer.ggml.model", "llama")
    writer.add_array("tokenizer.ggml.tokens", TOKENS)
    writer.add_key_value("tokenizer.ggml.scores", [0.0] * len(TOKENS), kinds.ARRAY, kinds.FLOAT32)
    writer.add_key_value("tokenizer.ggml.token_type", [2, 3, 3] + [6] * 128 + [1] * 133, kinds.ARRAY, kinds.INT32)
    for name, shape in tensors.items():
        writer.add_tensor(name, values(name, shape))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def answer(path):
    """The log-probabilities after IDS, in a process of its own, as llama.cpp ends it where it refuses a file; None then."""
    read, to = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            for stream in (1, 2):
                os.dup2(os.open(os.devnull, os.O_WRONLY), stream)
            p = llama.CommonParams()
            p.model.path, p.n_ctx, p.n_parallel, p.warmup, p.n_gpu_layers, p.fit_params = path, 64, 1, False, 0, False
            p.cpuparams.n_threads = p.cpuparams_batch.n_threads = 1
            p.flash_attn_type = llama.llama_flash_attn_type.LLAMA_FLASH_ATTN_TYPE_DISABLED
            p.cache_type_k = p.cache_type_v = llama.ggml_type.GGML_TYPE_F32
            got = llama.Server(p).handle_completions(
                {"prompt": IDS, "n_predict": 1, "n_probs": len(TOKENS), "temperature": 0.0, "cache_prompt": False,
                 "logit_bias": [[200, 1000.0]]})  # so that the token is no part of a character; the numbers are those before it
            got = got if isinstance(got, dict) else json.loads(got)
            by_id = {one["id"]: one["logprob"] for one in got["choices"][0]["logprobs"]["content"][0]["top_logprobs"]}
            os.write(to, json.dumps([by_id[i] for i in range(len(TOKENS))]).encode())
        finally:
            os._exit(0)
    os.close(to)
    data = b""
    while select.select([read], [], [], 10)[0] and (part := os.read(read, 1 << 16)):
        data += part
    os.close(read)
    try:
        os.kill(child, 9)
    except ProcessLookupError:
        pass
    os.waitpid(child, 0)
    return json.loads(data) if data else None


def tried(key, layers):
    """Values for a key, of every type."""
    if key == "rope.scaling.type":
        return ["none", "linear", "yarn", "longrope", "su"]
    return [3.0, 0.75, 3, True, False, "relu", [i % 2 for i in range(layers)], [i % 2 == 0 for i in range(layers)], [2.0] * layers]


def main():
    library = pathlib.Path(llama.__file__).parent.glob("xllamacpp*.so")
    known = set(re.findall(rb"\0%s\.([a-z][a-z0-9_.]*)(?=\0)", next(library).read_bytes()))
    known = sorted(key.decode() for key in known if not key.endswith(b".weight"))
    known += ["attention.head_count", "embedding_length", "block_count", "feed_forward_length", "attention.layer_norm_rms_epsilon"]
    path = pathlib.Path(__file__).parent / "gguf_keys.json"
    golden = json.loads(path.read_text()) if path.exists() else {"models": {}, "cases": []}
    golden = {"versions": f"xllamacpp {llama.__version__}, gguf 0.19.0", "ids": IDS, "shown": SHOWN} | golden
    for architecture in sys.argv[1:] or ["llama", "qwen2", "qwen3", "gemma3", "gpt2"]:
        golden["cases"] = [case for case in golden["cases"] if case["architecture"] != architecture]
        tensors, keys = model(architecture)
        with tempfile.TemporaryDirectory() as folder:
            def run(changes, more={}, without=()):
                path = folder + "/model.gguf"
                write(path, architecture, {k: x for k, x in (keys | changes).items() if k not in without}, tensors | more)
                return answer(path)

            def add(changes, more={}, without=()):
                found = run(changes, more, without)
                shown = found and [round(found[i], 5) for i in SHOWN]
                golden["cases"].append({"architecture": architecture, "keys": changes, "tensors": more, "without": list(without), "log_probabilities": shown})

            base, same = run({}), []
            add({})
            for key in sorted(set(known) - set(keys)):
                found = [(x, run({key: x})) for x in tried(key, len([t for t in tensors if t.endswith("ffn_up.weight")]))]
                changed = [x for x, y in found if y and max(abs(a - b) for a, b in zip(y, base)) > 1e-4]
                for x in changed:
                    add({key: x})
                refused = next((x for x, y in found if y is None), None)
                if not changed and all(y is None for x, y in found):
                    add({key: found[0][0]})
                elif not changed:
                    same.append(key)
                print(architecture, key, changed or "same", flush=True)
            golden["models"][architecture] = {"keys": keys, "tensors": tensors, "same": same}
            if architecture != "gpt2":
                for type in ({}, {"rope.scaling.type": "none"}, {"rope.scaling.type": "linear"}):
                    for factor in ("rope.scaling.factor", "rope.scale_linear"):
                        add(type | {factor: 3.0})
                add({"rope.scaling.factor": 3.0, "rope.scale_linear": 2.0})
                for scaling in (YARN, LINEAR):
                    add(scaling)
                    for key, x in (("attn_factor", 0.75), ("finetuned", True), ("yarn_ext_factor", 0.5), ("yarn_attn_factor", 0.75),
                                   ("yarn_beta_fast", 4.0), ("yarn_beta_slow", 2.0), ("yarn_log_multiplier", 0.5), ("alpha", 2.0)):
                        add(scaling | {"rope.scaling." + key: x})
                add({key: x for key, x in YARN.items() if "original" not in key})
                add({key: x for key, x in YARN.items() if "factor" not in key})
                add({}, without=["rope.freq_base"])
                for scaling in ({}, YARN, LINEAR, {"rope.scaling.attn_factor": 0.75}):
                    add(scaling, FACTORS)
            for without in ("attention.key_length", "attention.sliding_window", "attention.layer_norm_rms_epsilon", "attention.layer_norm_epsilon",
                            "attention.head_count_kv"):
                if without in keys:
                    add({}, without=[without])
            if architecture == "gemma3":
                add({"rope.freq_base_swa": 50.0} | LINEAR)
                add({"attention.sliding_window_pattern": 2})
                add({"final_logit_softcapping": 1.5})
    lines = [json.dumps(case) for case in golden.pop("cases")]
    path.write_text(json.dumps(golden)[:-1] + ',\n"cases": [\n' + ",\n".join(lines) + "\n]}\n")
    print(len(lines), "cases,", path.stat().st_size, "bytes")


main()
