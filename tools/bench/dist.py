#!/usr/bin/env python3
"""Measures training on several processes and prints tables; without arguments, all of them:

    tools/bench/dist.py [grains] [processes] [bytes] [bits] [buckets] [ddp] [--rounds N] [--build FOLDER]

    grains     one process, the batch in grains or at once
    processes  two processes with one thread each, or one with two
    bytes      what a process sends in a step, and what it must send at least
    bits       the same weights on 1 to 8 processes with 1 to 3 threads; if not, the exit code is 1
    buckets    bucket sizes on two processes
    ddp        PyTorch's DistributedDataParallel over Gloo on two processes (--python: one that has torch)

What is compared runs alternately, in rounds; "median" is the median of the rounds' medians, "minimum" the
fastest step. The workloads are char with a batch of 96 and gpt2 with one of 32, which takes 4 GB and, on two
threads, ten seconds for a step. Configure with -DWEFT_BENCH=ON -DWEFT_MPI=ON; root needs
OMPI_ALLOW_RUN_AS_ROOT=1 and OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1.
"""
import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import textwrap

FOLDER = os.path.dirname(os.path.abspath(__file__))
BATCH = {"toy": 8, "char": 96, "gpt2": 32}
STEPS = {"toy": (50, 5), "char": (10, 2), "gpt2": (2, 1)}  # timed, and before them
MPIRUN = shutil.which("mpirun.openmpi") or "mpirun"


def json_of(command, env=None):
    """The line of JSON that a command prints."""
    done = subprocess.run(command, capture_output=True, text=True, env=env)
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    if done.returncode != 0 or not lines:
        sys.exit(f"{' '.join(command)}\nfailed with exit code {done.returncode}:\n{done.stdout}{done.stderr}")
    return json.loads(lines[-1])


def dist_bench(build, workload, P=1, mpirun=(MPIRUN, "--oversubscribe"), **options):
    """What dist_bench prints, on P processes that a command starts, by default on this machine."""
    steps, warm_up = STEPS[workload]
    options = {"batch": BATCH[workload], "steps": steps, "warm_up": warm_up} | options
    command = [f"{build}/bench/dist_bench", workload]
    for name, value in options.items():
        command += [f"--{name}", str(value)]
    if P > 1:
        command = [*mpirun, "-n", str(P), "--bind-to", "none", *command]
    return json_of(command)


def alternately(rounds, programs):
    """Runs each program once in every round. Of each, the medians of its results, and the least minimum."""
    results = [[] for _ in programs]
    for _ in range(rounds):
        for program, found in zip(programs, results):
            found.append(program())
    return [
        found[-1] | {name: statistics.median(r[name] for r in found) for name in found[0] if name.endswith("_ms")} |
        {"min_ms": min(r["min_ms"] for r in found)} for found in results
    ]


