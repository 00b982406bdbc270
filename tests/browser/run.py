"""The report of a real training, in a real browser: what the page says is what the run measured.

    /usr/bin/python3 tests/browser/run.py BUILD [NAME…] [--pictures FOLDER]

BUILD holds examples/train_gpt. With --pictures the page is photographed, at both widths and in both colours. NAMEs
are parts of the names of the tests to run. `make test-browser` installs what this needs, and calls it."""
import argparse
import pathlib
import shutil
import sys
import unittest

from case import ReportCase
from test_explorer import ExplorerTest
from test_report import ReportTest
from test_text import TextTest


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
    tests = unittest.TestSuite(loader.loadTestsFromTestCase(case) for case in [ReportTest, ExplorerTest, TextTest])
    ReportCase.begin(arguments.build.resolve(), arguments.pictures)
    try:
        return 0 if unittest.TextTestRunner(verbosity=2).run(tests).wasSuccessful() else 1
    finally:
        ReportCase.browser.quit()
        shutil.rmtree(ReportCase.folder)


sys.exit(main())
