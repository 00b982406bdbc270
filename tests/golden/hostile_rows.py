"""Which operations meet hostile inputs, on which shapes, by which definition: a sample of the table a line.

An operand is a shape, filled with numbers of the kind; or a shape and the name of harmless numbers; or an array, which is taken as it is. The
definition is written over exact numbers (hostile_definitions.py); without one, the operation only moves, compares or adds small fractions, and
PyTorch in float64 is exact. An operation without a line has one for each sample of its golden values, with their shapes, and its formula in
tests/proofs/rules.txt as definition, if it is there.
"""
import math

import numpy as np
import torch
import torch.nn.functional as F

import golden_ops
import hostile_definitions_nn as d
from exact import Type
from golden import operation_of

ROWS = []


def row(name, *operands, exact=None, also=None, variant="", refuses=(), always=False, strict=False):
    """`also` stands in for PyTorch's function where the header says what Weft gives instead; `always`: the definition is right for infinities and
    NaN, too; `strict`: the header promises a gradient where the value is NaN."""
    ROWS.append((name + variant, name, operands, exact, also, refuses, always, strict))


class Logistic(torch.autograd.Function):
    """ln(1 + eˣ) − x·t, at ±∞ its limit: 0 where the prediction is certain and right, for which PyTorch has NaN."""

    @staticmethod
    def forward(ctx, x, t):
        ctx.save_for_backward(x, t)
        wrong, finite = torch.where(x > 0, 1 - t, t), x.masked_fill(x.isinf(), 0)
        return torch.where(x.isinf(), (x.abs() * wrong).masked_fill(wrong == 0, 0), torch.logaddexp(finite, torch.zeros(())) - finite * t)

    @staticmethod
    def backward(ctx, dy):
        x, t = ctx.saved_tensors
        return dy * (x.sigmoid() - t), -dy * x


def pair(name, a, b, **more):
    """Both operands hostile; the first only."""
    row(name, a, b, **more)
    row(name, a, (b, "ordinary"), variant="+ordinary", **more)


