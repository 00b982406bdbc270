#!/usr/bin/env python3
"""Evaluates every cell about other libraries in docs/dictionary.md or docs/dictionary_jax.md, compares the two of a row where
both give values, and each with the value or shape that examples/dictionary.cpp expects of Weft's cell in that row, and checks what
the traps and false friends say about them:

    python3 dictionary.py             docs/dictionary.md: needs torch 2.13.0, numpy 2.4.6, safetensors
    python3 dictionary.py jax         docs/dictionary_jax.md: needs jax 0.10.2, flax 0.12.8, optax 0.2.8, numpy 2.4.6, and
                                      tensorweaver 0.1.0, installed with pip --no-deps because it asks for an older numpy,
                                      and what it imports: onnx, typeguard

A test of what the pages say about others; that Weft gives what the program expects is the program's own test.
"""
import importlib.metadata
import inspect
import os
import pathlib
import re
import sys
import tempfile
import warnings

import numpy as np

of_jax = sys.argv[1:] == ["jax"]
root = pathlib.Path(__file__).parents[2]
page = (root / "docs" / ("dictionary_jax.md" if of_jax else "dictionary.md")).read_text()
program = " ".join((root / "examples/dictionary.cpp").read_text().split())
os.chdir(tempfile.mkdtemp())
np.seterr(divide="ignore", invalid="ignore")
warnings.simplefilter("ignore")
RANDOM = {"Random numbers and threads", "Random numbers", "Modules and the parameter tree"}

if of_jax:
    import flax
    import jax
    import jax.test_util
    import tensorweaver
    from tensorweaver.layers.multihead_attention import MultiheadAttention
    from tensorweaver.tensor_create.zeros import zeros
    from tensorweaver.utils.data import DataLoader, TensorDataset

    first, second = {"flax": flax, "np": np}, {"np": np, "zeros": zeros, "MultiheadAttention": MultiheadAttention,
                                               "DataLoader": DataLoader, "TensorDataset": TensorDataset}
    for name in "exp sin cos sqrt sigmoid gelu embedding dropout layer_norm broadcast_to".split():
        second[name] = getattr(importlib.import_module(f"tensorweaver.operators.{name}"), name)
    packages = ["jax", "flax", "optax", "tensorweaver", "numpy"]
    tensors = tensorweaver.Tensor
else:
    import safetensors.torch
    import torch
    import torch.nn.functional as F

    first = {"torch": torch, "F": F, "nn": torch.nn, "safetensors": safetensors}
    second = {"np": np}
    packages = ["torch", "numpy", "safetensors"]
    tensors = torch.Tensor

# What a section needs before its first row.
PREPARED = {
    "Arithmetic": ("z = x.clone()", "z = x.copy()"),
    "Attention": ("q, k, v = t[..., 0:2] / 10, t[..., 1:3] / 10, t[..., 2:4]\ntokens = torch.randn(2, 3, 8)\n"
                  "padded = torch.tensor([[False] * 3, [False, False, True]])\nids = torch.tensor([0, 0, 1])", ""),
    "Several processes": ("import os; os.environ.update(RANK='0', WORLD_SIZE='1', MASTER_ADDR='127.0.0.1', MASTER_PORT='0')", ""),
}
PREPARED_JAX = {
    "Indexing": ("z = x", ""),
    "Modules and the parameter tree": ("", "self = nn.Module()"),
    "Attention": ("""qkv, tokens = jnp.arange(72.).reshape(2, 3, 12), jnp.arange(48.).reshape(2, 3, 8) / 10
heads, memory = tokens.reshape(2, 3, 2, 4).transpose(0, 2, 1, 3), jnp.ones((2, 5, 8))
q, k, v = [a.swapaxes(0, 1)[None] for a in (t[..., 0:2] / 10, t[..., 1:3] / 10, t[..., 2:4])]
seen, valid = jnp.ones((3, 3)) == jnp.tril(jnp.ones((3, 3))), jnp.array([[1, 1, 1], [1, 1, 0]])""",
                  """qkv, tokens = tw.arange(0., 72.).reshape(2, 3, 12), tw.arange(0., 48.).reshape(2, 3, 8) / 10
heads, memory = tokens.reshape(2, 3, 2, 4).permute(0, 2, 1, 3), tw.ones(2, 5, 8)"""),
}

