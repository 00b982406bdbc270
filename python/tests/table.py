"""Every row of tests/op_table*.cpp in Python: the name of its sample in tests/golden/ops.safetensors, and the call. `m` is weft
or torch and `F` its nn.functional, so one line runs in both; a second function stands where PyTorch writes it differently, and
None where it has no counterpart that gives the golden values. What is called by the sample's name and takes its inputs alone has no row."""
import math

import weft
from common import ROOT

NAMES = sorted({key.rsplit("/", 1)[0] for key in weft.load_safetensors(ROOT / "tests/golden/ops.safetensors")})
SAME = object()
ROWS = {}


def row(name, call, in_torch=SAME):
    assert name not in ROWS, name
    ROWS[name] = (call, call if in_torch is SAME else in_torch)


# ---- arithmetic and comparisons
for name, call in {"add": lambda m, F, a, b: a + b, "sub": lambda m, F, a, b: a - b, "mul": lambda m, F, a, b: a * b,
                   "div": lambda m, F, a, b: a / b}.items():
    for sample in ["same", "broadcast", "scalar", "trailing"] + ["int64"] * (name != "div"):
        row(f"{name}.{sample}", call)
row("neg", lambda m, F, x: -x)
row("add_number", lambda m, F, x: x + 1.5)
row("sub_number", lambda m, F, x: x - 1.5)
row("mul_number", lambda m, F, x: x * 1.5)
row("div_number", lambda m, F, x: x / 1.5)
row("number_add", lambda m, F, x: 1.5 + x)
row("number_sub", lambda m, F, x: 1.5 - x)
row("number_mul", lambda m, F, x: 1.5 * x)
row("number_div", lambda m, F, x: 1.5 / x)
for name, p in [("cube", 3), ("square", 2), ("root", 0.5), ("inverse", -2), ("zero", 0), ("fraction", 1.7)]:
    row(f"pow.{name}", lambda m, F, x, p=p: x ** p)
for sample in ["same", "broadcast", "zero"]:
    row(f"pow_tensor.{sample}", lambda m, F, x, p: m.pow(x, p))
for name, call in {"eq": lambda m, F, a, b: a == b, "ne": lambda m, F, a, b: a != b, "lt": lambda m, F, a, b: a < b,
                   "le": lambda m, F, a, b: a <= b, "gt": lambda m, F, a, b: a > b, "ge": lambda m, F, a, b: a >= b}.items():
    row(f"{name}.broadcast", call)
    row(f"{name}.float", call)
    row(f"{name}_number", lambda m, F, x, name=name: getattr(m, name)(x, 1))
row("or", lambda m, F, a, b: a | b)
row("and", lambda m, F, a, b: a & b)
row("not", lambda m, F, a: ~a)
row("all", lambda m, F, x: x.all())

# ---- of one tensor
row("gelu.tanh", lambda m, F, x: F.gelu(x, approximate="tanh"))
row("leaky_relu", lambda m, F, x: F.leaky_relu(x, 0.1))
row("elu", lambda m, F, x: F.elu(x, alpha=1.5))
row("clamp", lambda m, F, x: m.clamp(x, -0.5, 1))
row("clamp.edge", lambda m, F, x: x.clamp(min=-0.5, max=None).clamp(None, 1))
row("maximum.number", lambda m, F, x: m.maximum(x, 0.25), lambda m, F, x: x.clamp(min=0.25))
row("minimum.number", lambda m, F, x: m.minimum(x, 0.25), lambda m, F, x: x.clamp(max=0.25))
row("where.number_first", lambda m, F, c, x: m.where(c, -1e9, x))
row("where.number_last", lambda m, F, c, x: m.where(c, x, 1.5))
row("where.numbers", lambda m, F, c: m.where(c, 1.5, -2.0))
row("masked_fill", lambda m, F, x, mask: x.masked_fill(mask, -7.5))
row("allclose.close", lambda m, F, a, b: m.allclose(a, b, rtol=1e-3))
row("allclose.nan", lambda m, F, a, b: m.allclose(a, b, equal_nan=True))

