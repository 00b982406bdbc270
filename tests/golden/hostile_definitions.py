"""What every numerical operation computes, written over Variables (exact.py): one definition for all kinds of input.

Arrays of Variables are NumPy's, of type object, so shapes, indices and broadcasting are NumPy's. Where a definition is written `with wide():`,
the operation promises its result although the plain formula would leave the range of the type.
"""
import math
import pathlib
import sys

import mpmath
import numpy as np
import sympy
from mpmath import mpf

sys.path.append(str(pathlib.Path(__file__).parents[1] / "proofs"))
from rules import FORMULAS, entries, evaluated
from exact import ONE, Number, Type, Variable, as_variable, function, inf, nan, product, wide


def elementwise(f):
    return np.frompyfunc(f, 1, 1)


def unary(value, slope, ulps=2, flushes=False):
    """y = value(x) with dy/dx = slope(x, y), both as Numbers: the slope is evaluated in the type as it is written."""
    @elementwise
    def apply(x):
        y = value(x.v)
        y = function(x.n, y, slope(Number(x.v), Number(y)).v, ulps, flushes)
        return Variable(y, [(x, slope(x.n, y))])
    return apply


def exactly(f, ulps=2, flushes=True):
    """A slope that the operation promises to a few ulps: f of the exact value."""
    return lambda x, y: function(Number(x.v), f(x.v), mpf(0), ulps, flushes)


def far(x):  # beyond it every function here is at its limit, in any type; mpmath would write the limit out digit by digit
    return min(max(x, mpf(-100000)), mpf(100000))


grown = lambda x: mpmath.exp(far(x))
real = lambda f, inside: lambda x: f(x) if inside(x) else nan
exp = unary(grown, lambda x, y: y, flushes=True)
log = unary(real(lambda x: mpmath.log(x) if x else -inf, lambda x: x >= 0), lambda x, y: ONE / x if x.v else Number(inf))
to_base = lambda b: unary(real(lambda x: mpmath.log(x, b) if x else -inf, lambda x: x >= 0),
                          lambda x, y: ONE / (x * Number(mpmath.log(b), mpmath.log(b))) if x.v else Number(inf))
log2, log10 = to_base(2), to_base(10)
sinh = unary(lambda x: mpmath.sinh(far(x)), exactly(lambda x: mpmath.cosh(far(x))))
cosh = unary(lambda x: mpmath.cosh(far(x)), exactly(lambda x: mpmath.sinh(far(x))))
sqrt = unary(real(mpmath.sqrt, lambda x: x >= 0), lambda x, y: Number("0.5") / y if y.v else Number(inf))
rsqrt = unary(real(lambda x: 1 / mpmath.sqrt(x) if x else inf, lambda x: x >= 0),
              exactly(real(lambda x: -1 / (2 * x * mpmath.sqrt(x)) if x else -inf, lambda x: x >= 0), 8, False))
tanh = unary(lambda x: mpmath.tanh(far(x)), lambda x, y: ONE - y * y)
logistic = lambda x: 1 / (1 + grown(-x))
sigmoid = unary(logistic, lambda x, y: y * (ONE - y))
sin = unary(mpmath.sin, exactly(mpmath.cos))
cos = unary(mpmath.cos, exactly(lambda x: -mpmath.sin(x)))
erf = unary(lambda x: mpmath.erf(far(x)), exactly(lambda x: 2 / mpmath.sqrt(mpmath.pi) * grown(-x * x), 8))
log1p = unary(real(lambda x: mpmath.log1p(x) if x != -1 else -inf, lambda x: x >= -1),
              lambda x, y: ONE / (ONE + x) if x.v != -1 else Number(inf))
expm1 = unary(lambda x: mpmath.expm1(far(x)), exactly(grown))
elu = lambda alpha: unary(lambda x: x if x > 0 else alpha * mpmath.expm1(far(x)), exactly(lambda x: mpf(1) if x > 0 else alpha * grown(x)))
silu = elementwise(lambda x: x * sigmoid(x))


