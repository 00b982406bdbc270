"""examples/notebook.ipynb runs, and every cell shows what the file shows: the same texts and pictures, with numbers that agree.
python3 python/tests/test_notebook.py --write runs it and writes what it shows into the file."""
import os
import pathlib
import re
import sys
import unittest

try:
    import nbformat
    from nbconvert.preprocessors import ExecutePreprocessor
except ImportError:
    nbformat = None
import weft
from common import ROOT

PAGE = ROOT / "examples/notebook.ipynb"
NUMBER = re.compile(r"-?\d+\.?\d*(?:e[-+]?\d+)?")


def executed():
    """The notebook after a run, by the interpreter and the module of this test."""
    os.environ["PYTHONPATH"] = os.pathsep.join([str(pathlib.Path(weft.__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
    book = nbformat.read(PAGE, 4)
    ExecutePreprocessor(timeout=120, kernel_name="python3").preprocess(book, {"metadata": {"path": str(PAGE.parent)}})
    return book


def shown(cell):
    """{kind: text} of a cell's outputs, where the report's frame, which has 200 KB of page, is its title."""
    texts = {}
    for output in cell.outputs:
        for kind, text in (output.get("data") or {output.output_type: output.get("text", "")}).items():
            framed = re.search(r"<iframe.*?&lt;title&gt;(.*?)&lt;/title&gt;", text, re.DOTALL)
            texts[kind] = framed[1] if framed else re.sub(r"0x[0-9a-f]+", "", text)
    return texts


@unittest.skipUnless(nbformat, "nbconvert is not installed (Debian: python3-nbconvert python3-ipykernel)")
class Notebook(unittest.TestCase):
    def test_every_cell_shows_what_the_file_shows(self):
        pictures = 0
        for i, (there, now) in enumerate(zip(nbformat.read(PAGE, 4).cells, executed().cells)):
            if there.cell_type != "code":
                continue
            with self.subTest(cell=i):
                expected, found = shown(there), shown(now)
                self.assertEqual(set(found), set(expected))
                for kind, text in expected.items():
                    pictures += "<svg" in text
                    self.assertEqual(NUMBER.sub("#", found[kind]), NUMBER.sub("#", text), kind)
                    for a, b in zip(NUMBER.findall(found[kind]), NUMBER.findall(text)):
                        self.assertAlmostEqual(float(a), float(b), delta=0.02 * abs(float(b)) + 0.02, msg=kind)
        self.assertEqual(pictures, 3)


if __name__ == "__main__":
    if "--write" in sys.argv:
        book = executed()
        for cell in book.cells:
            cell.get("metadata", {}).pop("execution", None)
            for output in cell.get("outputs", []):
                if "text/html" in output.get("data", {}) and "<iframe" in output.data["text/html"]:
                    output.data["text/html"] = "<iframe srcdoc=\"&lt;title&gt;" + shown(cell)["text/html"] + "&lt;/title&gt;\"></iframe>"
        nbformat.write(book, PAGE)
    else:
        unittest.main()
