"""What docs/beside_pytorch.md quotes of PyTorch is what PyTorch prints, in the version that the page names."""
import contextlib
import io
import re
import unittest

from common import ROOT, torch

PAGE = (ROOT / "docs/beside_pytorch.md").read_text()


class BesidePyTorch(unittest.TestCase):
    @unittest.skipUnless(torch and torch.__version__.startswith("2.13."), "PyTorch 2.13 is not installed")
    def test_pytorch_prints_what_the_page_shows(self):
        blocks = re.findall(r"```python\n(.*?)```\n<!-- PyTorch 2\.13\.0 prints: -->\n```text\n(.*?)```", PAGE, re.DOTALL)
        self.assertEqual(len(blocks), 5)
        names = {}
        for code, shown in blocks:
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed):
                exec(code, names)
            self.assertEqual(printed.getvalue(), shown)


if __name__ == "__main__":
    unittest.main()
