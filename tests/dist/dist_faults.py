#!/usr/bin/env python3
"""Kills and stops processes of train_gpt under mpirun, and looks at how the run ends:

    tests/dist/dist_faults.py BUILD [--kills 100] [--stops 20] [--seed 1]

Each time a random one of 2 to 4 processes gets SIGKILL or SIGSTOP at a random moment of its first seconds.
From then on it takes at most 10 s until mpirun has ended with a status that is not 0 and no process is left;
standard error names the process and its host (before there is a group, that one waits in vain); every other one
has written its step and operation, if training had begun; and the checkpoint, if there is one, can be read.
Prints a line for each that fails, then the distribution of the times. Exit code 0 if none failed.
BUILD has WEFT_MPI; root needs OMPI_ALLOW_RUN_AS_ROOT=1 and OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1.
"""
import argparse
import os
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

MPIRUN = shutil.which("mpirun.openmpi") or "mpirun"
LIMIT = 10  # seconds
SETTINGS = ("--steps 1000000 --batch_size 12 --micro_batch 1 --d_model 32 --num_layers 2 --num_heads 2 --block_size 16 "
            "--eval_interval 50 --save_interval 20").split()
MOMENTS = 6  # the signal comes within so many seconds of the first process


def made_up_text(rng):
    """Characters to train on, as words of some sort."""
    words = ["".join(rng.choice("abcdefghij") for _ in range(rng.randint(2, 7))) for _ in range(300)]
    return " ".join(rng.choice(words) for _ in range(20000))


def processes_of(mpirun):
    """The processes that mpirun started: {rank: pid}."""
    found = {}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/stat") as stat:
                parent = int(stat.read().rpartition(")")[2].split()[1])
            with open(f"/proc/{pid}/environ", "rb") as environment:
                rank = re.search(rb"(?:^|\0)OMPI_COMM_WORLD_RANK=(\d+)\0", environment.read())
        except (OSError, IndexError):
            continue
        if parent == mpirun and rank:
            found[int(rank[1])] = int(pid)
    return found


def is_there(pid):
    try:
        with open(f"/proc/{pid}/stat") as stat:
            return stat.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def wait_until(condition, seconds):
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.01)
    return True


def fault(build, text, what, P, victim, moment):
    """One run that ends by the signal `what`. Its seconds, whether training had begun, and what is wrong."""
    with tempfile.TemporaryDirectory() as folder:
        out = f"{folder}/out"
        with open(f"{folder}/text", "w") as file:
            file.write(text)
        command = [MPIRUN, "-n", str(P), "--oversubscribe", "--bind-to", "none", f"{build}/examples/train_gpt", "--out",
                   out, "--text", f"{folder}/text", *SETTINGS]
        environment = os.environ | {"WEFT_NUM_THREADS": "1"}
        with open(f"{folder}/stdout", "w") as stdout, open(f"{folder}/stderr", "w") as stderr:
            mpirun = subprocess.Popen(command, stdout=stdout, stderr=stderr, env=environment)
        begun = lambda: len(processes_of(mpirun.pid)) == P
        if not wait_until(lambda: begun() or mpirun.poll() is not None, 20) or not begun():
            mpirun.kill()
            with open(f"{folder}/stderr") as file:
                return LIMIT, False, [f"the run did not begin: {file.read().strip()}"]
        pids = processes_of(mpirun.pid)
        time.sleep(moment)
        with open(f"{folder}/stdout") as file:
            began = "gradients reach" in file.read()  # the first step is done
        os.kill(pids[victim], what)
        start = time.monotonic()
        ended = wait_until(lambda: mpirun.poll() is not None and not any(map(is_there, pids.values())), 3 * LIMIT)
        seconds = time.monotonic() - start
        problems = []
        if not ended:
            left = [rank for rank, pid in pids.items() if is_there(pid)]
            problems.append(f"after {seconds:.0f} s process {left} and mpirun ({mpirun.poll()}) are left")
            for pid in filter(is_there, pids.values()):
                os.kill(pid, signal.SIGKILL)
            mpirun.kill()
        elif seconds > LIMIT:
            problems.append(f"it took {seconds:.1f} s")
        if mpirun.wait() == 0:
            problems.append("mpirun ended with status 0")
        with open(f"{folder}/stderr") as file:
            errors = file.read()
        host = re.escape(socket.gethostname())
        early = not began and f"on {socket.gethostname()} has waited" in errors  # before any knew another
        if not early and not re.search(rf"process (rank )?{victim} (with PID \d+ )?on (node )?{host}\b", errors):
            problems.append("standard error does not name the process and its host")
        for rank in range(P) if began else ():
            if rank != victim and not re.search(rf"process {rank} on {host} .*at step \d+, in \w", errors):
                problems.append(f"process {rank} did not write its step and operation")
        if os.path.exists(f"{out}/model.safetensors"):
            sample = [f"{build}/examples/train_gpt", "--out", out, "--sample_only", "--max_new_tokens", "5"]
            done = subprocess.run(sample, capture_output=True, text=True)
            if done.returncode != 0:
                problems.append("the checkpoint cannot be read: " + done.stderr.strip())
        if problems:
            problems.append("standard error was:\n" + errors.strip())
        return seconds, began, problems


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--stops", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    o = parser.parse_args()
    if not os.access(f"{o.build}/examples/train_gpt", os.X_OK) or not shutil.which(MPIRUN):
        parser.error(f"{o.build}/examples/train_gpt or {MPIRUN} is missing")
    rng = random.Random(o.seed)
    text = made_up_text(rng)
    failed = 0
    for what, count in ((signal.SIGKILL, o.kills), (signal.SIGSTOP, o.stops)):
        times, training, bad = [], 0, 0
        for i in range(count):
            P = rng.randint(2, 4)
            victim, moment = rng.randrange(P), rng.uniform(0, MOMENTS)
            seconds, began, problems = fault(o.build, text, what, P, victim, moment)
            if problems and "ORTE_ERROR_LOG" in problems[-1]:  # mpirun failed, and lost what processes wrote
                print(f"{what.name} {i}: again, after an error of Open MPI's own", flush=True)
                seconds, began, problems = fault(o.build, text, what, P, victim, moment)
            times.append(seconds)
            training += began
            bad += bool(problems)
            for problem in problems:
                print(f"{what.name} {i} of process {victim} of {P} after {moment:.2f} s, ended {seconds:.2f} s later: "
                      f"{problem}", flush=True)
        failed += bad
        if count and not training:
            failed += 1
            print(f"{what.name}: no run had begun to train")
        if times:
            times.sort()
            print(f"{what.name}: {count} runs, {training} in training, {bad} failed; seconds until all had ended: min "
                  f"{times[0]:.2f}, median {times[len(times) // 2]:.2f}, 90 % {times[9 * (len(times) - 1) // 10]:.2f}, "
                  f"max {times[-1]:.2f}", flush=True)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
