"""The formulas that the recorded operations stand for, as functions of arrays of doubles or of SymPy expressions."""
import itertools
import math
from fractions import Fraction

import mpmath
import numpy as np
import sympy as sp

from rules import FORMULAS, evaluated

# ---- numbers

IRRATIONAL = [sp.Integer(1), sp.sqrt(sp.pi), 1 / sp.sqrt(sp.pi), sp.sqrt(2 / sp.pi), sp.pi, sp.log(2), sp.log(10)]


def near(a, b):
    return abs(a - b) <= 8 * math.ulp(b)


def number(value):
    """The number that a double stands for: a short decimal, a small fraction, its square root or a multiple of one with
    π, if the double is its rounding; else the double itself."""
    if math.isinf(value):
        return sp.oo if value > 0 else -sp.oo
    decimal = repr(value)
    if len(decimal.strip("-").split("e")[0]) <= 10:
        return sp.Rational(decimal)
    for irrational in IRRATIONAL:
        quotient = Fraction(value / float(irrational)).limit_denominator(1000)
        if quotient and near(value, float(quotient) * float(irrational)):
            return sp.Rational(quotient.numerator, quotient.denominator) * irrational
    square = Fraction(value * value).limit_denominator(1000)
    if square and near(abs(value), math.sqrt(square)):
        return (1 if value > 0 else -1) * sp.sqrt(sp.Rational(square.numerator, square.denominator))
    return sp.Rational(*value.as_integer_ratio())


# ---- functions of one element, of doubles and of expressions

def function(of_double, of_expression):
    return np.frompyfunc(lambda x: of_double(x) if isinstance(x, float) else of_expression(x), 1, 1)


mpmath.mp.dps = 30
FUNCTIONS = {name: function(lambda x, f=f: float(evaluated(f, mpmath.mpf(x), mpmath)), lambda x, f=f: evaluated(f, x, sp))
             for name, f in FORMULAS.items()}
FUNCTIONS |= {"negative": lambda x: -x, "clone": lambda x: x}
exp, log = FUNCTIONS["exp"], FUNCTIONS["log"]
ARITHMETIC = {"add": lambda a, b: a + b, "subtract": lambda a, b: a - b, "multiply": lambda a, b: a * b,
              "divide": lambda a, b: a / b, "pow": lambda a, b: a ** b, "matmul": lambda a, b: a @ b,
              "binary_cross_entropy_with_logits": lambda x, t: FUNCTIONS["softplus"](x) - x * t}
# Every element of the result is an element of an input, or 0.
MOVES = {"permute", "transpose", "slice", "select", "unslice", "cat", "gather", "index_select", "max", "min", "to"}


# ---- readings with a parameter: the candidates, as functions of arrays of either kind

def kept_sizes(x, shape):
    """The sets of axes over which a sum of x has as many elements as `shape`."""
    rank = x.a.ndim
    for axes in itertools.chain.from_iterable(itertools.combinations(range(rank), n) for n in range(rank, -1, -1)):
        if np.prod([n for i, n in enumerate(x.a.shape) if i not in axes]) == np.prod(shape):
            yield axes


def total(x, axes):
    return np.asarray(np.sum(x, axis=axes, keepdims=True), dtype=object)


def softmax(axis):
    def f(x):
        if isinstance(x.flat[0], float):
            finite = np.where(np.isinf(x.astype(float)), -np.inf, x.astype(float))
            largest = np.max(finite, axis=axis, keepdims=True)
            e = exp((x - np.where(np.isinf(largest), 0.0, largest)).astype(object))
        else:
            e = exp(x)
        sums = total(e, axis)
        return e / np.where(sums == 0, sums * 0 + 1, sums)  # a fully masked row is 0
    return f


def logsumexp(axes):
    def f(x):
        if not isinstance(x.flat[0], float):
            return log(total(exp(x), axes))
        largest = np.max(x.astype(float), axis=axes, keepdims=True).astype(object)
        return log(total(exp(x - largest), axes)) + largest
    return f


def variance(axes, correction):
    def f(x):
        n = int(np.prod([x.shape[i] for i in axes]))
        rest = x - total(x, axes) / n
        return total(rest * rest, axes) / (n - correction)
    return f


def running(step, axis, reverse):
    """y_i = step(b_i, a_i, y_{i−1}) along an axis, or from its end."""
    def f(a, b):
        columns_a, columns_b = (np.moveaxis(x, axis, 0) for x in (a, b))
        y = [None] * len(columns_b)
        for i in reversed(range(len(y))) if reverse else range(len(y)):
            before = i + 1 if reverse else i - 1
            y[i] = columns_b[i] if not 0 <= before < len(y) else step(columns_b[i], columns_a[min(i, before)], y[before])
        return np.moveaxis(np.stack(y), 0, axis)
    return f


