"""What Doxygen reads in place of a header: its `//` comments as documentation, line for line.

A comment above a declaration, or behind it, documents it. One above overloads or operators documents all of them, down
to the first that has a comment of its own or to an empty line. `// ---- ` begins a section and documents nothing. The
texts pass through Doxygen untouched, as verbatim, for weft_site/reference.py to show. What stands below `// Internal: `, up to
the next comment that documents nothing, is for Weft's own libraries and has no page."""
import re
import sys

NEWLINE = "\u2424"  # between the lines of a comment, all of which must stand on one line here


def is_internal(path):
    """Whether a header has no page: it is for Weft's own libraries."""
    return path.read_text(encoding="utf-8").startswith("// Internal: ")


class Declaration:
    """Lines first … last: a function, a field, or the head of a class or a namespace."""

    def __init__(self, first, above):
        self.first, self.last, self.above, self.behind, self.code = first, first, above, [], ""

    def goes_on(self):
        """Whether the next line belongs to it too."""
        opened, closed = ("({[", ")}]") if self.in_body() else ("([", ")]")
        return (sum(self.code.count(c) for c in opened) > sum(self.code.count(c) for c in closed)
                or not re.search(r"([;{},]|\b(public|private|protected):)$", self.code))

    def in_body(self):
        return bool(re.search(r"\)[^;{}=]*\{", self.code))

    def name(self):
        """Operators have one name."""
        match = re.search(r"\b(operator)\b|(\w+)\s*\(", self.code)
        return match and (match.group(1) or match.group(2))

    def hidden(self):
        """What is not to be called by its name: destructors, and what is deleted."""
        return bool(re.search(r"= delete;|~\w+\(\)", self.code))


def split_line(line):
    """Its code, its comment or None, and where that begins. `//` counts outside of string literals."""
    for match in re.finditer(r'"(?:\\.|[^"\\])*"|(//)', line):
        if match.group(1):
            return line[:match.start()].strip(), line[match.end():].rstrip(), match.start()
    return line.strip(), None, None


def read_header(text):
    """A header's declarations, and the comments that belong to none as (number of the first line, text)."""
    declarations, free, block = [], [], []
    declaration, column = None, None  # the one that goes on, and where a comment behind the last line began
    for i, line in enumerate(text.splitlines()):
        code, comment, begins = split_line(line)
        if not code and comment is not None and column == begins:
            declarations[-1].behind.append(comment)
        elif not code and comment is not None and declaration is None:
            if block and (comment.startswith(" ---- ") or re.fullmatch(r" ---- [^.:]*", block[-1])):
                free.append((i - len(block), "\n".join(block)))  # a section's title with no text behind it
                block = []
            block.append(comment)
        else:
            column = None
        if not code and comment is not None:
            continue
        if block and (not code or code.startswith("#") or block[0].startswith(" ---- ")):
            free.append((i - len(block), "\n".join(block)))
            block = []
        if not code:
            if declaration is None:
                declarations.append(None)  # an empty line: a comment documents nothing beyond it
            continue
        if code.startswith("#"):
            continue
        if declaration is None:
            declaration = Declaration(i, block)
            declarations.append(declaration)
            block = []
        declaration.last, declaration.code = i, (declaration.code + " " + code).strip()
        if comment is not None and (not declaration.in_body() or not declaration.goes_on()):
            declaration.behind.append(comment)
            column = begins
        if not declaration.goes_on():
            declaration = None
    if block:
        free.append((len(text.splitlines()) - len(block), "\n".join(block)))
    return declarations, free


def documentation(declarations):
    """The number of a declaration's first line → its documentation."""
    docs, shared, name = {}, None, None
    for declaration in declarations:
        if declaration is None:
            shared = None
            continue
        own = declaration.above + declaration.behind
        if own:
            docs[declaration.first] = "\n".join(own)
            shared, name = (docs[declaration.first], declaration.name()) if not declaration.behind else (None, None)
        elif shared is not None and name is not None and declaration.name() == name:
            docs[declaration.first] = shared
        else:
            shared = None
    return docs


def one_by_one(code):
    """`double a = 1, b = 2;` as declarations of one field each."""
    if not re.fullmatch(r"[^()]*,[^()]*;", code) or code.startswith(("using ", "template ", "enum ")):
        return [code]
    parts, depth = [""], 0
    for c in code[:-1]:
        depth += (c in "<{") - (c in ">}")
        if c == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += c
    first = re.match(r"(.*?)\s\w+(\s*=.*|\s*\{.*)?$", parts[0])
    if first is None:  # a line of another declaration
        return [code]
    kind = first.group(1)
    return [parts[0] + ";"] + [f"{kind} {part.strip()};" for part in parts[1:]]


def shown(text):
    """The header without what is internal, line for line."""
    lines, free = text.splitlines(), read_header(text)[1]
    for (begin, comment), (end, _) in zip(free, free[1:] + [(len(lines), "")]):
        if comment.startswith(" Internal: "):
            lines[begin:end] = [line if re.match(r"namespace \w|\}  // namespace", line) else "" for line in lines[begin:end]]
    return "\n".join(lines)


def filtered(text):
    text = shown(text)
    declarations, _ = read_header(text)
    docs = documentation(declarations)
    lines = [split_line(line)[0] for line in text.splitlines()]
    for d in filter(None, declarations):
        whole = one_by_one(d.code)
        doc = f"/** \\verbatim {docs[d.first].replace(chr(10), NEWLINE)} \\endverbatim */ " if d.first in docs else ""
        if d.code.startswith("namespace "):
            doc = "/** members that are not documented are reported only where their namespace is */ "
        if d.hidden() or len(whole) > 1:
            lines[d.first:d.last + 1] = [""] * (d.last + 1 - d.first)
        if not d.hidden():
            lines[d.first] = " ".join(doc + part for part in whole) if len(whole) > 1 else doc + lines[d.first]
    return lines


if __name__ == "__main__":
    with open(sys.argv[1], encoding="utf-8") as file:
        print("\n".join(filtered(file.read())))
