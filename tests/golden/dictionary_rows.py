"""Where docs/dictionary.md has no row for a function of one element whose formula stands in tests/proofs/rules.txt, `write` puts one there,
and its expression with its values into examples/dictionary.cpp: each after those of the operation before it in rules.txt. From then on both
are text as any other."""
import pathlib
import re

import mpmath
import numpy as np
import torch

from hostile_definitions import FORMULAS, entries, evaluated

ROOT = pathlib.Path(__file__).parents[2]
PAGE, PROGRAM = ROOT / "docs/dictionary.md", ROOT / "examples/dictionary.cpp"


def put_after(pattern, line, path):
    text = path.read_text()
    end = re.search(pattern, text, re.MULTILINE).end()
    path.write_text(f"{text[:end]}\n{line}{text[end:]}")


def cells(name, value):
    formula = FORMULAS[name]
    has_numpy = all(hasattr(np, f) for f in re.findall(r"(\w+)\(", formula))
    numpy = "`" + re.sub(r"\bx\b", "v", re.sub(r"(\w+)\(", r"np.\1(", formula)) + "`" if has_numpy else "–"
    theirs, ours = ("torch", "weft") if hasattr(torch, name) else ("F", "F")
    return f"| {value.removeprefix('y = ')} | `{theirs}.{name}(v)` | {numpy} | `{name}(v)` | `{ours}.{name}(v)` |"


def is_there(name):
    """Whether a cell of Weft's calls the operation."""
    rows = [line.split(" | ") for line in PAGE.read_text().splitlines() if line.startswith("| ")]
    return any(re.search(rf"(?<![.\w]){re.escape(name)}\(", row[3]) for row in rows if len(row) == 5)


def write():
    before = None
    for name, value in [operation[:2] for _, operations in entries() for operation in operations]:
        if name in FORMULAS and not is_there(name):
            values = ", ".join(str(round(float(evaluated(FORMULAS[name], mpmath.mpf(x), mpmath)), 6)) for x in (1, 2, 3))
            put_after(rf"^\|.*\| `{before}\(.*$", cells(name, value), PAGE)
            put_after(rf"^    same\({before}\(.*;$", f"    same({name}(v), {{{values}}});", PROGRAM)
            print(f"{PAGE.name}, {PROGRAM.name}: a row for {name}, after that of {before}")
        if re.search(rf"^    same\({re.escape(name)}\(.*;$", PROGRAM.read_text(), re.MULTILINE):
            before = name
