"""The reference: a page for each public header, of what Doxygen found in it, in the header's own order."""
import pathlib
import re
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass, field

from docutils import nodes
from docutils.parsers.rst import Directive
from pygments.lexers import CppLexer
from pygments.token import STANDARD_TYPES, Token
from sphinx.addnodes import pending_xref
from sphinx.domains import Domain, ObjType
from sphinx.roles import XRefRole
from sphinx.util import logging
from sphinx.util.nodes import make_refnode

import doxygen_filter

ROOT = pathlib.Path(__file__).resolve().parents[3]
logger = logging.getLogger(__name__)


@dataclass
class Entity:
    """What has a name: a class, a function, a field, an alias, an enumeration or one of its values."""
    kind: str
    name: str       # weft::nn::Linear::weight
    header: str     # weft/nn/linear.h
    line: int
    last: int       # of its body; the same as line where it has none
    signature: str
    text: str
    members: list = field(default_factory=list)

    @property
    def short(self):
        return self.name.rsplit("::", 1)[-1]


def plain(element):
    return " ".join("".join(element.itertext()).split()) if element is not None else ""


def tidy(code):
    """Doxygen's spaces in a declaration as clang-format's."""
    code = re.sub(r"<\s+", "<", re.sub(r"\s+>", ">", code))
    code = re.sub(r"\s+([&*]+)(?=\w)", r"\1 ", re.sub(r"\s+([&*]+)(?=[>,)\s]|$)", r"\1", code))
    code = re.sub(r"(?<!operator)(\w)=(?=[^=])", r"\1 = ", code) if "operator" not in code else \
        re.sub(r"(\w)=(?=\{)", r"\1 = ", code)
    return re.sub(r" '(?=\d)", "'", code)


def text_of(element):
    """The comment, as doxygen_filter wrapped it."""
    found = element.find("detaileddescription//verbatim")
    return "" if found is None else found.text.replace(doxygen_filter.NEWLINE, "\n").rstrip()


def signature_of(member):
    kind, name, get = member.get("kind"), plain(member.find("name")), lambda tag: plain(member.find(tag))
    if kind == "enum":
        return f"enum {'class ' if member.get('strong') == 'yes' else ''}{name}"
    if kind == "typedef":
        return tidy(f"using {name} = {get('type')}") + ";"
    template = member.find("templateparamlist")
    head = "".join(f"{plain(p.find('type'))}, " for p in template) if template is not None else ""
    head = f"template <{head[:-2]}>\n" if head else ""
    words = [word for word, on in [("explicit", member.get("explicit") == "yes"),
                                   ("static", member.get("static") == "yes" and kind == "function")] if on]
    type_ = get("type")
    if kind == "friend":
        type_ = type_.removeprefix("friend ")
        words.append("friend")
    requires = get("requiresclause")
    code = " ".join(words + [part for part in [type_, name + get("argsstring")] if part])
    initial = get("initializer")
    if kind == "variable" and initial:
        code += " " + initial
    code = re.sub(r"\)\s*=\s*default$", ")", tidy(code))
    return head + (f"requires {requires}\n" if requires else "") + code + ";"


