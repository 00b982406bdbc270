"""Weft in Python: tensors, gradients, attention. Names are PyTorch's; docs/python.md lists what differs."""
import sys
from types import ModuleType, SimpleNamespace

from . import functional, graph, tensors, modules, optimisers, data, notebook
from ._weft import *
from .functional import *


def namespace(name, **members):
    """The module weft.name, for `import weft.nn.functional as F`."""
    module = sys.modules["weft." + name] = ModuleType("weft." + name)
    module.__dict__.update(members)
    return module


globals().update(tensors.NAMES, **graph.MODES, save=data.save, load=data.load)
nn.functional, optim.lr_scheduler = functional, namespace("optim.lr_scheduler", LRScheduler=optimisers.LRScheduler, **optimisers.SCHEDULES)
nn.utils.clip_grad_norm_ = lambda parameters, max_norm: tensor(optim.clip_grad_norm(parameters, max_norm))
utils, cuda = namespace("utils", data=namespace("utils.data", **data.DATA)), SimpleNamespace(is_available=lambda: False)
backends = SimpleNamespace(mps=cuda)
for _name, _module in {"autograd": autograd, "check": check, "nn": nn, "nn.functional": functional, "nn.utils": nn.utils, "nn.init": nn.init, "optim": optim}.items():
    sys.modules["weft." + _name] = _module
