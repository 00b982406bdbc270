"""Writes names.json, what the calls of rows.txt give in PyTorch 2.13: python3 python/tests/names_golden.py"""
import json
import warnings

import names_table
import torch
import torch.distributions
import torch.utils.data

assert torch.__version__.startswith("2.13."), torch.__version__
warnings.simplefilter("ignore")
torch.manual_seed(0)
names, found = names_table.environment(torch), {}
for name, text in names_table.rows()[0].items():
    try:
        found[name] = names_table.flat(eval(text, names))
    except Exception as error:
        raise SystemExit(f"{name}: {text}: {error!r}")
lines = [f"{json.dumps(name)}: {json.dumps(value)}" for name, value in found.items()]
(names_table.HERE / "names.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")
