"""The pages' outside: figures that can be opened, tables for phones, and what Debian's furo needs to work without a web
server of Debian's."""
import html
import pathlib
import re

from docutils import nodes

from . import figures, maths, tables

NORMALIZE = pathlib.Path("/usr/share/javascript/normalize.css/normalize.min.css")
UNUSED = ["jquery.js", "underscore.js", "_sphinx_javascript_frameworks_compat.js"]


def natural_width(path):
    """Of an SVG in pixels, or None."""
    if path.suffix != ".svg":
        return None
    head = path.read_text(encoding="utf-8")[:2000]
    match = re.search(r'<svg[^>]*\bwidth="([\d.]+)', head) or re.search(r'<svg[^>]*\bviewBox="\S+ \S+ ([\d.]+)', head)
    return float(match.group(1)) if match else None


def boxed(app, match):
    """A picture in a box that scrolls, and a link to it alone, where a phone can enlarge it. An SVG becomes part of the
    page."""
    tag, source, alt = match.group(0), match.group("src"), html.unescape(match.group("alt"))
    name = pathlib.PurePosixPath(source).name
    origin = next((path for path, copy in app.builder.images.items() if copy == name), None)
    path = origin and pathlib.Path(app.srcdir, origin)
    width = path and natural_width(path) or 800
    content = figures.inline(path, alt) if path and path.suffix == ".svg" else tag
    return f'<span class="figure-box" style="--natural: {width:g}px"><a href="{source}">{content}</a></span>'


def outside(app, pagename, templatename, context, doctree):
    """Figures in boxes, formulas in headings, no script that is not needed."""
    body = context.get("body", "")
    if doctree is not None and doctree.next_node(nodes.image) is not None:
        body = re.sub(r'<img\b[^>]*\balt="(?P<alt>[^"]*)"[^>]*\bsrc="(?P<src>[^"]+)"[^>]*>', lambda m: boxed(app, m), body)
    if doctree is not None:
        body = re.sub(r"<h\d>.*?</h\d>", lambda m: maths.in_headings(m.group(0)), body, flags=re.DOTALL)
        body = tables.in_page(body)
        context["toc"] = maths.in_headings(context["toc"])
    context["body"] = body
    context["script_files"] = [file for file in context["script_files"]
                               if pathlib.PurePosixPath(str(getattr(file, "filename", file))).name not in UNUSED]


def style_figures(app, exception):
    if exception is None:
        (pathlib.Path(app.outdir) / "_static/figures.css").write_text(figures.style_sheet(), encoding="utf-8")


def mend_furo(app, exception):
    """Debian leaves furo's parts as they are in its source: a style that is asked for from Debian's own web server, and
    a script that imports another, which a page opened as a file may not do. And the tool that made its style sheet has
    lost what follows the reader's own choice of dark."""
    if exception is not None:
        return
    static = pathlib.Path(app.outdir) / "_static"
    style = static / "styles/furo.css"
    text = style.read_text(encoding="utf-8")
    text = re.sub(r"@import url\(/javascript/normalize[^)]*\);", lambda _: NORMALIZE.read_text(encoding="utf-8"), text)
    dark = re.search(r'@media not print \{\s*(body\[data-theme="dark"\].*?\}) \}\n', text, re.DOTALL)
    if "prefers-color-scheme: dark" not in text and dark:
        auto = dark.group(1).replace('body[data-theme="dark"]', 'body[data-theme="auto"]')
        text = text.replace(dark.group(0),
                            dark.group(0) + "@media screen and (prefers-color-scheme: dark) {" + auto + "}\n")
    style.write_text(text, encoding="utf-8")
    script, spy = static / "scripts/furo.js", static / "scripts/gumshoe-patched.js"
    text = script.read_text(encoding="utf-8")
    if spy.exists():
        text = re.sub(r'^import Gumshoe from "[^"]*";', lambda _: spy.read_text(encoding="utf-8"), text)
        spy.unlink()
    has_headings = 'document.querySelector(".toc-tree a[href^=\'#\']:not([href=\'#\'])")'
    text = text.replace("new Gumshoe(", f"if ({has_headings}) new Gumshoe(")
    script.write_text(re.sub(r"^\s*console\.log\(.*\);\n", "", text, flags=re.MULTILINE), encoding="utf-8")
    for name in UNUSED:
        (static / name).unlink(missing_ok=True)


def setup(app):
    app.connect("html-page-context", outside, priority=900)
    app.connect("build-finished", style_figures)
    app.connect("build-finished", mend_furo)
