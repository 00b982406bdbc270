"""A checkpoint of train_gpt, read and computed with NumPy: another way to the numbers that the page shows."""
import json
import struct

import numpy as np


def load(path):
    """The tensors and the metadata of a safetensors file."""
    with open(path, "rb") as file:
        (length,) = struct.unpack("<Q", file.read(8))
        header = json.loads(file.read(length))
        values = file.read()
    metadata = header.pop("__metadata__")
    types = {"F32": "<f4", "F64": "<f8", "I64": "<i8", "BOOL": "?"}
    tensors = {}
    for name, entry in header.items():
        start, end = entry["data_offsets"]
        tensors[name] = np.frombuffer(values[start:end], types[entry["dtype"]]).reshape(entry["shape"])
    return tensors, metadata


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def norm(x, weight):
    centred = x - x.mean(-1, keepdims=True)
    return centred / np.sqrt((centred ** 2).mean(-1, keepdims=True) + 1e-5) * weight


def gelu(x):
    return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x ** 3)))


def attention(tensors, layers, heads, ids):
    """The weights (heads, T, T) of each layer, of a model without biases."""
    return _computed(tensors, layers, heads, ids)[0]


def losses(tensors, layers, heads, ids):
    """The loss of each token but the first."""
    x = norm(_computed(tensors, layers, heads, ids)[1], tensors["norm.weight"])
    probabilities = softmax(x @ tensors["token_embedding.weight"].T)  # (T, V)
    return -np.log(probabilities[np.arange(len(ids) - 1), ids[1:]])


def _computed(tensors, layers, heads, ids):
    """The weights of attention, and what the last block returns, (T, C)."""
    tensors = {name: value.astype(np.float64) for name, value in tensors.items() if value.dtype.kind == "f"}
    T = len(ids)
    x = tensors["token_embedding.weight"][ids] + tensors["position_embedding.weight"][:T]  # (T, C)
    found = []
    for layer in range(layers):
        weight = lambda name: tensors[f"blocks.{layer}.{name}.weight"]
        q, k, v = np.split(norm(x, weight("norm1")) @ weight("attn.W_qkv").T, 3, axis=-1)  # (T, C) each
        q, k, v = (part.reshape(T, heads, -1).transpose(1, 0, 2) for part in (q, k, v))  # (H, T, d_k)
        scores = q @ k.transpose(0, 2, 1) / np.sqrt(q.shape[-1])
        weights = softmax(np.where(np.tri(T, dtype=bool), scores, -np.inf))  # (H, T, T)
        found.append(weights)
        x = x + (weights @ v).transpose(1, 0, 2).reshape(T, -1) @ weight("attn.W_out").T
        x = x + gelu(norm(x, weight("norm2")) @ weight("mlp.W_in").T) @ weight("mlp.W_out").T
    return found, x
