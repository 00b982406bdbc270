"""Where docs/dictionary.md has no row for a function of one element whose formula stands in tests/proofs/rules.txt, `write` puts one there,
and its expression with its values into examples/dictionary.cpp: each after those of the operation before it in rules.txt. From then on both
are text as any other."""
import pathlib
import re

import mpmath
import torch

from hostile_definitions import FORMULAS, entries, evaluated

ROOT = pathlib.Path(__file__).parents[2]
PAGE, PROGRAM = ROOT / "docs/dictionary.md", ROOT / "examples/dictionary.cpp"


def put_after(pattern, line, path):
    text = path.read_text()
    end = re.search(pattern, text, re.MULTILINE).end()
    path.write_text(f"{text[:end]}\n{line}{text[end:]}")


def write():
    before = None
    for name, value in [operation[:2] for _, operations in entries() for operation in operations]:
        if name in FORMULAS and not re.search(rf"^(.* \| ){{3}}.*\b{name}\(", PAGE.read_text(), re.MULTILINE):
            values = ", ".join(str(round(float(evaluated(FORMULAS[name], mpmath.mpf(x), mpmath)), 6)) for x in (1, 2, 3))
            in_numpy = re.sub(r"\bx\b", "v", re.sub(r"(\w+)\(", r"np.\1(", FORMULAS[name]))
            theirs, ours = ("torch", "weft") if hasattr(torch, name) else ("F", "F")
            put_after(rf"^\|.*\| `{before}\(.*$", f"| {value.removeprefix('y = ')} | `{theirs}.{name}(v)` | `{in_numpy}` | `{name}(v)` | `{ours}.{name}(v)` |", PAGE)
            put_after(rf"^    same\({before}\(.*;$", f"    same({name}(v), {{{values}}});", PROGRAM)
        if re.search(rf"^    same\({re.escape(name)}\(.*;$", PROGRAM.read_text(), re.MULTILINE):
            before = name
