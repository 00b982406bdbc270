"""An example for each class and each function of the reference: from a comment of its header, or else from
examples/dictionary.cpp, which compares every expression with its result."""
import functools
import re

from .entities import CLASSES, ROOT

DICTIONARY = "examples/dictionary.cpp"
STATEMENT = re.compile(r"^ +(same|shaped|holds)\((.*)\);(?: *//.*)?$")
DEFINITION = re.compile(r"^ *(?:const |static )?[A-Za-z][\w:<>]*[&*]? (\w+)(?: = |\(|\{|;|,).*;(?: *//.*)?$")


def arguments(text):
    """Where its first argument ends: (first, the rest)."""
    depth = 0
    for i, c in enumerate(text):
        depth += (c in "({[") - (c in ")}]")
        if c == "," and depth == 0:
            return text[:i].strip(), text[i + 1:].strip()
    return text.strip(), ""


def names_in(code):
    """What it uses that is neither called nor a member: variables."""
    code = re.sub(r'"(?:\\.|[^"\\])*"', "", code)
    return set(re.findall(r"(?<![\w.:])([a-z]\w*)\b(?!\s*(?:\(|::))", code))


@functools.cache
def lines():
    return (ROOT / DICTIONARY).read_text(encoding="utf-8").splitlines()


def definitions(names, last):
    """The lines that define the variables, and what these are made of: those of the file, and those of the function
    that ends at line `last`."""
    begin = max(i for i in range(last) if not lines()[i].startswith((" ", "}")) and lines()[i].endswith("{"))
    found = {}
    for i, line in enumerate(lines()[:last]):
        match = DEFINITION.match(line)
        if match and (i > begin or not line.startswith(" ")):
            found |= {name: i for name in [match.group(1), *re.findall(r", (\w+) = ", line)] if name in names}
    more = set().union(*(names_in(lines()[i].split("//")[0]) for i in found.values())) - names if found else set()
    known = set(found.values())
    return known | definitions(names | more, last) if more else known


BEGIN = next(i for i, line in enumerate(lines()) if line.startswith("// What the tables call"))


@functools.cache
def from_dictionary(function):
    """(text, line), or None. A call as a function comes before one as a member of a tensor."""
    for called in [rf"(?<![\w.:]){function}\(", rf"\b[xyvt]\.{function}\("]:
        for i, line in enumerate(lines()):
            match = STATEMENT.match(line) if i > BEGIN else None
            kind, (code, result) = (match.group(1), arguments(match.group(2))) if match else ("", ("", ""))
            if not re.search(called, code) or (kind == "holds" and not result.startswith('"')):
                continue
            above = [re.sub(r" {2,}//", "  //", lines()[j].strip()) for j in sorted(definitions(names_in(code), i))]
            shown = {"same": result, "shaped": f"of shape {result}", "holds": "true"}[kind]
            return "\n".join([*above, f"{code};  // {shown}"]), i + 1
    return None


def shows(entity, code, signatures):
    """Whether code uses it: by its name or, where it is a class, by a member, or by a function that returns it."""
    if re.search(rf"\b{re.escape(entity.short)}\b", code):
        return True
    fields = [member.short for member in entity.members if member.kind in ["variable", "function"]] \
        if entity.kind in CLASSES else []
    makers = [name for name, signature in signatures if re.match(rf"(?:\[\[nodiscard\]\] )?{re.escape(entity.short)} ", signature)]
    return any(re.search(rf"\.{re.escape(field)}\b", code) for field in fields) or (
        entity.kind in CLASSES and any(re.search(rf"\b{re.escape(name)}\(", code) for name in makers))
