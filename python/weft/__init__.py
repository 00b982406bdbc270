"""Weft in Python: tensors, gradients, attention. Names are PyTorch's; docs/python.md lists what differs."""
import sys
from types import ModuleType, SimpleNamespace

from . import functional, graph, tensors, modules, optimisers, data, language, notebook
from ._weft import *
from .functional import *
from .language import Chat, load_pretrained


def namespace(name, **members):
    """The module weft.name, for `import weft.nn.functional as F`."""
    module = sys.modules["weft." + name] = ModuleType("weft." + name)
    module.__dict__.update(members)
    return module


globals().update(tensors.NAMES, **graph.MODES, **data.FILES)
nn.functional, optim.lr_scheduler = functional, namespace("optim.lr_scheduler", **optimisers.SCHEDULES)
nn.utils.clip_grad_norm_ = lambda parameters, max_norm: tensor(optim.clip_grad_norm(parameters, max_norm))
utils, backends = namespace("utils", data=namespace("utils.data", **data.DATA)), SimpleNamespace()
backends.mps = cuda = SimpleNamespace(is_available=lambda: False)
for _module in (autograd, check, nn, nn.utils, nn.init, optim, functional):
    sys.modules[_module.__name__.replace("._weft", "").replace("weft.func", "weft.nn.func")] = _module
