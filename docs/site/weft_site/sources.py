"""Links from the Markdown to files of the project that are no pages: each gets a page with its text, each folder a list.

A link to a public header leads to its page in the reference instead."""
import html
import pathlib
import posixpath
import re
import subprocess

from docutils import nodes
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import TextLexer, get_lexer_for_filename
from pygments.util import ClassNotFound

from doxygen_filter import is_internal

ROOT = pathlib.Path(__file__).resolve().parents[3]
wanted = set()  # paths from the root that something links


def page_of(path):
    """Where a file's page is, without the suffix; a folder's is its index."""
    return f"source/{path}/index" if (ROOT / path).is_dir() else f"source/{path}"


def want(path):
    """The page of a file that is linked, which is made then."""
    wanted.add(path)
    return page_of(path)


def header_page(path):
    """The reference's page of a header, or None."""
    match = re.fullmatch(r"include/weft(?:/(.*)\.h)?", path)
    if match is None or not (ROOT / path).exists() or match.group(1) and is_internal(ROOT / path):
        return None
    return f"api/{match.group(1)}" if match.group(1) else "api/index"


def resolve(app, env, node, content):
    """A link that leads to no page of the Markdown's. Links are written from the root or from docs: as they stand in
    the repository, whose README.md and CONTRIBUTING.md become pages beside the chapters with their links mended."""
    target, _, anchor = node["reftarget"].partition("#")
    path = posixpath.normpath(posixpath.join("docs", posixpath.dirname(node["refdoc"]), target))
    if not target or path.startswith("..") or not (ROOT / path).exists():
        return None
    page = header_page(path)
    if anchor and (page or not re.fullmatch(r"L\d+", anchor)):
        return None
    page = page or want(path)
    uri = app.builder.get_relative_uri(node["refdoc"], page) + (f"#{anchor}" if anchor else "")
    return nodes.reference("", "", content, internal=True, refuri=uri)


def listing(path):
    """The folder's files that git knows, or what is there where it is no repository."""
    found = subprocess.run(["git", "ls-files", "--", path], cwd=ROOT, capture_output=True, text=True, check=False)
    files = found.stdout.split("\n") if found.returncode == 0 else []
    files = files or [str(p.relative_to(ROOT)) for p in (ROOT / path).rglob("*") if p.is_file()]
    prefix = path + "/"
    return sorted({prefix + f[len(prefix):].split("/")[0] for f in files if f.startswith(prefix)})


def text_of(path):
    try:
        return (ROOT / path).read_text(encoding="utf-8")
    except UnicodeDecodeError:
        return None


def file_body(path):
    text = text_of(path)
    if text is None:
        return "<p>This file is no text.</p>"
    try:
        lexer = get_lexer_for_filename(path, stripnl=False)
    except ClassNotFound:
        lexer = TextLexer(stripnl=False)
    marked = highlight(text, lexer, HtmlFormatter(linenos="inline", linespans="L", wrapcode=True))
    return re.sub(r'id="L-(\d+)"', r'id="L\1"', marked)


def folder_body(app, path):
    page = page_of(path)
    items = []
    for entry in listing(path):
        target = header_page(entry) or want(entry)
        name = posixpath.basename(entry) + ("/" if (ROOT / entry).is_dir() else "")
        uri = app.builder.get_relative_uri(page, target)
        items.append(f'<li><a class="reference internal" href="{html.escape(uri)}">{html.escape(name)}</a></li>')
    return f'<ul class="files">{"".join(items)}</ul>'


def pages(app):
    """One after another, for a folder's page asks for more of them."""
    done = set()
    while wanted - done:
        path = min(wanted - done)
        done.add(path)
        body = folder_body(app, path) if (ROOT / path).is_dir() else file_body(path)
        title = f"<h1><code>{html.escape(path)}</code></h1>"
        yield page_of(path), {"title": html.escape(path), "body": title + body, "toc": "", "display_toc": False}, "page.html"


def setup(app):
    app.connect("builder-inited", lambda app: wanted.clear())
    app.connect("missing-reference", resolve)
    app.connect("html-collect-pages", pages)
