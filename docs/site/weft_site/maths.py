"""Formulas by KaTeX, while the site is built: the pages run no script for them, and one that is wrong fails the build."""
import atexit
import json
import pathlib
import subprocess

from docutils import nodes
from sphinx.util import logging
from sphinx.util.fileutil import copy_asset

KATEX = pathlib.Path("/usr/share/javascript/katex")
logger = logging.getLogger(__name__)
node = None


def html_of(tex, display):
    """(HTML, None), or (None, what is wrong with it)."""
    global node
    if node is None or node.poll() is not None:
        node = subprocess.Popen(["node", str(pathlib.Path(__file__).with_name("maths.js")), str(KATEX / "katex.js")],
                                stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8")
        atexit.register(node.kill)
    node.stdin.write(json.dumps({"tex": tex, "display": display}) + "\n")
    node.stdin.flush()
    answer = json.loads(node.stdout.readline())
    return answer.get("html"), answer.get("error")


def visit(translator, element, display):
    html, error = html_of(element.astext(), display)
    if error:
        logger.warning("%s", error, location=element)
    tag = "div" if display else "span"
    translator.body.append(f'<{tag} class="math">{html}</{tag}>')
    raise nodes.SkipNode


def copy_katex(app, exception):
    if exception is None:
        static = pathlib.Path(app.outdir) / "_static" / "katex"
        copy_asset(str(KATEX / "katex.min.css"), str(static))
        for font in sorted((KATEX / "fonts").glob("*.woff2")):
            copy_asset(str(font), str(static / "fonts"))


def setup(app):
    app.add_html_math_renderer("katex", (lambda t, n: visit(t, n, False), None), (lambda t, n: visit(t, n, True), None))
    app.connect("builder-inited", lambda app: app.add_css_file("katex/katex.min.css"))
    app.connect("build-finished", copy_katex)
