"""Whether an expression is 0 for all values of its symbols, decided in a ring of polynomials.

Each exponential, logarithm, root, … of an expression is a generator of the ring. Sums are brought over a common
denominator; the expression is 0 if its numerator is, once powers of a root have been replaced by what it is the root of.
A numerator that is not 0 proves nothing, because generators may depend on each other in other ways."""
import sympy as sp
from sympy.polys.rings import ring


def terms_of(argument):
    return sp.Add.make_args(sp.expand(argument))


class Generators:
    """The generators that some expressions need, in an order in which each comes after those it is made of."""

    def __init__(self):
        self.index, self.roots, self.memo = {}, [], {}
        self.parts = {}  # of each exponential: exp(rest / parts) is the generator

    def add(self, key, root=None):
        if key not in self.index:
            self.index[key] = len(self.index)
            if root is not None:
                self.roots.append((key, *root))
        return key

    def collect(self, e):
        if e in self.memo:
            return
        self.memo[e] = True
        if e.is_Rational:
            return
        if isinstance(e, sp.exp):
            for term in terms_of(e.args[0]):
                coefficient, rest = term.as_coeff_Mul()
                self.add(("exp", rest))
                self.parts[rest] = sp.ilcm(self.parts.get(rest, 1), coefficient.q)
        elif e.is_Pow and e.exp.is_Rational:
            self.collect(e.base)
            if not e.exp.is_Integer:
                self.add(("root", e.base, e.exp.q), (e.base, e.exp.q))
        elif e.is_Pow:
            self.collect(e.base)
            self.add(("power", e.base, e.exp - e.exp.as_coeff_Add()[0]))
        elif e.is_Add or e.is_Mul:
            for argument in e.args:
                self.collect(argument)
        else:
            self.add(e)


class Fractions:
    """Expressions as quotients: a numerator in the ring, and the powers of the factors of the denominator."""

    def __init__(self, expressions):
        self.generators = Generators()
        for e in expressions:
            self.generators.collect(e)
        names = [f"g{i}" for i in range(len(self.generators.index))] or ["g0"]
        self.ring, *self.symbols = ring(names, sp.QQ)
        self.symbols = self.symbols[-1] if isinstance(self.symbols[-1], (list, tuple)) else self.symbols
        self.factors, self.memo = {}, {}

    def generator(self, key):
        return self.symbols[self.generators.index[key]]

    def factor(self, polynomial):
        return self.factors.setdefault(polynomial, len(self.factors))

    def inverse(self, value):
        """1 / value: the numerator becomes a generator of denominators, its monomial and its number apart."""
        numerator, denominator = value
        if not numerator:
            raise ZeroDivisionError
        top = self.ring.one
        for k, power in denominator.items():
            top = top * self.polynomial(k) ** power
        below = {}
        content = [min(m[i] for m in numerator.monoms()) for i in range(self.ring.ngens)]
        for i, power in enumerate(content):
            if power:
                below[self.factor(self.symbols[i])] = power
        if any(content):
            numerator = numerator.quo_ground(self.ring.domain.one).exquo(self.ring({tuple(content): 1}))
        lead = numerator.LC
        if len(numerator) > 1:
            k = self.factor(numerator.quo_ground(lead))
            below[k] = below.get(k, 0) + 1
        return top.quo_ground(lead), below

    def polynomial(self, k):
        return list(self.factors)[k]

    def times(self, a, b):
        below = dict(a[1])
        for k, power in b[1].items():
            below[k] = below.get(k, 0) + power
        return a[0] * b[0], below

    def power(self, a, n):
        if n < 0:
            return self.power(self.inverse(a), -n)
        return a[0] ** n if n else self.ring.one, {k: power * n for k, power in a[1].items() if n}

    def plus(self, values):
        below = {}
        for _, denominator in values:
            for k, power in denominator.items():
                below[k] = max(below.get(k, 0), power)
        total = self.ring.zero
        for numerator, denominator in values:
            for k, power in below.items():
                missing = power - denominator.get(k, 0)
                if missing:
                    numerator = numerator * self.polynomial(k) ** missing
            total += numerator
        return total, below

    def of(self, e):
        if e not in self.memo:
            self.memo[e] = self.convert(e)
        return self.memo[e]

    def convert(self, e):
        one = (self.ring.one, {})
        if e.is_Rational:
            return self.ring(sp.QQ(e.p, e.q)), {}
        if e.is_Add:
            return self.plus([self.of(a) for a in e.args])
        if e.is_Mul:
            product = one
            for a in e.args:
                product = self.times(product, self.of(a))
            return product
        if isinstance(e, sp.exp):
            product = one
            for term in terms_of(e.args[0]):
                coefficient, rest = term.as_coeff_Mul()
                power = int(coefficient * self.generators.parts[rest])
                product = self.times(product, self.power((self.generator(("exp", rest)), {}), power))
            return product
        if e.is_Pow and e.exp.is_Rational:
            whole = int(e.exp.p // e.exp.q)
            result = self.power(self.of(e.base), whole)
            if not e.exp.is_Integer:
                root = (self.generator(("root", e.base, e.exp.q)), {})
                result = self.times(result, self.power(root, int(e.exp.p - whole * e.exp.q)))
            return result
        if e.is_Pow:
            number, rest = e.exp.as_coeff_Add()
            if not number.is_Integer:
                raise ValueError(f"{e} has an exponent that was not expected")
            return self.times(self.power(self.of(e.base), int(number)), (self.generator(("power", e.base, rest)), {}))
        return self.generator(e), {}

    def is_zero(self, e):
        numerator = self.of(e)[0]
        for key, base, q in reversed(self.generators.roots):
            numerator = self.without_powers(numerator, self.generators.index[key], base, q)
        return not numerator

    def without_powers(self, numerator, i, base, q):
        """A multiple of the numerator in which generator i, the q-th root of base, has powers below q only."""
        highest = max((m[i] for m in numerator.monoms()), default=0) // q
        if highest == 0:
            return numerator
        top, below = self.of(base)
        bottom = self.ring.one
        for k, power in below.items():
            bottom *= self.polynomial(k) ** power
        parts = {}
        for monomial, coefficient in numerator.terms():
            n, rest = divmod(monomial[i], q)
            part = parts.setdefault(n, self.ring.zero)
            left = monomial[:i] + (rest,) + monomial[i + 1:]
            part[left] = part.get(left, 0) + coefficient
        total = self.ring.zero
        for n, part in parts.items():
            part.strip_zero()
            total += part * top ** n * bottom ** (highest - n)
        return total


def is_zero(e):
    return e == 0 or Fractions([e]).is_zero(e)
