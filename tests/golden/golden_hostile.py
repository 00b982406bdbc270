"""Golden values and gradients of every operation for hostile inputs (hostile_rows.py).

They come from definitions over exact numbers. Kinds that hold NaN, infinities or -0 come from PyTorch in float64: IEEE 754 defines their results,
not mathematics.
"""
import math
import os

import mpmath
import numpy as np
import torch
from mpmath import mpf
from safetensors.numpy import save_file

import golden_ops
from exact import Type, Variable, gradients, inf
from golden import operation_of, others, versions
from hostile_rows import ROWS

f32, f64 = np.float32, np.float64
REFUSED = -12345.0  # in the place of every result that an error takes
LENGTH = 24  # numbers of a kind; operands take them in turn


def harmless():
    draw = np.random.default_rng(32)
    unit = np.tile([0, 1, 0.5, 0.25, 1, 0.125], LENGTH // 6)
    return {"ordinary": draw.standard_normal(LENGTH).astype(f32).astype(f64), "positive": (0.5 + 2 * draw.random(LENGTH)).astype(f32).astype(f64),
            "unit": unit}


def cycle(*values):
    return np.resize(np.array(values, f64), LENGTH)


def kinds(dtype):
    """name → numbers."""
    wide = dtype is f64
    ordinary = harmless()["ordinary"]
    sign = cycle(1, -1, -1, 1, 1)
    digits = 1 + 0.1 * np.arange(LENGTH)
    pick = lambda single, double: cycle(*(double if wide else single))
    with_one = lambda value: np.where(np.arange(LENGTH) % 7 == 2, value, ordinary)
    table = {
        "ordinary": ordinary,
        "huge": sign * digits * pick([1e20, 1e30, 3e36], [1e160, 1e300, 3e306]),
        "tiny": sign * digits * pick([1e-20, 1e-30, 1e-37], [1e-160, 1e-300, 1e-307]),
        "denormal": sign * digits * pick([1e-40, 1e-42, 2e-45], [1e-310, 1e-320, 5e-324]),
        "zeros": np.zeros(LENGTH),
        "some_zeros": np.where(np.arange(LENGTH) % 3 == 1, 0.0, ordinary),
        "ties": cycle(2, 2, -1, 2, -1, -1, 2),
        "offset": 1e6 + ordinary,
        "alternating": np.where(np.arange(LENGTH) % 2, -1, 1) * (1e8 + 8 * np.arange(LENGTH)),
        "mixed": cycle(1e-30, 1e30, 1e30, 1e-30, 3, -7e10, 1e-12, -2e20, 0.5, 1e25, -4e-22),
        "saturated": cycle(10, 15, 25, -40, -14.8, 88.5, -100, 20.5, 710, -745, 35, -9, 5, -25, -0.001),
        "zero_and_huge": cycle(0, 1e30, 1, 1e30, -1, 1e30, 1e-30) if not wide else cycle(0, 1e300, 1, 1e300, -1, 1e300, 1e-300),
        "near_one": 1 + cycle(1, -1, 2, 0, -3, 40, -1000) * np.finfo(dtype).eps,
        "inf": with_one(np.inf),
        "minus_inf": with_one(-np.inf),
        "nan": with_one(np.nan),
        "negative_zero": np.where(np.arange(LENGTH) % 2, ordinary, -0.0),
    }
    return {name: values.astype(dtype).astype(f64) for name, values in sorted(table.items())}


IEEE = {"inf", "minus_inf", "nan", "negative_zero"}
SEEDS = (np.arange(64) * 7 % 16 - 7.5) / 4  # of the outputs, in turn; dyadic, never 0


LONG = {f32: 10_000_000, f64: 1_000_000}  # elements
PERIOD = {"sums": [0.1, 0.3, -0.05, 0.25], "products": [2.0, 0.5, -1.0, 1.0]}  # repeated; also the seeds of a gradient


def long_rows(dtype):
    """name → (results at SAMPLES, what they may be off by): values, then gradients. In closed form: n is a multiple of the period."""
    n, (xs, ps) = LONG[dtype], ([mpf(float(dtype(x))) for x in period] for period in PERIOD.values())
    samples = [0, 1, n // 3, n // 2, n - 2, n - 1]
    of = lambda f: n // 4 * sum(f(x) for x in xs)  # Σ f(x)
    x = lambda i: xs[i % 4]
    prefix = lambda i: (i + 1) // 4 * sum(xs) + sum(xs[:(i + 1) % 4])  # x_0 + … + x_i
    magnitude = of(abs)
    mean = of(lambda t: t) / n
    squares = of(lambda t: (t - mean) ** 2)
    std, norm2 = mpmath.sqrt(squares / (n - 1)), mpmath.sqrt(of(lambda t: t * t))
    exps = of(mpmath.exp)
    softmax = lambda i: mpmath.exp(x(i)) / exps
    chained = 64 if dtype is f64 else 1  # softmax in float64 adds in float64, run by run
    seeded = of(lambda t: t * mpmath.exp(t)) / exps  # Σ seed · softmax, the seeds being x
    product = lambda i: mpmath.fprod(ps[:(i + 1) % 4]) * mpmath.fprod(ps) ** ((i + 1) // 4)
    whole = lambda value, slope: [value] + [slope(i) for i in samples]
    each = lambda value, slope: [value(i) for i in samples] + [slope(i) for i in samples]
    # d/dx_i Σ seed_j · cumprod_j = Σ_{j ≥ i} seed_j · cumprod_j / x_i; cumprod repeats with period 8
    weighted = [ps[j % 4] * product(j) for j in range(8)]
    until = lambda i: i // 8 * sum(weighted) + sum(weighted[:i % 8])
    return {
        "sum": (whole(of(lambda t: t), lambda i: 1), [magnitude] + [1] * 6),
        "mean": (whole(mean, lambda i: mpf(1) / n), [magnitude / n] + [mpf(1) / n] * 6),
        "var": (whole(squares / (n - 1), lambda i: 2 * (x(i) - mean) / (n - 1)), [squares / n] + [mpf(1) / n] * 6),
        "std": (whole(std, lambda i: (x(i) - mean) / (n - 1) / std), [std] + [1 / mpf(n)] * 6),
        "norm": (whole(norm2, lambda i: x(i) / norm2), [norm2] + [1 / norm2] * 6),
        "logsumexp": (whole(mpmath.log(exps), softmax), [mpmath.log(exps)] + [mpf(1) / n] * 6),
        "dot": (whole(norm2 ** 2, lambda i: 2 * x(i)), [norm2 ** 2] + [1] * 6),
        "cumsum": (each(prefix, lambda i: prefix(n - 1) - prefix(i) + x(i)), [magnitude] * 12),
        "softmax": (each(softmax, lambda i: softmax(i) * (x(i) - seeded)), [chained / mpf(n)] * 12),
        "log_softmax": (each(lambda i: x(i) - mpmath.log(exps), lambda i: x(i) - softmax(i) * of(lambda t: t)), [mpmath.log(exps)] * 6 + [chained] * 6),
        "prod": (whole(product(n - 1), lambda i: product(n - 1) / ps[i % 4]), [1] * 7),
        "cumprod": (each(product, lambda i: (until(n) - until(i)) / ps[i % 4]), [1] * 6 + [n] * 6),
    }, samples


def is_shape(operand):
    return isinstance(operand, tuple)


def patterns(operands):
    """Where in (the kind's numbers, then the harmless ones) each floating operand takes its own; arrays as they are."""
    names, result = ["hostile", *harmless()], []
    for i, operand in enumerate(operands):
        if not is_shape(operand):
            result.append(operand)
            continue
        named = operand and is_shape(operand[0])
        shape, name = operand if named else (operand, "hostile")
        result.append((np.arange(math.prod(shape)).reshape(shape) + 7 * i) % LENGTH + LENGTH * names.index(name))
    return result


def list_of(outputs):
    return list(outputs) if isinstance(outputs, (tuple, list)) else [outputs]


def by_torch(function, inputs, exact, strict):
    """Values, then gradients, and what they may be off by. Where the gradient of a NaN arrives, anything may."""
    tensors = [torch.tensor(x) for x in inputs]
    leaves = [t.requires_grad_() for t in tensors if t.is_floating_point()]
    outputs = list_of(function(*tensors))
    graph = [y for y in outputs if isinstance(y, torch.Tensor) and y.requires_grad]
    values = [torch.as_tensor(y).detach().to(torch.float64).flatten() for y in outputs]
    seeds, at = np.resize(SEEDS, sum(y.numel() for y in graph) + 1), 0
    whole, numbers = [], []
    for y in graph:
        seeded = (torch.tensor(seeds[at:at + y.numel()]).reshape(y.shape) * y).flatten()
        whole.append(seeded.sum())
        numbers.append(seeded[~seeded.isnan()].sum())
        at += y.numel()
    gradient = lambda parts: torch.cat([torch.zeros(t.numel()) if g is None else g.flatten() for t, g in zip(
        leaves, torch.autograd.grad(sum(parts), leaves, allow_unused=True, retain_graph=True))]).numpy()
    values = torch.cat(values).numpy()
    size = lambda x: np.abs(np.nan_to_num(x, posinf=0, neginf=0))
    off = lambda x: 16 * np.maximum(size(x), 1) if exact else size(x)
    if not graph:
        return values, off(values)
    g, of_numbers = gradient(whole), gradient(numbers)
    nan_inputs = np.concatenate([np.isnan(t.detach().numpy().flatten()) for t in leaves])
    open_ = ~(g == of_numbers) | nan_inputs | np.isnan(values).all() if np.isnan(values).any() and not strict else np.zeros(g.shape, bool)
    return np.concatenate([values, g]), np.concatenate([off(values), np.where(open_, np.inf, off(g))])


def by_definition(function, inputs):
    variables = [np.frompyfunc(lambda v: Variable(float(v)), 1, 1)(x) if x.dtype == f64 else x for x in inputs]
    variables = [np.array(x, object) if not isinstance(x, np.ndarray) else x for x in variables]
    outputs = [y for part in list_of(function(*variables)) for y in np.array(part, object).flatten()]
    leaves = [v for x in variables if x.dtype == object for v in x.flatten()]
    numbers = [y.n for y in outputs]
    if any(y.parents or y in leaves for y in outputs):
        numbers += gradients(outputs, np.resize(SEEDS, len(outputs)).tolist(), leaves)
    as_float = lambda v: float(v) if mpmath.isnan(v) or abs(v) <= Type.largest * (1 + Type.u / 2) else math.copysign(math.inf, v)
    return np.array([as_float(n.v) for n in numbers]), np.array([n.e for n in numbers], object)


def log2_of(e):
    """log2 of the bound: float32 holds it for every type."""
    e = mpf(e)
    return f32(-math.inf if e == 0 else math.inf if not mpmath.isfinite(e) else float(mpmath.log(e, 2)))


def write(path, only=()):
    samples = golden_ops.samples()
    arrays = {"long sums": np.array(PERIOD["sums"]), "long products": np.array(PERIOD["products"]), "harmless": np.concatenate(list(harmless().values())), "seeds": SEEDS}
    arrays |= others(path, only)
    unspecified = {}
    for dtype, name in [(f32, "float32"), (f64, "float64")]:
        Type.use(dtype)
        for kind, values in kinds(dtype).items():
            arrays[f"kind {name} {kind}"] = values
        rows, at = long_rows(dtype)
        arrays[f"long {name}"] = np.array(at)
        for row_name, (values, off) in rows.items():
            arrays[f"long {name} {row_name}"] = np.array([[float(v) for v in values], [16 * float(e) for e in off]])
    for full, sample, operands, exact, also, refuses, always, strict in ROWS:
        if only and operation_of(sample) not in only:
            continue
        where = patterns(operands)
        for i, operand in enumerate(operands):
            arrays[f"{full}/{'at' if is_shape(operand) else 'in'}{i}"] = where[i]
        floating = any(is_shape(operand) for operand in operands)
        for dtype, name in [(f32, "float32"), (f64, "float64")]:
            Type.use(dtype)
            blocks, bounds = [], []
            for kind, numbers in kinds(dtype).items():
                if not floating and kind != "ordinary":
                    continue
                pool = np.concatenate([numbers, *harmless().values()])
                inputs = [pool[at] if is_shape(operand) else at for operand, at in zip(operands, where)]
                if exact and (always or kind not in IEEE):
                    values, e = by_definition(exact, inputs)
                else:
                    values, e = by_torch(also or samples[sample][0], inputs, exact, strict)
                lost = sum(x == math.inf for x in e)
                if lost and kind not in IEEE:
                    unspecified[full, kind] = unspecified.get((full, kind), 0) + lost
                if kind in refuses:
                    values, e = np.full(values.shape, REFUSED), np.zeros(values.shape)
                blocks.append(values)
                bounds.append(e)
            size = max(map(len, blocks))
            grown = lambda x, value: np.concatenate([x, np.full(size - len(x), value)])
            with np.errstate(over="ignore"):
                arrays[f"{full}/{name}"] = np.array([grown(x, REFUSED) for x in blocks]).astype(dtype)
            if exact or any(b == math.inf for x in bounds for b in x):
                arrays[f"{full}/{name} bound"] = np.array([[log2_of(b) for b in grown(x, 0)] for x in bounds])
    metadata = {"made_by": versions()["made_by"].replace("make_golden.py with", f"make_hostile_golden.py with mpmath {mpmath.__version__},")}
    save_file({k: np.ascontiguousarray(v).copy() for k, v in arrays.items()}, path, metadata=metadata)
    os.chmod(path, 0o644)
    print(f"{path}: {len(ROWS)} rows, {len(kinds(f32))} kinds, {sum(a.nbytes for a in arrays.values())} bytes of values")
    print(f"left open, because a step of the definition leaves the range of the type: {sum(unspecified.values())}")
    for (full, kind), count in unspecified.items():
        print(f"  {full} {kind}: {count}")
