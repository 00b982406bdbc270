"""The Python on docs/python.md and in the chapters runs from top to bottom, and prints what the page shows."""
import contextlib
import io
import re
import unittest

from common import ROOT, torch

MODEL = ROOT / "build/smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"  # by make smollm


class Page(unittest.TestCase):
    def test_every_block_of_the_page_runs(self):
        blocks = re.findall(r"```python\n(.*?)```(?:\n\n```text\n(.*?)```)?", (ROOT / "docs/python.md").read_text(), re.DOTALL)
        self.assertGreaterEqual(len(blocks), 3)
        names = {}
        for block, output in blocks:
            if not torch and "import torch" in block:
                block = "import weft"
            if output and not MODEL.exists():  # what uses it shows its output
                continue
            with contextlib.redirect_stdout(io.StringIO()) as printed:
                exec(block.replace("build/smollm2", str(MODEL.parent)), names)
            self.assertEqual(printed.getvalue(), output)

    def test_a_chapters_python_prints_what_its_comments_show(self):
        if not MODEL.exists():
            self.skipTest("make smollm has not fetched its model")
        chapters = [page for page in (ROOT / "docs").glob("[0-9][0-9]_*.md") if "```python" in page.read_text()]
        self.assertTrue(chapters)
        for page in chapters:
            names = {"weft": __import__("weft")}
            for block in re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL):
                shown = [line.split("  # ")[1] for line in block.splitlines() if "  # " in line]
                with contextlib.redirect_stdout(io.StringIO()) as printed:
                    exec(block.replace("build/smollm2", str(MODEL.parent)), names)
                self.assertEqual(printed.getvalue().splitlines(), shown)

    def test_the_layer_has_no_more_lines_than_the_page_says(self):
        page = (ROOT / "docs/python.md").read_text()
        for folder in ["src", "weft"]:
            lines = sum(len(path.read_text().splitlines()) for path in (ROOT / "python" / folder).iterdir() if path.is_file())
            said = int(re.search(rf"python/{folder}\), ([\d,]+) lines", page)[1].replace(",", ""))
            self.assertLessEqual(lines, said, folder)
            self.assertLess(said - lines, 20, folder)


if __name__ == "__main__":
    unittest.main()
