"""What the tests of the report share: one browser, one training, and how the page writes numbers."""
import copy
import csv
import pathlib
import random
import subprocess
import tempfile
import unittest

import checkpoint
import pages
from browser import Browser

DESKTOP, PHONE = {"width": 1280, "height": 900}, {"width": 360, "height": 740}
LAYERS = HEADS = 2
ARGUMENTS = ["--num_layers", LAYERS, "--num_heads", HEADS, "--d_model", 32, "--block_size", 32, "--batch_size", 8, "--steps", 60,
             "--eval_interval", 15, "--max_new_tokens", 5]


WORDS = [["The", "A", "One", "No", "Every"], ["quiet", "patient", "young", "tired"], ["weaver", "thread", "loom", "shuttle"],
         ["crosses", "counts", "remembers", "follows"], ["seven", "the red", "its own", "another"],
         ["patterns", "knots", "colours", "mornings"]]


def prose(lines=600):
    """Sentences that are made up, the same ones every time."""
    draw = random.Random(1)
    return "".join(" ".join(draw.choice(words) for words in WORDS) + ".\n" for _ in range(lines))


def number(text):
    """What the page wrote as a number: with thin spaces, a true minus, perhaps a percent sign."""
    text = text.replace("\u202f", "").replace("−", "-")
    return float(text[:-1]) / 100 if text.endswith("%") else float(text)


class ReportCase(unittest.TestCase):
    """Every test ends without an error on the browser's console."""
    browser = build = pictures = None

    @classmethod
    def begin(cls, build, pictures):
        cls.build, cls.pictures = build, pictures
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="weft-browser-"))
        cls.browser = Browser()
        text = cls.folder / "weaving.txt"
        text.write_text(prose(), encoding="utf-8")
        run = cls.train("plain", text)
        cls.text, cls.page = text, run / "report.html"
        with open(run / "loss.csv", newline="") as file:
            cls.losses = list(csv.DictReader(file))
        cls.tensors, cls.metadata = checkpoint.load(run / "model.safetensors")
        cls.data = pages.data(cls.page)

    @classmethod
    def train(cls, name, text, *more):
        """Trains on the file `text` and returns the folder with what that left."""
        out = cls.folder / name
        command = [cls.build / "examples/train_gpt", "--out", out, *ARGUMENTS, "--text", text, *more]
        subprocess.run([str(word) for word in command], check=True, stdout=subprocess.DEVNULL, cwd=cls.folder)
        return out

    def with_data(self, name, change, page=None):
        """The page, or another, with data changed by `change`."""
        data = copy.deepcopy(self.data if page is None else pages.data(page))
        change(data)
        return pages.with_data(self.page, data, self.folder / name)

    def tearDown(self):
        self.assertEqual(self.browser.errors(), [])
