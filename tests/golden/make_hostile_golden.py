#!/usr/bin/env python3
"""Writes hostile.safetensors beside this script, from mpmath and PyTorch: every operation, every kind of hostile input.

    python3 make_hostile_golden.py            needs mpmath, torch, numpy, safetensors
"""
import pathlib

import golden_hostile

golden_hostile.write(pathlib.Path(__file__).parent / "hostile.safetensors")