# What the pages say in words about PyTorch, NumPy, JAX, Flax, Optax and TensorWeaver: each is true.
CLAIMS = """
torch.split(torch.arange(6), 3)[0].shape == (3,) and len(torch.chunk(torch.arange(6), 3)) == 3 and np.split(np.arange(6), 3)[0].shape == (2,) and np.split(np.arange(6), [3])[0].shape == (3,)
torch.tensor([1., 2.]).dtype == torch.float32 and torch.tensor([1, 2]).dtype == torch.int64 and torch.tensor([1.0, 2]).dtype == torch.float32
np.array([1., 2.]).dtype == np.float64 and torch.arange(0, 4).dtype == torch.int64 and np.arange(0, 4).dtype == np.int64
torch.is_floating_point(ids * 0.5) and torch.is_floating_point(ids / 2) and (np.array([1]) / 2).dtype == np.float64
(ids + x[0, :2]).dtype == torch.float32 and (np.arange(2) + np.zeros(2, np.float32)).dtype == np.float64
not (ids == 0.5).any()
(x.bfloat16() + x.bfloat16()).dtype == torch.bfloat16 and torch.isinf(torch.tensor(70000.).half()) and np.isinf(np.float32(70000).astype(np.float16))
fails(lambda: torch.ones(2).requires_grad_().add_(1)) and fails(lambda: x.T.view(6))
torch.isnan(torch.softmax(torch.tensor([-torch.inf, -torch.inf]), 0)).all()
(F.scaled_dot_product_attention(q, k, v, attn_mask=torch.zeros(3, 3) == 1) == 0).all()
torch.isnan(attend(tokens, tokens, tokens, attn_mask=torch.ones(3, 3) == 1)[0]).all()
F.scaled_dot_product_attention(q[:, :2], k, v, is_causal=True)[0, 0].equal(v[0, 0])
unseen(lambda w: w.data.fill_(10)) and unseen(lambda w: w.detach().numpy().fill(10))
fails(lambda: F.embedding(torch.tensor([-1]), x)) and fails(lambda: np.arange(3)[torch.ones(1)[0:2:-1]])
torch.var(torch.tensor([1., 2., 3.])) == 1 and np.var([1., 2., 3.]) < 1 and np.zeros((2, 3, 4)).T.shape == (4, 3, 2)
nn.MultiheadAttention(8, 2).in_proj_bias is not None and nn.MultiheadAttention(8, 2).head_dim == 4
torch.zeros(2, 4, 4, 4).masked_fill((torch.ones(4, 4).triu(1) == 1).unsqueeze(1), 1)[0, 0, 3].sum() == 3
torch.zeros(3, 3, 4, 4).masked_fill(torch.tensor([0, 1, 0])[:, None, None].expand(3, 4, 4) == 1, 1)[:, 1].all()
fails(lambda: F.embedding(x, ids)) and (x.clone().requires_grad_() * 1).add_(y).requires_grad
"""
CLAIMS_JAX = """
len(jnp.split(jnp.arange(6), 3)) == 3 and jnp.split(jnp.arange(6), [3])[0].shape == (3,)
jnp.zeros((2, 3, 4, 5)).T.shape == (5, 4, 3, 2)
nn.MultiHeadDotProductAttention(num_heads=2, qkv_features=8).init(key, tokens)["params"]["query"]["kernel"].shape == (8, 2, 4)
nn.MultiHeadDotProductAttention(num_heads=2).init(key, tokens)["params"]["out"]["kernel"].shape == (2, 4, 8)
(nn.make_causal_mask(jnp.ones(3))[0] == jnp.tril(jnp.ones((3, 3)))).all()
jnp.isclose(nn.dot_product_attention_weights(q, k, mask=jnp.zeros((1, 1, 3, 3))), 1 / 3).all()
jnp.allclose(jax.nn.dot_product_attention(q, k, v, mask=jnp.zeros((1, 1, 3, 3)) == 1)[0, :, 0], v[0].mean(0)[0])
jnp.allclose(jax.nn.dot_product_attention(q, k, v, is_causal=True)[0, 0], v[0, 0])
jnp.allclose(nn.dot_product_attention(q, k, v), jax.nn.dot_product_attention(q, k, v), atol=1e-5)
fails(lambda: nn.Dropout(0.5).apply({}, x)) and nn.Dropout(1.0).apply({}, x, deterministic=False, rngs={"dropout": key}).sum() == 0
jnp.arange(6.)[10] == 5 and (jnp.ones(3).at[7].set(2) == 1).all()
nn.Conv(6, (5, 5)).init_with_output(key, jnp.zeros((2, 8, 8, 1)))[0].shape == (2, 8, 8, 6) and nn.BatchNorm().momentum == 0.99
nn.Conv(6, (5, 5)).init(key, jnp.zeros((2, 8, 8, 1)))["params"]["kernel"].shape == (5, 5, 1, 6)
(jax.random.normal(key, (3,)) == jax.random.normal(key, (3,))).all()
x.astype(jnp.float64).dtype == jnp.float32 and jnp.array([1, 2]).dtype == jnp.int32 and (ids * 0.5).dtype == jnp.float32
jnp.isclose(jax.nn.gelu(1.), 0.841192) and nn.LayerNorm().epsilon == 1e-6
jnp.var(jnp.array([1., 2., 3.])) < 1 and x.size == 6 and (jnp.repeat(jnp.array([1, 2]), 2) == jnp.array([1, 1, 2, 2])).all()
optax.l2_loss(jnp.array(2.)) == 2 and inspect.signature(optax.adamw).parameters["weight_decay"].default == 1e-4
"""
CLAIMS_TENSORWEAVER = """
tw.softmax(x).shape == (2, 3) and fails(lambda: tw.softmax(x, axis=-1)) and fails(lambda: t.transpose(2, 0, 1)) and not hasattr(x, "split")
not hasattr(tw, "split") and not hasattr(tw, "chunk")
fails(lambda: x.mean(dim=1)) and fails(lambda: x.max(dim=1)) and fails(lambda: x.sum(axis=1)) and fails(lambda: x.argmax(axis=1))
MultiheadAttention(8, 2, bias=False).Wq.bias is not None and not hasattr(MultiheadAttention(8, 2), "W_qkv")
np.allclose(*[MultiheadAttention.forward(a, s, s, s).data[0, 0] for a in [MultiheadAttention(8, 2)] for s in [tokens, tokens[:, 0:1]]])
MultiheadAttention(8, 2).bias is True and not np.allclose(*[MultiheadAttention.forward(a, s, s, s).data[0, 0] for a in [MultiheadAttention(8, 2, bias=False)] for s in [tokens, tokens[:, 0:1]]])
sqrt(tw.tensor(3.)).item() == 9 and (tw.tensor(9.) ** 0.5).item() == 3
[(v * 2).creator for _ in [tw.no_grad().__enter__()]][0] is not None
model().eval().drop.training and len(model().parameters()) == 2
set(map(type, nn.Linear(2, 2).state_dict())) == {int} and type(nn.Linear(2, 2)._parameters) is set
(x == tw.tensor(x.data)) is False and fails(lambda: x > 3) and not (ids * 0.5).data.any()
backward_of_many(w := tw.Parameter([1., 2.])) and (w.grad == [2., 4.]).all()
np.isclose(gelu(tw.tensor(1.)).item(), 0.841192) and nn.LayerNorm(3).eps == 1e-5 and nn.LayerNorm(3).weight.data.std() > 0
inspect.signature(F.cross_entropy).parameters["ignore_index"].default == -1 and nn.Linear(2, 3).weight.shape == (2, 3)
x.size() == (2, 3)
"""