row("isclose", lambda m, F, a, b: a.isclose(b, rtol=1e-3))
row("isclose.nan", lambda m, F, a, b: m.isclose(a, b, equal_nan=True))

# ---- reductions, scans, sorting
FORMS = {"all": {}, "axis": {"dim": 1}, "negative_keepdim": {"dim": -1, "keepdim": True}, "several": {"dim": (0, -1)},
         "several_keepdim": {"dim": (0, 2), "keepdim": True}}
for name in ["sum", "mean", "var", "logsumexp"]:
    for form, options in FORMS.items():
        whole = {"dim": (0, 1, 2)} if name == "logsumexp" and form == "all" else options  # PyTorch's has no default
        row(f"{name}.{form}", lambda m, F, x, name=name, o=options: getattr(m, name)(x, **o),
            lambda m, F, x, name=name, o=whole: getattr(m, name)(x, **o))
row("logsumexp.far", lambda m, F, x: m.logsumexp(x, -1))
row("sum.int64", lambda m, F, x: x.sum())
row("var.population", lambda m, F, x: x.var(1, correction=0))
for name in ["max", "min"]:
    row(f"{name}.axis", lambda m, F, x, name=name: tuple(getattr(m, name)(x, 1)))
    row(f"{name}.negative_keepdim", lambda m, F, x, name=name: tuple(getattr(x, name)(dim=-1, keepdim=True)))
    row(f"{name}_all", lambda m, F, x, name=name: getattr(x, name)())
row("argmax.axis", lambda m, F, x: x.argmax(1))
row("argmax.keepdim", lambda m, F, x: m.argmax(x, dim=-1, keepdim=True))
row("argmin.axis", lambda m, F, x: x.argmin(1))
row("argmax_all", lambda m, F, x: m.argmax(x))
row("argmin_all", lambda m, F, x: x.argmin())
row("cumsum.first", lambda m, F, x: x.cumsum(0))
row("cumsum.last", lambda m, F, x: m.cumsum(x, dim=-1))
row("cumprod.zeros", lambda m, F, x: x.cumprod(-1))
row("cumprod.first", lambda m, F, x: m.cumprod(x, dim=0))
for name in ["softmax", "log_softmax"]:
    for sample, dim in [("last", -1), ("middle", 1), ("far", -1)]:
        row(f"{name}.{sample}", lambda m, F, x, name=name, dim=dim: getattr(F, name)(x, dim=dim))
row("all.axis", lambda m, F, x: x.all(1))
row("all.several", lambda m, F, x: m.all(x, dim=(0, -1), keepdim=True))
row("any.axis", lambda m, F, x: x.any(1))
row("any.several", lambda m, F, x: m.any(x, dim=(0, -1), keepdim=True))
row("std.all", lambda m, F, x: x.std())
row("std.population", lambda m, F, x: m.std(x, dim=1, correction=0, keepdim=True))
for sample, options in {"all": {}, "axis": {"dim": 1}, "zero": {"dim": 1}, "one": {"p": 1, "dim": (0, 2)},
                        "three": {"p": 3, "dim": (0, -1), "keepdim": True}, "largest": {"p": math.inf, "dim": 1}}.items():
    row(f"norm.{sample}", lambda m, F, x, o=options: x.norm(**o))
row("prod.axis", lambda m, F, x: x.prod(1))
row("prod.zeros", lambda m, F, x: m.prod(x, dim=-1, keepdim=True))
row("prod.all", lambda m, F, x: x.prod())
row("argsort.ties", lambda m, F, x: x.argsort(dim=0), lambda m, F, x: x.argsort(dim=0, stable=True))
row("argsort.descending", lambda m, F, x: m.argsort(x, descending=True), lambda m, F, x: m.argsort(x, descending=True, stable=True))
row("sort.last", lambda m, F, x: tuple(m.sort(x)))
row("sort.middle", lambda m, F, x: tuple(x.sort(1, descending=True)))
row("topk.largest", lambda m, F, x: tuple(x.topk(2, dim=1)))
row("topk.smallest", lambda m, F, x: tuple(m.topk(x, 3, largest=False)))

