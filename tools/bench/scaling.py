#!/usr/bin/env python3
"""Measures a step on more and more threads, Weft's and PyTorch's in turn, and prints a table:

    tools/bench/scaling.py [WORKLOAD…] [--threads 1,2,4,8,16] [--rounds N] [--build FOLDER] [--python PATH]

Each workload runs in float32 and with products in bfloat16 (--precision medium, torch.autocast). Times are the
fastest step of all rounds; "speed" is the time on the first number of threads over that on this one. PyTorch is
left out where --python has no torch. Configure with -DWEFT_BENCH=ON.
"""
import argparse
import os
import subprocess

from dist import FOLDER, alternately, json_of

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("workloads", nargs="*", default=["long", "attention", "char", "gpt2"])
parser.add_argument("--threads", default="1,2,4,8,16")
parser.add_argument("--rounds", type=int, default=1)
parser.add_argument("--build", default="build/release")
parser.add_argument("--python", default="python3")
given = parser.parse_args()

peer = [given.python, os.path.join(FOLDER, "torch_peer.py")]
has_torch = subprocess.run([given.python, "-c", "import torch"], stderr=subprocess.DEVNULL).returncode == 0
print("| workload | products | threads | Weft ms | its speed | PyTorch ms | its speed | Weft / PyTorch |")
print("|" + " --- |" * 8, flush=True)
for workload in given.workloads:
    for products, weft, torch in (("float32", ["--precision", "highest"], []),
                                  ("bfloat16", ["--precision", "medium"], ["--autocast"])):
        programs = [[f"{given.build}/bench/weft_bench", workload, *weft]]
        if has_torch:
            programs.append([*peer, workload, *torch])
        first = None
        for n in given.threads.split(","):
            runs = [lambda command=program: json_of([*command, "--threads", n]) for program in programs]
            times = [result["min_ms"] for result in alternately(given.rounds, runs)]
            first = first or times
            cells = [cell for ms, one in zip(times, first) for cell in (f"{ms:.3g}" if ms < 1000 else f"{ms:.0f}", f"{one / ms:.2f} ×")]
            cells += [f"{times[0] / times[1]:.2f} ×"] if has_torch else ["–"] * 3
            print(f"| {workload} | {products} | {n} | " + " | ".join(cells) + " |", flush=True)
