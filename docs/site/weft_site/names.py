"""The names of the library's as a Sphinx domain: where each stands, for links and for the search."""
import re

from docutils import nodes
from sphinx.addnodes import pending_xref
from sphinx.domains import Domain, ObjType
from sphinx.roles import XRefRole
from sphinx.util.nodes import make_refnode

from . import entities, sources

KINDS = [*entities.CLASSES, "function", "variable", "typedef", "enum", "enumerator", "friend"]
SPACES = ["weft", "weft::nn", "weft::optim", "weft::check", "weft::text", "weft::io", "weft::viz", "weft::training"]
SIGNS = {"()": "call", "->": "member", "[]": "at", "==": "eq", "!=": "ne", "<=": "le", ">=": "ge", "<<": "out", "<": "lt", ">": "gt",
         "||": "or", "&&": "and", "|": "join", "!": "not", "+": "plus", "-": "minus", "*": "times", "/": "over",
         "=": "assign", "++": "next", "+=": "add", "-=": "subtract", "*=": "multiply", "/=": "divide"}


def anchor_of(name, number):
    """Of the number-th overload: nn.Linear.weight, op-plus-2."""
    words = re.sub(r"operator(\W+)$", lambda m: "op-" + SIGNS[m.group(1)], name.removeprefix("weft::"))
    return re.sub(r"[^\w-]+", ".", words) + (f"-{number}" if number > 1 else "")


class Names:
    """Every entity by its full name."""

    def __init__(self, headers):
        self.headers, self.index, self.types = headers, {}, set()
        for found in headers.values():
            self._add(found)

    def _add(self, found):
        for entity in found:
            overloads = self.index.setdefault(entity.name, [])
            overloads.append((entity, anchor_of(entity.name, len(overloads) + 1)))
            if entity.kind in [*entities.CLASSES, "enum", "typedef"]:
                self.types.add(entity.name)
            self._add(entity.members)

    def find(self, name, where=""):
        """The full name of what `name` means within `where`, or anywhere in the library; None where it means nothing."""
        scopes = ["::".join(where.split("::")[:n]) for n in range(where.count("::") + 1, 0, -1)] if where else []
        return next((full for scope in [*scopes, *SPACES] if (full := f"{scope}::{name}") in self.index), None)

    def anchor(self, entity):
        return next(anchor for known, anchor in self.index[entity.name] if known is entity)


class WeftDomain(Domain):
    name = "weft"
    label = "Weft"
    object_types = {kind: ObjType(kind, "name") for kind in KINDS}
    roles = {"name": XRefRole()}

    @property
    def names(self):
        return self.env.app.weft_names

    def get_objects(self):
        """For the search: overloads come once."""
        for name, overloads in self.names.index.items():
            entity, anchor = overloads[0]
            yield name, name.removeprefix("weft::"), entity.kind, entity.page, anchor, 1

    def resolve_any_xref(self, *arguments):
        return []

    def resolve_xref(self, env, fromdocname, builder, kind, target, node, contnode):
        children = [child.deepcopy() for child in node.children]
        if kind == "name":
            entity, anchor = self.names.index[target][0]
            return make_refnode(builder, fromdocname, entity.page, anchor, children, target)
        page = entities.page_of(target) if kind == "header" else sources.want(target)
        return nodes.reference("", "", *children, internal=True, refuri=builder.get_relative_uri(fromdocname, page))


def link(kind, target, *children):
    """To a name, a header's page or a source's: resolved when all pages are known."""
    node = pending_xref("", refdomain="weft", reftype=kind, reftarget=target, refexplicit=True, refwarn=False)
    node += children
    return node


def read(app):
    app.weft_names = Names(entities.read(entities.ROOT / "build/docs/doxygen"))


def setup(app):
    app.add_domain(WeftDomain)
    app.connect("builder-inited", read)
