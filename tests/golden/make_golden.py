#!/usr/bin/env python3
"""Writes the golden files beside this script from PyTorch and NumPy:

    python3 make_golden.py            needs torch, numpy, safetensors
    python3 make_golden.py NAME …     of these operations alone, in ops.safetensors

ops.safetensors       every operation: inputs, outputs, seed gradients and gradients
modules.safetensors   every module: parameters, inputs, outputs and gradients
training.safetensors  ten AdamW steps of a GPT of two blocks
schedules.safetensors what learning-rate schedules give
optim.safetensors     steps of optimisers with groups, and of Muon
printing.*            arrays and how NumPy prints them
Each file says the versions that made it.
"""
import pathlib
import sys

import golden_modules
import golden_ops
import golden_optim
import golden_printing
import golden_schedules

here = pathlib.Path(__file__).parent
golden_ops.write(here / "ops.safetensors", sys.argv[1:])
if sys.argv[1:]:
    sys.exit()
golden_modules.write(here / "modules.safetensors", here / "training.safetensors")
golden_schedules.write(here / "schedules.safetensors")
golden_optim.write(here / "optim.safetensors")
golden_printing.write(here / "printing.safetensors", here / "printing.txt")