def of_formula(name):
    """By an operation's formula in tests/proofs/rules.txt and its derivative; None without one."""
    if name not in FORMULAS:
        return None
    x = sympy.Symbol("x", real=True)
    slope = sympy.lambdify(x, sympy.diff(evaluated(FORMULAS[name], x, sympy), x), "mpmath")
    return unary(lambda v: evaluated(FORMULAS[name], v, mpmath), exactly(slope), flushes=True)


relu = unary(lambda x: max(x, mpf(0)), lambda x, y: Number(x.v > 0))
absolute = unary(abs, lambda x, y: Number(mpmath.sign(x.v)))
leaky_relu = lambda slope: elementwise(lambda x: x if x.v > 0 else x * slope)


@elementwise
def gelu(x):  # x · ½(1 + erf(x/√2)), where the sum cancels, as in PyTorch: an error in units of x
    phi = lambda t: grown(-t * t / 2) / mpmath.sqrt(2 * mpmath.pi)
    y = x.v * mpmath.ncdf(far(x.v))
    return Variable(Number(y, 4 * abs(x.v)), [(x, Number(mpmath.ncdf(far(x.v)) + x.v * phi(x.v), 4 + 4 * abs(x.v) * phi(x.v)))])


@elementwise
def gelu_tanh(x):
    inner = lambda t: mpmath.sqrt(2 / mpmath.pi) * (t + mpf("0.044715") * t ** 3)
    f = lambda t: t / 2 * (1 + mpmath.tanh(far(inner(t))))
    t, s = x.v, mpmath.tanh(far(inner(x.v)))
    slope = (1 + s) / 2 + t / 2 * (1 - s * s) * mpmath.sqrt(2 / mpmath.pi) * (1 + 3 * mpf("0.044715") * t * t)
    return Variable(Number(f(t), 8 * abs(t)), [(x, Number(slope, 8 + 8 * abs(t)))])


def power(x, p):
    """xᵖ with ∂/∂x = p·xᵖ⁻¹ (0 for p = 0) and ∂/∂p = xᵖ·ln x (0 where x = 0 and p ≥ 0)."""
    whole = p.v == mpmath.floor(p.v)

    def raised(b, q):
        if b == 0:
            return mpf(1) if q == 0 else mpf(0) if q > 0 else inf
        if abs(q) < 100 and whole:
            return mpf(b) ** int(q)
        size = mpmath.exp(far(q * mpmath.log(abs(b))))
        return size if b > 0 else size * (-1) ** int(q) if whole else nan

    y = Number(raised(x.v, p.v), 0).rounded()
    slope = Number(raised(x.v, p.v - 1))
    slope.e = product(slope.v, abs(mpmath.log(abs(x.v)) * (p.v - 1))) if x.v else 0  # p − 1 is rounded
    dx = p.n * slope.rounded() if p.v else Number(0)
    dp = Number(0 if x.v == 0 and p.v >= 0 else y.v * mpmath.log(x.v) if x.v > 0 else -inf if x.v == 0 else nan).rounded()
    for n in (y, dx, dp):
        n.e = inf if mpmath.isnan(y.v) and n is not y else 8 * n.e
    return Variable(y, [(x, dx), (p, dp)])


power_of = lambda p: elementwise(lambda x: power(x, Variable(float(Type.dtype(p)))))
power_tensor = np.frompyfunc(power, 2, 1)
half = Number("0.5")


@lambda f: np.frompyfunc(f, 2, 1)
def logaddexp(a, b):
    """max + ln(1 + e^−|d|) with d = a − b, whose rounding shifts what is small."""
    high, low = (a, b) if a.v >= b.v else (b, a)
    size = high.v - low.v
    part = mpmath.log1p(grown(-size))
    small = logistic(-size)
    off = (8 + size) * small + Type.normal / Type.u
    return Variable(Number(high.v + part, abs(high.v + part) + (8 + size) * part), [(high, Number(1 - small, 1 + off)), (low, Number(small, off))])


