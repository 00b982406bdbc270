"""Weft in Python: tensors, gradients, attention. Names are PyTorch's; docs/python.md lists what differs."""
import sys

from . import functional, forms
from ._weft import *
from .functional import *

globals().update(forms.NAMES)
nn.functional = functional
nn.utils.clip_grad_norm_ = optim.clip_grad_norm
for _name, _module in {"autograd": autograd, "check": check, "nn": nn, "nn.functional": functional, "nn.utils": nn.utils, "optim": optim}.items():
    sys.modules["weft." + _name] = _module  # for `import weft.nn.functional as F`
