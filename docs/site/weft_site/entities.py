"""What Doxygen found in the public headers, as entities in the headers' own order."""
import pathlib
import re
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass, field

from sphinx.util import logging

import doxygen_filter

ROOT = pathlib.Path(__file__).resolve().parents[3]
CLASSES = ["class", "struct"]
logger = logging.getLogger(__name__)


@dataclass
class Entity:
    """What has a name: a class, a function, a field, an alias, an enumeration or one of its values."""
    kind: str
    name: str       # weft::nn::Linear::weight
    header: str     # weft/nn/layers.h
    line: int
    last: int       # of a class; elsewhere the same as line
    signature: str  # as it is declared, without a body
    text: str       # its comment
    members: list = field(default_factory=list)

    @property
    def short(self):
        return self.name.rsplit("::", 1)[-1]

    @property
    def page(self):
        return page_of(self.header)


def page_of(header):
    return "api/" + header.removeprefix("weft/").removesuffix(".h")


def plain(element):
    return " ".join("".join(element.itertext()).split()) if element is not None else ""


def tidy(code):
    """Doxygen's spaces in a declaration as clang-format's."""
    code = re.sub(r"<\s+", "<", re.sub(r"\s+>", ">", code))
    code = re.sub(r"\s+([&*]+)(?=[>,)\s]|$)", r"\1", code)
    code = re.sub(r"\s+([&*]+)(?=\w)", r"\1 ", code)
    code = re.sub(r"(?<!operator)\b=(?=[^=])", " = ", code)
    return re.sub(r" '(?=\d)", "'", code)


def comment_of(element):
    """The comment, as doxygen_filter wrapped it."""
    found = element.find("detaileddescription//verbatim")
    return "" if found is None else found.text.replace(doxygen_filter.NEWLINE, "\n").rstrip()


def template_of(element):
    parameters = element.find("templateparamlist")
    if parameters is None:
        return ""
    return "template <" + ", ".join(plain(parameter.find("type")) for parameter in parameters) + ">\n"


def class_signature(compound, name):
    bases = ", ".join(tidy(plain(base)).split("::")[-1] for base in compound.findall("basecompoundref"))
    return f"{template_of(compound)}{compound.get('kind')} {name}" + (f" : {bases}" if bases else "")


def member_signature(member):
    def get(tag):
        return plain(member.find(tag))
    kind, name = member.get("kind"), get("name")
    if kind == "enum":
        return f"enum {'class ' if member.get('strong') == 'yes' else ''}{name}"
    if kind == "typedef":
        return f"using {name} = {tidy(get('type'))};"
    words = ["explicit"] if member.get("explicit") == "yes" else []
    words += ["static"] if member.get("static") == "yes" and kind == "function" else []
    words += ["friend"] if kind == "friend" else []
    type_, rest = get("type").removeprefix("friend "), get("argsstring")
    rest = re.sub(r"\)\s*=\s*default$", ")", rest)
    words += [tidy(type_)] if type_ else []
    words.append(name + (rest if kind == "variable" else tidy(rest)))
    words += [get("initializer")] if kind == "variable" and get("initializer") else []
    requires = get("requiresclause")
    return template_of(member) + (f"requires {tidy(requires)}\n" if requires else "") + " ".join(words) + ";"


def member_entity(member, scope):
    where, name = member.find("location"), plain(member.find("name"))
    if member.get("kind") == "friend":  # it belongs to what stands around the class
        scope = scope.rsplit("::", 1)[0]
    entity = Entity(member.get("kind"), f"{scope}::{name}", where.get("file"), int(where.get("line")),
                    int(where.get("line")), member_signature(member), comment_of(member))
    for value in member.findall("enumvalue"):
        label = plain(value.find("name"))
        if not comment_of(value):  # Doxygen itself lets these pass
            logger.warning("%s:%s: %s::%s is not documented", entity.header, entity.line, name, label)
        entity.members.append(Entity("enumerator", f"{entity.name}::{label}", entity.header, entity.line, entity.line,
                                     label, comment_of(value)))
    return entity


def class_entity(compound, name):
    where = compound.find("location")
    line = int(where.get("line"))
    return Entity(compound.get("kind"), name, where.get("file"), line, int(where.get("bodyend") or line),
                  class_signature(compound, name.rsplit("::", 1)[-1]), comment_of(compound))


def is_public(member):
    """What is not documented is not shown: Doxygen has complained of it, or it is a detail such as a deleted copy."""
    return (member.get("prot") == "public" or member.get("kind") == "friend") and comment_of(member)


def read(folder):
    """header → what it declares outside of classes, in its order; classes hold their members."""
    classes, found = {}, []
    for path in sorted(folder.glob("*.xml")):
        compound = ElementTree.parse(path).getroot().find("compounddef")
        kind = compound.get("kind") if compound is not None else None
        name = plain(compound.find("compoundname")) if compound is not None else ""
        if kind not in [*CLASSES, "namespace"] or not name.startswith("weft"):
            continue
        members = [member_entity(member, name) for member in compound.findall("sectiondef/memberdef") if is_public(member)]
        if kind == "namespace":
            found += members
        elif comment_of(compound):
            classes[name] = class_entity(compound, name)
            classes[name].members = members
    for name, entity in classes.items():
        outer = classes.get(name.rsplit("::", 1)[0])
        (outer.members if outer else found).append(entity)
    for entity in classes.values():
        entity.members.sort(key=lambda member: member.line)
    headers = {}
    for entity in sorted(found, key=lambda entity: entity.line):
        headers.setdefault(entity.header, []).append(entity)
    return headers