for name in ["unique", "unique.float"]:
    row(name, lambda m, F, x: m.unique(x, return_inverse=True, return_counts=True), lambda m, F, x: m.unique(x.detach(), return_inverse=True, return_counts=True))

# ---- products
for sample in ["matrices", "vectors", "matrix_vector", "vector_matrix", "batched", "broadcast", "shared_right", "shared_left",
               "batched_vector", "vector_batched"]:
    row(f"matmul.{sample}", lambda m, F, a, b: a @ b)
row("matmul.transposed", lambda m, F, a, b: m.matmul(a.mT, b))
row("dot", lambda m, F, a, b: a.dot(b))
row("einsum.three", lambda m, F, *x: m.einsum("ijk,jk,k->i", *x))
for formula in [name[7:] for name in NAMES if name.startswith("einsum.") and name != "einsum.three"]:
    row(f"einsum.{formula}", lambda m, F, *x, f=formula: m.einsum(f, *x))

row("tensordot", lambda m, F, a, b: m.tensordot(a, b))
row("tensordot.outer", lambda m, F, a, b: m.tensordot(a, b, 0))
row("tensordot.axes", lambda m, F, a, b: m.tensordot(a, b, dims=([-1, 0], [1, 2])))

# ---- shape and indexing
row("broadcast_to", lambda m, F, x: x.broadcast_to((2, 4, 3)))
row("sum_to", lambda m, F, x: x.sum_to(4, 1), lambda m, F, x: x.sum_to_size(4, 1))
row("cat.first", lambda m, F, *x: m.cat(x))
row("cat.negative", lambda m, F, *x: m.cat(x, dim=-1))
row("stack.first", lambda m, F, *x: m.stack(x))
row("stack.last", lambda m, F, *x: m.stack(x, dim=-1))
row("split.size", lambda m, F, x: x.split(3, 1))
row("split.sizes", lambda m, F, x: m.split(x, [1, 4, 2], dim=-1))
row("chunk.even", lambda m, F, x: x.chunk(3, -1))
row("chunk.missing", lambda m, F, x: m.chunk(x, 4))
row("flip", lambda m, F, x: x.flip(1), lambda m, F, x: m.flip(x, (1,)))
for name in ["triu", "tril"]:
    row(f"{name}.main", lambda m, F, x, name=name: getattr(m, name)(x))
    row(f"{name}.above", lambda m, F, x, name=name: getattr(x, name)(1))
    row(f"{name}.below", lambda m, F, x, name=name: getattr(m, name)(x, diagonal=-2))