def read_doxygen(folder):
    """header → its entities outside of classes; classes hold theirs."""
    classes, loose = {}, []
    for path in sorted(folder.glob("*.xml")):
        compound = ElementTree.parse(path).getroot().find("compounddef")
        if compound is None or compound.get("kind") not in ["class", "struct", "namespace"]:
            continue
        name, owner = plain(compound.find("compoundname")), None
        if not name.startswith("weft"):
            continue
        if compound.get("kind") != "namespace":
            where = compound.find("location")
            template = compound.find("templateparamlist")
            head = ", ".join(plain(p.find("type")) for p in template) if template is not None else ""
            bases = ", ".join(tidy("".join(b.itertext())).split("::")[-1] for b in compound.findall("basecompoundref"))
            signature = (f"template <{head}>\n" if head else "") + f"{compound.get('kind')} {name.rsplit('::', 1)[-1]}" + \
                (f" : {bases}" if bases else "")
            owner = Entity(compound.get("kind"), name, where.get("file"), int(where.get("line")),
                           int(where.get("bodyend") or where.get("line")), signature, text_of(compound))
            if not owner.text:
                continue
            classes[name] = owner
        for member in compound.findall("sectiondef/memberdef"):
            where = member.find("location")
            if member.get("prot") != "public" and member.get("kind") != "friend" or where is None:
                continue
            if not text_of(member):
                continue
            inner = plain(member.find("name"))
            entity = Entity(member.get("kind"), f"{name}::{inner}", where.get("file"), int(where.get("line")),
                            int(where.get("line")), signature_of(member), text_of(member))
            for value in member.findall("enumvalue"):
                label = plain(value.find("name"))
                if not text_of(value):
                    logger.warning("%s:%s: %s::%s is not documented", where.get("file"), where.get("line"), inner, label)
                entity.members.append(Entity("enumerator", f"{entity.name}::{label}", entity.header, entity.line,
                                             entity.line, label, text_of(value)))
            if owner is not None and member.get("kind") != "friend":
                owner.members.append(entity)
            elif owner is not None:
                entity.name = re.sub(r"::\w+::(?=operator)", "::", entity.name)
                owner.members.append(entity)
            else:
                loose.append(entity)
    headers = {}
    for entity in list(classes.values()):
        outer = classes.get(entity.name.rsplit("::", 1)[0])
        (outer.members if outer else headers.setdefault(entity.header, [])).append(entity)
    for entity in loose:
        headers.setdefault(entity.header, []).append(entity)
    for entity in list(classes.values()):
        entity.members.sort(key=lambda e: e.line)
    for entities in headers.values():
        entities.sort(key=lambda e: e.line)
    return headers


class Signature(nodes.TextElement):
    """A declaration, coloured, its types linked."""


def visit_signature(translator, node):
    translator.body.append('<pre class="highlight signature"><code>')


def depart_signature(translator, node):
    translator.body.append("</code></pre>")


def link(target, shown):
    reference = pending_xref(shown, refdomain="weft", reftype="name", reftarget=target, refexplicit=True,
                             refwarn=False)
    return reference


