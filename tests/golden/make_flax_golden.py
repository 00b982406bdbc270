#!/usr/bin/env python3
"""flax.npz: a parameter tree as Flax saves it, an input, and what multi-head causal self-attention makes of both.

    python3 make_flax_golden.py            needs numpy

The tree has the names of a Flax module with two Dense layers, nn.Dense(3 * D) and nn.Dense(D), flattened with "/" as
by flax.traverse_util.flatten_dict. The formula is plain NumPy in float64; Flax itself is not needed.
"""
import pathlib

import numpy as np

B, T, D, H = 2, 5, 12, 3
rng = np.random.default_rng(1)


def dense(x, layer):
    return x @ params[f"params/{layer}/kernel"] + params[f"params/{layer}/bias"]


def heads(x):
    return x.reshape(B, T, H, D // H).transpose(0, 2, 1, 3)


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


params = {
    "params/Dense_0/kernel": rng.standard_normal((D, 3 * D)) / np.sqrt(D),
    "params/Dense_0/bias": rng.standard_normal(3 * D),
    "params/Dense_1/kernel": rng.standard_normal((D, D)) / np.sqrt(D),
    "params/Dense_1/bias": rng.standard_normal(D),
}
x = rng.standard_normal((B, T, D))
q, k, v = (heads(part) for part in np.split(dense(x, "Dense_0"), 3, axis=-1))
scores = q @ k.transpose(0, 1, 3, 2) * (D // H) ** -0.5
weights = softmax(np.where(np.triu(np.ones((T, T)), k=1).astype(bool), -1e9, scores))
out = dense((weights @ v).transpose(0, 2, 1, 3).reshape(B, T, D), "Dense_1")
np.savez(pathlib.Path(__file__).parent / "flax.npz", **params, x=x, weights=weights, out=out)
