"""rules.txt, a line for each operation that has a gradient: name | value | rule | derivation, and of a function of one element
whose value has a formula, the formula, from which more follows: how the proofs read the operation (formulas.py), what it gives for hostile
inputs (tests/golden/hostile_rows.py) and its row in the dictionary (tests/golden/dictionary_rows.py)."""
import pathlib
import re


def entries():
    """The families, each with its operations: name, value, rule, derivation and, where there is one, formula."""
    families = []
    for line in (pathlib.Path(__file__).parent / "rules.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("## "):
            families.append((line, []))
        elif line:
            families[-1][1].append([part.strip().replace(r"\|", "|") for part in re.split(r"(?<!\\)\|", line)])
    return families


FORMULAS = {entry[0]: entry[4] for _, operations in entries() for entry in operations if len(entry) > 4}


def evaluated(formula, x, functions):
    """A formula of x, with the functions that a module has: mpmath, or SymPy."""
    names = {"log1p": lambda t: functions.log(1 + t), "expm1": lambda t: functions.exp(t) - 1} | vars(functions)
    return eval(formula, {}, names | {"x": x})
