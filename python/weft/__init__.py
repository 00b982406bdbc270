"""Weft in Python: tensors, gradients, attention. Names are PyTorch's; docs/python.md lists what differs."""
import sys

from . import functional, forms, names, modules, optimisers, data, notebook
from ._weft import *
from .functional import *

globals().update(names.NAMES, save=data.save, load=data.load, distributions=names.namespace("distributions", Categorical=data.Categorical))
nn.functional = functional
nn.utils.clip_grad_norm_ = lambda parameters, max_norm: tensor(optim.clip_grad_norm(parameters, max_norm))
autograd.Variable = lambda data, requires_grad=False: data.detach().requires_grad_(requires_grad)
utils = names.namespace("utils", data=names.namespace("utils.data", **data.DATA))
for _name, _module in {"autograd": autograd, "check": check, "nn": nn, "nn.functional": functional, "nn.utils": nn.utils, "nn.init": nn.init,
                       "optim": optim, "optim.lr_scheduler": optim.lr_scheduler, "utils": utils, "utils.data": utils.data, "distributions": distributions, "cuda": cuda}.items():
    sys.modules["weft." + _name] = _module  # for `import weft.nn.functional as F`
