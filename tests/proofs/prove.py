"""Proves gradient rules from the graphs that export_graphs writes, and writes what was proved into docs/rules.md.

    export_graphs | prove.py [--page docs/rules.md] [--only NAME]

Of a sample with inputs x, results y and their cotangents v, the graph of backward gives g, and the graph of its gradient,
with cotangents w, gives h. All of them are read as SymPy expressions of x, v and w, and these are shown to be 0:

    g_i − ∂(Σ v·y)/∂x_i             the rule, first order
    h_t − ∂(Σ w·g)/∂t               the rule's own gradient, second order: t is an element of x or v

Exits with 1 if a rule is not proved to the order at which the table of operations has a derivative, or if a rule that is
wrong on purpose (wrong_rules.cpp) is not refuted at the order at which it is wrong."""
import json
import multiprocessing
import os
import signal
import sys
import time

import sympy as sp

import page
import reading
from zero import is_zero

PATIENCE = 120  # seconds for a sample


def elements(arrays, ids):
    """The expressions of some entries, one list; 0 for what has no gradient."""
    return [None if i is None or i < 0 else list(arrays[i].expressions.ravel()) for i in ids]


def pairing(cotangents, results):
    """The terms of Σ cotangent · result."""
    return [(c, r) for cs, rs in zip(cotangents, results) if cs is not None and rs is not None for c, r in zip(cs, rs) if r != 0]


def derivative(pairs, t):
    """∂(Σ c·r)/∂t"""
    return sp.Add(*[c * sp.diff(r, t) for c, r in pairs if t in r.free_symbols])


def difference(claimed, targets, pairs):
    """The first element whose gradient is not the derivative, as text; None if there is none."""
    for claims, ts in zip(claimed, targets):
        for k, t in enumerate(ts):
            claim = claims[k] if claims is not None else sp.Integer(0)
            wanted = derivative(pairs, t)
            if claim != wanted and not is_zero(claim - wanted):
                return f"the rule gives {str(claim)[:200]} for {t}, the derivative is {str(wanted)[:200]}"
    return None


def prove(row):
    arrays = reading.read(row)
    x, y, v, g = (elements(arrays, row[key]) for key in ("x", "y", "v", "g"))
    pairs = pairing(v, y)
    outside = sorted({s for _, r in pairs for s in r.free_symbols if s.name.startswith("c")}, key=str)
    if wrong := difference([None], [outside], pairs):
        return 0, "the value depends on a constant: " + wrong
    if wrong := difference(g, x, pairs):
        return 0, wrong
    if row["order"] == 1:
        return 1, None
    w = elements(arrays, row["w"])
    if wrong := difference(elements(arrays, row["h"]), x + v, pairing(w, g)):
        return 1, wrong
    return 2, None


class OutOfTime(Exception):
    pass


def stop(*_):
    raise OutOfTime


def composed_of(row):
    """The operations of the value's graph, in their order: those that were recorded before v was made."""
    return list(dict.fromkeys(e["op"] for e in row["entries"][:row["v"][0]] if e["op"] not in ("leaf", "constant")))


def attempt(row):
    """The row without its graph, with the order to which it is proved, and why to no higher one."""
    begun = time.time()
    result = {key: value for key, value in row.items() if key != "entries"}
    result["composed_of"] = composed_of(row) if "entries" in row else []
    signal.signal(signal.SIGALRM, stop)
    signal.alarm(PATIENCE)
    try:
        result["proved"], result["why"] = prove(row) if "entries" in row else (0, row["refusal"])
    except OutOfTime:
        result["proved"], result["why"] = 0, f"not decided in {PATIENCE} s"
    except (reading.Unreadable, ValueError, ZeroDivisionError) as error:
        result["proved"], result["why"] = 0, f"{error}"
    finally:
        signal.alarm(0)
    result["seconds"] = time.time() - begun
    return result


def verdict(result):
    """What is wrong with a result, or nothing."""
    if "wrong_at" in result:
        if result["proved"] >= result["wrong_at"]:
            return "a wrong rule was proved"
        return None if result["why"].startswith("the rule gives") else f"was not refuted, but given up: {result['why']}"
    return result["why"]


def main():
    options = dict(zip(sys.argv[1::2], sys.argv[2::2]))
    rows = [json.loads(line) for line in sys.stdin]
    if "--only" in options:
        rows = [row for row in rows if options["--only"] in row["sample"] or options["--only"] in row["declaration"]]
    if not rows:
        sys.exit("prove.py: no graphs; run export_graphs | prove.py")
    begun, failed, results = time.time(), 0, []
    with multiprocessing.Pool(os.cpu_count()) as pool:
        for result in pool.imap(attempt, rows):
            results.append(result)
            wrong = verdict(result)
            failed += wrong is not None
            name = f"{result['declaration']} ({result['sample']})"
            if wrong is not None:
                print(f"NOT PROVED to order {result['proved'] + 1}: {name}: {wrong}", flush=True)
            elif "wrong_at" in result:
                print(f"refuted at order {result['wrong_at']}, as it should be: {name}: {result['why']}", flush=True)
    counts = page.counts([r for r in results if "wrong_at" not in r])
    refuted = sum("wrong_at" in r and verdict(r) is None for r in results)
    print(f"{counts}\n{refuted} of {sum('wrong_at' in r for r in results)} wrong rules are refuted. {time.time() - begun:.0f} s")
    if "--page" in options and not failed:
        page.write(options["--page"], [r for r in results if "wrong_at" not in r], counts, refuted)
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
