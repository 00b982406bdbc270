#!/usr/bin/env python3
"""Evaluates every cell of PyTorch and NumPy in docs/dictionary.md, and compares the two of a row where both give values:

    python3 dictionary.py             needs torch, numpy, safetensors

A test of what the page says about others; Weft's column is that of examples/dictionary.cpp.
"""
import os
import pathlib
import re
import tempfile

import numpy as np
import safetensors.torch
import torch
import torch.nn.functional as F

page = (pathlib.Path(__file__).parents[2] / "docs" / "dictionary.md").read_text()
os.chdir(tempfile.mkdtemp())
np.seterr(divide="ignore")

theirs = {"torch": torch, "F": F, "nn": torch.nn, "safetensors": safetensors}
numpy = {"np": np}


def cells(line):
    return [cell.strip().strip("`").replace(r"\|", "|") for cell in re.split(r"(?<!\\)\|", line)[1:-1]]


def value(code, names):
    """What the code gives: an array, something else, or None for a statement."""
    try:
        return eval(code, names)
    except SyntaxError:
        exec(code, names)


def array(x):
    return x.detach().numpy() if isinstance(x, torch.Tensor) else np.asarray(x)


evaluated = compared = 0
section = ""
for line in page.splitlines():
    if line.startswith("## "):
        section = line[3:]
        if section == "Arithmetic":
            theirs["z"], numpy["z"] = theirs["x"].clone(), numpy["x"].copy()
        if section == "Attention":
            exec("q, k, v = t[..., 0:2] / 10, t[..., 1:3] / 10, t[..., 2:4]", theirs)
            exec("tokens = torch.randn(2, 3, 8); padded = torch.tensor([[False] * 3, [False, False, True]])", theirs)
    if not line.startswith("| ") or line.startswith("| task") or line.startswith("| |  PyTorch"):
        continue
    row = cells(line)
    if len(row) != 4 or "PyTorch" in row[1]:
        continue
    results = []
    for code, names in [(row[1], theirs), (row[2], numpy)]:
        if code == "–":
            continue
        try:
            results.append(value(code, names))
        except Exception as error:
            raise SystemExit(f"{section}: {code}: {type(error).__name__}: {error}")
        evaluated += 1
    if len(results) < 2 or any(r is None or isinstance(r, (str, np.random.Generator, torch.Generator)) for r in results):
        continue
    if isinstance(results[0], torch.dtype):
        assert str(results[0]) == f"torch.{results[1]}", (section, row[0], results)
        continue
    a, b = map(array, results)
    assert a.shape == b.shape, (section, row[0], a.shape, b.shape)
    if section != "Random numbers and threads":
        np.testing.assert_allclose(a, b, rtol=1e-5, err_msg=f"{section}: {row[0]}")
    compared += 1
print(f"{evaluated} cells of PyTorch {torch.__version__} and NumPy {np.__version__} evaluated, {compared} rows compared")