def cells(line):
    return [cell.strip().strip("`").replace(r"\|", "|") for cell in re.split(r"(?<!\\)\|", line)[1:-1]]


def value(code, names):
    """What the code gives: an array, something else, or None for a statement."""
    if code.startswith("self.") and "flax" in names:  # as in a Flax module that is being initialised
        class Own(names["nn"].Module):
            @names["nn"].compact
            def __call__(own):
                names["self"] = own
                return eval(code, names)
        Own().init(names["key"])
        return None
    try:
        return eval(code, names)
    except SyntaxError:
        exec(code, names)


def array(x):
    if isinstance(x, tensors):
        return x.data if of_jax else x.detach().numpy()
    return np.asarray(x)


def is_array(x):
    if isinstance(x, (tuple, list)):
        return not x or is_array(x[0])
    return isinstance(x, (bool, int, float, np.generic)) or hasattr(x, "__array__") or isinstance(x, tensors)


def expectations(cell):
    """What the program says that a Weft cell gives: same(cell, {…}) an array, shaped(cell, {…}) a shape."""
    for check, text in re.findall(r"\b(same|shaped)\(" + re.escape(cell) + r", ([-{}\d., e]+)\)[,;]", program):
        found = eval(text.replace("{", "[").replace("}", "]"))
        yield np.empty(found) if check == "shaped" else np.array(found), check == "same"


