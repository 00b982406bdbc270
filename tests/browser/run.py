"""The site, and the report of a real training, in a real browser: every page is whole, and what the report says is what
the run measured.

    /usr/bin/python3 tests/browser/run.py BUILD [NAME…] [--pictures FOLDER]

BUILD holds examples/train_gpt and tests/page_model, and the site is in build/site, where `make docs` puts it. With --pictures pages are
photographed, at both widths and in both colours. NAMEs are parts of the names of the tests to run: SiteTest, say. `make
test-browser` installs what this needs, and calls it."""
import argparse
import pathlib
import shutil
import sys
import unittest

from case import ReportCase
from test_explorer import ExplorerTest
from test_model import ModelTest
from test_report import ReportTest
from test_runs import RunsTest
from test_site import SiteTest
from test_text import TextTest

ROOT = pathlib.Path(__file__).resolve().parents[2]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--pictures", type=pathlib.Path)
    parser.add_argument("names", nargs="*")
    arguments = parser.parse_args()
    if arguments.pictures:
        arguments.pictures.mkdir(parents=True, exist_ok=True)
    loader = unittest.TestLoader()
    loader.testNamePatterns = [f"*{name}*" for name in arguments.names] or None
    site = loader.loadTestsFromTestCase(SiteTest)
    cases = [ReportTest, RunsTest, ExplorerTest, ModelTest, TextTest]
    report = unittest.TestSuite(loader.loadTestsFromTestCase(case) for case in cases)
    if report.countTestCases():
        ReportCase.begin(arguments.build.resolve(), arguments.pictures)
    SiteTest.begin(ReportCase.browser, ROOT / "build/site", arguments.pictures)
    try:
        return 0 if unittest.TextTestRunner(verbosity=2).run(unittest.TestSuite([site, report])).wasSuccessful() else 1
    finally:
        SiteTest.browser.quit()
        if report.countTestCases():
            shutil.rmtree(ReportCase.folder)


sys.exit(main())