def cumprod_gradient(axis):
    """dx_j = Σ_{i ≥ j} dy_i · Π_{k ≤ i, k ≠ j} x_k"""
    def f(x, dy):
        xs, dys = (np.moveaxis(a, axis, 0) for a in (x, dy))
        n = len(xs)
        dx = [sum((dys[i] * np.prod([xs[k] for k in range(i + 1) if k != j] + [xs[j] * 0 + 1], axis=0) for i in range(j + 1, n)),
                  dys[j] * np.prod([*xs[:j], xs[j] * 0 + 1], axis=0)) for j in range(n)]
        return np.moveaxis(np.stack(dx), 0, axis)
    return f


def scattered(index, axis, shape, whole):
    """Adds the slices of x (whole) or its elements at the indices."""
    def f(x):
        zero = 0.0 if isinstance(x.flat[0], float) else sp.Integer(0)
        y = np.full(shape, zero, dtype=object)
        for position in np.ndindex(x.shape):
            to = list(position)
            to[axis] = int(index[position[axis]] if whole else index[position])
            y[tuple(to)] = y[tuple(to)] + x[position]
        return y
    return f


def candidates(op, entry, inputs, saved):
    """Functions of the inputs, one of which the operation is."""
    shape, x = tuple(entry["shape"]), inputs[0]
    if op in FUNCTIONS:
        yield FUNCTIONS[op]
    elif op in ("reshape", "view", "squeeze", "unsqueeze"):  # the elements keep their order
        yield lambda x: x.reshape(shape)
    elif op == "expand":
        yield lambda x: np.broadcast_to(x, shape)
    elif op in ARITHMETIC and len(inputs) == 2:
        yield ARITHMETIC[op]
    elif op == "pow":  # with a number
        bases, results = x.doubles(), entry["y"].astype(float).ravel()
        exponents = [math.log(y) / math.log(b) for b, y in zip(bases, results) if b > 0 and y > 0 and abs(math.log(b)) > 0.05]
        exponents = {Fraction(round(p * n), n) for p in exponents[:1] for n in (1, 2, 3, 1000)}
        for p in {sp.Rational(p.numerator, p.denominator) for p in exponents} | {sp.Integer(n) for n in range(-4, 5)}:
            yield lambda x, p=p: x ** (float(p) if isinstance(x.flat[0], float) else p) if p != 0 else x * 0 + 1
    elif op == "sum":
        for axes in kept_sizes(x, shape):
            yield lambda x, axes=axes: total(x, axes).reshape(shape) if axes else x.reshape(shape)
    elif op == "cumsum":
        for axis in range(x.a.ndim):
            yield lambda x, axis=axis: np.cumsum(x, axis=axis)
            yield lambda x, axis=axis: np.flip(np.cumsum(np.flip(x, axis), axis=axis), axis)
    elif op == "cumprod":
        for axis in range(x.a.ndim):
            yield lambda x, axis=axis: np.cumprod(x, axis=axis)
    elif op == "cumprod_gradient":
        for axis in range(x.a.ndim):
            yield cumprod_gradient(axis)
    elif op == "linear_scan":
        for axis in range(x.a.ndim):
            for reverse in (False, True):
                yield running(lambda b, a, y: b + a * y, axis, reverse)
    elif op == "var":
        for axes in kept_sizes(x, shape):
            for correction in (0, 1):
                yield lambda x, axes=axes, correction=correction: variance(axes, correction)(x).reshape(shape)
    elif op == "softmax":
        for axis in range(x.a.ndim):
            yield softmax(axis)
    elif op == "log_softmax":
        for axis in range(x.a.ndim):
            yield lambda x, axis=axis: x - logsumexp(axis)(x)
    elif op == "logsumexp":
        for axes in kept_sizes(x, shape):
            yield lambda x, axes=axes: logsumexp(axes)(x).reshape(shape)
    elif op in ("scatter_add", "index_add"):
        index = saved[0].astype(float).astype(int)
        for axis in range(x.a.ndim):
            fits = index.shape == (x.a.shape[axis],) if op == "index_add" else index.shape == x.a.shape
            if fits and all(x.a.shape[i] <= shape[i] for i in range(x.a.ndim) if i != axis) and index.max(initial=0) < shape[axis]:
                yield scattered(index, axis, shape, op == "index_add")