def arithmetic():
    for name, f in {"add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b, "div": lambda a, b: a / b}.items():
        pair(f"{name}.same", (2, 3), (2, 3), exact=f)
        row(f"{name}.broadcast", (2, 1, 3), (2, 1), exact=f)
    for name, f in {"add_number": lambda x: x + 1.5, "sub_number": lambda x: x - 1.5, "mul_number": lambda x: x * 1.5,
                    "div_number": lambda x: x / 1.5, "number_add": lambda x: 1.5 + x, "number_sub": lambda x: 1.5 - x,
                    "number_mul": lambda x: 1.5 * x, "number_div": lambda x: 1.5 / x}.items():
        row(name, (2, 5), exact=f)
    for name, p in {"cube": 3, "square": 2, "root": 0.5, "inverse": -2, "zero": 0, "fraction": 1.7}.items():
        row(f"pow.{name}", (3, 5), exact=d.power_of(p), also=lambda x, p=p: torch.pow(x, torch.full_like(x, p)))
    pair("pow_tensor.same", (2, 5), (2, 5), exact=d.power_tensor)
    for name in ["eq", "ne", "lt", "le", "gt", "ge"]:
        pair(f"{name}.float", (2, 5), (2, 5))


def elementwise():
    for name in ["exp", "log", "sqrt", "rsqrt", "tanh", "sigmoid", "sin", "cos", "erf", "log1p", "expm1", "silu", "log2", "log10", "sinh", "cosh"]:
        row(name, (3, 5), exact=getattr(d, name))
    row("gelu.exact", (3, 5), exact=d.gelu)
    row("gelu.tanh", (3, 5), exact=d.gelu_tanh)
    row("leaky_relu", (2, 5), exact=d.leaky_relu(0.1))
    row("elu", (3, 5), exact=d.elu(1.5))
    row("clamp", (2, 5), strict=True, also=lambda x: torch.where((x >= -0.5) & (x <= 1), x, torch.clamp(x.detach(), -0.5, 1)))
    for name in ["maximum", "minimum"]:
        pair(f"{name}.same", (2, 5), (2, 5))
        row(f"{name}.number", (2, 5), also=lambda x, f=getattr(torch, name): f(x, torch.tensor(0.25)))
    for name in ["close", "far", "nan"]:
        pair(f"allclose.{name}", (2, 5), (2, 5))
    pair("isclose", (2, 5), (2, 5))
    pair("isclose.nan", (2, 5), (2, 5))

    def logaddexp(a, b):  # equal infinities are their own, with the gradient of the first
        same = (a == b) & a.isinf()
        return torch.where(same, a, torch.logaddexp(a.masked_fill(same, 0), b.masked_fill(same, 0)))

    pair("logaddexp", (2, 5), (2, 5), exact=d.logaddexp, also=logaddexp)


def reductions():
    for name, f in {"sum": d.total, "mean": d.mean, "logsumexp": d.logsumexp}.items():
        row(f"{name}.all", (2, 5), exact=lambda x, f=f: d.reduced(f, x), also=None if name != "logsumexp" else lambda x: torch.logsumexp(x.flatten(), 0))
        row(f"{name}.axis", (2, 5), exact=lambda x, f=f: d.reduced(f, x, 1))
        row(f"{name}.several_keepdim", (2, 2, 3), exact=lambda x, f=f: d.reduced(f, x, (0, 2), True))
        row(f"{name}.axis", (1, 1), exact=lambda x, f=f: d.reduced(f, x, 1), variant="+one")
    row("var.all", (2, 5), exact=lambda x: d.reduced(d.var(), x))
    row("var.axis", (3, 5), exact=lambda x: d.reduced(d.var(), x, 1))
    row("var.axis", (1, 2), exact=lambda x: d.reduced(d.var(), x, 1), variant="+two")
    row("var.population", (2, 5), exact=lambda x: d.reduced(d.var(0), x, 1))
    row("var.population", (1, 1), exact=lambda x: d.reduced(d.var(0), x, 1), variant="+one")
    row("std.all", (2, 5), exact=lambda x: d.reduced(d.std(), x))
    row("std.all", (2,), exact=lambda x: d.reduced(d.std(), x), variant="+two")
    row("std.population", (3, 5), exact=lambda x: d.reduced(d.std(0), x, 1, True), also=steady_std)
    row("std.population", (1, 1), exact=lambda x: d.reduced(d.std(0), x, 1, True), also=steady_std, variant="+one")
    for name, p, axes, keep, shape in [("all", 2, None, False, (2, 5)), ("axis", 2, 1, False, (2, 5)), ("one", 1, (0, 2), False, (2, 2, 3)),
                                       ("three", 3, (0, -1), True, (2, 2, 3)), ("largest", math.inf, 1, False, (2, 5))]:
        row(f"norm.{name}", shape, exact=lambda x, p=p, axes=axes, keep=keep: d.reduced(d.norm(p), x, axes, keep))
    row("norm.half", (2, 5), exact=lambda x: d.reduced(d.norm(0.5), x, 1), also=lambda x: torch.linalg.vector_norm(x, 0.5, 1))
    row("clip_grad_norm", (5,), exact=d.clipped,
        also=lambda x: (x * torch.clamp(1 / (x.norm() + 1e-6), max=1) if x.norm().isfinite() else x).detach())
    row("norm.axis", (1, 1), exact=lambda x: d.reduced(d.norm(2), x, 1), variant="+one")
    row("prod.axis", (2, 4), exact=lambda x: d.reduced(d.product_of, x, 1), always=True)
    row("prod.all", (2, 2), exact=lambda x: d.reduced(d.product_of, x), always=True)
    row("prod.all", (1,), exact=lambda x: d.reduced(d.product_of, x), variant="+one", always=True)
    row("cumprod.first", (5, 2), exact=lambda x: d.along(d.cumulated(d.product_of), x, 0), always=True)
    row("cumprod.zeros", (2, 4), exact=lambda x: d.along(d.cumulated(d.product_of), x, 1), always=True)
    row("cumprod.first", (1, 1), exact=lambda x: d.along(d.cumulated(d.product_of), x, 0), variant="+one", always=True)
    row("cumsum.first", (5, 2), exact=lambda x: d.along(d.cumulated(d.total), x, 0))
    row("cumsum.last", (2, 5), exact=lambda x: d.along(d.cumulated(d.total), x, 1))
    row("cumsum.last", (1, 1), exact=lambda x: d.along(d.cumulated(d.total), x, 1), variant="+one")
    for name in ["softmax", "log_softmax"]:
        f = getattr(d, name)
        row(f"{name}.last", (3, 5), exact=lambda x, f=f: d.along(f, x, -1))
        row(f"{name}.middle", (1, 4, 2), exact=lambda x, f=f: d.along(f, x, 1))
        row(f"{name}.last", (1, 1), exact=lambda x, f=f: d.along(f, x, -1), variant="+one")
    for name, f in {"max": torch.argmax, "min": torch.argmin}.items():  # the first of equal ones gets the gradient
        first = lambda x, axis, keep, f=f: (lambda at: (x.gather(axis, at) if keep else x.gather(axis, at).squeeze(axis), at if keep else at.squeeze(axis)))(
            f(x, axis, keepdim=True))
        row(f"{name}.axis", (2, 5), also=lambda x, first=first: first(x, 1, False))
        row(f"{name}.negative_keepdim", (2, 5), also=lambda x, first=first: first(x, -1, True))
        row(f"{name}_all", (2, 5), also=lambda x, first=first: first(x.flatten(), 0, False)[0])
        row(f"{name}_all", (1,), also=lambda x, first=first: first(x.flatten(), 0, False)[0], variant="+one")
    ordered = lambda x, axis, k=None, descending=False: tuple(
        y.narrow(axis, 0, k or x.shape[axis]) for y in torch.sort(x, dim=axis, descending=descending, stable=True))
    row("sort.last", (2, 5), also=lambda x: ordered(x, -1))
    row("sort.middle", (1, 5, 2), also=lambda x: ordered(x, 1, descending=True))
    row("topk.largest", (1, 5, 2), also=lambda x: ordered(x, 1, 2, True))
    row("topk.smallest", (2, 5), also=lambda x: ordered(x, -1, 3))


def steady_std(x):
    """PyTorch's of one element, whose slope is 0 / 0, has the slope 0 in Weft."""
    return torch.std(x, 1, correction=0, keepdim=True) if x.shape[1] > 1 else (x - x.detach()) * 0


def products():
    for name, a, b in [("matrices", (2, 3), (3, 2)), ("vectors", (4,), (4,)), ("matrix_vector", (2, 3), (3,)), ("vector_matrix", (3,), (3, 2)),
                       ("batched", (2, 1, 3), (2, 3, 2)), ("shared_right", (2, 1, 3), (3, 2))]:
        pair(f"matmul.{name}", a, b, exact=d.matmul)
    row("matmul.matrices", (1, 1), (1, 1), exact=d.matmul, variant="+one")
    pair("outer", (3,), (2,), exact=lambda a, b: a[:, None] * b)
    pair("dot", (4,), (4,), exact=d.matmul)
    for formula, a, b in [("ijk,ijl->ikl", (2, 2, 2), (2, 2, 2)), ("ijk,ijk->i", (2, 2, 2), (2, 2, 2))]:
        pair(f"einsum.{formula}", a, b, exact=d.einsum(formula))
    pair("tensordot", (1, 2, 3), (2, 3, 2), exact=d.einsum("ijk,jkl->il"))
    pair("tensordot.axes", (2, 2, 3), (1, 3, 2), exact=d.einsum("ijk,lki->jl"))
    row("trace", (3, 4), exact=lambda x: d.reduced(d.total, np.array([x[i, i] for i in range(3)])))
    row("einsum.ijk->ik", (2, 2, 2), exact=d.einsum("ijk->ik"))
    row("einsum.three", (2, 2, 2), ((2, 2), "ordinary"), ((2,), "ordinary"), exact=d.einsum("ijk,jk,k->i"))
    row("linear.batched", (1, 2, 3), (2, 3), (2,), exact=d.linear)
    row("linear.batched", (1, 2, 3), ((2, 3), "ordinary"), ((2,), "ordinary"), exact=d.linear, variant="+ordinary")
    row("linear.no_bias", (2, 3), ((2, 3), "ordinary"), exact=d.linear)


def shapes():
    row("sum_to", (2, 4, 1), exact=lambda x: d.reduced(d.total, x, (0, 2))[:, None])
    row("scatter_add", np.array([[0, 4, 4], [2, 2, 2]]), (2, 3), exact=scattered)


def scattered(index, source):
    y = np.empty((2, 5), object)
    for i, j in np.ndindex(y.shape):
        y[i, j] = d.total([s for at, s in zip(index[i], source[i]) if at == j])
    return y


def attend(q, k, v, visible=lambda i, j: True, bias=None):
    """PyTorch's attention, query by query with its visible keys only: what is blocked does not take part."""
    rows, weights = [], []
    for i in range(q.shape[-2]):
        seen = [j for j in range(k.shape[-2]) if visible(i, j)]
        own = None if bias is None else bias[..., i:i + 1, seen]
        y, w = golden_ops.safe_attention(q[..., i:i + 1, :], k[..., seen, :], v[..., seen, :], bias=own)
        rows.append(y)
        weights.append(torch.zeros(*w.shape[:-1], k.shape[-2]).index_copy(-1, torch.tensor(seen), w))
    return torch.cat(rows, -2), torch.cat(weights, -2)


def weighted(smoothing=0, ignored=-100, log=lambda x: torch.log_softmax(x, -1), reduction="mean"):
    """cross_entropy with a gradient of the weights, which PyTorch's does not have, and with none from an ignored row, whatever it holds."""
    def f(x, t, w=None):
        kept = (t.flatten() != ignored).nonzero().flatten()
        logp, targets = log(x.reshape(-1, x.shape[-1])[kept]), t.flatten()[kept]
        w = torch.ones(x.shape[-1]) if w is None else w
        losses = -(1 - smoothing) * logp[torch.arange(len(kept)), targets] * w[targets]
        losses = losses - smoothing / x.shape[-1] * (logp * w).sum(1) if smoothing else losses
        if reduction == "none":
            return torch.zeros(t.numel()).index_copy(0, kept, losses).reshape(t.shape)
        return losses.sum() / (w[targets].sum() if reduction == "mean" else 1)
    return f


def functions():
    row("layer_norm.full", (2, 6), ((6,), "ordinary"), ((6,), "ordinary"), exact=d.layer_norm)
    row("layer_norm.weight", (2, 6), ((6,), "ordinary"), exact=d.layer_norm)
    row("layer_norm.plain", (2, 6), exact=lambda x: d.layer_norm(x, eps=1e-3))
    row("layer_norm.plain", (2, 1), exact=lambda x: d.layer_norm(x, eps=1e-3), also=lambda x: F.layer_norm(x, (1,), eps=1e-3), variant="+one")
    row("rms_norm.weight", (2, 6), ((6,), "ordinary"), exact=lambda x, w: d.rms_norm(x, w, float(np.finfo(Type.dtype).eps)),
        also=lambda x, w: F.rms_norm(x, (6,), w, float(np.finfo(Type.dtype).eps)))
    row("rms_norm.plain", (2, 6), exact=lambda x: d.rms_norm(x, eps=1e-3))
    for name in ["neighbours", "halves"]:
        row(f"rotary.{name}", (2, 6), *[((2, 3 if name == "neighbours" else 2), "ordinary")] * 2, exact=d.rotary(name == "halves"))
    row("dropout.evaluation", (2, 5), also=lambda x: x * 1)
    row("batch_norm.training", (2, 2, 2), ((2,), "ordinary"), ((2,), "ordinary"), exact=d.batch_norm)
    row("batch_norm.running", (2, 2, 2), ((2,), "ordinary"), ((2,), "positive"), ((2,), "ordinary"), ((2,), "ordinary"), exact=d.batch_norm_running)
    row("batch_norm.running", (2, 2, 2), (2,), ((2,), "positive"), ((2,), "ordinary"), ((2,), "ordinary"), exact=d.batch_norm_running, variant="+mean")

    masked = np.array([3, -100, 0])
    row("cross_entropy.ignored", (3, 4), masked, exact=lambda x, t: d.cross_entropy(t)(x), also=weighted())
    row("cross_entropy.batched", (1, 2, 7), np.array([[6, 2]]), exact=lambda x, t: d.cross_entropy(t, ignored=2)(x), also=weighted(ignored=2))
    row("cross_entropy.ignored", (1, 1), np.array([0]), exact=lambda x, t: d.cross_entropy(t)(x), also=weighted(), variant="+one")
    row("cross_entropy.weighted", (3, 4), masked, ((4,), "positive"), exact=lambda x, t, w: d.cross_entropy(t)(x, w), also=weighted())
    row("cross_entropy.smooth", (3, 4), masked, exact=lambda x, t: d.cross_entropy(t, smoothing=0.3)(x), also=weighted(0.3))
    row("cross_entropy.both", (3, 4), masked, ((4,), "positive"), exact=lambda x, t, w: d.cross_entropy(t, smoothing=0.3)(x, w), also=weighted(0.3))
    row("nll_loss", (1, 2, 4), np.array([[3, 2]]), exact=lambda x, t: d.nll(t, ignored=2)(x), also=weighted(ignored=2, log=lambda x: x))
    row("nll_loss.weighted", (3, 4), masked, ((4,), "positive"), exact=lambda x, t, w: d.nll(t)(x, w), also=weighted(log=lambda x: x))
    row("cross_entropy.each", (1, 2, 7), np.array([[6, 2]]), exact=lambda x, t: d.cross_entropy(t, 2, each=True)(x),
        also=weighted(ignored=2, reduction="none"))
    row("cross_entropy.sum", (3, 4), masked, exact=lambda x, t: d.reduced(d.total, d.cross_entropy(t, each=True)(x)), also=weighted(reduction="sum"))
    row("cross_entropy.each_of_both", (3, 4), masked, ((4,), "positive"), exact=lambda x, t, w: d.cross_entropy(t, smoothing=0.3, each=True)(x, w),
        also=weighted(0.3, reduction="none"))
    row("nll_loss.each", (3, 4), masked, ((4,), "positive"), exact=lambda x, t, w: d.nll(t, each=True)(x, w),
        also=weighted(log=lambda x: x, reduction="none"))
    row("bce", (2, 5), ((2, 5), "unit"), exact=d.bce, also=lambda x, t: Logistic.apply(x, t).mean())
    row("bce", (1,), ((1,), "unit"), exact=d.bce, also=lambda x, t: Logistic.apply(x, t).mean(), variant="+one")
    row("bce.each", (2, 5), ((2, 5), "unit"), exact=d.bce_each, also=Logistic.apply)
    for name, f in {"mse_loss": d.squares, "l1_loss": d.distances, "huber_loss": d.huber_each(0.7), "smooth_l1_loss": d.smooth_l1(0.7)}.items():
        pair(name, (2, 5), (2, 5), exact=d.averaged(f))
        row(name, (1,), (1,), exact=d.averaged(f), variant="+one")
        row(f"{name}.each", (2, 5), ((2, 5), "ordinary") if name == "l1_loss" else (2, 5), exact=f if name != "smooth_l1_loss" else d.smooth_l1(0.3))

    def entropies(p, t):  # the gradient of a logarithm below −100 is 0
        part = lambda q: torch.where(q > math.exp(-100), q.clamp(min=1e-44).log(), -100.0)
        return -(t * part(p) + (1 - t) * part(1 - p)).mean()

    no_probabilities = set("alternating denormal huge inf minus_inf mixed nan near_one negative_zero offset ordinary saturated some_zeros tiny ties zero_and_huge".split())
    row("binary_cross_entropy", ((2, 5), "unit"), (2, 5), exact=d.binary_cross_entropy, also=entropies)
    row("binary_cross_entropy", (2, 5), ((2, 5), "unit"), exact=d.binary_cross_entropy, also=entropies, variant="+predictions", refuses=no_probabilities)

    def divergence(x, t):  # 0 where t is 0, with its gradient
        return (t * (t.masked_fill(t == 0, 1).log() - x).masked_fill(t == 0, 0)).mean()

    def log_divergence(x, t):
        return (t.exp() * (t - x).masked_fill(t.exp() == 0, 0)).mean()

    row("kl_div", (2, 5), ((2, 5), "unit"), exact=d.kl_div, also=divergence)
    row("kl_div", (2, 5), (2, 5), exact=d.kl_div, also=divergence, variant="+both")
    row("kl_div.log_target", (2, 5), ((2, 5), "ordinary"), exact=d.kl_div_log, also=log_divergence)
    row("kl_div.log_target", (2, 5), (2, 5), exact=d.kl_div_log, also=log_divergence, variant="+both")

    qkv, heads = [(3, 2)] * 3, [(1, 2, 3, 2)] * 3
    causal = lambda i, j: j <= i
    output = lambda f: lambda *x: f(*x)[0]
    weights_too = lambda *x: d.attention(*x)
    row("attention.rank2", *qkv, exact=output(d.attention), also=output(attend))
    row("attention.rank2", (3, 2), ((3, 2), "ordinary"), ((3, 2), "ordinary"), exact=output(d.attention), also=output(attend), variant="+queries")
    row("attention.rank2", ((3, 2), "ordinary"), ((3, 2), "ordinary"), (3, 2), exact=output(d.attention), also=output(attend), variant="+values")
    row("attention.rank2", *[(1, 1)] * 3, exact=output(d.attention), also=output(attend), variant="+one")
    row("attention.plain", *heads, exact=output(d.attention), also=output(attend))
    row("attention.causal", *heads, exact=output(lambda *x: d.attention(*x, causal)), also=output(lambda *x: attend(*x, causal)))
    row("attention.bias", *heads[:1] * 3, (2, 1, 3), exact=output(lambda q, k, v, b: d.attention(q, k, v, bias=b)),
        also=output(lambda q, k, v, b: attend(q, k, v, bias=b.expand(1, 2, 3, 3))), refuses=("inf", "nan"))
    row("attention_weights.plain", *heads, exact=d.attention, also=attend)
    row("attention_weights.causal", *heads, exact=lambda *x: d.attention(*x, causal), also=lambda *x: attend(*x, causal))


def images():
    row("max_pool2d", (1, 1, 4, 3))
    row("avg_pool2d", (1, 1, 4, 3), exact=lambda x: d.avg_pool2d(x, 3, 2, 2, 1))
    row("unfold", (1, 1, 4, 3))
    row("unfold.dilated", (1, 1, 4, 3))
    row("fold", (1, 6, 9), exact=lambda x: d.fold(x, 6, 5, 3, 2, 2, 1))
    row("conv2d.groups", (1, 2, 3, 3), (2, 1, 3, 2), (2,), exact=lambda x, w, b: d.conv2d(x, w, b, 2, 1, groups=2))
    row("conv2d.groups", (1, 2, 3, 3), ((2, 1, 3, 2), "ordinary"), ((2,), "ordinary"), exact=lambda x, w, b: d.conv2d(x, w, b, 2, 1, groups=2),
        variant="+ordinary")
    row("conv2d.dilated", (1, 1, 3, 3), ((1, 1, 2, 2), "ordinary"), exact=lambda x, w: d.conv2d(x, w, dilation=2))


for family in [arithmetic, elementwise, reductions, products, shapes, functions, images]:
    family()
listed = {operation_of(sample) for _, sample, *_ in ROWS} | {"randn_like", "rand_like", "multinomial"}
for name, (_, inputs) in golden_ops.samples().items():
    if operation_of(name) not in listed:
        row(name, *[x.shape if x.dtype == float else x for x in inputs], exact=d.of_formula(operation_of(name)))