def clamp(x, low, high):
    return elementwise(lambda t: t if low <= t.v <= high else Variable(low if t.v < low else high))(x)


# ---- along axes

def reduced(f, x, axes=None, keep=False):
    """f of the list of elements along the axes."""
    axes = tuple(range(x.ndim)) if axes is None else tuple(a % x.ndim for a in (axes if isinstance(axes, tuple) else (axes,)))
    rest = [a for a in range(x.ndim) if a not in axes]
    rows = x.transpose(*rest, *axes).reshape(*(x.shape[a] for a in rest), -1)
    y = np.empty(rows.shape[:-1], object)
    for at in np.ndindex(y.shape):
        y[at] = f(list(rows[at]))
    return np.expand_dims(y, axes) if keep else y


def along(f, x, axis):
    """f maps the list along the axis to another."""
    moved = np.moveaxis(x, axis, -1)
    y = np.empty(moved.shape, object)
    for at in np.ndindex(moved.shape[:-1]):
        y[at] = np.array(f(list(moved[at])) + [None], object)[:-1]
    return np.moveaxis(y, -1, axis)


def total(xs):
    """Σx, with the error of a sum that is added pairwise or wider: a unit of Σ|x|."""
    y = Number(sum((x.v for x in xs), mpf(0)), sum((x.n.e + abs(x.v) for x in xs), mpf(0)))
    over = {mpmath.sign(x.v) for x in xs if x.n.over()}
    if len(over) == 2 or over and not y.over():
        y.e = inf
    return Variable(y, [(x, ONE) for x in xs])


def mean(xs):
    return total(xs) / len(xs)


def var(correction=1):
    """Σ(x − mean)² / (n − correction) to a few ulps; its slope 2(x − mean) / (n − correction) as it is written."""
    def f(xs):
        n = len(xs) - correction
        average = sum(x.v for x in xs) / len(xs)
        if n <= 0:
            return Variable(nan if all(x.v == average for x in xs) else inf, [(x, Number(nan)) for x in xs])
        y = sum((x.v - average) ** 2 for x in xs) / n
        rough = Number(average, abs(average))
        return Variable(Number(y, 8 * y), [(x, Number(2) * (Number(x.v) - rough) / Number(n)) for x in xs])
    return f


def std(correction=1):
    def f(xs):
        n = len(xs) - correction
        average = sum(x.v for x in xs) / len(xs)
        if n <= 0:
            return Variable(nan, [(x, Number(nan)) for x in xs])
        y = mpmath.sqrt(sum((x.v - average) ** 2 for x in xs) / n)
        with wide():
            rough, scale = Number(average, abs(average)), Number(n * y, 8 * n * y)
            slopes = [(Number(x.v) - rough) / scale if y else Number(0) for x in xs]
        for slope in slopes:
            slope.e += 16 * Type.smallest / Type.u / y if y else 0  # of the deviation · dy, before the deviation of all divides it
        return Variable(Number(y, 8 * y), list(zip(xs, slopes)))
    return f


def norm(p):
    def f(xs):
        top = max(abs(x.v) for x in xs)
        if p == math.inf:  # the first of those that are largest has the gradient
            first = next(x for x in xs if abs(x.v) == top)
            return Variable(Number(top), [(first, Number(mpmath.sign(first.v)))])
        raised = lambda t, q: mpf(0) if t == 0 else mpmath.exp(q * mpmath.log(t))
        y = raised(sum(raised(abs(x.v), mpf(p)) for x in xs), 1 / mpf(p))
        slope = lambda x: mpf(0) if x == 0 else mpmath.sign(x) * raised(abs(x) / y, mpf(p) - 1)
        rounding = Type.smallest / Type.u / y if y else 0  # of x · dy, before the norm divides it
        off = lambda x: (8 + abs(p - 1) * abs(mpmath.log(abs(x) / y))) * abs(slope(x)) if x else 0
        # The slopes of p < 1 grow without end: open where x is lost beside the largest, or dy · norm · slope is beyond the range.
        lost = lambda x: p < 1 and x and (abs(x) / top < Type.normal or 2 * y * abs(slope(x)) > Type.largest)
        slopes = [Number(slope(x.v), inf if lost(x.v) else off(x.v) + 16 * rounding * max(1, abs(slope(x.v)))) for x in xs]
        return Variable(Number(y, 8 * y), list(zip(xs, slopes)))
    return f