class Page:
    """One header as docutils nodes."""

    def __init__(self, domain, document, docname, header, entities):
        self.domain, self.document, self.docname, self.header, self.entities = \
            domain, document, docname, header, entities
        self.text = (ROOT / "include" / header).read_text(encoding="utf-8")
        self.free = doxygen_filter.read_header(self.text)[1]

    def section(self, title, number, code=False):
        section = nodes.section(ids=[nodes.make_id(title) or f"section-{number}"], names=[])
        while section["ids"][0] in self.document.ids:
            section["ids"][0] += "-"
        section["ids"][0] = section["ids"][0].rstrip("-") + (f"-{number}" if section["ids"][0].endswith("-") else "")
        self.document.set_id(section)
        heading = nodes.title()
        heading += nodes.literal(title, title) if code else nodes.Text(title)
        section += heading
        return section

    def words(self, text, where):
        """A line of text as nodes: `code`, and names of the library's as links."""
        found = []
        for part in re.split(r"(`[^`]+`)", text):
            if part.startswith("`") and len(part) > 2:
                literal = nodes.literal(part[1:-1], part[1:-1])
                target = self.domain.find(part[1:-1].split("(")[0], where)
                found.append(self.linked(target, literal) if target else literal)
                continue
            for word in re.split(r"(\b[A-Za-z_]\w*(?:::\w+)*(?:\(\)|-\d)?)", part):
                name = word.removesuffix("()")
                target = None
                if "::" in name or word.endswith("()") or len(re.findall("[A-Z]", name)) > 1 or name in PLAIN_NAMES:
                    target = self.domain.find(name, where)
                if target and target != where:
                    found.append(self.linked(target, nodes.literal(word, word)))
                elif word:
                    found.append(nodes.Text(word))
        return found

    def linked(self, target, node):
        reference = link(target, node.astext())
        reference += node
        return reference

    def prose(self, text, where=""):
        """A comment as paragraphs and blocks of code."""
        found, lines = [], []

        def paragraph():
            if lines:
                found.append(nodes.paragraph("", "", *self.words(" ".join(lines), where)))
                lines.clear()
        code = []

        def block():
            if code:
                content = "\n".join(code).rstrip()
                found.append(nodes.literal_block(content, content, language="cpp" if re.search(r";\s*(//.*)?$", content, re.MULTILINE)
                                                  else "text"))
                code.clear()
        for line in text.split("\n"):
            if re.match(r" {4,}\S", line):
                paragraph()
                code.append(line[5:])
            elif not line.strip():
                paragraph()
                if code:
                    code.append("")
            else:
                block()
                lines.append(line.strip())
        paragraph()
        block()
        return found

    def signature(self, entity):
        node = Signature()
        for kind, value in CppLexer(stripnl=False, ensurenl=False).get_tokens(entity.signature):
            css = STANDARD_TYPES.get(kind, "")
            target = self.domain.find(value, entity.name) if kind in Token.Name and len(value) > 1 else None
            if value == entity.short and target:
                target = None
                css = "nf"
            if target and target != entity.name and target in self.domain.types:
                piece = link(target, value)
                piece += nodes.inline(value, value, classes=["nc"])
            else:
                piece = nodes.inline(value, value, classes=[css] if css else [])
            node += piece
        return node

    def entry(self, entities):
        """Declarations that share one comment."""
        box = nodes.container(classes=["api-entry", f"api-{entities[0].kind}"])
        for entity in entities:
            name = self.domain.note(entity, self.docname)
            line = nodes.container(classes=["api-signature"], ids=[name])
            line += self.signature(entity)
            box += line
        text = nodes.container(classes=["api-text"])
        text += self.prose(entities[0].text, entities[0].name)
        for value in entities[0].members:
            item = nodes.container(classes=["api-value"], ids=[self.domain.note(value, self.docname)])
            item += nodes.paragraph("", "", nodes.literal(value.short, value.short), nodes.Text(" "),
                                    *self.words(" ".join(value.text.split()), value.name))
            text += item
        box += text
        return box

    def class_head(self, entity):
        """Its declaration, where that says more than the heading, and what it is."""
        box = nodes.container(classes=["api-entry", "api-class-head"])
        line = nodes.container(classes=["api-signature"], ids=[self.domain.note(entity, self.docname)])
        if " : " in entity.signature or "\n" in entity.signature:
            line += self.signature(entity)
        text = nodes.container(classes=["api-text"])
        text += self.prose(entity.text, entity.name)
        box += [line, text]
        return box

    def fill(self, parent, entities, first, last):
        """What stands in lines first … last, outside of classes that are entities themselves."""
        items = [(e.line, "entity", e) for e in entities]
        inside = [(e.line, e.last) for e in entities if e.kind in ["class", "struct"]]
        items += [(line + 1, "free", text) for line, text in self.free
                  if first < line + 1 < last and not any(a <= line + 1 <= b for a, b in inside)]
        items.sort(key=lambda item: item[0])
        where, group = parent, []

        def flush():
            nonlocal group
            if group:
                where.append(self.entry(group))
            group = []
        for line, kind, item in items:
            if kind == "free":
                flush()
                if item.startswith(" ---- "):
                    title, rest = re.match(r" ---- ([^.:\n(]*)[.:]?\s*(.*)", item, re.DOTALL).groups()
                    where = self.section(title[:1].upper() + title[1:].strip(), line)
                    parent.append(where)
                    where.extend(self.prose(rest[:1].upper() + rest[1:]) if rest else [])
                else:
                    where.extend(self.prose(item))
            elif item.kind in ["class", "struct"]:
                flush()
                own = self.section(item.signature.split(" : ")[0].split("\n")[-1], line, code=True)
                own["classes"].append("api-class")
                where.append(own)
                own.append(self.class_head(item))
                self.fill(own, item.members, item.line, item.last)
            else:
                if group and (item.text != group[-1].text or item.kind != group[-1].kind or item.kind == "enum"):
                    flush()
                group.append(item)
        flush()

    def names(self):
        """Of a long page what it holds, in the header's order."""
        names = list(dict.fromkeys(e.name for e in self.entities if not e.short.startswith("operator")))
        if len(names) < 12:
            return []
        paragraph = nodes.paragraph(classes=["api-names"])
        for name in names:
            short = name.rsplit("::", 1)[-1]
            paragraph += [self.linked(name, nodes.literal(short, short)), nodes.Text(" ")]
        return [paragraph]

    def nodes(self):
        top = nodes.container()
        start = self.free[0] if self.free and self.free[0][0] == 0 else None
        if start:
            top.extend(self.prose(start[1]))
            self.free = self.free[1:]
        source = pending_xref("", refdomain="weft", reftype="source", reftarget=f"include/{self.header}",
                              refexplicit=True, refwarn=False)
        source += nodes.Text("The header as it stands")
        code = nodes.literal_block(f"#include <{self.header}>", f"#include <{self.header}>", language="cpp")
        top.append(code)
        top.extend(self.names())
        self.fill(top, self.entities, 0, len(self.text.splitlines()) + 1)
        top.append(nodes.paragraph("", "", source, nodes.Text("."), classes=["api-source"]))
        return top.children


