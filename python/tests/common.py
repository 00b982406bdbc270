"""What the tests share: NumPy, PyTorch where it is installed, and comparisons."""
import pathlib
import unittest

import numpy as np

try:
    import torch
except ImportError:
    torch = None

ROOT = pathlib.Path(__file__).resolve().parents[2]


def array(x):
    """The values of a tensor of either library, or of what is none."""
    return np.asarray(x.detach()) if hasattr(x, "detach") else np.asarray(x)


def same(found, expected, what, tolerance=1e-10):
    found, expected = array(found), array(expected)
    if found.shape != expected.shape:
        raise AssertionError(f"{what}: shape {found.shape}, expected {expected.shape}")
    np.testing.assert_allclose(found.astype(float), expected.astype(float), rtol=tolerance, atol=tolerance, err_msg=what)


class Refusals(unittest.TestCase):
    def refused(self, kind, words, function, *arguments, **named):
        """The call raises an error of this kind that holds the words; returns it."""
        with self.assertRaises(kind) as caught:
            function(*arguments, **named)
        for word in words:
            self.assertIn(word, str(caught.exception))
        return caught.exception