def clipped(x):
    """g · min(1, 1 / (‖g‖ + 1e-6))"""
    n = mpmath.sqrt(sum(t.v ** 2 for t in x))
    scaled = [t.v * min(1, 1 / (n + mpf(1e-6))) for t in x]
    return np.array([Variable(Number(v, 8 * abs(v))) for v in scaled] + [None], object)[:-1]


def product_of(xs):
    """Πx; the slope of each is the product of the others."""
    slopes = []
    for i in range(len(xs)):
        slopes.append(Number(math.prod((x.v for j, x in enumerate(xs) if j != i), start=mpf(1))))
    y = Number(math.prod((x.v for x in xs), start=mpf(1)))
    for n, leave in [(y, -1)] + list(zip(slopes, range(len(xs)))):
        part, left = mpf(1), False  # whether a partial product, from left to right, leaves the range of the type and the whole does not
        for j, x in enumerate(xs):
            part *= x.v if j != leave else 1
            left |= inf > abs(part) > Type.largest > abs(n.v) or 0 < abs(part) < Type.normal < abs(n.v)
        n.e = inf if left else 2 * len(xs) * max(abs(n.v), Type.smallest / Type.u) if mpmath.isfinite(n.v) else 0
    return Variable(y, list(zip(xs, slopes)))


def cumulated(f):
    return lambda xs: [f(xs[:i + 1]) for i in range(len(xs))]


def shifted(xs):
    top = max((x.v for x in xs), default=mpf(0))
    return top, [e for e in exp(np.array([x - Variable(top) for x in xs] + [None], object)[:-1])]


def softmax(xs):
    _, es = shifted(xs)
    s = total(es)
    return [e / s for e in es]


def logsumexp(xs):
    top, es = shifted(xs)
    return Variable(top) + log(total(es))


def log_softmax(xs):
    top, es = shifted(xs)
    s = log(total(es))
    return [x - Variable(top) - s for x in xs]


def layer_norm(x, weight=None, bias=None, eps=1e-5):
    """Squares may leave the range."""
    with wide():
        y = along(normalized(eps), x, -1)
    y = y if weight is None else y * weight
    return y if bias is None else y + bias


def normalized(eps):
    """(x − mean) / √(var + eps); the mean brings no error, because what its rounding leaves is kept."""
    def row(xs):
        m = mean(xs)
        m.n.e = mpf(0)
        ds = [x - m for x in xs]
        r = ONE_ / sqrt(mean([d * d for d in ds]) + eps)
        return [d * r for d in ds]
    return row


def rms_norm(x, weight=None, eps=1e-5):
    def row(xs):
        r = ONE_ / sqrt(mean([x * x for x in xs]) + eps)
        return [x * r for x in xs]
    y = along(row, x, -1)
    return y if weight is None else y * weight


ONE_ = Variable(1)


def batch_norm(x, weight, bias, eps=1e-5):  # x (N, C, …), the statistics of each channel, whose squares may leave the range
    flat = np.moveaxis(x, 1, -1).reshape(-1, x.shape[1])
    with wide():
        y = along(normalized(eps), flat, 0)
    y = y * weight + bias
    return np.moveaxis(y.reshape(x.shape[0], *x.shape[2:], x.shape[1]), -1, 1)


def batch_norm_running(x, m, v, w, b):
    c = (slice(None), None)
    return (x - m[c]) / sqrt(v[c] + 1e-5) * w[c] + b[c]
