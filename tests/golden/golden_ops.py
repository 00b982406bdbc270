"""Golden values and gradients of every operation in weft/ops.h, one case a line: name, PyTorch's function, inputs."""
import math
import pathlib
import sys

import numpy as np
import torch
import torch.nn.functional as F

sys.path.append(str(pathlib.Path(__file__).parents[1] / "random"))
from replay import rotated
from golden import Draw, Golden, add_case, operation_of, others


def safe_attention(q, k, v, blocked=None, bias=None, scale=None):
    """Attention in which a row that sees nothing has weights 0; returns output and weights."""
    scores = q @ k.mT * (1 / math.sqrt(q.shape[-1]) if scale is None else scale)
    if bias is not None:
        scores = scores + bias
        blocked = torch.isinf(bias) if blocked is None else blocked | torch.isinf(bias)
    if blocked is None:
        blocked = torch.zeros(scores.shape[-2:], dtype=torch.bool)
    blocked = blocked.expand(scores.shape)
    dead = blocked.all(-1, keepdim=True)
    scores = scores.masked_fill(blocked & ~dead, -math.inf)
    weights = torch.softmax(scores.masked_fill(dead, 0.0), -1).masked_fill(dead | blocked, 0.0)
    return weights @ v, weights


def causal(T, S):
    return torch.ones(T, S, dtype=torch.bool).triu(1 + S - T)


def arithmetic(case):
    two = {"add": torch.add, "sub": torch.sub, "mul": torch.mul, "div": torch.div}
    for name, f in two.items():
        case(f"{name}.same", f, lambda d: [d.normal(2, 3), d.away(2, 3, gap=0.5)])
        case(f"{name}.broadcast", f, lambda d: [d.normal(2, 1, 3), d.away(4, 1, gap=0.5)])
        case(f"{name}.scalar", f, lambda d: [d.normal(), d.away(2, 3, gap=0.5)])
        case(f"{name}.trailing", f, lambda d: [d.normal(3, 2, 4), d.away(4, gap=0.5)])
        if name != "div":
            case(f"{name}.int64", f, lambda d: [d.integers(-9, 9, 2, 3), d.integers(-9, 9, 3)])
    case("neg", torch.neg, lambda d: [d.normal(2, 3)])
    case("add_number", lambda x: x + 1.5, lambda d: [d.normal(2, 3)])
    case("sub_number", lambda x: x - 1.5, lambda d: [d.normal(2, 3)])
    case("mul_number", lambda x: x * 1.5, lambda d: [d.normal(2, 3)])
    case("div_number", lambda x: x / 1.5, lambda d: [d.normal(2, 3)])
    case("number_add", lambda x: 1.5 + x, lambda d: [d.normal(2, 3)])
    case("number_sub", lambda x: 1.5 - x, lambda d: [d.normal(2, 3)])
    case("number_mul", lambda x: 1.5 * x, lambda d: [d.normal(2, 3)])
    case("number_div", lambda x: 1.5 / x, lambda d: [d.away(2, 3, gap=0.5)])
    for name, p in [("cube", 3.0), ("square", 2.0), ("root", 0.5), ("inverse", -2.0), ("zero", 0.0), ("fraction", 1.7)]:
        case(f"pow.{name}", lambda x, p=p: x ** p,
             lambda d: [d.positive(2, 3) if name in ("root", "fraction") else d.away(2, 3, gap=0.5)])
    case("pow_tensor.same", torch.pow, lambda d: [d.positive(2, 3), d.normal(2, 3)])
    case("pow_tensor.broadcast", torch.pow, lambda d: [d.positive(2, 1, 3), d.normal(4, 1)])
    case("pow_tensor.zero", torch.pow, lambda d: [np.array([0.0, 0.0, 2.0]), np.array([2.0, 3.0, 0.0])])


def comparisons(case):
    for name in ["eq", "ne", "lt", "le", "gt", "ge"]:
        f = getattr(torch, name)
        case(f"{name}.broadcast", f, lambda d: [d.integers(0, 3, 2, 1, 3), d.integers(0, 3, 4, 1)])
        case(f"{name}.float", f, lambda d: [np.array([1.0, 2.0, np.nan, np.inf]), np.array([1.0, 3.0, np.nan, 0.0])])
        case(f"{name}_number", lambda x, f=f: f(x, 1), lambda d: [d.integers(0, 3, 3, 4)])
    case("or", torch.logical_or, lambda d: [d.boolean(2, 1, 3), d.boolean(4, 1)])
    case("and", torch.logical_and, lambda d: [d.boolean(2, 1, 3), d.boolean(4, 1)])
    case("not", torch.logical_not, lambda d: [d.boolean(2, 3)])
    case("isfinite", torch.isfinite, lambda d: [np.array([[1.0, np.nan, np.inf], [-np.inf, 0.0, 1e38]])])
    case("all", torch.all, lambda d: [np.array([True, True, False])])
    case("any", torch.any, lambda d: [np.array([False, False, True])])


