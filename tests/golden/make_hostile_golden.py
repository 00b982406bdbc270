#!/usr/bin/env python3
"""Writes hostile.safetensors beside this script, from mpmath and PyTorch: every operation, every kind of hostile input; and the
rows that docs/dictionary.md lacks (dictionary_rows.py).

    python3 make_hostile_golden.py            needs mpmath, sympy, torch, numpy, safetensors
    python3 make_hostile_golden.py NAME …     of these operations alone
"""
import pathlib
import sys

import dictionary_rows
import golden_hostile

golden_hostile.write(pathlib.Path(__file__).parent / "hostile.safetensors", sys.argv[1:])
dictionary_rows.write()
