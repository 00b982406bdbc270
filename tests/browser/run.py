"""The site, and the report of a real training, in a real browser: every page is whole, and what the report says is what
the run measured.

    /usr/bin/python3 tests/browser/run.py BUILD [NAME…] [--pictures FOLDER]

BUILD holds examples/train_gpt and tests/page_model, and the site is in build/site, where `make docs` puts it. With --pictures pages are
photographed, at both widths and in both colours. NAMEs are parts of the names of the tests to run: SiteTest, say. Without
them the site is made and two browsers share the tests. `make test-browser` installs what this needs, and calls it."""
import argparse
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

from case import ReportCase
from test_explorer import ExplorerTest
from test_model import ModelTest
from test_report import ReportTest
from test_runs import RunsTest
from test_site import SiteTest
from test_text import TextTest
import test_widgets
import test_widgets_attention
import test_widgets_numbers
from widget_case import WidgetCase

ROOT = pathlib.Path(__file__).resolve().parents[2]


def both_halves(build):
    """Everything, in two browsers beside each other. The report's begins while the site is still being built, and its output comes
    at the end."""
    command = [sys.executable, __file__, str(build), "--half"]
    with tempfile.TemporaryFile("w+") as said:
        report = subprocess.Popen([*command, "report"], stdout=said, stderr=subprocess.STDOUT)
        site = subprocess.call(["make", "docs"], cwd=ROOT) or subprocess.call([*command, "site"])
        failed = [site, report.wait()]
        said.seek(0)
        sys.stdout.write(said.read())
    return int(any(failed))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--pictures", type=pathlib.Path)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--half", choices=["site", "report"], help="the tests of the site alone, or those of a training's report")
    arguments = parser.parse_args()
    if not (arguments.names or arguments.half or arguments.pictures):
        return both_halves(arguments.build)
    if arguments.pictures:
        arguments.pictures.mkdir(parents=True, exist_ok=True)
    loader = unittest.TestLoader()
    loader.testNamePatterns = [f"*{name}*" for name in arguments.names] or None
    site = loader.loadTestsFromTestCase(SiteTest)
    modules = [test_widgets_numbers, test_widgets_attention, test_widgets]
    widgets = unittest.TestSuite(map(loader.loadTestsFromModule, modules))
    cases = [ReportTest, RunsTest, ExplorerTest, ModelTest, TextTest]
    report = unittest.TestSuite(loader.loadTestsFromTestCase(case) for case in cases)
    if arguments.half == "site":
        report = unittest.TestSuite()
    if arguments.half == "report":
        site = widgets = unittest.TestSuite()
    if report.countTestCases():
        ReportCase.begin(arguments.build.resolve(), arguments.pictures)
    SiteTest.begin(ReportCase.browser, ROOT / "build/site", arguments.pictures)
    WidgetCase.begin(SiteTest.browser, arguments.pictures)
    try:
        return 0 if unittest.TextTestRunner(verbosity=2).run(unittest.TestSuite([site, widgets, report])).wasSuccessful() else 1
    finally:
        SiteTest.browser.quit()
        if report.countTestCases():
            shutil.rmtree(ReportCase.folder)


sys.exit(main())
