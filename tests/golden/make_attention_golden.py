#!/usr/bin/env python3
"""Writes attention.safetensors beside this script: what PyTorch's own attention gives for its own state dicts.

    python3 make_attention_golden.py            needs torch, numpy, safetensors

torch/<case>   torch.nn.MultiheadAttention: its state dict, inputs, masks as it takes them (true = blocked), output, weights of
               each head, and the gradients of Σ dy·output
sdpa/<case>    torch.nn.functional.scaled_dot_product_attention: its mask is the other way round (true = visible)
gpt2/<case>    GPT-2's attention by its definition: layers x W + b, a causal softmax
rotary/<case>  rotary positions as products of complex numbers
B batch, T queries, S keys, C = embed_dim, H heads, G heads of keys and values.
"""
import pathlib

import numpy as np
import torch
import torch.nn.functional as F

from golden import Draw, Golden

golden = Golden()


def leaf(x):
    return torch.tensor(x, requires_grad=True)


def put_gradients(name, output, parameters, inputs):
    """The gradients of Σ dy·output, under <name>/grad/<parameter> and <name>/grad_<input>."""
    dy = Draw(name + "/dy").normal(*output.shape)
    (torch.tensor(dy) * output).sum().backward()
    golden.put(f"{name}/dy", dy)
    golden.put(f"{name}/out", output)
    for key, value in parameters.items():
        golden.put(f"{name}/state/{key}", value)
        golden.put(f"{name}/grad/{key}", value.grad)
    for key, value in inputs.items():
        golden.put(f"{name}/{key}", value)
        golden.put(f"{name}/grad_{key}", value.grad)


def torch_case(case, C, H, shapes, bias=True, masks=lambda draw: {}, **options):
    """shapes: of query, and of key and value where they are others."""
    name = "torch/" + case
    draw = Draw(name)
    module = torch.nn.MultiheadAttention(C, H, bias=bias, batch_first=True, **options)
    for parameter in module.parameters():
        with torch.no_grad():
            parameter.copy_(torch.tensor(draw.normal(*parameter.shape)) * 0.5)
    inputs = {key: leaf(draw.normal(*shape)) for key, shape in zip(("query", "key", "value"), shapes)}
    query = inputs["query"]
    key = inputs.get("key", query)
    value = inputs.get("value", key)
    masks = {key: np.asarray(mask) for key, mask in masks(draw).items()}
    for key_, mask in masks.items():
        golden.put(f"{name}/{key_}", mask)
    output, weights = module(query, key, value, average_attn_weights=False,
                             **{k: torch.tensor(m) for k, m in masks.items()})
    assert torch.isfinite(output).all()  # PyTorch gives NaN for a row that sees nothing
    golden.put(f"{name}/weights", weights)
    put_gradients(name, output, dict(module.named_parameters()), inputs)


def some_blocked(draw, *shape):
    """true = blocked, but never a whole row."""
    blocked = draw.boolean(*shape)
    blocked[..., 0] = False
    return blocked


def write_torch():
    for name, bias in [("bias", True), ("plain", False)]:
        torch_case(f"self_{name}", 8, 2, [(2, 5, 8)], bias)
        torch_case(f"cross_{name}", 8, 4, [(2, 3, 8), (2, 6, 8)], bias)
        torch_case(f"widths_{name}", 8, 2, [(2, 3, 8), (2, 6, 6), (2, 6, 4)], bias, kdim=6, vdim=4)
    torch_case("kdim_only", 8, 2, [(2, 3, 8), (2, 4, 6), (2, 4, 8)], kdim=6)
    torch_case("unbatched", 8, 2, [(5, 8)])
    torch_case("attn_mask", 8, 2, [(2, 3, 8), (2, 6, 8)], masks=lambda d: {"attn_mask": some_blocked(d, 3, 6)})
    torch_case("attn_mask_per_head", 8, 2, [(2, 3, 8), (2, 6, 8)],
               masks=lambda d: {"attn_mask": some_blocked(d, 2 * 2, 3, 6)})
    torch_case("key_padding_mask", 8, 2, [(2, 3, 8), (2, 6, 8)],
               masks=lambda d: {"key_padding_mask": some_blocked(d, 2, 6)})
    torch_case("lengths", 8, 2, [(3, 4, 8)],
               masks=lambda d: {"key_padding_mask": np.arange(4) >= np.array([[4], [1], [3]])})
    torch_case("both_masks", 8, 2, [(2, 5, 8)],
               masks=lambda d: {"attn_mask": np.triu(np.ones((5, 5), bool), 1),
                                "key_padding_mask": np.arange(5) >= np.array([[3], [5]])})


def write_sdpa():
    def case(name, q, k, v, allowed=None, **options):
        name = "sdpa/" + name
        draw = Draw(name)
        inputs = {key: leaf(draw.normal(*shape)) for key, shape in (("q", q), ("k", k), ("v", v))}
        mask = None if allowed is None else torch.tensor(~some_blocked(draw, *allowed))
        if mask is not None:
            golden.put(f"{name}/attn_mask", mask)
        put_gradients(name, F.scaled_dot_product_attention(*inputs.values(), attn_mask=mask, **options), {}, inputs)

    case("allowed", (2, 3, 4, 5), (2, 3, 6, 5), (2, 3, 6, 7), allowed=(4, 6))
    case("allowed_per_head", (2, 3, 4, 5), (2, 3, 6, 5), (2, 3, 6, 7), allowed=(2, 3, 4, 6))
    case("grouped", (2, 6, 4, 5), (2, 2, 6, 5), (2, 2, 6, 7), enable_gqa=True)


def write_gpt2():
    def case(name, C, H, *shape):
        name = "gpt2/" + name
        draw = Draw(name)
        p = {"c_attn.weight": leaf(draw.normal(C, 3 * C)), "c_attn.bias": leaf(draw.normal(3 * C)),
             "c_proj.weight": leaf(draw.normal(C, C)), "c_proj.bias": leaf(draw.normal(C))}
        x = leaf(draw.normal(*shape, C))
        q, k, v = [part.unflatten(-1, (H, C // H)).transpose(-2, -3)  # (…, H, T, d_k)
                   for part in (x @ p["c_attn.weight"] + p["c_attn.bias"]).split(C, dim=-1)]
        future = torch.ones(shape[-1], shape[-1], dtype=torch.bool).triu(1)
        scores = (q @ k.transpose(-1, -2) / (C // H) ** 0.5).masked_fill(future, float("-inf"))
        y = (scores.softmax(-1) @ v).transpose(-2, -3).flatten(-2)
        put_gradients(name, y @ p["c_proj.weight"] + p["c_proj.bias"], p, {"x": x})

    case("batch", 12, 3, 2, 5)
    case("square", 4, 1, 1, 4)  # where T = C = d_k, so that a missing transpose has the right shape
    case("unbatched", 8, 2, 6)


def write_rotary():
    def case(name, first, base, *shape):
        name = "rotary/" + name
        x = leaf(Draw(name).normal(*shape))
        T, d = shape[-2:]
        angles = (first + torch.arange(T))[:, None] * base ** (-torch.arange(0, d, 2) / d)
        turned = torch.view_as_complex(x.unflatten(-1, (-1, 2))) * torch.exp(1j * angles)
        put_gradients(name, torch.view_as_real(turned).flatten(-2), {}, {"x": x})

    case("from_0", 0, 10000.0, 2, 3, 7, 8)
    case("from_1000", 1000, 500.0, 5, 6)


write_torch()
write_sdpa()
write_gpt2()
write_rotary()
golden.save(pathlib.Path(__file__).parent / "attention.safetensors")