def agree(a, b, values, what):
    assert a.shape == b.shape, (what, a.shape, b.shape)
    if values:
        np.testing.assert_allclose(a.astype(float), b.astype(float), rtol=1e-5, atol=2e-6, err_msg=what)
    return True


def fits(a, expected):
    try:
        return agree(a, *expected, "")
    except AssertionError:
        return False


def fails(f):
    try:
        f()
    except Exception:
        return True


def unseen(write):
    """Whether backward takes values that were written behind its back, instead of refusing."""
    w = torch.ones(2).requires_grad_()
    loss = (w * w).sum()
    write(w)
    loss.backward()
    return (w.grad == 20).all()


def model():
    """A TensorWeaver module with a dropout, a layer in a list and one outside."""
    nn = second["nn"]
    made = nn.Module()
    made.drop, made.layers, made.last = nn.Dropout(0.5), nn.ModuleList([nn.Linear(2, 2)]), nn.Linear(2, 2)
    return made


def backward_of_many(w):
    (w * w).backward()
    return True


evaluated = compared = with_weft = claimed = 0
section, header = "", []
for line in page.splitlines():
    if line.startswith("## "):
        section = line[3:]
        for code, names in zip((PREPARED_JAX if of_jax else PREPARED).get(section, ()), (first, second)):
            exec(code, names)
    if not line.startswith("| "):
        continue
    row = cells(line)
    if "Weft" in row:
        header = row
    if row == header or len(row) not in (4, 5) or header[0] == "name":
        continue
    results = []
    for code, names in [(row[1], first), (row[2], second)]:
        if code == "–":
            continue
        try:
            results.append(value(code, names))
        except Exception as error:
            raise SystemExit(f"{section}: {code}: {type(error).__name__}: {error}")
        evaluated += 1
    arrays = [array(r) for r in results if is_array(r)]
    what, drawn = f"{section}: {row[0]}", section in RANDOM or row[0] in ("self-attention", "cross-attention", "causal")
    if len(results) == 2 == len(arrays):
        compared += agree(*arrays, not drawn, what)
    expected = list(expectations(row[3]))
    if arrays and expected and not row[3].startswith("z"):
        assert any(fits(arrays[0], e) for e in expected), (what, arrays[0], expected)
        with_weft += 1

helpers = {"fails": fails, "unseen": unseen, "model": model, "backward_of_many": backward_of_many, "inspect": inspect}
claims = [(CLAIMS_JAX, first), (CLAIMS_TENSORWEAVER, second)] if of_jax else [(CLAIMS, {**second, **first})]
for text, names in claims:
    for claim in text.strip().splitlines():
        assert eval(claim, {**names, **helpers}), claim
        claimed += 1
print(f"{evaluated} cells evaluated, {compared} rows compared, {with_weft} with Weft, {claimed} claims hold, with " +
      ", ".join(f"{name} {importlib.metadata.version(name)}" for name in packages))