row("reshape", lambda m, F, x: x.reshape(4, -1))
row("reshape.copy", lambda m, F, x: x.permute((2, 0, 1)).reshape((4, 6)))
row("view", lambda m, F, x: x.view(-1, 6))
row("permute", lambda m, F, x: m.permute(x, (2, 0, 1)))
row("transpose", lambda m, F, x: x.transpose(0, -1))
row("T", lambda m, F, x: x.T)
row("squeeze.axis", lambda m, F, x: x.squeeze(1))
row("squeeze.all", lambda m, F, x: m.squeeze(x))
row("unsqueeze", lambda m, F, x: x.unsqueeze(-1))
row("expand", lambda m, F, x: x.expand(2, 4, -1))
row("slice", lambda m, F, x: x[:, 1:6:2])
row("slice.negative", lambda m, F, x: x[-3:-1])
row("select", lambda m, F, x: x[:, -2])
row("subscript", lambda m, F, x: x[1])
row("subscript.mask", lambda m, F, x, mask: x[mask])
row("subscript.indices", lambda m, F, x, i: x[i])
row("contiguous", lambda m, F, x: x.T.contiguous())
row("clone", lambda m, F, x: x.mT.clone())
row("to", lambda m, F, x: x.to(m.float32).to(m.float64))
row("index_select.first", lambda m, F, x, i: m.index_select(x, 0, i))
row("index_select.negative", lambda m, F, x, i: x.index_select(1, i), lambda m, F, x, i: x[:, i])
row("gather.first", lambda m, F, x, i: x.gather(0, i))
row("gather.last", lambda m, F, x, i: m.gather(x, dim=-1, index=i))
row("scatter_add", lambda m, F, i, s: m.zeros(2, 5, dtype=m.float64).scatter_add(-1, i, s))
row("scatter_add.first", lambda m, F, i, s: m.scatter_add(m.zeros((4, 3), dtype=m.float64), 0, i, s))
row("embedding", lambda m, F, table, ids: F.embedding(ids, table))
row("flatten.all", lambda m, F, x: x.flatten())
row("flatten.front", lambda m, F, x: m.flatten(x, end_dim=1))
row("movedim.last", lambda m, F, x: x.movedim(0, -1))
row("movedim.first", lambda m, F, x: m.movedim(x, 2, 0))
row("repeat", lambda m, F, x: x.repeat(2, 1, 3))
row("pad", lambda m, F, x: F.pad(x, (1, 2, -1, 3), value=2.5))
row("pad.cut", lambda m, F, x: F.pad(x, (-2, -1, 0, 0, 1, 0)))
row("roll", lambda m, F, x: x.roll(1, -1))
row("roll.back", lambda m, F, x: m.roll(x, shifts=-7, dims=1))
for k in [-2, 0, 1]:
    row(f"diag.vector{k}", lambda m, F, x, k=k: x.diag(k))
    row(f"diag.matrix{k}", lambda m, F, x, k=k: m.diag(x, diagonal=k))
row("nonzero", lambda m, F, x: x.nonzero())
row("repeat_interleave", lambda m, F, x: x.repeat_interleave(2))
row("repeat_interleave.axis", lambda m, F, x: m.repeat_interleave(x, 3, dim=-1))
row("repeat_interleave.each", lambda m, F, x, n: x.repeat_interleave(n, 0))
for name in ["vstack", "hstack"]:
    for sample in ["", ".vectors"]:
        row(name + sample, lambda m, F, *x, name=name: getattr(m, name)(x))
row("diagonal.last", lambda m, F, x: x.diagonal(1, -1, 0))
row("diagonal.below", lambda m, F, x: m.diagonal(x, offset=-1, dim1=1, dim2=2))
row("scatter", lambda m, F, x, i, s: x.scatter(-1, i, s))
row("scatter.first", lambda m, F, x, i, s: m.scatter(x, 0, index=i, src=s))
row("scatter.value", lambda m, F, x, i: x.scatter(1, i, value=2.5))

# ---- creation. The values of random ones are not compared: the golden file has zeros.
row("full_like", lambda m, F, x: m.full_like(x.detach(), 2.5))
RANDOM = {"randn_like", "rand_like", "multinomial"}
row("randn_like", lambda m, F, x: m.randn_like(x.detach()))
row("rand_like", lambda m, F, x: m.rand_like(x.detach()))
row("multinomial", lambda m, F, x: m.multinomial(x.detach(), 2))
row("linspace", lambda m, F, x: m.linspace(-1, 2, 7, dtype=x.dtype))
row("one_hot", lambda m, F, ids: F.one_hot(ids, 5))

