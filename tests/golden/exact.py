"""Numbers of as many digits as it takes, with the rounding error that a type would make, and reverse-mode differentiation over them.

A Number is a value that mpmath holds exactly enough, and a bound `e` on the error of the same computation in float32 or float64, in
units of the type's roundoff u (running error analysis; Higham, "Accuracy and Stability of Numerical Algorithms", 2002, §3.3). A
Variable is a Number that remembers how it was made. So a definition written once over NumPy arrays of Variables gives the right value, the
right gradient, and what each may be off by when the definition is evaluated step by step in the type.
"""
import contextlib

import mpmath
import numpy as np
from mpmath import mpf

nan, inf = mpf("nan"), mpf("inf")


class Type:
    """What bounds depend on: set by `use`."""
    u = largest = normal = smallest = None  # roundoff, the largest finite number, the smallest normal one, half of the smallest one
    wide = False  # whether intermediate results may leave the type's range

    @classmethod
    def use(cls, dtype):
        info, cls.dtype = np.finfo(dtype), dtype
        mpmath.mp.prec = 400 if dtype is np.float32 else 1300  # sums of a kind's numbers, and of their squares, are exact
        cls.u, cls.largest, cls.normal = mpf(2) ** -(info.nmant + 1), mpf(float(info.max)), mpf(float(info.tiny))
        cls.smallest = mpf(float(info.smallest_subnormal)) / 2


@contextlib.contextmanager
def wide():
    """Within it the definition demands a right result even if a step of it would leave the range of the type."""
    before, Type.wide = Type.wide, True
    yield
    Type.wide = before


class Number:
    """A value and its bound; a bound of inf says that the type's range is left on the way, where anything may come out."""
    __slots__ = "v", "e"

    def __init__(self, v, e=0):
        self.v, self.e = mpf(v), mpf(e)

    def over(self):
        return abs(self.v) > Type.largest and not Type.wide and mpmath.isfinite(self.v)

    def rounded(self):
        """One rounding on top, which is absolute below the normal range."""
        if mpmath.isfinite(self.v):  # infinities and NaN that IEEE 754 defines are met exactly
            self.e += max(abs(self.v), Type.smallest / Type.u)
        return self

    def __add__(a, b):
        y = Number(a.v + b.v, a.e + b.e).rounded() if a.v and b.v else Number(a.v + b.v, a.e + b.e)
        if mpmath.isnan(y.v) and not mpmath.isnan(a.v) and not mpmath.isnan(b.v):
            y.e = inf  # ∞ − ∞: another order may meet one of them alone
        if a.over() and b.over() and a.v * b.v < 0 or (a.over() or b.over()) and not y.over():
            y.e = inf
        return y

    def __mul__(a, b):
        y = Number(a.v * b.v, product(a.v, b.e) + product(b.v, a.e)).rounded()
        if (a.over() or b.over()) and not y.over():
            y.e = inf
        return y

    def __neg__(a):
        return Number(-a.v, a.e)

    def __sub__(a, b):
        return a + -b

    def __truediv__(a, b):
        if b.v == 0:
            return Number(nan if a.v == 0 or mpmath.isnan(a.v) else inf * mpmath.sign(a.v), inf if b.e else 0)
        y = a.v / b.v
        y = Number(y, inf if b.e * Type.u > abs(b.v) / 2 else (a.e + product(y, b.e)) / abs(b.v)).rounded()
        if b.over() or a.over() and not y.over():
            y.e = inf
        return y


def product(x, e):
    return mpf(0) if e == 0 or x == 0 and e != inf else inf if e == inf else abs(x) * e


def function(x, value, slope, ulps=2, flushes=False):
    """f(x) for a Number, from its value and its slope at x.v, for the error that x brings. What is built on eˣ may be 0 below the normal range."""
    y = Number(value, product(slope, x.e) + (ulps * abs(value) if mpmath.isfinite(value) else 0))
    if x.over() and not (y.over() or value == 0):
        y.e = inf
    if flushes and mpmath.isfinite(value):
        y.e += Type.normal / Type.u
    return y.rounded()


class Variable:
    """A Number in a graph."""
    __slots__ = "n", "parents", "d"

    def __init__(self, n, parents=()):
        self.n, self.parents, self.d = n if isinstance(n, Number) else Number(n), parents, None

    def __add__(a, b):
        b = as_variable(b)
        return Variable(a.n + b.n, [(a, ONE), (b, ONE)])

    def __sub__(a, b):
        b = as_variable(b)
        return Variable(a.n - b.n, [(a, ONE), (b, -ONE)])

    def __mul__(a, b):
        b = as_variable(b)
        return Variable(a.n * b.n, [(a, b.n), (b, a.n)])

    def __truediv__(a, b):
        b = as_variable(b)
        y = a.n / b.n
        return Variable(y, [(a, ONE / b.n), (b, -(y / b.n))])

    def __neg__(a):
        return Variable(-a.n, [(a, -ONE)])

    __radd__ = __add__
    __rmul__ = __mul__

    def __rsub__(a, b):
        return as_variable(b) - a

    def __rtruediv__(a, b):
        return as_variable(b) / a

    v = property(lambda self: self.n.v)


ONE = Number(1)


def as_variable(x):
    return x if isinstance(x, Variable) else Variable(x)


def gradients(outputs, seeds, inputs):
    """Σ seeds · outputs differentiated with respect to inputs: a Number for each."""
    order, seen = [], set()
    for root in outputs:  # children before parents, without recursion
        stack = [(root, False)]
        while stack:
            node, done = stack.pop()
            if done:
                order.append(node)
            elif id(node) not in seen:
                seen.add(id(node))
                stack.append((node, True))
                stack.extend((p, False) for p, _ in node.parents)
    for node in order:
        node.d = Number(0)
    for root, seed in zip(outputs, seeds):
        root.d = root.d + Number(seed)
    for node in reversed(order):
        if node.d.v == 0 and node.d.e == 0:
            continue  # nothing flows here
        for parent, slope in node.parents:
            parent.d = parent.d + node.d * slope
    return [x.d if id(x) in seen else Number(0) for x in inputs]
