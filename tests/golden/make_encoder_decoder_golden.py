#!/usr/bin/env python3
"""Writes encoder_decoder.safetensors beside this script: PyTorch's TransformerEncoderLayer and TransformerDecoderLayer in
pre-norm order, with padding, in float64: parameters, inputs, outputs, seed gradients and gradients, under PyTorch's names.

    python3 make_encoder_decoder_golden.py            needs torch, numpy, safetensors
"""
import pathlib

import torch
from torch import nn

from golden import Golden, generator, versions

B, S, T, C, H, HIDDEN = 2, 5, 4, 8, 2, 12
LENGTHS = torch.tensor([5, 3])
golden = Golden()


def gelu(x):
    return nn.functional.gelu(x, approximate="tanh")


def case(name, layer, shapes, call):
    draw = generator(name)
    for key, parameter in layer.named_parameters():
        parameter.data = torch.tensor(draw.normal(0, 0.5, parameter.shape) + ("norm" in key and "weight" in key))
        golden.put(f"{name}/param/{key}", parameter)
    inputs = [torch.tensor(draw.normal(size=shape)).requires_grad_() for shape in shapes]
    y = call(layer, *inputs)
    dy = torch.tensor(draw.normal(size=y.shape))
    y.backward(dy)
    golden.put(f"{name}/out", y)
    golden.put(f"{name}/dy", dy)
    for i, x in enumerate(inputs):
        golden.put(f"{name}/in{i}", x)
        golden.put(f"{name}/grad_in{i}", x.grad)
    for key, parameter in layer.named_parameters():
        golden.put(f"{name}/grad/{key}", parameter.grad)


options = dict(dim_feedforward=HIDDEN, dropout=0.0, activation=gelu, batch_first=True, norm_first=True)
padding = torch.arange(S) >= LENGTHS[:, None]  # (B, S), true = blocked
future = torch.ones(T, T, dtype=torch.bool).triu(1)
case("encoder", nn.TransformerEncoderLayer(C, H, **options), [(B, S, C)],
     lambda layer, x: layer(x, src_key_padding_mask=padding))
case("decoder", nn.TransformerDecoderLayer(C, H, **options), [(B, T, C), (B, S, C)],
     lambda layer, x, memory: layer(x, memory, tgt_mask=future, memory_key_padding_mask=padding))
golden.save(pathlib.Path(__file__).parent / "encoder_decoder.safetensors")
