"""The changes that mutation testing makes in a C++ source: where they can be made, and what stands there then.

It relies on clang-format: a binary operator has spaces around it, a pointer's * and a template's < have not.
"""

import re
from dataclasses import dataclass

SWAPS = {"+": "-", "-": "+", "*": "/", "/": "*", "%": "*", "<": "<=", ">": ">=", "<=": "<", ">=": ">", "==": "!=",
         "!=": "==", "&&": "||", "||": "&&", "+=": "-=", "-=": "+=", "*=": "/=", "/=": "*=", "|": "&", "&": "|"}
NO_CALL = "if for while switch return throw catch static_assert sizeof decltype using delete assert operator".split()
ALIKE = ["std::min", "std::max", "std::swap", "maximum", "minimum", "__builtin_mul_overflow", "__builtin_add_overflow"]


@dataclass(frozen=True)
class Mutant:
    file: str
    begin: int
    end: int
    text: str  # what stands at begin … end afterwards
    line: int
    key: tuple  # file, the line before and after: found again where other lines have changed

    def applied(self, text):
        return text[:self.begin] + self.text + text[self.end:]

    def __str__(self):
        before, after = (line if len(line) <= 150 else line[:149] + "…" for line in self.key[1:])
        return f"{self.file}:{self.line}: {before}  →  {after or 'nothing'}"


def code_only(text):
    """As long as text: comments, strings, characters, preprocessor lines and static_asserts become '"'."""
    hidden = re.compile(r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|(?<![\w])\'(?:\\.|[^\'\\\n])+\''
                        r'|^[ \t]*#[^\n]*|\bstatic_assert\([^;]*;', re.S | re.M)
    return hidden.sub(lambda m: '"' * len(m[0]), text)


def closing(code, at):
    """The parenthesis that closes the one at `at`."""
    depth = 0
    for i in range(at, len(code)):
        depth += (code[i] in "([{") - (code[i] in ")]}")
        if depth == 0:
            return i
    return len(code) - 1


def arguments_of(code, begin, end):
    """Begin and end of each argument between two parentheses."""
    parts, depth, start = [], 0, begin
    for i in range(begin, end):
        depth += (code[i] in "([{") - (code[i] in ")]}")
        if code[i] == "," and depth == 0:
            parts.append((start, i))
            start = i + 1
    parts.append((start, end))
    return [(b + len(code[b:e]) - len(code[b:e].lstrip()), e) for b, e in parts]


def changes_of(code, text):
    """(begin, end, replacement) of each change."""
    for m in re.finditer(r"(?<= )(\+|-|\*|/|%|<|>|<=|>=|==|!=|&&|\|\||\+=|-=|\*=|/=|\||&)(?=[ \n])", code):
        around = code[:m.start()].rstrip()[-1:] + code[m.end():].lstrip()[:1]
        if '"' not in around or m[0] in ("&&", "||", "==", "!="):  # strings are joined by +
            yield m.start(), m.end(), SWAPS[m[0]]
    for m in re.finditer(r"\+\+|--", code):
        yield m.start(), m.end(), "--" if m[0] == "++" else "++"
    for m in re.finditer(r"(?<![\w.'])\d+(\.\d*)?(?![\w.'])", code):
        number = m[0]
        whole, dot, rest = number.partition(".")
        yield m.start(), m.end(), {"0": "1", "1": "0"}.get(number, str(int(whole) + 1) + dot + rest)
    for m in re.finditer(r"\b(true|false)\b", code):
        yield m.start(), m.end(), "false" if m[0] == "true" else "true"
    for m in re.finditer(r"!(?=[\w(])", code):
        yield m.start(), m.end(), ""
    for m in re.finditer(r"\bstd::(min|max)(?=[<(])", code):
        yield m.start(), m.end(), "std::max" if m[1] == "min" else "std::min"
    # a check that is not made
    for m in re.finditer(r"\bif \(", code):
        end = closing(code, m.end() - 1)
        if re.match(r"\)\s*(\{\s*)?(throw|refuse|wrong|fail|demand)\b", code[end:]):
            yield m.end(), end, "false"
    for m in re.finditer(r"\b([A-Za-z_][\w:]*)(<[\w:, ]+>)?\(", code):
        name, begin, end = m[1], m.end() - 1, closing(code, m.end() - 1)
        if name in NO_CALL:
            continue
        # a call whose result is not used
        statement = re.search(r"(?:^|[;{})]|\belse)\s*((?:[\w:\[\]]+(?:\.|->))*)$", code[:m.start()])
        if statement and code[end + 1:end + 2] == ";" and code[:statement.start(1)].rstrip()[-1:] != "(":
            yield statement.start(1), end + 1, ""
        # two arguments the wrong way round; a declaration's have a type and a name, and for some they are alike
        if name in ALIKE:
            continue
        parts = arguments_of(code, begin + 1, end)
        for (b, e), (b2, e2) in zip(parts, parts[1:]):
            one, two = text[b:e], text[b2:e2]
            declares = re.compile(r'^(const )?[\w:<>, ]+[&*]* \w+( =.*)?$|^\[|^\s*$|^[\w:]+[&*]$')
            if one == two or declares.match(one) or declares.match(two) or "{" in one + two:
                continue
            if one.startswith('"') == two.startswith('"'):
                yield b, e2, two + text[e:b2] + one


def mutants_of(file, text):
    code = code_only(text)
    found = []
    for begin, end, new in changes_of(code, text):
        first = text.rfind("\n", 0, begin) + 1
        last = text.find("\n", end)
        before = " ".join(text[first:last].split())
        after = " ".join((text[first:begin] + new + text[end:last]).split())
        if before != after:
            found.append(Mutant(file, begin, end, new, text.count("\n", 0, begin) + 1, (file, before, after)))
    return found