# ---- neural networks
row("linear.vector", lambda m, F, x, w, b: F.linear(x, weight=w, bias=b))
row("layer_norm.full", lambda m, F, x, w, b: F.layer_norm(x, (6,), w, b))
row("layer_norm.weight", lambda m, F, x, w: F.layer_norm(x, (6,), weight=w))
row("layer_norm.plain", lambda m, F, x: F.layer_norm(x, (6,), eps=1e-3))
row("rms_norm.weight", lambda m, F, x, w: F.rms_norm(x, (6,), w))
row("rms_norm.plain", lambda m, F, x: F.rms_norm(x, (6,), eps=1e-3))
row("dropout.evaluation", lambda m, F, x: F.dropout(x, 0.5, training=False))
row("cross_entropy.batched", lambda m, F, x, t: F.cross_entropy(x, t, ignore_index=2),
    lambda m, F, x, t: F.cross_entropy(x.flatten(0, 1), t.flatten(), ignore_index=2))
row("cross_entropy.weighted", lambda m, F, x, t, w: F.cross_entropy(x, t, weight=w), None)  # PyTorch's weights have no gradient
row("cross_entropy.smooth", lambda m, F, x, t: F.cross_entropy(x, t, label_smoothing=0.3))
row("cross_entropy.both", lambda m, F, x, t, w: F.cross_entropy(x, t, w, label_smoothing=0.3), None)
row("nll_loss", lambda m, F, x, t: F.nll_loss(x, t, ignore_index=2),
    lambda m, F, x, t: F.nll_loss(x.flatten(0, 1), t.flatten(), ignore_index=2))
row("nll_loss.weighted", lambda m, F, x, t, w: F.nll_loss(x, t, w), None)
row("cross_entropy.sum", lambda m, F, x, t: F.cross_entropy(x, t, reduction="sum"))
row("cross_entropy.each", lambda m, F, x, t: F.cross_entropy(x, t, ignore_index=2, reduction="none"),
    lambda m, F, x, t: F.cross_entropy(x.mT, t, ignore_index=2, reduction="none"))
for sample, reduction in [("sum", "sum"), ("each", "none")]:
    row(f"cross_entropy.{sample}_of_both", lambda m, F, x, t, w, r=reduction: F.cross_entropy(x, t, w, label_smoothing=0.3, reduction=r), None)
    row(f"nll_loss.{sample}", lambda m, F, x, t, w, r=reduction: F.nll_loss(x, t, w, reduction=r), None)
for name, options in {"mse_loss": {}, "l1_loss": {}, "huber_loss": {"delta": 0.7}, "smooth_l1_loss": {"beta": 0.3}}.items():
    row(f"{name}.each", lambda m, F, a, b, name=name, o=options: getattr(F, name)(a, b, reduction="none", **o))
row("mse_loss.sum", lambda m, F, a, b: F.mse_loss(a, b, reduction="sum"))
row("smooth_l1_loss", lambda m, F, a, b: F.smooth_l1_loss(a, b, beta=0.7))
row("smooth_l1_loss.zero", lambda m, F, a, b: F.smooth_l1_loss(a, b, beta=0, reduction="sum"))
row("bce.each", lambda m, F, x, t: F.binary_cross_entropy_with_logits(x, t, reduction="none"))
row("binary_cross_entropy.each", lambda m, F, p, t: F.binary_cross_entropy(p, t, reduction="none"))
row("kl_div", lambda m, F, x, t: F.kl_div(x, t))
row("kl_div.batchmean", lambda m, F, x, t: F.kl_div(x, t, reduction="batchmean"))
row("kl_div.zero", lambda m, F, x, t: F.kl_div(x, t, reduction="none"), None)
row("kl_div.log_target", lambda m, F, x, t: F.kl_div(x, t, log_target=True))
row("bce", lambda m, F, x, t: F.binary_cross_entropy_with_logits(x, t))
row("huber_loss", lambda m, F, x, t: F.huber_loss(x, t, delta=0.7))
row("unfold", lambda m, F, x: F.unfold(x, (3, 2), padding=1, stride=2))
row("unfold.dilated", lambda m, F, x: F.unfold(x, 2, dilation=2))
row("fold", lambda m, F, x: F.fold(x, (6, 5), (3, 2), padding=1, stride=2))
row("conv2d.groups", lambda m, F, x, w, b: F.conv2d(x, w, b, stride=2, padding=1, groups=2))
row("conv2d.dilated", lambda m, F, x, w: F.conv2d(x, w, dilation=2))
row("max_pool2d", lambda m, F, x: F.max_pool2d(x, (3, 2), 2, 1))
row("avg_pool2d", lambda m, F, x: F.avg_pool2d(x, (3, 2), stride=2, padding=1))
row("batch_norm.training", lambda m, F, x, w, b: F.batch_norm(x, None, None, w, b, training=True))
row("batch_norm.running", lambda m, F, x, mean, var, w, b: F.batch_norm(x, mean, var, w, b), None)

