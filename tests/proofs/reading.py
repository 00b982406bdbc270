"""Reads the recorded operations of a graph as SymPy expressions, element by element.

Where the record lacks a parameter (an axis, an exponent), the one is taken that gives the recorded values. What only
moves elements (a permutation, a slice) is read from the values too: each element of the result is looked up among those of
the inputs. Every reading is compared with the recorded values of both runs, so an operation that was read wrongly stops the
proof. What is not smooth is read as it is around the sample: relu as x where x > 0, as 0 elsewhere."""
import numpy as np
import sympy as sp

from formulas import MOVES, candidates, number
from zero import is_zero


class Unreadable(Exception):
    pass


# ---- readings by the values at the sample

def chosen(op, entry, inputs, saved):
    """For what picks, at each position, one of a few formulas: the expression of each element. None if op does not."""
    shape = tuple(entry["shape"])
    wide = [np.broadcast_to(x.expressions, shape) for x in inputs]
    a = [np.broadcast_to(x.a, shape) for x in inputs]
    y = np.empty(shape, dtype=object)
    for at in np.ndindex(shape):
        value = entry["y"][at]
        if op == "where":
            k = 0 if np.broadcast_to(saved[0], shape)[at] else 1
            y[at], found = wide[k][at], a[k][at]
        elif op in ("maximum", "minimum"):
            k = 0 if (a[0][at] > a[1][at]) == (op == "maximum") else 1
            y[at], found = wide[k][at], a[k][at]
        elif op == "relu":
            y[at], found = (wide[0][at], a[0][at]) if a[0][at] > 0 else (sp.Integer(0), 0.0)
        elif op == "abs":
            y[at], found = (wide[0][at], a[0][at]) if a[0][at] > 0 else (-wide[0][at], -a[0][at])
        elif op == "clamp":
            y[at], found = (wide[0][at] if value == a[0][at] else number(value)), value
        else:  # sign, floor, round: constant between their steps
            y[at], found = number(value), value
        if found != value:
            raise Unreadable(f"{op}: the element at {at} is {value}, not {found}")
    return y


CHOSEN = {"where", "maximum", "minimum", "relu", "abs", "clamp", "sign", "floor", "round"}


def moved(op, entry, inputs):
    """Each element of the result, looked up by its values in both runs among the inputs' elements."""
    found = {}
    for x in inputs:
        for first, second, expression in zip(x.a.ravel(), x.b.ravel(), x.expressions.ravel()):
            found.setdefault((first, second), set()).add(expression)
    if op == "unslice":
        found.setdefault((0.0, 0.0), set()).add(sp.Integer(0))
    y = np.empty(tuple(entry["shape"]), dtype=object)
    for at in np.ndindex(y.shape):
        of_value = found.get((entry["y"][at], entry["again"][at]))
        if of_value is None:
            raise Unreadable(f"{op}: the element at {at} is no element of an input")
        first, *others = of_value
        if not all(is_zero(first - other) for other in others):
            raise Unreadable(f"{op}: the element at {at} may be any of {of_value}")
        y[at] = first
    return y


# ---- a graph

class Array:
    """The values of an entry in both runs, and the expression of each element."""

    def __init__(self, a, b, expressions):
        self.a, self.b, self.expressions = a, b, expressions

    def doubles(self):
        return self.a.astype(float).ravel()


def array(values, shape):
    flat = np.empty(len(values), dtype=object)
    flat[:] = [float(v) for v in values]
    return flat.reshape(shape)


def agree(found, recorded):
    if found.shape != recorded.shape:
        return False
    f, r = found.astype(float), recorded.astype(float)
    scale = max(1.0, float(np.max(np.abs(r[np.isfinite(r)]), initial=0)))
    with np.errstate(invalid="ignore"):  # inf − inf
        return bool(np.all((f == r) | (np.abs(f - r) <= 1e-11 * scale)))


def read_constant(entry, dependent):
    a, b = entry["y"], entry["again"]
    expressions = np.empty(a.shape, dtype=object)
    for at in np.ndindex(a.shape):
        # What differs between the runs depends on the inputs outside the graph: a symbol, on which no result may depend.
        expressions[at] = number(a[at]) if a[at] == b[at] or entry["type"] in ("bool", "int64") else dependent.setdefault(
            (a[at], b[at]), sp.Symbol(f"c{len(dependent)}", positive=a[at] > 0 or None, real=True))
    return expressions


def read_operation(entry, arrays):
    op = entry["op"]
    inputs = [arrays[i] for i in entry["inputs"] if i >= 0]
    saved = [arrays[i].a for i in entry["saved"] if i >= 0]
    if op in CHOSEN:
        return chosen(op, entry, inputs, saved)
    if op in MOVES:
        return moved(op, entry, inputs)
    tried = 0
    for f in candidates(op, entry, inputs, saved):
        tried += 1
        try:
            if all(agree(np.asarray(f(*run), dtype=object), y) for run, y in
                   [([x.a for x in inputs], entry["y"]), ([x.b for x in inputs], entry["again"])]):
                return np.asarray(f(*[x.expressions for x in inputs]), dtype=object).reshape(tuple(entry["shape"]))
        except (ValueError, IndexError, OverflowError, ZeroDivisionError, TypeError):
            continue
    raise Unreadable(f"{op}: " + ("no reading gives the recorded values" if tried else "no reading; add one to tests/proofs/formulas.py"))


def read(row):
    """The arrays of a sample's entries, in their order."""
    arrays, dependent = [], {}
    for entry in row["entries"]:
        entry["y"], entry["again"] = (array(entry[key], entry["shape"]) for key in ("values", "again"))
        if entry["op"] == "leaf":
            expressions = np.empty(entry["y"].shape, dtype=object)
            for k, at in enumerate(np.ndindex(expressions.shape)):
                expressions[at] = sp.Symbol(f"{entry['name']}_{k}", real=True, positive=entry["y"][at] > 0 or None)
        elif entry["op"] == "constant":
            expressions = read_constant(entry, dependent)
        else:
            expressions = read_operation(entry, arrays)
        arrays.append(Array(entry["y"], entry["again"], expressions))
    return arrays