def elementwise(case):
    for name in ["exp", "tanh", "sigmoid", "sin", "cos", "erf"]:
        case(name, getattr(torch, name), lambda d: [2 * d.normal(3, 5)])
    for name in ["log", "sqrt"]:
        case(name, getattr(torch, name), lambda d: [d.positive(3, 4)])
    for name in ["relu", "abs", "sign"]:
        case(name, getattr(torch, name), lambda d: [d.away(3, 4)])
        case(f"{name}.zero", getattr(torch, name), lambda d: [np.array([-1.0, 0.0, 2.0])])
    case("sigmoid.far", torch.sigmoid, lambda d: [np.array([-800.0, -90.0, -30.0, 30.0, 90.0, 800.0])])
    case("gelu.exact", F.gelu, lambda d: [2 * d.normal(3, 4)])
    case("gelu.tanh", lambda x: F.gelu(x, approximate="tanh"), lambda d: [2 * d.normal(3, 4)])
    case("clamp", lambda x: torch.clamp(x, -0.5, 1.0), lambda d: [np.array([-2.0, -0.6, -0.4, 0.0, 0.9, 1.1, 3.0])])
    case("clamp.edge", lambda x: torch.clamp(x, -0.5, 1.0), lambda d: [np.array([-0.5, 1.0])])
    for name in ["maximum", "minimum"]:
        f = getattr(torch, name)
        case(f"{name}.same", f, lambda d: [(x := d.distinct(2, 12))[:, :6], x[:, 6:]])
        case(f"{name}.broadcast", f, lambda d: [d.distinct(2, 1, 3), d.distinct(4, 1) + 0.0625])
        case(f"{name}.ties", f, lambda d: [np.array([1.0, 2.0, -3.0]), np.array([1.0, 0.0, -3.0])])
    case("where", torch.where, lambda d: [d.boolean(4, 1), d.normal(2, 1, 3), d.normal(3)])
    case("masked_fill", lambda x, m: x.masked_fill(m, -7.5), lambda d: [d.normal(2, 3, 4), d.boolean(3, 1)])


def reductions(case):
    forms = {"all": (None, False), "axis": (1, False), "negative_keepdim": (-1, True), "several": ((0, -1), False),
             "several_keepdim": ((0, 2), True)}
    for name, f in {"sum": torch.sum, "mean": torch.mean, "var": torch.var}.items():
        for form, (dim, keep) in forms.items():
            case(f"{name}.{form}", lambda x, f=f, dim=dim, keep=keep: f(x, dim=dim, keepdim=keep) if dim is not None else f(x),
                 lambda d: [d.normal(2, 3, 4)])
    whole = (0, 1, 2)
    for form, (dim, keep) in forms.items():
        case(f"logsumexp.{form}", lambda x, dim=dim, keep=keep: torch.logsumexp(x, whole if dim is None else dim, keep),
             lambda d: [d.normal(2, 3, 4)])
    case("logsumexp.far", lambda x: torch.logsumexp(x, -1), lambda d: [np.array([[1e4, -1e4, 1e4 - 1], [-1e4, -1e4, -1e4]])])
    case("sum.int64", torch.sum, lambda d: [d.integers(-9, 9, 3, 4)])
    case("var.population", lambda x: torch.var(x, dim=1, correction=0), lambda d: [d.normal(2, 5)])
    for name in ["max", "min"]:
        f = getattr(torch, name)
        case(f"{name}.axis", lambda x, f=f: tuple(f(x, dim=1)), lambda d: [d.distinct(2, 3, 4)])
        case(f"{name}.negative_keepdim", lambda x, f=f: tuple(f(x, dim=-1, keepdim=True)), lambda d: [d.distinct(2, 3, 4)])
        case(f"{name}_all", f, lambda d: [d.distinct(2, 3, 4)])
    case("argmax.axis", lambda x: torch.argmax(x, 1), lambda d: [d.distinct(2, 3, 4)])
    case("argmax.keepdim", lambda x: torch.argmax(x, -1, keepdim=True), lambda d: [d.distinct(2, 3, 4)])
    case("cumsum.first", lambda x: torch.cumsum(x, 0), lambda d: [d.normal(3, 4)])
    case("cumsum.last", lambda x: torch.cumsum(x, -1), lambda d: [d.normal(2, 3, 4)])
    for name in ["softmax", "log_softmax"]:
        f = getattr(torch, name)
        case(f"{name}.last", lambda x, f=f: f(x, -1), lambda d: [2 * d.normal(3, 5)])
        case(f"{name}.middle", lambda x, f=f: f(x, 1), lambda d: [2 * d.normal(2, 3, 4)])
        case(f"{name}.far", lambda x, f=f: f(x, -1), lambda d: [np.array([[1e4, -1e4, 1e4 - 1], [-1e4, -1e4, -1e4]])])


def products(case):
    shapes = {"matrices": ((2, 3), (3, 4)), "vectors": ((5,), (5,)), "matrix_vector": ((3, 4), (4,)),
              "vector_matrix": ((3,), (3, 4)), "batched": ((2, 3, 4), (2, 4, 5)), "broadcast": ((2, 1, 3, 4), (5, 4, 2)),
              "shared_right": ((2, 3, 4), (4, 5)), "shared_left": ((3, 4), (2, 4, 5)), "batched_vector": ((2, 3, 4), (4,)),
              "vector_batched": ((3,), (2, 3, 4))}
    for name, (a, b) in shapes.items():
        case(f"matmul.{name}", torch.matmul, lambda d: [d.normal(*a), d.normal(*b)])
    case("matmul.transposed", lambda a, b: a.mT @ b, lambda d: [d.normal(2, 4, 3), d.normal(2, 4, 5)])