PLAIN_NAMES = {"Tensor", "Mask", "Rng", "Shape", "Composed", "Dropout", "Linear", "Embedding"}


class HeaderDirective(Directive):
    required_arguments = 1

    def run(self):
        env = self.state.document.settings.env
        domain = env.get_domain("weft")
        header = self.arguments[0]
        return Page(domain, self.state.document, env.docname, header, domain.headers.get(header, [])).nodes()


def first_sentence(text):
    return re.split(r"(?<=[a-z0-9)])[.](?=\s|$)", " ".join(text.split()))[0]


class HeadersDirective(Directive):
    """All headers, each with the first sentence of what it says of itself."""

    def run(self):
        env = self.state.document.settings.env
        domain = env.get_domain("weft")
        found = []
        names = sorted(path.relative_to(ROOT / "include").as_posix() for path in (ROOT / "include").rglob("*.h"))
        for folder in sorted({pathlib.PurePosixPath(name).parent.as_posix() for name in names}):
            items = nodes.definition_list()
            for name in [n for n in names if pathlib.PurePosixPath(n).parent.as_posix() == folder]:
                page = Page(domain, self.state.document, env.docname, name, [])
                text = page.free[0][1] if page.free and page.free[0][0] == 0 else ""
                if not text and domain.headers.get(name):
                    text = max(domain.headers[name], key=lambda e: e.kind in ["class", "struct"] and
                               not e.name.endswith("Options")).text
                reference = pending_xref("", refdomain="weft", reftype="header", reftarget=name, refexplicit=True,
                                         refwarn=False)
                reference += nodes.literal(name, name)
                items += nodes.definition_list_item("", nodes.term("", "", reference), nodes.definition(
                    "", nodes.paragraph("", "", *page.words(first_sentence(text) + ".", ""))))
            section = page.section(folder + "/", len(found))
            section += items
            found.append(section)
        return found


