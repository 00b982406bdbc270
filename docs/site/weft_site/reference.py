"""The reference: a page for each public header, in the header's own order, with its comments as text."""
import re

from docutils import nodes
from docutils.parsers.rst import Directive
from sphinx.util import logging
from pygments.lexers import CppLexer
from pygments.token import STANDARD_TYPES, Token

import doxygen_filter

from . import examples
from .entities import CLASSES, ROOT
from .names import link

logger = logging.getLogger(__name__)

ORDINARY = {"Tensor", "Mask", "Rng", "Shape", "Composed", "Linear", "Embedding"}  # names that are no English words


class Signature(nodes.TextElement):
    """A declaration, coloured, its types linked."""


def visit_signature(translator, node):
    translator.body.append('<pre class="highlight signature"><code>')


def depart_signature(translator, node):
    translator.body.append("</code></pre>")


def is_name(word):
    """Whether a word in a comment is a name and not English: NoGrad, Mask::padding, defined()."""
    return "::" in word or word.endswith("()") or len(re.findall("[A-Z]", word)) > 1 or word in ORDINARY


def paragraphs(text):
    """A comment's parts as (is it code, lines)."""
    parts = []
    for line in text.split("\n"):
        code = bool(re.match(r" {4,}\S", line))
        if not line.strip():
            if parts and parts[-1][0]:
                parts[-1][1].append("")
            else:
                parts.append((False, []))
        elif parts and parts[-1][0] == code:
            parts[-1][1].append(line)
        else:
            parts.append((code, [line]))
    return [(code, lines) for code, lines in parts if lines]


