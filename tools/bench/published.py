#!/usr/bin/env python3
"""A published model in a GGUF file beside llama.cpp and PyTorch: a prompt of 448 tokens, then 64 tokens one by one.

    published.py MODEL.gguf --generate build/release/examples/generate [--rounds N] [--threads 1,2]

Each round runs Weft (products of highest and of medium precision), llama.cpp and PyTorch (transformers, eager, float32 and bfloat16) one after
the other, each three times and in processes of its own. Prints, as a table, the medians of tokens a second, Weft's divided by them, and the peak of the resident set. Needs llama-cpp-python,
transformers, torch and gguf.
"""
import argparse
import json
import os
import pathlib
import platform
import re
import resource
import statistics
import subprocess
import sys
import time

TEXT, PROMPT, NEW, TIMES = "The" + " the" * 447, 448, 64, 3  # one token a word


def weft(asked, threads, precision):
    runs = [weft_once(asked, threads, precision) for _ in range(TIMES)]
    return {key: [run[key] for run in runs] for key in runs[0]}


def weft_once(asked, threads, precision):
    run = subprocess.run([asked.generate, "--model", asked.file, "--prompt", TEXT, "--temperature", "0", "--max_new_tokens", str(NEW + 1),
                          "--threads", str(threads), "--precision", precision, "--ignore_eos", "--stats"], capture_output=True, text=True, check=True).stderr
    tokens, seconds = re.search(r"prompt +(\d+) tokens, and the first after it, in ([\d.]+) s", run).groups()
    assert int(tokens) == PROMPT, run
    return {"prompt": PROMPT / float(seconds), "decode": float(re.search(r"generated .* s: ([\d.]+) tokens/s", run).group(1)),
            "mb": float(re.search(r"memory +([\d.]+) MiB", run).group(1)) * 2**20 / 1e6}


def measured(read, following):
    """read() and following(token) return the most likely token after the prompt alone, and after one more token."""
    prompt, decode = [], []
    for _ in range(TIMES):
        start = time.perf_counter()
        token = read()
        prompt.append(PROMPT / (time.perf_counter() - start))
        start = time.perf_counter()
        for _ in range(NEW):
            token = following(token)
        decode.append(NEW / (time.perf_counter() - start))
    return {"prompt": prompt, "decode": decode, "mb": [resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6]}


def llama(asked, threads):
    import llama_cpp as ll

    from llama_peer import Model, quiet
    ll.llama_log_set(quiet, None)
    model = Model(asked.file, threads, extra_buffers=not asked.no_amx)
    ids = model.tokenize(TEXT)
    assert len(ids) == PROMPT

    def read():
        model.clear()
        return model.next(ids)
    return measured(read, lambda token: model.next([token]))


def torch_peer(asked, threads, dtype):
    import torch
    import transformers
    transformers.logging.set_verbosity_error()
    torch.set_num_threads(threads)
    path = pathlib.Path(asked.file)
    model = transformers.AutoModelForCausalLM.from_pretrained(path.parent, gguf_file=path.name, dtype=getattr(torch, dtype)).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(path.parent, gguf_file=path.name)
    ids = tokenizer(TEXT, add_special_tokens=False, return_tensors="pt").input_ids
    assert ids.shape[1] == PROMPT
    cache = None

    def following(ids):
        with torch.inference_mode():
            return model(ids, past_key_values=cache, logits_to_keep=1).logits[:, -1].argmax(-1, keepdim=True)

    def read():
        nonlocal cache
        cache = transformers.DynamicCache()
        return following(ids)
    return measured(read, following)


PEERS = {"Weft": lambda a, t: weft(a, t, "highest"), "Weft medium": lambda a, t: weft(a, t, "medium"), "llama.cpp": llama,
         "PyTorch float32": lambda a, t: torch_peer(a, t, "float32"), "PyTorch bfloat16": lambda a, t: torch_peer(a, t, "bfloat16")}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file")
    parser.add_argument("--generate", default="build/release/examples/generate")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--no-amx", action="store_true", help="llama.cpp without AMX, which faults in some virtual machines")
    parser.add_argument("--peer", choices=PEERS, help="measure this one once, and print JSON")
    asked = parser.parse_args()
    if asked.peer:
        return print(json.dumps(PEERS[asked.peer](asked, int(asked.threads))))
    cpu = re.search(r"model name\s*: (.*)", pathlib.Path("/proc/cpuinfo").read_text())
    versions = subprocess.run([sys.executable, "-c", "import llama_cpp, torch, transformers as t; print("
                               "'llama-cpp-python', llama_cpp.__version__, 'PyTorch', torch.__version__, 'transformers', t.__version__)"],
                              capture_output=True, text=True).stdout.strip()
    blas = sorted(name for name in os.environ if name.startswith("OPENBLAS_"))
    print(f"{cpu.group(1) if cpu else platform.machine()}, {os.cpu_count()} processors; OPENBLAS_*: {' '.join(blas) or 'not set'}; {versions}", flush=True)
    found = {}
    for _ in range(asked.rounds):
        for threads in asked.threads.split(","):
            for peer in PEERS:
                call = [sys.executable, __file__, asked.file, "--generate", asked.generate, "--peer", peer, "--threads", threads]
                run = subprocess.run(call + ["--no-amx"] * asked.no_amx, capture_output=True, text=True)
                if run.returncode != 0:
                    raise SystemExit(f"{peer} ended with {run.returncode}: {run.stderr[-2000:]}")
                for key, values in json.loads(run.stdout.splitlines()[-1]).items():
                    found.setdefault((threads, peer, key), []).extend(values)
    print(f"\n| threads | | decode, tokens/s | Weft / it | prompt, tokens/s | Weft / it | MB |\n|{' --- |' * 7}")
    for threads in asked.threads.split(","):
        for peer in PEERS:
            decode, prompt, mb = (statistics.median(found[threads, peer, key]) for key in ("decode", "prompt", "mb"))
            own = [statistics.median(found[threads, "Weft", key]) for key in ("decode", "prompt")]
            print(f"| {threads} | {peer} | {decode:.1f} | {own[0] / decode:.2f} × | {prompt:.0f} | {own[1] / prompt:.2f} × | {mb:.0f} |")


if __name__ == "__main__":
    main()
