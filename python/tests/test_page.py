"""The Python on docs/python.md runs from top to bottom."""
import re
import unittest

from common import ROOT, torch


class Page(unittest.TestCase):
    def test_every_block_of_the_page_runs(self):
        blocks = re.findall(r"```python\n(.*?)```", (ROOT / "docs/python.md").read_text(), re.DOTALL)
        self.assertGreaterEqual(len(blocks), 3)
        names = {}
        for block in blocks:
            if not torch and "import torch" in block:
                block = "import weft"
            exec(block, names)

    def test_the_binding_has_no_more_lines_than_the_page_says(self):
        lines = sum(len(path.read_text().splitlines()) for path in (ROOT / "python/src").iterdir())
        self.assertLessEqual(lines, 720)
        self.assertIn("python/src), 720 lines", (ROOT / "docs/python.md").read_text())


if __name__ == "__main__":
    unittest.main()
