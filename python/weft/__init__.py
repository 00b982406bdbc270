"""Weft in Python: tensors, gradients, attention. Names are PyTorch's; docs/python.md lists what differs."""
import sys

from ._weft import *
from ._weft import autograd, check, nn, optim

__version__ = "0.1.0"
for _name in ("autograd", "check", "nn", "nn.functional", "nn.utils", "optim"):  # for `import weft.nn as nn`
    sys.modules["weft." + _name] = sys.modules["weft._weft." + _name]
