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

    def test_the_layer_has_no_more_lines_than_the_page_says(self):
        page = (ROOT / "docs/python.md").read_text()
        for folder in ["src", "weft"]:
            lines = sum(len(path.read_text().splitlines()) for path in (ROOT / "python" / folder).iterdir() if path.is_file())
            said = int(re.search(rf"python/{folder}\), ([\d,]+) lines", page)[1].replace(",", ""))
            self.assertLessEqual(lines, said, folder)
            self.assertLess(said - lines, 20, folder)


if __name__ == "__main__":
    unittest.main()
