"""What is_zero calls 0, and what it does not: make proofs runs this first."""
import unittest

from sympy import erf, exp, log, pi, sqrt, symbols, tanh

from zero import is_zero

x, y, z, p = symbols("x y z p", real=True)
u = symbols("u", positive=True)


class Zero(unittest.TestCase):
    def test_identities(self):
        for e in [(x + y) ** 2 - x ** 2 - 2 * x * y - y ** 2, x / (x + y) + y / (x + y) - 1, 1 / (1 / x + 1 / y) - x * y / (x + y),
                  exp(x) * exp(-x) - 1, exp(x - y) * exp(y) - exp(x), exp(x / 2) ** 2 - exp(x), exp(2 * x) - exp(x) ** 2,
                  exp(x) / (exp(x) + exp(y)) - 1 / (1 + exp(y - x)), sqrt(x * x + y) ** 2 - x * x - y,
                  1 / sqrt(u + x ** 2) - sqrt(u + x ** 2) / (u + x ** 2), (sqrt(2) * x) ** 2 - 2 * x * x,
                  sqrt(pi) * sqrt(pi) - pi, (u + y * y) ** p / (u + y * y) - (u + y * y) ** (p - 1),
                  (u + y * y) ** ((p - 1) - p) * (u + y * y) - 1, sqrt(1 + sqrt(u)) ** 2 - 1 - sqrt(u),
                  tanh(x).diff(x) - 1 + tanh(x) ** 2, log(u) - log(u)]:
            self.assertTrue(is_zero(e), e)

    def test_what_is_not_zero(self):
        for e in [x - y, x + y - x * y, exp(x) - exp(-x), exp(x + y) - exp(x) - exp(y), sqrt(u) - u, sqrt(2) * x - x,
                  x / (x + y) - y / (x + y), exp(x / 2) - exp(x), tanh(x) - tanh(x) ** 2, log(u) - log(2 * u), erf(x) - erf(y),
                  (u + y * y) ** p - (u + y * y) ** (p - 1), 1 / sqrt(u + x ** 2) - 1 / (u + x ** 2), sqrt(1 + sqrt(u)) - 1]:
            self.assertFalse(is_zero(e), e)


if __name__ == "__main__":
    unittest.main()