def shapes(case):
    case("broadcast_to", lambda x: torch.broadcast_to(x, (2, 4, 3)), lambda d: [d.normal(4, 1)])
    case("sum_to", lambda x: x.sum((0, 2), keepdim=True)[0], lambda d: [d.normal(2, 4, 3)])
    case("cat.first", lambda *x: torch.cat(x, 0), lambda d: [d.normal(2, 3), d.normal(1, 3), d.normal(4, 3)])
    case("cat.negative", lambda *x: torch.cat(x, -1), lambda d: [d.normal(2, 1, 3), d.normal(2, 1, 2)])
    case("stack.first", lambda *x: torch.stack(x, 0), lambda d: [d.normal(2, 3), d.normal(2, 3)])
    case("stack.last", lambda *x: torch.stack(x, -1), lambda d: [d.normal(2, 3), d.normal(2, 3), d.normal(2, 3)])
    case("split.size", lambda x: torch.split(x, 3, 1), lambda d: [d.normal(2, 7)])
    case("split.sizes", lambda x: torch.split(x, [1, 4, 2], -1), lambda d: [d.normal(2, 7)])
    case("chunk.even", lambda x: torch.chunk(x, 3, -1), lambda d: [d.normal(2, 6)])
    case("chunk.missing", lambda x: torch.chunk(x, 4, 0), lambda d: [d.normal(6, 2)])
    case("flip", lambda x: torch.flip(x, (1,)), lambda d: [d.normal(2, 3, 2)])
    for name, f in {"triu": torch.triu, "tril": torch.tril}.items():
        for form, k in [("main", 0), ("above", 1), ("below", -2)]:
            case(f"{name}.{form}", lambda x, f=f, k=k: f(x, k), lambda d: [d.normal(2, 4, 3)])
    case("reshape", lambda x: x.reshape(4, -1), lambda d: [d.normal(2, 3, 4)])
    case("reshape.copy", lambda x: x.permute(2, 0, 1).reshape(4, 6), lambda d: [d.normal(2, 3, 4)])
    case("view", lambda x: x.view(-1, 6), lambda d: [d.normal(2, 3, 4)])
    case("permute", lambda x: x.permute(2, 0, 1), lambda d: [d.normal(2, 3, 4)])
    case("transpose", lambda x: x.transpose(0, -1), lambda d: [d.normal(2, 3, 4)])
    case("T", lambda x: x.T, lambda d: [d.normal(2, 3)])
    case("squeeze.axis", lambda x: x.squeeze(1), lambda d: [d.normal(2, 1, 3, 1)])
    case("squeeze.all", lambda x: x.squeeze(), lambda d: [d.normal(2, 1, 3, 1)])
    case("unsqueeze", lambda x: x.unsqueeze(-1), lambda d: [d.normal(2, 3)])
    case("expand", lambda x: x.expand(2, 4, -1), lambda d: [d.normal(1, 3)])
    case("slice", lambda x: x[:, 1:6:2], lambda d: [d.normal(2, 7)])
    case("slice.negative", lambda x: x[-3:-1], lambda d: [d.normal(5, 2)])
    case("select", lambda x: x.select(1, -2), lambda d: [d.normal(2, 3, 4)])
    case("subscript", lambda x: x[1], lambda d: [d.normal(2, 3)])
    case("contiguous", lambda x: x.mT.contiguous(), lambda d: [d.normal(2, 3)])
    case("clone", lambda x: x.mT.clone(), lambda d: [d.normal(2, 3)])
    case("to", lambda x: x.float().double(), lambda d: [d.normal(2, 3)])


def indexing(case):
    case("index_select.first", lambda x, i: torch.index_select(x, 0, i), lambda d: [d.normal(4, 3), np.array([2, 0, 2, 2, 1])])
    case("index_select.negative", lambda x, i: x[:, i % 3], lambda d: [d.normal(2, 3, 2), np.array([-1, 0, -1, -3])])
    case("gather.first", lambda x, i: torch.gather(x, 0, i), lambda d: [d.normal(4, 3), d.integers(0, 4, 6, 2)])
    case("gather.last", lambda x, i: torch.gather(x, -1, i), lambda d: [d.normal(2, 3, 4), d.integers(0, 4, 2, 3, 6)])
    case("scatter_add", lambda i, s: torch.zeros(2, 5).scatter_add(1, i, s),
         lambda d: [d.integers(0, 5, 2, 7), d.normal(2, 7)])
    case("scatter_add.first", lambda i, s: torch.zeros(4, 3).scatter_add(0, i, s),
         lambda d: [d.integers(0, 4, 6, 2), d.normal(6, 2)])
    case("embedding", lambda t, i: F.embedding(i, t), lambda d: [d.normal(5, 3), np.array([[0, 4, 4], [2, 4, 0]])])