class WeftDomain(Domain):
    """The names of the library's, for links and for the search."""
    name = "weft"
    label = "Weft"
    object_types = {kind: ObjType(kind, "name") for kind in
                    ["class", "struct", "function", "variable", "typedef", "enum", "enumerator", "friend"]}
    roles = {"name": XRefRole()}
    initial_data = {"objects": []}

    @property
    def headers(self):
        return self.env.app.weft_headers

    @property
    def index(self):
        """name → (page, anchor, kind), of all that the headers hold."""
        if not hasattr(self.env.app, "weft_index"):
            index, types = {}, set()

            def add(entities):
                for entity in entities:
                    number = sum(1 for _ in index.get(entity.name, []))
                    index.setdefault(entity.name, []).append((entity, anchor(entity.name, number)))
                    if entity.kind in ["class", "struct", "enum", "typedef"]:
                        types.add(entity.name)
                    add(entity.members)
            for entities in self.headers.values():
                add(entities)
            self.env.app.weft_index, self.env.app.weft_types = index, types
        return self.env.app.weft_index

    @property
    def types(self):
        return self.index and self.env.app.weft_types

    def find(self, name, where):
        """The full name of what `name` means within `where`, or None."""
        scope = where.split("::") if where else []
        while True:
            for space in [[], *([["weft", inner] for inner in ["nn", "optim", "check", "text", "io", "viz"]]
                                if not scope else [])]:
                full = "::".join(scope + space + [name])
                if full in self.index:
                    return full
            if not scope:
                full = f"weft::{name}"
                return full if full in self.index else None
            scope.pop()

    def note(self, entity, docname):
        """Remembers where it stands, and returns its anchor there."""
        for known, identifier in self.index.get(entity.name, []):
            if (known.line, known.signature) == (entity.line, entity.signature):
                self.data["objects"].append((entity.name, entity.name.removeprefix("weft::"), entity.kind, docname,
                                             identifier, 1))
                return identifier
        raise KeyError(entity.name)

    def get_objects(self):
        seen = set()
        for item in self.data["objects"]:
            if item[0] not in seen:
                seen.add(item[0])
                yield item

    def merge_domaindata(self, docnames, otherdata):
        self.data["objects"] += otherdata["objects"]

    def clear_doc(self, docname):
        self.data["objects"] = [item for item in self.data["objects"] if item[3] != docname]

    def resolve_any_xref(self, *arguments):
        return []

    def resolve_xref(self, env, fromdocname, builder, kind, target, node, contnode):
        children = [child.deepcopy() for child in node.children]
        if kind == "header":
            uri = builder.get_relative_uri(fromdocname, "api/" + target.removeprefix("weft/").removesuffix(".h"))
            return nodes.reference("", "", *children, internal=True, refuri=uri)
        if kind == "source":
            from . import sources
            sources.wanted.add(target)
            uri = builder.get_relative_uri(fromdocname, sources.page_of(target))
            return nodes.reference("", "", *children, internal=True, refuri=uri)
        entity, identifier = self.index[target][0]
        page = "api/" + entity.header.removeprefix("weft/").removesuffix(".h")
        return make_refnode(builder, fromdocname, page, identifier, children, entity.name)


def anchor(name, number):
    words = name.removeprefix("weft::").replace("operator", "op")
    for sign, word in [("()", "call"), ("[]", "at"), ("==", "eq"), ("!=", "ne"), ("<=", "le"), (">=", "ge"), ("<<", "out"),
                       ("<", "lt"), (">", "gt"), ("||", "or"), ("&&", "and"), ("|", "join"), ("!", "not"), ("+", "plus"),
                       ("-", "minus"), ("*", "times"), ("/", "over"), ("=", "assign")]:
        words = words.replace("op" + sign, "op-" + word)
    return re.sub(r"[^\w-]+", ".", words).strip(".") + (f"-{number + 1}" if number else "")


def read(app):
    app.weft_headers = read_doxygen(ROOT / "build/docs/doxygen")


def setup(app):
    app.add_node(Signature, html=(visit_signature, depart_signature))
    app.add_directive("weft-header", HeaderDirective)
    app.add_directive("weft-headers", HeadersDirective)
    app.add_domain(WeftDomain)
    app.connect("builder-inited", read)
