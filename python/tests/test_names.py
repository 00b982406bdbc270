"""PyTorch's names in public programs: each is there with the arguments that the programs give, and equals PyTorch, or docs/python.md says why not."""
import json
import unittest
import warnings

import names_table
import numpy as np
import weft
from common import ROOT


def compare(found, expected, tolerance):
    """Where the two differ."""
    if len(found) != len(expected):
        return f"{len(found)} values, expected {len(expected)}"
    for a, b in zip(found, expected):
        if isinstance(b, list):
            if a[1] != b[1] or not np.allclose(a[2], b[2], *tolerance, equal_nan=True):
                return f"{a}, expected {b}"
        elif isinstance(b, float) and isinstance(a, float):
            if not np.allclose(a, b, *tolerance):
                return f"{a}, expected {b}"
        elif a != b:
            return f"{a!r}, expected {b!r}"


class Names(unittest.TestCase):
    def test_every_call_equals_pytorch(self):
        golden, names = json.loads((names_table.HERE / "names.json").read_text()), names_table.environment(weft)
        weft.manual_seed(0)
        calls = names_table.rows()[0]
        self.assertEqual(list(calls), list(golden))
        for name, text in calls.items():
            with self.subTest(name=name):
                tolerance = (0.06, 0.04) if names_table.LOOSE.search(text) else (2e-5, 2e-6)
                wrong = compare(names_table.flat(eval(text, names)), golden[name], tolerance)
                self.assertIsNone(wrong, f"{name}: {text}")

    def test_every_name_is_called_with_the_arguments_of_the_programs_or_explained(self):
        used, (calls, absent) = names_table.programs(), names_table.rows()
        self.assertEqual(set(used), set(calls) | set(absent))
        self.assertFalse(set(calls) & set(absent))
        for name, text in calls.items():
            with self.subTest(name=name):
                most, keywords = names_table.given(name, text)
                for positional, given in used[name]:
                    self.assertIsNotNone(most, "the row does not call it")
                    self.assertLessEqual(positional, most)
                    self.assertLessEqual(given, keywords)
        page = (ROOT / "docs/python.md").read_text()
        for name in absent:
            self.assertIn(f"`{name.removeprefix('torch.')}`", page)
        self.assertIn(f"{len(calls)} of the {len(used)} names", " ".join(page.split()))
        print(f"{len(calls)} of the {len(used)} names of PyTorch that the programs use are there")


if __name__ == "__main__":
    unittest.main()
