"""Writes docs/rules.md: what each operation computes, its gradient rule, why, and how it is checked."""
import pathlib
import re
import sys

from rules import entries

HEAD = """# Every gradient rule

What each operation computes, its gradient rule, and where the rule comes from. In a rule, dy is the gradient of the result and dx that of x: a
rule maps dy to Σ dy·∂y/∂x. `make proofs` writes this page.

## What is proved, and how

Finite differences and PyTorch measure a gradient at some points. Here it is also proved by algebra, and not from a formula that was typed a
second time: `make proofs` runs each operation of the [table of operations](../tests/table/op_table.h) on a small sample (most axes have 1 to 3
elements), under `Plain(Plain::operations)`, takes the gradient with `create_graph = true`, then the gradient of that, and writes down every operation that was
recorded, with its inputs. [SymPy](https://www.sympy.org) reads these graphs: the elements of the inputs are symbols, each recorded operation is a
formula of its inputs' elements ([formulas.py](../tests/proofs/formulas.py) has them), and the results are expressions. Then it shows that two
differences are 0 for all values of the symbols:

- **first order**: what the rule computes, minus SymPy's derivative of what the operation computes
- **second order**: what the rule's own gradient computes, minus the derivative of the rule's expression

An expression is 0 if its numerator, as a polynomial of the symbols and of the exponentials, roots and logarithms in it, has no term left
([zero.py](../tests/proofs/zero.py)).

{counts}

What this does not prove:

- **Other sizes and options** than those of the samples. The rules do not depend on sizes, but nothing here shows that.
- **Kinks.** relu, maximum, a sort, a mask are read as they are around the sample, where no two elements that are compared are equal. What happens
  at a kink is a convention; the golden values of PyTorch test it.
- **Rounding.** The formulas are those of real numbers, and a constant such as 0.7071067811865476 is read as √½.
- **The fused kernels** of linear, layer_norm, rms_norm, gelu, cross_entropy and attention. Other tests compare them with the definition that
  is proved here.
- **The formulas of the recorded operations themselves**: that tanh computes tanh is measured. Each reading has to give the
  recorded values, to 1 part in 10¹¹, or the proof stops.

A check that cannot fail proves nothing, so [some rules that are wrong on purpose](../tests/proofs/wrong_rules.cpp) are in the list, and each of the
{refuted} has to be refuted.

The last line of each entry says how the rule is checked: **algebra**, to which order and on how many samples; **differences**, finite ones, of
which orders (`make gradcheck`); **PyTorch**, golden values of it for the value and the gradient; **programs**, random ones that use the operation
in combination with others. An operation that is *composed* has no rule of its own: the rules of the operations that it is made of give the
gradient that is shown. The formulas of the entries are written by hand for you to read; what is proved is what the library computes.
"""


def name_of(declaration):
    """`softmax` for "softmax(Tensor, int)"."""
    return re.sub(r"\(.*", "", declaration) if not declaration.startswith("operator()") else "operator()"


def counts(results):
    """The sentence that says how much is proved."""
    def of(order, wanted):
        return sum(r["proved"] >= order for r in results if r["order"] >= wanted)
    operations = {r["declaration"] for r in results}
    whole = {d for d in operations if all(r["proved"] >= r["order"] for r in results if r["declaration"] == d)}
    twice = sum(r["order"] == 2 for r in results)
    return (f"{len(whole)} of {len(operations)} differentiable declarations are proved: {of(1, 1)} of {len(results)} samples to first order, and "
            f"{of(2, 2)} of the {twice} whose gradient has one to second.")


def orders(n):
    return "first and second order" if n == 2 else "first order"


def checks(rows):
    samples = f"{len(rows)} sample" + ("s" if len(rows) > 1 else "")
    found = [f"algebra: {orders(min(r['proved'] for r in rows))}, {samples}"]
    differences = [r["gradient"] - 1 for r in rows if r["gradient"] >= 2]  # of enum Gradient: once and twice
    if differences:
        found.append(f"differences: {orders(min(differences))}")
    if any(r["compared"] for r in rows):
        found.append("PyTorch")
    if all(r["in_programs"] for r in rows):
        found.append("programs")
    return " · ".join(found)


def write(path, results, count, refuted):
    text = [HEAD.format(counts=count, refuted=refuted)]
    rows = {}
    for r in results:
        rows.setdefault(name_of(r["declaration"]), []).append(r)
    for heading, operations in entries():
        text.append(f"\n{heading}\n")
        for name, value, rule, derivation, *_ in operations:
            if name not in rows:
                sys.exit(f"rules.txt: {name} is no differentiable operation of the table; remove it")
            mine = rows.pop(name)
            parts = list(dict.fromkeys(op for r in mine for op in r["composed_of"]))
            own = {name.removeprefix("Tensor::"), *OWN.get(name, [])}
            composed = f" *Composed of {', '.join(parts)}.*" if parts and not own & set(parts) else ""
            text.append(f"- `{name}`: {value}\\\n  {rule}\\\n  {derivation}{composed}\\\n  {checks(mine)}")
    if rows:
        sys.exit(f"rules.txt has no entry for {', '.join(rows)}; add a line: name | value | rule | derivation")
    pathlib.Path(path).write_text("\n".join(text) + "\n", encoding="utf-8")


# What operators and members record under another name.
OWN = {"operator+": ["add"], "operator-": ["subtract"], "operator*": ["multiply"], "operator/": ["divide"],
       "Tensor::T": ["transpose"], "Tensor::operator[]": ["select"], "Tensor::contiguous": ["clone"], "sum_to": ["sum"],
       "broadcast_to": ["expand"]}