class Page:
    """One header as docutils nodes."""

    def __init__(self, names, document, header):
        self.names, self.document, self.header = names, document, header
        self.entities = names.headers.get(header, [])
        text = (ROOT / "include" / header).read_text(encoding="utf-8")
        self.lines = len(text.splitlines())
        free = [(line + 1, comment) for line, comment in doxygen_filter.read_header(text)[1]]
        self.about = free.pop(0)[1] if free and free[0][0] == 1 else ""
        self.free = free

    # ---- text

    def words(self, text, where):
        """A line of text as nodes: `code`, and the library's names as links."""
        found = []
        for part in re.split(r"(`[^`]+`)", text):
            if re.fullmatch(r"`[^`]+`", part):
                code = part[1:-1]
                target = self.names.find(code.split("(")[0], where)
                found.append(self.linked(target, code) if target else nodes.literal(code, code))
                continue
            for word in re.split(r"(\b[A-Za-z_]\w*(?:::\w+)*(?:\(\)|-\d)?)", part):
                target = self.names.find(word.removesuffix("()"), where) if is_name(word) else None
                found.append(self.linked(target, word) if target and target != where else nodes.Text(word))
        return found

    def linked(self, target, shown):
        return link("name", target, nodes.literal(shown, shown))

    def prose(self, text, where=""):
        """A comment as paragraphs and blocks of code."""
        found = []
        for code, lines in paragraphs(text):
            if code:
                content = "\n".join(line[5:] for line in lines).rstrip()
                is_cpp = re.search(r";\s*(//.*)?$", content, re.MULTILINE)
                found.append(nodes.literal_block(content, content, language="cpp" if is_cpp else "text"))
            else:
                found.append(nodes.paragraph("", "", *self.words(" ".join(line.strip() for line in lines), where)))
        return found

    def signature(self, entity):
        node = Signature()
        for kind, value in CppLexer(stripnl=False, ensurenl=False).get_tokens(entity.signature):
            css = "nf" if value == entity.short else STANDARD_TYPES.get(kind, "")
            target = self.names.find(value, entity.name) if kind in Token.Name and css != "nf" else None
            piece = nodes.inline(value, value, classes=[css] if css else [])
            if target in self.names.types:
                piece = link("name", target, nodes.inline(value, value, classes=["nc"]))
            node += piece
        return node

    # ---- examples

    def comments(self, found):
        for entity in found:
            yield entity.text
            yield from self.comments(entity.members)

    def example(self, entity):
        """Of a function whose comment has none: an expression with its result, or None."""
        if entity.kind != "function" or entity.short.startswith("operator") or any(code for code, _ in paragraphs(entity.text)):
            return None
        found = examples.from_dictionary(entity.short)
        if found is None or entity.name.count("::") != 1:
            return None
        text, line = found
        return nodes.literal_block(text, text, language="cpp", place=(examples.DICTIONARY, line))

    def without_example(self):
        """The classes and functions that no example of the page shows."""
        shown = ["\n".join(lines) for text in [self.about, *(c for _, c in self.free), *self.comments(self.entities)]
                 for code, lines in paragraphs(text) if code]
        shown = "\n".join(shown + [example.astext() for example in map(self.example, self.entities) if example is not None])
        signatures = [(entity.short, entity.signature) for entity in self.entities if entity.kind == "function"]
        return [entity for entity in self.entities
                if (entity.kind in CLASSES or (entity.kind == "function" and not entity.short.startswith("operator")))
                and not examples.shows(entity, shown, signatures)]

    # ---- entities

    def section(self, title, code=False):
        section = nodes.section(ids=[nodes.make_id(title)], names=[])
        while section["ids"][0] in self.document.ids:
            section["ids"] = [section["ids"][0] + "-again"]
        self.document.set_id(section)
        section += nodes.title("", "", nodes.literal(title, title) if code else nodes.Text(title))
        return section

    def declaration(self, entity, shown=True):
        box = nodes.container(classes=["api-signature"], ids=[self.names.anchor(entity)])
        box += [self.signature(entity)] if shown else []
        return box

    def entry(self, found):
        """Declarations that share one comment."""
        first = found[0]
        text = nodes.container("", *self.prose(first.text, first.name), classes=["api-text"])
        for value in first.members:
            shown = nodes.literal(value.short, value.short)
            text += nodes.container("", nodes.paragraph("", "", shown, nodes.Text(" "), *self.words(
                " ".join(value.text.split()), value.name)), classes=["api-value"], ids=[self.names.anchor(value)])
        text += [example for example in [self.example(first)] if example is not None]
        return nodes.container("", *map(self.declaration, found), text, classes=["api-entry", f"api-{first.kind}"])

    def class_section(self, entity):
        """Its declaration is shown where that says more than the heading."""
        section = self.section(f"{entity.kind} {entity.short}", code=True)
        section["classes"].append("api-class")
        says_more = entity.signature != f"{entity.kind} {entity.short}"
        text = nodes.container("", *self.prose(entity.text, entity.name), classes=["api-text"])
        section += nodes.container("", self.declaration(entity, says_more), text, classes=["api-entry", "api-class-head"])
        self.fill(section, entity.members, entity.line, entity.last)
        return section

    def fill(self, parent, found, first, last):
        """What stands in lines first … last: entities, and the comments between them, which may begin sections."""
        inside = [range(e.line, e.last + 1) for e in found if e.kind in CLASSES]
        items = [(e.line, e) for e in found]
        items += [(line, comment) for line, comment in self.free
                  if first <= line <= last and not any(line in lines for lines in inside)]
        where, group = parent, []
        for _, item in [*sorted(items, key=lambda item: item[0]), (last, None)]:
            alike = group and getattr(item, "text", None) == group[0].text and item.kind == group[0].kind
            if group and not alike:
                where += self.entry(group)
                group = []
            if isinstance(item, str) and item.startswith(" ---- "):
                title, rest = re.match(r" ---- ([^.:\n(]*)[.:]?\s*(.*)", item, re.DOTALL).groups()
                where = self.section(title[:1].upper() + title[1:].strip())
                where += self.prose(rest[:1].upper() + rest[1:])
                parent += where
            elif isinstance(item, str):
                where += self.prose(item)
            elif item is not None and item.kind in CLASSES:
                where += self.class_section(item)
            elif item is not None:
                group.append(item)

    def contents(self):
        """Of a long page what it holds, in the header's order."""
        names = list(dict.fromkeys(e.name for e in self.entities if not e.short.startswith("operator")))
        if len(names) < 12:
            return []
        pieces = [piece for name in names for piece in [self.linked(name, name.rsplit("::", 1)[-1]), nodes.Text(" ")]]
        return [nodes.paragraph("", "", *pieces, classes=["api-names"])]

    def nodes(self):
        include = f"#include <{self.header}>"
        top = nodes.container("", *self.prose(self.about), nodes.literal_block(include, include, language="cpp"))
        top += self.contents()
        self.fill(top, self.entities, 1, self.lines)
        for entity in self.without_example():
            logger.warning("%s:%s: %s has no example: add one to its comment",
                           self.header, entity.line, entity.name)
        source = link("source", f"include/{self.header}", nodes.Text("The header as it stands"))
        top += nodes.paragraph("", "", source, nodes.Text("."), classes=["api-source"])
        return top.children

    def summary(self):
        """The first sentence of what the header, or else its last class, says of itself."""
        text = self.about or next((e.text for e in reversed(self.entities) if e.kind in CLASSES), self.entities[-1].text)
        return self.words(re.split(r"(?<=[a-z0-9)])[.](?=\s|$)", " ".join(text.split()))[0] + ".", "")


class HeaderDirective(Directive):
    required_arguments = 1

    def run(self):
        document = self.state.document
        return Page(document.settings.env.app.weft_names, document, self.arguments[0]).nodes()


class HeadersDirective(Directive):
    """All headers, folder by folder, each with a sentence."""

    def run(self):
        document = self.state.document
        names = document.settings.env.app.weft_names
        folders = {}
        for path in sorted(path for path in (ROOT / "include").rglob("*.h") if not doxygen_filter.is_internal(path)):
            folders.setdefault(path.parent, []).append(path.relative_to(ROOT / "include").as_posix())
        found = []
        for folder, headers in sorted(folders.items()):
            page = Page(names, document, headers[0])
            section = page.section(folder.relative_to(ROOT / "include").as_posix() + "/")
            section += nodes.definition_list("", *(nodes.definition_list_item(
                "", nodes.term("", "", link("header", header, nodes.literal(header, header))),
                nodes.definition("", nodes.paragraph("", "", *Page(names, document, header).summary())))
                for header in headers))
            found.append(section)
        return found


def setup(app):
    app.add_node(Signature, html=(visit_signature, depart_signature))
    app.add_directive("weft-header", HeaderDirective)
    app.add_directive("weft-headers", HeadersDirective)
