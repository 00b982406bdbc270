"""Replays random programs in PyTorch and compares both orders of their gradients:

    build/release/tests/random_programs 1 10000 --json | python3 tests/random/replay.py

Made with PyTorch 2.13.0. A program that changes a saved tensor in place may be refused by PyTorch, which saves
others than Weft; where two values tie, PyTorch gives their gradient to another one; both are counted.
"""
import json
import math
import re
import sys
import types

import torch
import torch.nn.functional as F

torch.set_num_threads(1)
TYPES = {"float64": torch.float64, "int64": torch.int64, "bool": torch.bool}


def tensor(array):
    return torch.tensor(array["values"], dtype=TYPES[array["dtype"]]).reshape(array["shape"])


def array(x):
    return {"values": x.tolist(), "dtype": "float64", "shape": list(x.shape)}


named = types.SimpleNamespace(**{**vars(F), **vars(torch)})  # what has the same name in PyTorch: rows_table.cpp


def reduced(name, x, axes, keep):
    return getattr(torch, name)(x, axes or list(range(x.dim())), keepdim=keep)


def variance(x, axes, keep, correction):
    return torch.var(x, dim=axes or list(range(x.dim())), correction=correction, keepdim=keep)


def root(x, p):
    """x^(1/p) with derivatives of 0 at 0, where PyTorch's are NaN from the second on."""
    return (x.masked_fill(x == 0, 1) ** (1 / p)).masked_fill(x == 0, 0)


def norm(x, p, axis, keep):
    return root((x * x if p == 2 else x.abs() ** p).sum(axis, keepdim=keep), p)


def deviation(x, axis, keep):
    return root(x.var(axis, correction=0, keepdim=keep), 2)


def weighted_nll(x, targets, weight, smoothing, reduction):
    """With a gradient of the weights, which PyTorch's does not have."""
    per_target = weight[targets]
    losses = -(1 - smoothing) * x.gather(-1, targets[..., None])[..., 0] * per_target - smoothing / x.shape[-1] * (x * weight).sum(-1)
    return losses if reduction == "none" else losses.sum() / (per_target.sum() if reduction == "mean" else 1)


def binary_cross_entropy(p, t, reduction):
    """With a second derivative by the targets, which PyTorch's does not have."""
    losses = -(t * p.log() + (1 - t) * torch.log1p(-p))
    return losses if reduction == "none" else getattr(losses, reduction)()


def kl_div(x, t, reduction, log_target=False):
    """Without PyTorch's warning about the mean."""
    losses = F.kl_div(x, t, reduction="none", log_target=log_target)
    return losses if reduction == "none" else getattr(losses, reduction)()


def scattered(x, axis, index, source):
    """Of elements that meet the last counts, whose gradient PyTorch gives to all of them."""
    at = torch.arange(x.numel()).reshape(x.shape).gather(axis, index).flatten()
    for i in range(len(at)):
        x = torch.where((torch.arange(x.numel()) == at[i]).reshape(x.shape), source.flatten()[i], x)
    return x


def flatten(x, first, last):
    """torch.flatten, which gives x itself back where nothing changes; here it is another tensor, as in Weft."""
    return torch.flatten(x.view_as(x), first, last)


def sum_to(x, shape):
    """x.sum_to_size, but x itself where nothing changes, as in Weft; PyTorch sums a number to another."""
    return x if list(x.shape) == shape else x.sum_to_size(shape)


def cut(x, axis, first, last, step):
    index = [slice(None)] * x.dim()
    index[axis] = slice(first, last, step)
    return x[tuple(index)]


nests = False  # whether the program differentiates gradients


def rotated(x, cos, sin, halves):
    """Pairs of the first columns, neighbours or halves, turned by the angles of these cosines and sines."""
    half = cos.shape[-1]
    a, b = (x[..., :half], x[..., half:2 * half]) if halves else (x[..., 0:2 * half:2], x[..., 1:2 * half:2])
    turned = [a * cos - b * sin, a * sin + b * cos]
    first = torch.cat(turned, -1) if halves else torch.stack(turned, -1).flatten(-2)
    return torch.cat([first, x[..., 2 * half:]], -1)