def functions(case):
    case("linear.batched", F.linear, lambda d: [d.normal(2, 3, 4), d.normal(5, 4), d.normal(5)])
    case("linear.no_bias", F.linear, lambda d: [d.normal(3, 4), d.normal(5, 4)])
    case("linear.vector", F.linear, lambda d: [d.normal(4), d.normal(5, 4), d.normal(5)])
    case("layer_norm.full", lambda x, w, b: F.layer_norm(x, (6,), w, b), lambda d: [d.normal(2, 3, 6), d.normal(6), d.normal(6)])
    case("layer_norm.weight", lambda x, w: F.layer_norm(x, (6,), w), lambda d: [3 + 2 * d.normal(4, 6), d.normal(6)])
    case("layer_norm.plain", lambda x: F.layer_norm(x, (6,), eps=1e-3), lambda d: [d.normal(4, 6)])
    case("rms_norm.weight", lambda x, w: F.rms_norm(x, (6,), w), lambda d: [d.normal(2, 3, 6), d.normal(6)])
    case("rms_norm.plain", lambda x: F.rms_norm(x, (6,), eps=1e-3), lambda d: [d.normal(4, 6)])
    case("rotary.neighbours", lambda *x: rotated(*x, False), lambda d: [d.normal(2, 3, 6), d.normal(3, 3), d.normal(3, 3)])
    case("rotary.halves", lambda *x: rotated(*x, True), lambda d: [d.normal(3, 6), d.normal(3, 2), d.normal(3, 2)])
    case("dropout.evaluation", lambda x: x * 1, lambda d: [d.normal(3, 4)])
    ignore = np.array([3, -100, 0, 6, -100])
    case("cross_entropy.ignored", F.cross_entropy, lambda d: [2 * d.normal(5, 7), ignore])
    case("cross_entropy.batched", lambda x, t: F.cross_entropy(x.reshape(-1, 7), t.reshape(-1), ignore_index=2),
         lambda d: [2 * d.normal(2, 3, 7), d.integers(0, 7, 2, 3)])
    case("cross_entropy.far", F.cross_entropy, lambda d: [np.array([[1e4, -1e4, 0.0], [-1e4, 1e4, 5.0]]), np.array([1, 1])])
    case("mse_loss", F.mse_loss, lambda d: [d.normal(3, 4), d.normal(3, 4)])


def attention(case):
    def qkv(d, T=5, S=5, d_k=4, d_v=4, lead=(2, 3)):
        return [d.normal(*lead, T, d_k), d.normal(*lead, S, d_k), d.normal(*lead, S, d_v)]

    first = lambda f: lambda *x: f(*x)[0]
    case("attention.plain", F.scaled_dot_product_attention, qkv)
    case("attention.causal", lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True), qkv)
    case("attention.cross", F.scaled_dot_product_attention, lambda d: qkv(d, T=3, S=6, d_v=5))
    case("attention.scale", lambda q, k, v: F.scaled_dot_product_attention(q, k, v, scale=0.3), qkv)
    case("attention.rank2", F.scaled_dot_product_attention, lambda d: qkv(d, lead=()))
    case("attention.rank3", F.scaled_dot_product_attention, lambda d: qkv(d, lead=(3,)))
    case("attention.cached", first(lambda q, k, v: safe_attention(q, k, v, causal(2, 5))), lambda d: qkv(d, T=2))
    case("attention.few_keys", first(lambda q, k, v: safe_attention(q, k, v, causal(5, 3))), lambda d: qkv(d, S=3))
    per_head = lambda d: qkv(d) + [np.concatenate([d.boolean(2, 3, 4, 5), np.ones((2, 3, 1, 5), bool)], 2)]
    case("attention.blocked", first(safe_attention), per_head)
    case("attention.allowed", lambda q, k, v, m: F.scaled_dot_product_attention(q, k, v, attn_mask=m),
         lambda d: qkv(d) + [d.boolean(5, 5) | np.eye(5, dtype=bool)])
    per_sample = lambda d: qkv(d) + [d.boolean(2, 5, 5)]
    case("attention.per_sample", first(lambda q, k, v, m: safe_attention(q, k, v, m[:, None])), per_sample)
    padding = torch.tensor([[False] * 5, [False] * 2 + [True] * 3])[:, None, None, :]
    case("attention.padding_causal", first(lambda q, k, v: safe_attention(q, k, v, padding | causal(5, 5))), qkv)
    case("attention.no_keys_left", first(lambda q, k, v: safe_attention(q, k, v, torch.ones(5, 5, dtype=torch.bool))), qkv)
    case("attention.bias", lambda q, k, v, b: F.scaled_dot_product_attention(q, k, v, attn_mask=b.expand(2, 3, 5, 5)),
         lambda d: qkv(d) + [d.normal(3, 1, 5)])
    case("attention.bias_causal", first(lambda q, k, v, b: safe_attention(q, k, v, causal(5, 5), b)),
         lambda d: qkv(d) + [d.normal(5, 5)])
    case("attention_weights.plain", safe_attention, qkv)
    case("attention_weights.causal", lambda q, k, v: safe_attention(q, k, v, causal(5, 5)), qkv)
    case("attention_weights.blocked", safe_attention, per_head)