# ---- attention. Where a mask leaves a query nothing, or is causal over a cache, PyTorch's differs (docs/dictionary.md, traps).
def attend(m, F, q, k, v, **options):
    return F.scaled_dot_product_attention(q, k, v, **options)


for sample in ["plain", "cross", "rank2", "rank3"]:
    row(f"attention.{sample}", attend)
row("attention.causal", lambda m, F, *x: attend(m, F, *x, is_causal=True))
row("attention.scale", lambda m, F, *x: attend(m, F, *x, scale=0.3))
row("attention.cached", lambda m, F, *x: attend(m, F, *x, is_causal=True), None)
row("attention.few_keys", lambda m, F, *x: attend(m, F, *x, attn_mask=m.Mask.causal()), None)
row("attention.blocked", lambda m, F, q, k, v, mask: attend(m, F, q, k, v, attn_mask=~mask))
row("attention.allowed", lambda m, F, q, k, v, mask: attend(m, F, q, k, v, attn_mask=mask))
row("attention.per_sample", lambda m, F, q, k, v, mask: attend(m, F, q, k, v, attn_mask=~mask.unsqueeze(1)))
row("attention.padding_causal", lambda m, F, *x: attend(m, F, *x, attn_mask=m.Mask.padding([5, 2]) | m.Mask.causal()), None)
row("attention.no_keys_left", lambda m, F, *x: attend(m, F, *x, attn_mask=m.Mask.padding([0, 0])), None)
row("attention.bias", lambda m, F, q, k, v, bias: attend(m, F, q, k, v, attn_mask=bias))
row("attention.bias_causal", lambda m, F, q, k, v, bias: attend(m, F, q, k, v, attn_mask=bias.masked_fill(m.Mask.causal().materialize(1, 1, q.size(-2), k.size(-2))[0, 0], -math.inf)), None)
turned = lambda a, b, cos, sin: [a * cos - b * sin, a * sin + b * cos]  # rotary(x, table) is of C++ alone
row("rotary.neighbours", lambda m, F, x, cos, sin: m.stack(turned(x[..., 0::2], x[..., 1::2], cos, sin), -1).flatten(-2), None)
row("rotary.halves", lambda m, F, x, cos, sin: m.cat([*turned(x[..., :2], x[..., 2:4], cos, sin), x[..., 4:]], -1), None)
weights = lambda m, q, k, v, **options: m.scaled_dot_product_attention_with_weights(q, k, v, **options)
row("attention_weights.plain", lambda m, F, *x: weights(m, *x), None)
row("attention_weights.causal", lambda m, F, *x: weights(m, *x, is_causal=True), None)
row("attention_weights.blocked", lambda m, F, q, k, v, mask: weights(m, q, k, v, attn_mask=m.Mask.blocked(mask)), None)


# ---- the others: the call of that name with the sample's inputs and nothing else
for sample in [name for name in NAMES if name not in ROWS]:
    row(sample, lambda m, F, *x, name=sample.split(".")[0]: (getattr(m, name, None) or getattr(F, name))(*x))
