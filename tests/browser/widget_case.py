"""What the tests of widgets share: a page of the site, a widget's pure functions in node, and a chapter's output."""
import json
import pathlib
import re
import subprocess
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDER = ROOT / "docs/site/widgets"
SITE = ROOT / "build/site"
DESKTOP, PHONE = {"width": 1280, "height": 900}, {"width": 360, "height": 740}


def in_node(name, expression, argument=None):
    """What the expression gives, in which `w` holds what widgets/NAME.js exports and `x` is the argument."""
    code = (f'import * as w from "{(FOLDER / name).as_uri()}.js"; const x = {json.dumps(argument)};'
            f"console.log(JSON.stringify({expression}))")
    done = subprocess.run(["node", "--input-type=module", "-e", code], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise AssertionError(done.stderr)
    return json.loads(done.stdout)


def outputs(chapter):
    """The ```text blocks of docs/CHAPTER.md, which are what the chapter's program prints: tests/book/test_book.cpp sees to it."""
    text = (ROOT / f"docs/{chapter}.md").read_text(encoding="utf-8")
    return re.findall(r"^```text[^\n]*\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)


class WidgetCase(unittest.TestCase):
    """Every test ends without an error on the browser's console."""
    browser = pictures = None

    @classmethod
    def begin(cls, browser, pictures):
        WidgetCase.browser, WidgetCase.pictures = browser, pictures

    def open(self, page, name, **size):
        """A chapter's page; `self.at` is the selector of its widget."""
        self.browser.open(SITE / f"{page}.html", **(size or DESKTOP))
        self.at = f'[data-widget="{name}"] '
        self.assertFalse(self.browser.run("return document.querySelector(arguments[0]).hidden", self.at), name)

    def type(self, selector, text):
        """Replaces what is in a field of the widget, as pasting does."""
        self.browser.run("const e = document.querySelector(arguments[0]); e.focus(); e.select()", self.at + selector)
        self.browser.driver.execute_cdp_cmd("Input.insertText", {"text": text})
        self.browser.settle()

    def press_button(self, name):
        """A click on the widget's button of that name."""
        self.assertTrue(self.browser.run("""
            document.querySelectorAll("[data-pressed]").forEach((b) => b.removeAttribute("data-pressed"));
            const found = [...document.querySelectorAll(arguments[0])].find((b) => b.textContent === arguments[1]);
            found?.setAttribute("data-pressed", "");
            return found !== undefined;""", self.at + "button", name), name)
        self.browser.click("[data-pressed]")

    def photograph(self, name):
        """The widget at both widths and in both colours, where pictures are wanted."""
        if self.pictures is None:
            return
        for size in [DESKTOP, PHONE]:
            for dark in [False, True]:
                self.browser.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {
                    **size, "deviceScaleFactor": 1, "mobile": size is PHONE})
                self.browser.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [
                    {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]})
                self.browser.settle()
                self.browser.photograph(self.pictures / f"{name}-{size['width']}-{'dark' if dark else 'light'}.png", self.at)

    def tearDown(self):
        self.assertEqual(self.browser.errors(), [])
