#!/usr/bin/env python3
"""PyTorch on Weft's workloads: the same shapes, the same whole step, one line of JSON.

    torch_peer.py WORKLOAD [--threads N] [--reps N] [--compile] [--autocast] [--weights bfloat16]

With --compile the model is compiled by torch.compile, which needs a C++ compiler, and decode's weights are frozen into
it; compiling belongs to the warm-up. With --autocast the forward pass of training runs under torch.autocast, in
bfloat16 where PyTorch deems it safe. With --weights bfloat16 all of decode is computed in bfloat16.
B batch, T tokens, S keys of a cache, C = d_model, H heads, V vocabulary. Needs torch; Weft itself does not.
"""
import argparse
import json
import resource
import statistics
import time

import torch
import torch._inductor.config
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

    def forward(self, x, cache=None, positions=None, mask=None):
        B, T, C = x.shape
        q, k, v = (part.reshape(B, T, self.heads, -1).transpose(1, 2) for part in self.W_qkv(x).chunk(3, -1))
        if cache is not None:  # two (B, H, S, d), of which the positions of x are written
            k, v = (kept.index_copy_(2, positions, new) for kept, new in zip(cache, (k, v)))
        y = F.scaled_dot_product_attention(q, k, v, mask, is_causal=mask is None)
        return self.W_out(y.transpose(1, 2).reshape(B, T, C))


class Block(nn.Module):
    def __init__(self, C, heads, bias):
        super().__init__()
        self.norm1, self.attn = nn.LayerNorm(C), Attention(C, heads, bias)
        self.norm2 = nn.LayerNorm(C)
        self.W_in, self.W_out = nn.Linear(C, 4 * C, bias=bias), nn.Linear(4 * C, C, bias=bias)

    def forward(self, x, *cache):
        h = x + self.attn(self.norm1(x), *cache)
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

    def forward(self, ids):
        x = self.tokens(ids) + self.positions(torch.arange(ids.shape[1]))
        for block in self.blocks:
            x = block(x)
        return F.linear(self.norm(x), self.tokens.weight)

    def next(self, ids, positions, caches):
        """The most likely token after ids (1, T) at positions (T,), as (1, 1)."""
        mask = torch.arange(caches[0][0].shape[2]) <= positions[:, None]  # (T, S), true = visible
        x = self.tokens(ids) + self.positions(positions)
        for block, cache in zip(self.blocks, caches):
            x = block(x, cache, positions, mask)
        return F.linear(self.norm(x[:, -1:]), self.tokens.weight).argmax(-1)


def autocast(enabled):
    return torch.autocast("cpu", dtype=torch.bfloat16, enabled=enabled)


def training_step(compiled, casts, layers, heads, C, block, V, bias, B, T):
    model = GPT(layers, heads, C, block, V, bias)
    loss_of = compiled(lambda: F.cross_entropy(model(ids).flatten(0, 1), targets.flatten()))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, betas=(0.9, 0.99), weight_decay=0.1)
    ids, targets = torch.randint(V, (B, T)), torch.randint(V, (B, T))

    def step():
        with autocast(casts):
            loss = loss_of()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)

    return step


def attention_step(compiled, casts, B, T):
    layer = Attention(768, 12, True)
    forward = compiled(layer)
    x, dy = torch.randn(B, T, 768, requires_grad=True), torch.randn(B, T, 768)

    def step():
        x.grad = None
        layer.zero_grad(set_to_none=True)
        with autocast(casts):
            y = forward(x)
        y.backward(dy.to(y.dtype))

    return step


def decoder(compiled, dtype, rates):
    model = GPT(12, 12, 768, 1024, 50257, True).eval().to(dtype)
    following = compiled(model.next)
    prompt = torch.randint(50257, (1, 64))

    @torch.inference_mode()
    def step():
        caches = [[torch.zeros(1, 12, 128, 64, dtype=dtype) for _ in "kv"] for _ in model.blocks]
        new = model.next(prompt, torch.arange(64), caches)
        start = time.perf_counter()
        for i in range(64, 128):
            new = following(new, torch.tensor([i]), caches)
        rates.append(64 / (time.perf_counter() - start))

    return step


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("workload", choices=[*TRAINING, *ATTENTION, "decode"])
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--reps", type=int, default=0)
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--autocast", action="store_true")
    parser.add_argument("--weights", choices=["float32", "bfloat16"], default="float32")
    asked = parser.parse_args()
    compiled = torch.compile if asked.compile else lambda function: function
    if asked.compile:
        torch._inductor.config.freezing = True  # without gradients: weights are laid out for the products
    torch.set_num_threads(asked.threads)
    torch.manual_seed(0)

    rates = []
    if asked.workload in TRAINING:
        *sizes, repetitions, warm_up = TRAINING[asked.workload]
        step = training_step(compiled, asked.autocast, *sizes)
    elif asked.workload in ATTENTION:
        *sizes, repetitions, warm_up = ATTENTION[asked.workload]
        step = attention_step(compiled, asked.autocast, *sizes)
    else:
        step, repetitions, warm_up = decoder(compiled, getattr(torch, asked.weights), rates), 3, 1

    times = []
    for i in range(warm_up + (asked.reps or repetitions)):
        start = time.perf_counter()
        step()
        if i >= warm_up:
            times.append((time.perf_counter() - start) * 1e3)
    line = {
        "workload": asked.workload,
        "peer": "pytorch " + torch.__version__ + (" compiled" if asked.compile else "") + (" autocast" if asked.autocast else ""),
        "threads": asked.threads,
        "min_ms": round(min(times), 3),
        "median_ms": round(statistics.median(times), 3),
        "peak_rss_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, 1),
    }
    if rates:
        line["weights"] = asked.weights
        line["tokens_per_s"] = round(max(rates[warm_up:]), 2)
        line["median_tokens_per_s"] = round(statistics.median(rates[warm_up:]), 2)
    print(json.dumps(line))


if __name__ == "__main__":
    main()
