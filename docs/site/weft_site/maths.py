"""Formulas by KaTeX, while the site is built: the pages run no script for them, and one that is wrong fails the build."""
import atexit
import json
import pathlib
import re
import subprocess

from docutils import nodes
from sphinx.util import logging
from sphinx.util.fileutil import copy_asset

KATEX = pathlib.Path("/usr/share/javascript/katex")
logger = logging.getLogger(__name__)
node = None

# √d_k or W_O in headings and figures, which the Markdown has as plain text; names of code, such as W_qkv.weight, are no formulas.
SUBSCRIPT = re.compile(r"(?<![\w.])(√?)([A-Za-z])_([A-Za-z]|model)\b(?![\w.(])")


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


def in_headings(text):
    """The HTML of a heading, or of a list of them, with its formulas shown as such."""
    def formula(match):
        root, name, below = match.groups()
        tex = f"{name}_{below}" if len(below) == 1 else rf"{name}_{{\text{{{below}}}}}"
        tex = rf"\sqrt{{{tex}}}" if root else tex
        return f'<span class="math">{html_of(tex, False)[0]}</span>'
    tags = r"<(code|annotation)\b.*?</\1>|<[^>]*>|[^<]+"
    return re.sub(tags, lambda m: m.group(0) if m.group(0).startswith("<") else SUBSCRIPT.sub(formula, m.group(0)), text,
                  flags=re.DOTALL)


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