def table(title, header, rows):
    """Prints a table whose columns are as wide as they must be, after a title."""
    cells = [[f"{x:,}" if isinstance(x, int) else x for x in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(header, *cells)]
    print("\n" + textwrap.fill(title, 80) + "\n")
    for row in [header, *cells]:
        print("  ".join(cell.rjust(width) for cell, width in zip(row, widths)).rstrip(), flush=True)


def compared(names, results, base=0):
    """Rows of times in ms, and as shares of those of results[base]."""
    unit = results[base]
    return [[name, f"{r['median_ms']:.1f}", f"{r['min_ms']:.1f}", f"{r['median_ms'] / unit['median_ms']:.3f}",
             f"{r['min_ms'] / unit['min_ms']:.3f}"] for name, r in zip(names, results)]


TIMES = ["median ms", "minimum ms", "median ratio", "minimum ratio"]


def grains(o):
    for workload, counts, goal in (("char", (1, 2, 4, 8, 16, 32), 1.03), ("gpt2", (1, 2, 4, 8, 16), 1.10)):
        if workload not in o.workloads:
            continue
        programs = [lambda G=G: dist_bench(o.build, workload, grains=G) for G in counts]
        results = alternately(o.rounds, programs)
        rows = [row + [int(r["peak_rss_mb"])] for row, r in zip(compared(map(str, counts), results), results)]
        table(f"{workload}, batch {BATCH[workload]}, one process, {results[0]['threads']} threads: ratios to one "
              f"grain, goal for 8 grains {goal}", ["grains", *TIMES, "MB"], rows)


def processes(o):
    for workload in o.workloads:
        programs = [lambda P=P: dist_bench(o.build, workload, P=P, grains=o.grains, threads=3 - P) for P in (1, 2)]
        results = alternately(o.rounds, programs)
        names = ["1, two threads", "2, one thread each"]
        table(f"{workload}, batch {BATCH[workload]}, {o.grains} grains: goal 1.10", ["processes", *TIMES],
              compared(names, results))
        two = results[1]
        print(f"\nbuckets on their way: {two['hidden_ms']:.1f} ms during the last grain, "
              f"{two['exposed_ms']:.1f} ms after it")


def bytes_sent(o):
    for workload in o.workloads:
        if workload == "gpt2":  # as many bytes for each parameter, and eight copies do not fit in 20 GB
            continue
        for G in sorted({8, o.grains, 120}):  # 120: a multiple of each P
            rows = []
            for P in (2, 3, 4, 5, 8):
                r = dist_bench(o.build, workload, P=P, grains=G, batch=G, steps=3, warm_up=1)
                bound = 2 * r["parameters"] * 4 * (P - 1) // P
                most, mean = max(r["bytes_per_step"]), statistics.mean(r["bytes_per_step"])
                rows.append([str(P), bound, int(mean), most, f"{mean / bound:.3f}", f"{most / bound:.3f}"])
            table(f"{workload}, {G} grains, {r['parameters']:,} parameters: bytes that a process sends in a step, "
                  "and the bound 2 · parameters · 4 · (P - 1)/P",
                  ["P", "bound", "mean", "most", "mean/bound", "most/bound"], rows)


def bits(o):
    wrong = 0
    for workload, batch, G in (("char", 24, 8), ("toy", 22, 11)):
        found, rows = {}, []
        for P in (1, 2, 3, 4, 5, 8):
            row = [str(P)]
            for threads in (1, 2, 3):
                r = dist_bench(o.build, workload, P=P, threads=threads, grains=G, batch=batch, steps=3, warm_up=0)
                found[P, threads] = r["checksum"], r["loss"]
                row.append(r["checksum"])
            rows.append(row)
        different = sum(x != found[1, 1] for x in found.values())
        wrong += different
        table(f"{workload}, batch {batch}, {G} grains: checksums of the weights after 3 steps; "
              f"{different} of {len(found)} runs differ from the first, which must be none",
              ["P", "1 thread", "2 threads", "3 threads"], rows)
    return wrong


def buckets(o):
    for workload in o.workloads:
        sizes = [2**k for k in range(14, 23, 2 if workload == "gpt2" else 1)]
        programs = [lambda n=n: dist_bench(o.build, workload, P=2, threads=1, grains=o.grains, bucket=n) for n in sizes]
        results = alternately(o.rounds, programs)
        rows = [row + [f"{r['hidden_ms']:.1f}", f"{r['exposed_ms']:.1f}"]
                for row, r in zip(compared([f"{n:,}" for n in sizes], results, sizes.index(2**18)), results)]
        table(f"{workload}, batch {BATCH[workload]}, {o.grains} grains, two processes with one thread each: ratios to "
              "2^18; milliseconds in which buckets were on their way during the last grain and after it",
              ["elements", *TIMES, "during", "after"], rows)


def ddp(o):
    for workload in o.workloads:
        steps, warm_up = STEPS[workload]
        peer = [o.python, f"{FOLDER}/ddp_peer.py", workload, "--batch", str(BATCH[workload]), "--steps", str(steps),
                "--warm_up", str(warm_up)]
        programs = [lambda: json_of(peer)]
        programs += [lambda G=G: dist_bench(o.build, workload, P=2, threads=1, grains=G) for G in (2, o.grains)]
        results = alternately(o.rounds, programs)
        table(f"{workload}, batch {BATCH[workload]}, two processes with one thread each: ratios to PyTorch",
              ["program", *TIMES],
              compared([results[0]["peer"] + ", Gloo", "Weft, 2 grains", f"Weft, {o.grains} grains"], results))


TABLES = {"grains": grains, "processes": processes, "bytes": bytes_sent, "bits": bits, "buckets": buckets, "ddp": ddp}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tables", nargs="*", choices=[*TABLES, []], metavar="TABLE", help="; ".join(TABLES))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--grains", type=int, default=8, help="of the tables but grains and bits")
    parser.add_argument("--workloads", type=lambda names: names.split(","), default=["char", "gpt2"])
    parser.add_argument("--build", default=f"{FOLDER}/../build/release")
    parser.add_argument("--python", default="python3", help="a Python that has torch")
    o = parser.parse_args()
    wrong = 0
    for name in o.tables or TABLES:
        wrong += TABLES[name](o) or 0
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
