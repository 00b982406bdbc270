#!/usr/bin/env python3
"""PyTorch's DistributedDataParallel over Gloo on a workload of torch_peer.py: one line of JSON.

    ddp_peer.py char --batch 96 --steps 20 [--processes 2] [--threads 1] [--warm_up 2]

Each process takes its part of the batch at once; the step is that of torch_peer.py, and process 0's is timed.
"""
import argparse
import json
import os
import socket
import statistics
import time

import torch
from torch import distributed, multiprocessing, nn
from torch.nn import functional as F
from torch.nn.parallel import DistributedDataParallel

from torch_peer import GPT, TRAINING


def work(rank, asked, port):
    torch.set_num_threads(asked.threads)
    distributed.init_process_group("gloo", f"tcp://127.0.0.1:{port}", rank=rank, world_size=asked.processes)
    layers, heads, C, block, V, bias, _, T, _, _ = TRAINING[asked.workload]
    torch.manual_seed(0)
    model = DistributedDataParallel(GPT(layers, heads, C, block, V, bias))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, betas=(0.9, 0.99), weight_decay=0.1)
    B = asked.batch // asked.processes  # of this process
    ids, targets = (torch.randint(V, (asked.batch, T))[rank * B:(rank + 1) * B] for _ in "xy")  # (B, T)
    times = []
    for _ in range(asked.warm_up + asked.steps):
        start = time.perf_counter()
        F.cross_entropy(model(ids).flatten(0, 1), targets.flatten()).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        times.append((time.perf_counter() - start) * 1e3)
    times = times[asked.warm_up:]
    if rank == 0:
        print(json.dumps({
            "workload": asked.workload,
            "peer": "PyTorch " + torch.__version__,
            "P": asked.processes,
            "threads": asked.threads,
            "batch": asked.batch,
            "median_ms": round(statistics.median(times), 3),
            "min_ms": round(min(times), 3),
            "parameters": sum(p.numel() for p in model.parameters()),
        }), flush=True)
    distributed.destroy_process_group()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("workload", choices=TRAINING)
    parser.add_argument("--batch", type=int, required=True)
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument("--warm_up", type=int, default=2)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--threads", type=int, default=1)
    asked = parser.parse_args()
    if asked.batch % asked.processes != 0:
        parser.error(f"a batch of {asked.batch} is not a multiple of {asked.processes} processes")
    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    multiprocessing.spawn(work, (asked, port), asked.processes)


if __name__ == "__main__":
    main()