def layer_norm(x, weight=None, bias=None):
    """By its definition where third derivatives may follow: PyTorch's own are wrong (docs/beside_pytorch.md)."""
    if not nests:
        return F.layer_norm(x, x.shape[-1:], weight, bias)
    centred = x - x.mean(-1, keepdim=True)
    y = centred / torch.sqrt((centred * centred).mean(-1, keepdim=True) + 1e-5)
    y = y if weight is None else y * weight
    return y if bias is None else y + bias


def cross_entropy(logits, targets):
    """Class 0 is ignored; 0 where all are."""
    counted = targets != 0
    if not counted.any():
        return (logits * 0).sum()
    return F.nll_loss(torch.log_softmax(logits, -1)[counted], targets[counted])


def attend(q, k, v, causal=False, blocked=(), texts=0, lengths=(), bias=None, scale=0, unseen=None, factors=None):
    """Output and weights; a query that may attend to nothing has zeros. `texts` is how many tokens each document has, `factors` are
    those of dropout."""
    shape = q.shape
    while q.dim() < 4:
        q, k, v = q.unsqueeze(0), k.unsqueeze(0), v.unsqueeze(0)
    B, H, T, _ = q.shape
    k, v = (x.repeat_interleave(H // x.shape[1], 1) for x in (k, v))
    S = k.shape[2]
    mask = torch.zeros(B, H, T, S, dtype=torch.bool)
    if causal:
        mask = mask | torch.ones(T, S, dtype=torch.bool).triu(S - T + 1)
    for part in blocked:
        mask = mask | (part.unsqueeze(1) if part.dim() == 3 else part)
    if texts:
        ids = torch.arange(S) // int(texts)
        mask = mask | (ids[S - T:, None] != ids)
    if len(lengths):
        mask = mask | (torch.arange(S) >= torch.tensor(lengths).reshape(-1, 1, 1, 1))
    if unseen is not None:
        mask = mask | (torch.arange(S) == unseen)
    scores = q @ k.transpose(-2, -1) * (scale or 1 / math.sqrt(q.shape[-1]))
    if bias is not None:
        scores = scores + bias
    full = mask.all(-1, keepdim=True)
    weights = torch.softmax(scores.masked_fill(mask & ~full, -math.inf), -1).masked_fill(mask, 0)
    weights = weights if factors is None else weights * factors
    y = weights @ v
    return y.reshape(*shape[:-1], v.shape[-1]), weights.reshape(*shape[:-1], S)


def packed(qkv, heads, **options):
    C = qkv.shape[-1] // 3
    split = qkv.reshape(*qkv.shape[:-1], 3, heads, C // heads)
    q, k, v = (split.select(-3, i).transpose(-3, -2) for i in range(3))
    return attend(q, k, v, **options)[0].transpose(-3, -2).reshape(*qkv.shape[:-1], C)


class Skipped(Exception):
    """PyTorch means something else by it, or draws other numbers."""


def stepped(x, y, rule):
    """Two steps of an optimiser with the gradient of sum(y)."""
    x.grad = torch.autograd.grad(y, x, torch.ones_like(y), retain_graph=True)[0]
    optimizer = [
        lambda: torch.optim.SGD([x], lr=0.1),
        lambda: torch.optim.SGD([x], lr=0.1, momentum=0.9, weight_decay=0.1, nesterov=True),
        lambda: torch.optim.Adam([x], lr=0.1, eps=0.1),
        lambda: torch.optim.AdamW([x], lr=0.1, eps=0.1),
    ][rule]()
    optimizer.step()
    optimizer.step()
    return x


def mlp(x, p):
    return F.linear(F.gelu(F.linear(x, p[0], p[1]), approximate="tanh"), p[2], p[3])


def causal_attention(x, p, heads, causal=True):
    return F.linear(packed(F.linear(x, p[0], p[1]), heads, causal=causal), p[2], p[3])


def block(x, p, heads):
    x = x + causal_attention(layer_norm(x, p[0], p[1]), p[2:6], heads)
    return x + mlp(layer_norm(x, p[6], p[7]), p[8:12])


def gpt(ids, p):
    x = F.embedding(ids, p[0]) + p[1][: ids.shape[-1]]
    return F.linear(layer_norm(block(x, p[2:14], 2), p[14], p[15]), p[0])


def encoder(x, p):
    x = x + causal_attention(layer_norm(x, p[0], p[1]), p[2:6], 1, causal=False)
    return x + mlp(layer_norm(x, p[6], p[7]), p[8:12])


def decoder(x, p):
    memory = x
    x = x + causal_attention(layer_norm(x, p[0], p[1]), p[2:6], 1)
    C = x.shape[-1]
    inputs = (layer_norm(x, p[6], p[7]), memory, memory)
    q, k, v = (F.linear(t, W, b).unsqueeze(-3) for t, W, b in zip(inputs, p[8].split(C), p[9].split(C)))
    x = x + F.linear(attend(q, k, v)[0].squeeze(-3), p[10], p[11])
    return x + mlp(layer_norm(x, p[12], p[13]), p[14:18])


modules = {
    0: lambda x, p: F.linear(x, p[0], p[1]),
    1: lambda x, p: layer_norm(x, p[0], p[1]),
    2: mlp,
    3: lambda x, p: causal_attention(x, p, 2 if x.shape[-1] % 2 == 0 else 1),
    4: lambda x, p: block(x, p, 1),
    5: gpt,
    6: lambda x, p: F.conv2d(x, p[0], p[1], padding=1),
    7: lambda x, p: F.embedding(x, p[0]),
    8: lambda x, p: F.batch_norm(x, None, None, p[0], p[1], training=True),
    9: lambda x, p: causal_attention(x, p, 1, causal=False),
    10: lambda x, p: encoder(x, p),
    11: lambda x, p: decoder(x, p),
}


def apply(kind, x, p, seed):
    if seed:
        raise Skipped("random draws")
    return modules[kind](x, p)


def run(program, noise=None):
    """The program's tensors by name; `noise` gives each as it is to be, moved by a little."""
    def leaf(i, wanted):
        x = tensor(program["stored"][str(i)])
        return (noise(x) if noise else x).requires_grad_(wanted)

    def renewed(x, values):
        """A new leaf under all names of x, with its hooks: what was computed from x stays with the old one."""
        new = values.detach().clone().requires_grad_(x.requires_grad)
        for hook in (x._backward_hooks or {}).values():
            new.register_hook(hook)
        for name in [name for name, value in names.items() if value is x]:
            names[name] = new
        return new

    def changing(x):
        """x, to be changed in place: PyTorch cuts views that are changed under no_grad off their base's history."""
        memory = x.untyped_storage().data_ptr()
        if x._is_view() or any(torch.is_tensor(v) and v._is_view() and v.untyped_storage().data_ptr() == memory for v in names.values()):
            raise Skipped("a view changed in place")
        return x

    global nests
    nests = any("autograd.grad" in line for line in program["lines"])
    names = dict(globals(), leaf=leaf, renewed=renewed, changing=changing, drawn=lambda i: tensor(program["stored"][str(i)]))
    for line in program["lines"]:
        exec(line, names)
        made = re.search(r"\b(r\d+) = (?!leaf)", line)
        if line.startswith("with torch.no_grad():") and re.search("contiguous|sum_to|dropout", line):
            names[made[1]] = names[made[1]].detach()  # which PyTorch may give back as it is, within the graph
        keeps = program["changes"] and line.startswith("with torch.no_grad():")  # what is changed stays itself
        if noise and made and not keeps and torch.is_tensor(names[made[1]]):
            names[made[1]] = noise(names[made[1]])
    return names


def gradients(program, noise=None, second=False):
    names = run(program, noise)
    outputs = [names[f"r{i}"] for i in program["outputs"]]
    targets = [names[f"r{i}"] for i in program["targets"]]
    seeds = [tensor(seed) for seed in program["seeds"]]
    first = torch.autograd.grad(outputs, targets, seeds, allow_unused=True, create_graph=second)
    if not second:
        return outputs, first
    pairs = [(g, tensor(w)) for g, w in zip(first, program["weights"]) if g is not None and g.requires_grad]
    if not pairs:
        return outputs, [None] * len(targets)
    return outputs, torch.autograd.grad([g for g, _ in pairs], targets, [w for _, w in pairs], allow_unused=True)


def apart(found, expected):
    """The largest difference, relative to the largest number; an absent gradient is one of zeros."""
    worst, scale = 0.0, 1.0
    for g, e in zip(found, expected):
        a = torch.zeros(1) if g is None else g.detach()
        b = torch.zeros(1) if e is None else tensor(e)
        if a.numel() and b.numel():
            difference = (a - b).abs().max().item()
            worst = max(worst, math.inf if math.isnan(difference) else difference)
            scale = max(scale, b.abs().max().item())
    return worst / scale


def on_a_kink(program, second):
    """Whether PyTorch's own gradient jumps within 1e-9 of the values: at a tie, or at the kink of an abs."""
    moved = [[g for g in gradients(program, None, second)[1] if g is not None]]
    for draw in range(4):
        generator = torch.Generator().manual_seed(draw)

        def noise(x):
            return x + 1e-9 * torch.randn(x.shape, generator=generator, dtype=x.dtype) if x.is_floating_point() else x

        try:
            moved.append([g for g in gradients(program, noise, second)[1] if g is not None])
        except (RuntimeError, Skipped):  # of a program that changes tensors, which are others with noise
            return False
    return any((a - b).abs().max() > 1e-6 * (1 + a.abs().max()) for m in moved[1:] for a, b in zip(m, moved[0]) if a.numel())


def main():
    counts = {"programs": 0, "second order": 0, "refused by PyTorch": 0, "a view changed in place": 0, "random draws": 0, "on a kink": 0, "failed": 0}
    largest = 0.0
    for line in sys.stdin:
        program = json.loads(line)
        counts["programs"] += 1
        for second in (False, True):
            key = "second" if second else "gradients"
            # What a hook sees in the second order depends on which tensors were saved, and so does the gradient of
            # a tensor that is no leaf.
            if key not in program or (second and any("hook" in line for line in program["lines"])):
                continue
            try:
                outputs, found = gradients(program, second=second)
            except Skipped as reason:
                counts[str(reason)] += 1
                break
            except RuntimeError as error:
                # A gradient that depends on what its rule has saved, which for PyTorch's is another tensor.
                if (program["changes"] and "inplace" in str(error)) or (nests and "not have been used" in str(error)):
                    counts["refused by PyTorch"] += 1
                    break
                raise RuntimeError(f"seed {program['seed']}:\n" + "\n".join(program["lines"])) from error
            counts["second order"] += second
            expected = program[key]
            if second:
                found = [g if e is not None else None for g, e in zip(found, expected)]
            # PyTorch's grad gives a tensor on the way to another target its gradient before the hooks, else after.
            lines = "".join(program["lines"])
            expected = [e if f"r{i}.register_hook" not in lines else None if g is None else array(g)
                        for e, g, i in zip(expected, found, program["targets"])]
            difference = max(apart(found, expected), 0 if second else apart(outputs, program["values"]))
            # A gradient that passes float32 is rounded there, to one of two neighbours.
            if difference <= (1e-6 if "torch.float32" in lines else 1e-9):
                largest = max(largest, 0 if "torch.float32" in lines else difference)
            elif on_a_kink(program, second):
                counts["on a kink"] += 1
            else:
                counts["failed"] += 1
                print(f"seed {program['seed']}, {key}: {difference}\n" + "\n".join(program["lines"]))
    print(", ".join(f"{name}: {n}" for name, n in counts.items()) + f"; largest difference {largest:.2e}")
    return counts["failed"] > 0 or counts["programs"] == 0


if __name__ == "__main__":
    sys.exit(main())