def more(case):
    case("rsqrt", torch.rsqrt, lambda d: [d.positive(3, 4)])
    for name in ["log1p", "expm1"]:
        case(name, getattr(torch, name), lambda d: [d.positive(3, 4)])
        case(f"{name}.small", getattr(torch, name), lambda d: [np.array([1e-3, -1e-5, 1e-12])])
    case("exp2", torch.exp2, lambda d: [2 * d.normal(3, 4)])
    for name in ["log2", "log10"]:
        case(name, getattr(torch, name), lambda d: [d.positive(3, 4)])
    for name in ["tan", "sinh", "cosh"]:
        case(name, getattr(torch, name), lambda d: [d.normal(3, 4)])
    case("sinh.small", torch.sinh, lambda d: [np.array([1e-3, -1e-5, 1e-12])])
    case("logaddexp", torch.logaddexp, lambda d: [2 * d.normal(3, 4), 2 * d.normal(3, 4)])
    case("logaddexp.broadcast", torch.logaddexp, lambda d: [d.normal(2, 1, 3), d.normal(4, 1)])
    case("logaddexp.far", torch.logaddexp, lambda d: [np.array([1e4, -1e4, 0.0, 30.0, -5.0]), np.array([1e4, 1e4, -50.0, -30.0, -5.0])])
    case("floor", torch.floor, lambda d: [np.array([-1.5, -0.2, 0.3, 1.0, 2.75])])
    case("round", torch.round, lambda d: [np.array([-1.5, -0.5, 0.3, 0.5, 1.5, 2.75])])
    special = lambda d: [np.array([[1.0, np.nan, np.inf], [-np.inf, 0.0, 1e38]])]
    case("isnan", torch.isnan, special)
    case("isinf", torch.isinf, special)
    case("silu", F.silu, lambda d: [2 * d.normal(3, 4)])
    case("softplus", F.softplus, lambda d: [4 * d.normal(3, 4)])
    case("softplus.far", F.softplus, lambda d: [np.array([-800.0, -30.0, 0.0, 30.0, 800.0])])
    case("logsigmoid", F.logsigmoid, lambda d: [4 * d.normal(3, 4)])
    case("logsigmoid.far", F.logsigmoid, lambda d: [np.array([-800.0, -30.0, 0.0, 30.0, 800.0])])
    case("leaky_relu", lambda x: F.leaky_relu(x, 0.1), lambda d: [d.away(3, 4)])
    case("elu", lambda x: F.elu(x, 1.5), lambda d: [d.away(3, 4)])
    case("elu.far", F.elu, lambda d: [np.array([-800.0, -30.0, 30.0, 800.0])])
    case("where.number_first", lambda m, x: torch.where(m, -1e9, x), lambda d: [d.boolean(4, 1), d.normal(2, 1, 3)])
    case("where.number_last", lambda m, x: torch.where(m, x, 1.5), lambda d: [d.boolean(4, 1), d.normal(2, 1, 3)])
    case("where.numbers", lambda m: torch.where(m, 1.5, -2.0).float(), lambda d: [d.boolean(4, 3)])
    case("maximum.number", lambda x: torch.clamp(x, min=0.25), lambda d: [d.normal(3, 4)])
    case("minimum.number", lambda x: torch.clamp(x, max=0.25), lambda d: [d.normal(3, 4)])
    case("subscript.mask", lambda x, m: x[m], lambda d: [d.normal(3, 2, 2), np.array([[True, False], [False, False], [True, True]])])
    case("subscript.indices", lambda x, i: x[i], lambda d: [d.normal(3, 2), np.array([[0, -1], [2, 2]])])
    close = lambda a, b, **k: torch.tensor(torch.allclose(a, b, **k))
    case("allclose.close", lambda a, b: close(a, b, rtol=1e-3), lambda d: [np.array([1.0, np.inf]), np.array([1.0005, np.inf])])
    case("allclose.far", close, lambda d: [np.array([1.0, np.inf]), np.array([1.0, -np.inf])])
    case("allclose.nan", lambda a, b: close(a, b, equal_nan=True), lambda d: [np.array([1.0, np.nan])] * 2)
    case("isclose", lambda a, b: torch.isclose(a, b, rtol=1e-3), lambda d: [np.array([1.0, 2.0, np.inf, np.inf]), np.array([[1.0005], [np.inf]])])
    case("isclose.nan", lambda a, b: torch.isclose(a, b, equal_nan=True), lambda d: [np.array([1.0, np.nan, np.inf]), np.array([1.1, np.nan, -np.inf])])

    for name, f in {"all": torch.all, "any": torch.any}.items():
        case(f"{name}.axis", lambda x, f=f: f(x, 1), lambda d: [d.boolean(2, 3, 2)])
        reduced = (lambda x: x.all(0, True).all(-1, True)) if name == "all" else (lambda x: x.any(0, True).any(-1, True))
        case(f"{name}.several", reduced, lambda d: [d.boolean(2, 3, 2)])
    case("std.all", torch.std, lambda d: [d.normal(2, 3, 4)])
    case("std.population", lambda x: torch.std(x, 1, correction=0, keepdim=True), lambda d: [d.normal(2, 5)])
    norm = torch.linalg.vector_norm
    case("norm.all", norm, lambda d: [d.normal(2, 3, 4)])
    case("norm.axis", lambda x: norm(x, 2, 1), lambda d: [d.normal(2, 3, 4)])
    case("norm.zero", lambda x: norm(x, 2, 1), lambda d: [np.array([[0.0, 0.0], [3.0, 0.0]])])
    case("norm.one", lambda x: norm(x, 1, (0, 2)), lambda d: [d.away(2, 3, 4)])
    case("norm.three", lambda x: norm(x, 3, (0, -1), True), lambda d: [d.away(2, 3, 4)])
    case("norm.largest", lambda x: norm(x, math.inf, 1), lambda d: [d.distinct(2, 3, 4)])
    zeros = lambda d: [np.array([[2.0, 0.0, -1.5, 0.5], [0.0, 3.0, 0.0, 2.0], [0.5, -2.0, 1.5, 3.0]])]
    case("prod.axis", lambda x: torch.prod(x, 1), lambda d: [d.away(2, 5, 3)])
    case("prod.zeros", lambda x: torch.prod(x, -1, keepdim=True), zeros)
    case("prod.all", torch.prod, lambda d: [d.away(2, 3)])
    case("cumprod.zeros", lambda x: torch.cumprod(x, -1), zeros)
    case("cumprod.first", lambda x: torch.cumprod(x, 0), lambda d: [d.away(5, 3)])
    case("argmin.axis", lambda x: torch.argmin(x, 1), lambda d: [d.distinct(2, 3, 4)])
    case("argmax_all", torch.argmax, lambda d: [d.distinct(2, 3, 4)])
    case("argmin_all", torch.argmin, lambda d: [d.distinct(2, 3, 4)])
    case("argsort.ties", lambda x: torch.argsort(x, dim=0, stable=True), lambda d: [d.integers(0, 3, 6, 2)])
    case("argsort.descending", lambda x: torch.argsort(x, dim=-1, descending=True, stable=True),
         lambda d: [np.array([[1.0, np.nan, 3.0, 1.0], [np.inf, 2.0, 2.0, -np.inf]])])
    for name, values in [("unique", np.array([[3, -1, 3], [7, 3, -1]])), ("unique.float", np.array([[2.5, np.inf], [-1.0, 2.5], [-np.inf, 0.0]]))]:
        case(name, lambda x: torch.unique(x.detach(), return_inverse=True, return_counts=True), lambda d: [values])
    case("sort.last", lambda x: tuple(torch.sort(x)), lambda d: [d.distinct(3, 5)])
    case("sort.middle", lambda x: tuple(torch.sort(x, 1, descending=True)), lambda d: [d.distinct(2, 4, 3)])
    case("topk.largest", lambda x: tuple(torch.topk(x, 2, 1)), lambda d: [d.distinct(2, 4, 3)])
    case("topk.smallest", lambda x: tuple(torch.topk(x, 3, -1, largest=False)), lambda d: [d.distinct(2, 5)])

    case("full_like", lambda x: torch.full_like(x, 2.5).detach(), lambda d: [d.normal(2, 3)])
    for name in ["randn_like", "rand_like"]:
        case(name, lambda x: x * 0, lambda d: [d.normal(2, 3)])
    case("linspace", lambda x: torch.linspace(-1, 2, 7, dtype=x.dtype), lambda d: [d.normal(1)])
    case("one_hot", lambda i: F.one_hot(i, 5), lambda d: [d.integers(0, 5, 2, 3)])
    case("one_hot.inferred", F.one_hot, lambda d: [np.array([2, 0, 1])])
    case("multinomial", lambda x: torch.zeros(2, 2, dtype=torch.int64), lambda d: [d.positive(2, 4)])

    case("flatten.all", torch.flatten, lambda d: [d.normal(2, 3, 4)])
    case("flatten.front", lambda x: torch.flatten(x, 0, 1), lambda d: [d.normal(2, 3, 4)])
    case("movedim.last", lambda x: torch.movedim(x, 0, -1), lambda d: [d.normal(2, 3, 4)])
    case("movedim.first", lambda x: torch.movedim(x, 2, 0), lambda d: [d.normal(2, 3, 4)])
    case("repeat", lambda x: x.repeat(2, 1, 3), lambda d: [d.normal(3, 2)])
    case("repeat_interleave", lambda x: x.repeat_interleave(2), lambda d: [d.normal(2, 3)])
    case("repeat_interleave.axis", lambda x: x.repeat_interleave(3, -1), lambda d: [d.normal(2, 3)])
    case("repeat_interleave.each", lambda x, n: x.repeat_interleave(n, 0), lambda d: [d.normal(3, 2), np.array([2, 0, 3])])
    for name in ["vstack", "hstack"]:
        case(name, lambda *x, f=getattr(torch, name): f(x), lambda d: [d.normal(2, 3, 2), d.normal(2, 3, 2)])
        case(f"{name}.vectors", lambda *x, f=getattr(torch, name): f(x), lambda d: [d.normal(3), d.normal(3)])
    case("diagonal", torch.diagonal, lambda d: [d.normal(3, 4)])
    case("diagonal.last", lambda x: torch.diagonal(x, 1, -1, 0), lambda d: [d.normal(4, 2, 3)])
    case("diagonal.below", lambda x: torch.diagonal(x, -1, 1, 2), lambda d: [d.normal(2, 4, 3)])
    case("trace", torch.trace, lambda d: [d.normal(3, 4)])
    case("scatter", lambda x, i, s: x.scatter(-1, i, s), lambda d: [d.normal(2, 5), np.array([[4, 0, 2], [1, 3, 0]]), d.normal(2, 3)])
    case("scatter.first", lambda x, i, s: x.scatter(0, i, s), lambda d: [d.normal(4, 3), np.array([[2, 0], [1, 3]]), d.normal(2, 2)])
    case("scatter.value", lambda x, i: x.scatter(1, i, 2.5), lambda d: [d.normal(2, 4), np.array([[2, 2], [0, 3]])])
    case("pad", lambda x: F.pad(x, (1, 2, -1, 3), value=2.5), lambda d: [d.normal(2, 3, 4)])
    case("pad.cut", lambda x: F.pad(x, (-2, -1, 0, 0, 1, 0)), lambda d: [d.normal(2, 3, 4)])
    case("roll", lambda x: torch.roll(x, 1, -1), lambda d: [d.normal(2, 3)])
    case("roll.back", lambda x: torch.roll(x, -7, 1), lambda d: [d.normal(2, 3)])
    for k in (-2, 0, 1):
        case(f"diag.vector{k}", lambda x, k=k: torch.diag(x, k), lambda d: [d.normal(3)])
        case(f"diag.matrix{k}", lambda x, k=k: torch.diag(x, k), lambda d: [d.normal(3, 4)])
    case("outer", torch.outer, lambda d: [d.normal(3), d.normal(4)])
    case("dot", torch.dot, lambda d: [d.normal(5), d.normal(5)])
    case("nonzero", torch.nonzero, lambda d: [np.array([[0.0, 2.0, np.nan], [-0.0, 0.0, 1.0]])])
    case("masked_select", torch.masked_select, lambda d: [d.normal(2, 1, 3), d.boolean(4, 1)])
    case("tensordot", lambda a, b: torch.tensordot(a, b), lambda d: [d.normal(2, 3, 4), d.normal(3, 4, 2)])
    case("tensordot.outer", lambda a, b: torch.tensordot(a, b, 0), lambda d: [d.normal(2), d.normal(3, 2)])
    case("tensordot.axes", lambda a, b: torch.tensordot(a, b, ([-1, 0], [1, 2])), lambda d: [d.normal(4, 2, 3), d.normal(2, 3, 4)])
    three = lambda d: [d.normal(2, 3, 4), d.normal(3, 4), d.normal(4)]
    case("einsum.three", lambda *x: torch.einsum("ijk,jk,k->i", *x), three)
    for formula in ["ijk->kji", "ijk->ik", "ijk", "ijk->"]:
        case(f"einsum.{formula}", lambda x, f=formula: torch.einsum(f, x), lambda d: [d.normal(2, 3, 4)])
    for formula in ["ijk,ijk->ijk", "ijk,ijl->ikl", "ijk,ljk->il", "ijk,abc->ia", "ijk,ijk->i", "ijk,ijk"]:
        case(f"einsum.{formula}", lambda x, y, f=formula: torch.einsum(f, x, y), lambda d: [d.normal(2, 3, 4), d.normal(2, 3, 4)])
    for formula in ["...ij,...jk->...ik", "...ij,...jk", "...ij,...jk->ki", "i...j,...->ij...", "...,...->..."]:
        case(f"einsum.{formula}", lambda x, y, f=formula: torch.einsum(f, x, y), lambda d: [d.normal(3, 1, 2, 2), d.normal(4, 2, 2)])
    for formula in ["ii->i", "ii"]:
        case(f"einsum.{formula}", lambda x, f=formula: torch.einsum(f, x), lambda d: [d.normal(4, 4)])

    targets = np.array([1, 3, 0, -100, 2, 2])
    weights = np.array([0.5, 1.0, 2.0, 1.5])

    def weighted_nll(x, t, w, smoothing=0, reduction="mean"):  # with a gradient of the weights, which PyTorch's does not have
        counts, index = t != -100, t.clamp(min=0)
        per_target = w[index] * counts
        losses = -(1 - smoothing) * x.gather(1, index[:, None])[:, 0] * per_target - smoothing / x.shape[1] * (x * w).sum(1) * counts
        return losses if reduction == "none" else losses.sum() / (per_target.sum() if reduction == "mean" else 1)

    def weighted_cross_entropy(x, t, w, smoothing=0, reduction="mean"):
        y = weighted_nll(torch.log_softmax(x, -1), t, w, smoothing, reduction)
        assert torch.allclose(y, F.cross_entropy(x, t, w.detach(), label_smoothing=smoothing, reduction=reduction))
        return y

    def divergence(x, t):  # with a gradient of targets that are 0, where PyTorch's is NaN
        y = t * (t.masked_fill(t == 0, 1).log() - x).masked_fill(t == 0, 0)
        assert torch.allclose(y, F.kl_div(x, t, reduction="none"))
        return y

    case("nll_loss.weighted", weighted_nll, lambda d: [d.normal(6, 4), targets, weights])
    for name, reduction in [("sum", "sum"), ("each", "none")]:
        case(f"nll_loss.{name}", lambda x, t, w, r=reduction: weighted_nll(x, t, w, 0, r), lambda d: [d.normal(6, 4), targets, weights])
        case(f"cross_entropy.{name}_of_both", lambda x, t, w, r=reduction: weighted_cross_entropy(x, t, w, 0.3, r), lambda d: [d.normal(6, 4), targets, weights])
    case("nll_loss", lambda x, t: F.nll_loss(x.reshape(-1, 4), t.reshape(-1), ignore_index=2), lambda d: [d.normal(2, 3, 4), d.integers(0, 4, 2, 3)])
    case("cross_entropy.weighted", weighted_cross_entropy, lambda d: [d.normal(6, 4), targets, weights])
    case("cross_entropy.smooth", lambda x, t: F.cross_entropy(x, t, label_smoothing=0.3), lambda d: [d.normal(6, 4), targets])
    case("cross_entropy.both", lambda x, t, w: weighted_cross_entropy(x, t, w, 0.3), lambda d: [d.normal(6, 4), targets, weights])
    case("cross_entropy.sum", lambda x, t: F.cross_entropy(x, t, reduction="sum"), lambda d: [d.normal(6, 4), targets])
    case("cross_entropy.each", lambda x, t: F.cross_entropy(x.mT, t, ignore_index=2, reduction="none"), lambda d: [2 * d.normal(2, 3, 7), d.integers(0, 7, 2, 3)])
    case("bce.each", lambda x, t: F.binary_cross_entropy_with_logits(x, t, reduction="none"), lambda d: [4 * d.normal(3, 4), d.positive(3, 4) / 4])
    for name, reduction in [("", "mean"), (".each", "none")]:
        case("binary_cross_entropy" + name, lambda p, t, r=reduction: F.binary_cross_entropy(p, t, reduction=r), lambda d: [d.positive(3, 4) / 3, d.positive(3, 4) / 4])
    case("kl_div", lambda x, t: F.kl_div(x, t, reduction="none").mean(), lambda d: [-d.positive(3, 4), d.positive(3, 4) / 4])
    case("kl_div.batchmean", lambda x, t: F.kl_div(x, t, reduction="batchmean"), lambda d: [-d.positive(3, 4), d.positive(3, 4) / 4])
    case("kl_div.zero", divergence, lambda d: [np.array([[-1.0, -2.0, -0.5], [-3.0, -0.25, -4.0]]), np.array([[0.0, 0.5, 0.5], [1.0, 0.0, 0.0]])])
    case("kl_div.log_target", lambda x, t: F.kl_div(x, t, reduction="none", log_target=True).mean(), lambda d: [-d.positive(3, 4), -d.positive(3, 4)])
    apart = lambda d: [(x := d.distinct(2, 12))[:, :6], x[:, 6:]]
    for name, f in [("mse_loss", F.mse_loss), ("l1_loss", F.l1_loss), ("huber_loss", lambda a, b, reduction: F.huber_loss(a, b, reduction, 0.7)),
                    ("smooth_l1_loss", lambda a, b, reduction: F.smooth_l1_loss(a, b, reduction=reduction, beta=0.3))]:
        case(f"{name}.each", lambda a, b, f=f: f(a, b, reduction="none"), apart)
    case("mse_loss.sum", lambda a, b: F.mse_loss(a, b, reduction="sum"), apart)
    case("smooth_l1_loss", lambda a, b: F.smooth_l1_loss(a, b, beta=0.7), apart)
    case("smooth_l1_loss.zero", lambda a, b: F.smooth_l1_loss(a, b, reduction="sum", beta=0.0), apart)
    case("bce", F.binary_cross_entropy_with_logits, lambda d: [4 * d.normal(3, 4), d.positive(3, 4) / 4])
    case("l1_loss", F.l1_loss, lambda d: [(x := d.distinct(2, 12))[:, :6], x[:, 6:]])
    case("huber_loss", lambda a, b: F.huber_loss(a, b, delta=0.7), lambda d: [(x := d.distinct(2, 12))[:, :6], x[:, 6:]])

    image = lambda d: d.distinct(2, 4, 6, 5)
    case("unfold", lambda x: F.unfold(x, (3, 2), padding=1, stride=2), lambda d: [image(d)])
    case("unfold.dilated", lambda x: F.unfold(x, 2, dilation=2), lambda d: [image(d)])
    case("fold", lambda x: F.fold(x, (6, 5), (3, 2), padding=1, stride=2), lambda d: [d.normal(2, 6, 9)])
    case("conv2d.groups", lambda x, w, b: F.conv2d(x, w, b, stride=2, padding=1, groups=2),
         lambda d: [d.normal(2, 4, 6, 5), d.normal(6, 2, 3, 2), d.normal(6)])
    case("conv2d.dilated", lambda x, w: F.conv2d(x, w, dilation=2), lambda d: [d.normal(1, 2, 6, 5), d.normal(3, 2, 2, 2)])
    case("max_pool2d", lambda x: F.max_pool2d(x, (3, 2), 2, 1), lambda d: [image(d)])
    case("avg_pool2d", lambda x: F.avg_pool2d(x, (3, 2), 2, 1), lambda d: [image(d)])
    case("batch_norm.training", lambda x, w, b: F.batch_norm(x, None, None, w, b, True), lambda d: [d.normal(3, 4, 2), d.normal(4), d.normal(4)])
    case("batch_norm.running", lambda x, m, v, w, b: (x - m[:, None]) / torch.sqrt(v[:, None] + 1e-5) * w[:, None] + b[:, None],
         lambda d: [d.normal(3, 4, 2), d.normal(4), d.positive(4), d.normal(4), d.normal(4)])


def samples():
    """{name: (PyTorch's function, inputs)}"""
    found = {}
    for family in [arithmetic, comparisons, elementwise, reductions, products, shapes, indexing, functions, attention, more]:
        family(lambda name, function, inputs: found.update({name: (function, [np.asarray(x) for x in inputs(Draw(name))])}))
    return found


def write(path, only=()):
    golden = Golden(others(path, only))
    for name, (function, inputs) in samples().items():
        if not only or operation_of(name) in only:
            add_case(golden, name, function, inputs)
    golden.save(path)
