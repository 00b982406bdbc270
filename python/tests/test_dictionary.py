"""The last column of docs/dictionary.md: every cell runs, and gives what PyTorch's cell of its row gives."""
import os
import re
import tempfile
import unittest
import warnings

import weft
import weft.nn.functional as F
from common import ROOT, array, same, torch

# What a section needs before its first row, here and there.
PREPARED = {"Arithmetic": "z = x.clone()",
            "Attention": "q, k, v = t[..., 0:2] / 10, t[..., 1:3] / 10, t[..., 2:4]; tokens = m.randn(2, 3, 8)\n"
                         "padded = m.tensor([[False] * 3, [False, False, True]]); ids = m.tensor([0, 0, 1])"}
RANDOM = {"Random numbers and threads", "Modules, losses, optimisers", "Files"}
MODULES = {"self-attention", "with a mask", "with padding", "with padding anywhere", "with both", "each head's weights", "dropout on the weights"}


def value(code, names):
    try:
        return eval(code, names)
    except SyntaxError:
        exec(code, names)


class Dictionary(unittest.TestCase):
    def tearDown(self):
        weft.set_float32_matmul_precision("highest")  # a row of the page sets another

    def test_every_cell_gives_what_pytorch_gives(self):
        warnings.simplefilter("ignore")
        ours = {"weft": weft, "F": F, "nn": weft.nn, "m": weft}
        theirs = torch and {"torch": torch, "F": torch.nn.functional, "nn": torch.nn, "m": torch}
        if torch:
            try:
                import safetensors.torch
                theirs["safetensors"] = safetensors
            except ImportError:
                pass
        section, ran, compared = "", 0, 0
        with tempfile.TemporaryDirectory() as folder:
            before = os.getcwd()
            os.chdir(folder)
            self.addCleanup(os.chdir, before)
            for line in (ROOT / "docs/dictionary.md").read_text().splitlines():
                if line.startswith("## "):
                    section = line[3:]
                    for names in filter(None, [ours, theirs]):
                        exec(PREPARED.get(section, ""), names)
                if not line.startswith("| "):
                    continue
                row = [cell.strip().strip("`").replace(r"\|", "|") for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
                if row[4] in ("–", "Weft in Python"):
                    continue
                with self.subTest(section=section, cell=row[4]):
                    found = value(row[4], ours)
                    ran += 1
                    if not torch or row[1] == "–" or "safetensors" in row[1] and "safetensors" not in theirs:
                        continue
                    expected = value(row[1], theirs)
                    if isinstance(expected, torch.Tensor) and section not in RANDOM and row[0] not in MODULES:
                        same(found, expected, row[4], 2e-6)
                        compared += 1
                    elif isinstance(expected, (bool, int, float, list)) and not isinstance(expected, torch.nn.Module) and row[0] not in ("type", "as text"):
                        self.assertEqual(array(found).shape, array(expected).shape)
                        compared += not isinstance(expected, list)
            os.chdir(before)
        self.assertGreater(ran, 180)
        if torch:
            self.assertGreater(compared, 120)


if __name__ == "__main__":
    unittest.main()
