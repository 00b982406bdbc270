"""What a page is about, in a sentence or two: for links to it and for the search."""
import html
import json
import os
import pathlib
import re

from docutils import nodes

LONGEST = 200
SITE = "Weft is a small autograd library in C++20, and a book that builds a GPT with it, from one number on. Every line runs."


def shortened(text):
    text = " ".join(text.split())
    if len(text) <= LONGEST:
        return text
    end = max(text.rfind(stop, 0, LONGEST) for stop in [". ", "? "])
    return text[:end + 1] if end > LONGEST / 3 else text[:text.rfind(" ", 0, LONGEST)].rstrip(",;:") + " …"


def of(doctree):
    """Its first paragraph of prose: not in a table or a list, and without formulas, which are no text."""
    for paragraph in doctree.findall(nodes.paragraph):
        prose = isinstance(paragraph.parent, (nodes.section, nodes.document, nodes.container))
        if prose and len(paragraph.astext()) > 40 and paragraph.next_node(nodes.math) is None:
            return shortened(paragraph.astext())
    return ""


def meta(app, pagename, templatename, context, doctree):
    """The tags by which others show a link to the page. A picture needs a whole address: WEFT_SITE_URL says where the
    site will stand."""
    text = of(doctree) if doctree is not None else ""
    if text:
        app.weft_summaries[pagename] = text
    title = html.unescape(re.sub(r"<[^>]+>", "", context.get("title", "")))
    if pagename == app.config.root_doc:
        title, text = "Weft", SITE
    address = os.environ.get("WEFT_SITE_URL", "").rstrip("/")
    picture = f"{address}/_static/preview.png" if address else context["pathto"]("_static/preview.png", 1)
    tags = {"og:site_name": "Weft", "og:type": "website" if pagename == app.config.root_doc else "article", "og:title": title,
            "og:description": text or f"{title}, in the site of Weft, an autograd library in C++20.", "og:image": picture,
            "og:image:width": "1200", "og:image:height": "630", "twitter:card": "summary_large_image"}
    if address:
        tags["og:url"] = f"{address}/{pagename}.html"
    lines = [f'<meta name="description" content="{html.escape(tags["og:description"], quote=True)}"/>']
    lines += [f'<meta property="{name}" content="{html.escape(value, quote=True)}"/>' for name, value in tags.items()]
    context["metatags"] = context.get("metatags", "") + "\n".join(lines)


def for_search(app, exception):
    if exception is None:
        with open(pathlib.Path(app.outdir) / "searchindex.js", "a", encoding="utf-8") as file:
            file.write(f"\nSearch.setSummaries({json.dumps(app.weft_summaries, ensure_ascii=False)})\n")


def setup(app):
    app.weft_summaries = {}
    app.connect("html-page-context", meta)
    app.connect("build-finished", for_search)
