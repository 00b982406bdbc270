#!/usr/bin/env python3
"""PyTorch on Weft's workloads: the same shapes, the same whole step, one line of JSON.

    torch_peer.py WORKLOAD [--threads N] [--reps N]

B batch, T tokens, C = d_model, H heads, V vocabulary. Needs torch; Weft itself does not.
"""
import argparse
import json
import resource
import statistics
import time

import torch
from torch import nn
from torch.nn import functional as F

# layers, heads, C, block, V, biases, B, T, repetitions, warm-up
TRAINING = {
    "toy": (1, 2, 32, 16, 32, False, 8, 16, 200, 20),
    "char": (4, 4, 128, 64, 65, False, 12, 64, 60, 5),
    "gpt2": (12, 12, 768, 1024, 50257, True, 4, 64, 4, 1),
}
ATTENTION = {"attention": (4, 1024, 8, 2), "long": (1, 4096, 4, 1)}  # B, T, repetitions, warm-up


class Attention(nn.Module):
    def __init__(self, C, heads, bias):
        super().__init__()
        self.heads = heads
        self.W_qkv = nn.Linear(C, 3 * C, bias=bias)
        self.W_out = nn.Linear(C, C, bias=bias)

    def forward(self, x, cache=None):
        B, T, C = x.shape
        q, k, v = (part.reshape(B, T, self.heads, -1).transpose(1, 2) for part in self.W_qkv(x).chunk(3, -1))
        if cache is not None:
            if cache:
                k, v = torch.cat((cache["k"], k), 2), torch.cat((cache["v"], v), 2)
            cache.update(k=k, v=v)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=T > 1)  # one new token sees everything
        return self.W_out(y.transpose(1, 2).reshape(B, T, C))


class Block(nn.Module):
    def __init__(self, C, heads, bias):
        super().__init__()
        self.norm1, self.attn = nn.LayerNorm(C), Attention(C, heads, bias)
        self.norm2 = nn.LayerNorm(C)
        self.W_in, self.W_out = nn.Linear(C, 4 * C, bias=bias), nn.Linear(4 * C, C, bias=bias)

    def forward(self, x, cache=None):
        h = x + self.attn(self.norm1(x), cache)
        return h + self.W_out(F.gelu(self.W_in(self.norm2(h)), approximate="tanh"))


class GPT(nn.Module):
    def __init__(self, layers, heads, C, block, V, bias):
        super().__init__()
        self.tokens, self.positions = nn.Embedding(V, C), nn.Embedding(block, C)
        self.blocks = nn.ModuleList(Block(C, heads, bias) for _ in range(layers))
        self.norm = nn.LayerNorm(C)
        for p in self.parameters():
            if p.dim() >= 2:
                nn.init.normal_(p, 0, 0.02)

    def forward(self, ids, caches=None, start=0):
        x = self.tokens(ids) + self.positions(torch.arange(start, start + ids.shape[1]))
        for i, block in enumerate(self.blocks):
            x = block(x, None if caches is None else caches[i])
        return F.linear(self.norm(x), self.tokens.weight)


def training_step(layers, heads, C, block, V, bias, B, T):
    model = GPT(layers, heads, C, block, V, bias)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, betas=(0.9, 0.99), weight_decay=0.1)
    ids, targets = torch.randint(V, (B, T)), torch.randint(V, (B, T))

    def step():
        F.cross_entropy(model(ids).flatten(0, 1), targets.flatten()).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)

    return step


def attention_step(B, T):
    layer = Attention(768, 12, True)
    x, dy = torch.randn(B, T, 768, requires_grad=True), torch.randn(B, T, 768)

    def step():
        x.grad = None
        layer.zero_grad(set_to_none=True)
        layer(x).backward(dy)

    return step


def decoder(rates):
    model = GPT(12, 12, 768, 1024, 50257, True).eval()

    @torch.inference_mode()
    def step():
        caches = [{} for _ in model.blocks]
        new = model(torch.randint(50257, (1, 64)), caches)[:, -1:].argmax(-1)
        start = time.perf_counter()
        for i in range(64):
            new = model(new, caches, 64 + i)[:, -1:].argmax(-1)
        rates.append(64 / (time.perf_counter() - start))

    return step


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("workload", choices=[*TRAINING, *ATTENTION, "decode"])
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--reps", type=int, default=0)
    asked = parser.parse_args()
    torch.set_num_threads(asked.threads)
    torch.manual_seed(0)

    rates = []
    if asked.workload in TRAINING:
        *sizes, repetitions, warm_up = TRAINING[asked.workload]
        step = training_step(*sizes)
    elif asked.workload in ATTENTION:
        *sizes, repetitions, warm_up = ATTENTION[asked.workload]
        step = attention_step(*sizes)
    else:
        step, repetitions, warm_up = decoder(rates), 3, 1

    times = []
    for i in range(warm_up + (asked.reps or repetitions)):
        start = time.perf_counter()
        step()
        if i >= warm_up:
            times.append((time.perf_counter() - start) * 1e3)
    line = {
        "workload": asked.workload,
        "peer": "pytorch " + torch.__version__,
        "threads": asked.threads,
        "min_ms": round(min(times), 3),
        "median_ms": round(statistics.median(times), 3),
        "peak_rss_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, 1),
    }
    if rates:
        line["tokens_per_s"] = round(max(rates), 2)
    print(json.dumps(line))


if __name__ == "__main__":
    main()
