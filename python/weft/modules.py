"""Modules as PyTorch has them: attributes are registered, arguments kept, hooks called; copies; containers, losses."""
from types import SimpleNamespace

from . import _weft as w, functional as F
from ._weft import Tensor, nn
from .tensors import declared, extends, fail, fitted, on_device, passed, refuse

Module = nn.Module
named_children, parameters, converted = Module.named_children, Module.parameters, Module.to
EXPECTED = {"parameter": "nn.Parameter or None", "buffer": "Tensor", "child": "nn.Module or None"}


class LeafType(type(Tensor)):
    def __instancecheck__(cls, x):
        return super().__instancecheck__(x) or isinstance(x, Tensor) and x.is_leaf and x.requires_grad


class Parameter(Tensor, metaclass=LeafType):
    """A tensor that a module registers, trained or frozen; every leaf that requires a gradient is one."""

    def __init__(self, data, requires_grad=True):
        super().__init__(data.detach().contiguous().requires_grad_(requires_grad))


# ---- every module
def kind_of(self, name):
    """What is registered under a name; a layer computes with its own, whatever its attributes are."""
    kind = self._kind(name)
    if kind and name not in vars(self):
        raise AttributeError(f"{type(self).__name__}.{name} is a {kind} that the layer computes with, and stays; "
                             f"change its values, as in {name}.copy_(value) under no_grad()")
    return kind


def blank(cls, made):
    """A module of a class without its __init__: with that of Module, or of the layer, and its arguments."""
    new, base = cls.__new__(cls), next(c for c in cls.__mro__ if "_recorded" in vars(c))
    base.__init__(new, *made.get(None, ()), **{name: x for name, x in made.items() if name})
    return new


def inner(self):
    """The tensors inside that are no attributes, or attributes of those."""
    there = {**dict(self.named_buffers()), **self.state_dict()}
    return {name: x for name, x in there.items() if name.split(".")[0] not in vars(self)}


@extends(Module)
class Methods:
    _recorded = True
    named_children = lambda self: [(name, vars(self).get(name, child)) for name, child in named_children(self)]
    children, modules = lambda self: (x for _, x in self.named_children()), lambda self: (x for _, x in self.named_modules())
    parameters, buffers = lambda self: iter(parameters(self)), lambda self: (x for _, x in self.named_buffers())
    register_forward_hook = lambda self, hook: self._hook("_after", hook)
    register_forward_pre_hook = lambda self, hook: self._hook("_before", hook)
    add_module = register_parameter = lambda self, name, value: setattr(self, name, value)
    float, double = lambda self: converted(self, w.float32), lambda self: converted(self, w.float64)
    cpu, extra_repr = lambda self: self, lambda self: ""

    def __init__(self, kind=None, make=Module.__init__):
        make(self, kind or type(self).__name__)
        vars(self)["_made"] = {None: (kind,)}

    def __init_subclass__(cls):
        for name in ("get_extra_state", "set_extra_state", "_save_to_state_dict", "_load_from_state_dict", "_apply"):
            if name in vars(cls):
                raise TypeError(f"{cls.__name__}.{name} would not be called; a state_dict has tensors: register_buffer")

    def __setattr__(self, name, value):
        """Registers modules, Parameters and other leaves that require a gradient, and tensors under a buffer's name."""
        before, is_tensor = self._kind(name), isinstance(value, Tensor)
        if before and is_tensor and hash(value) == hash(getattr(self, name)):
            return  # self.w -= 1, in place
        is_buffer = is_tensor and before == "buffer" and not issubclass(type(value), Parameter)
        kind = "child" if isinstance(value, Module) else "buffer" if is_buffer else "parameter" * isinstance(value, Parameter)
        if kind_of(self, name) and not kind and (value is not None or before == "buffer"):
            raise TypeError(f"cannot assign {type(value).__name__} as {before} {name!r} of {type(self).__name__} "
                            f"({EXPECTED[before]} expected)")
        if kind:
            there = getattr(self, "_set_" + kind)(name, value)
            value = value if there is None or value.is_contiguous() else there
        elif before:
            self._remove(name)
        object.__setattr__(self, name, value)

    def __delattr__(self, name):
        kind_of(self, name) and self._remove(name)
        object.__delattr__(self, name)

    def __getattr__(self, name):
        """What is no attribute: what a layer of Weft's computes with, or was made with."""
        made, there = vars(self).get("_made", {}), dict(self.named_parameters() + self.named_buffers() + self.named_children())
        if name not in there and name not in made:
            raise AttributeError(f"{type(self).__name__} has no attribute, parameter, buffer or child {name!r}")
        return there.get(name, None if name == "bias" else made.get(name))

    def __call__(self, *args, **options):
        for hook in list(vars(self).get("_before", ())):
            changed = hook(self, args)
            args = args if changed is None else changed if isinstance(changed, tuple) else (changed,)
        y = self.forward(*args, **options)
        for hook in list(vars(self).get("_after", ())):
            changed = hook(self, args, y)
            y = y if changed is None else changed
        return y

    def _hook(self, when, hook):
        hooks = vars(self).setdefault(when, [])
        hooks.append(hook)
        return SimpleNamespace(remove=lambda: hook in hooks and hooks.remove(hook))

    def __reduce_ex__(self, protocol):
        """For pickle and copy.deepcopy: how it was made, the values inside, and what was assigned, with its kind."""
        own, persistent = vars(self), self.state_dict()
        assigned = [x for module in self.modules() for x in vars(module).values() if isinstance(x, Tensor)]
        inside = [hash(x) for module in self.modules() for x in inner(module).values()]
        if len({hash(x) for x in assigned}.union(inside)) < len({id(x) for x in assigned}) + len(set(inside)):
            raise w.GraphError(f"copy: two attributes in {type(self).__name__} are one tensor, but their copies would "
                               "come apart; save its state_dict()")
        return blank, (type(self), own["_made"]), (inner(self), self.training, [
            (name, x, self._kind(name), name in persistent) for name, x in own.items() if name not in HIDDEN])

    def __setstate__(self, state):
        values, training, assigned = state
        there = inner(self)
        for name, x in values.items():
            there[name].data = x
            there[name].requires_grad_(x.requires_grad)
        for name, x, kind, persistent in assigned:
            self.register_buffer(name, x, persistent) if kind == "buffer" else setattr(self, name, x)
        self.train(training)

    def register_buffer(self, name, tensor, persistent=True):
        if kind_of(self, name) != "buffer" and hasattr(self, name):
            raise w.ValueError(f"register_buffer: {type(self).__name__} has an attribute {name!r} already; delete it first")
        self._set_buffer(name, tensor, persistent)
        object.__setattr__(self, name, tensor)

    def named_modules(self, prefix=""):
        found = {id(self): (prefix, self)}
        for name, child in self.named_children():
            for path, module in child.named_modules(f"{prefix}.{name}".strip(".")):
                found.setdefault(id(module), (path, module))
        return iter(found.values())

    def apply(self, fn):
        for module in [*self.children()]:
            module.apply(fn)
        fn(self)
        return self

    def requires_grad_(self, requires_grad=True):
        for p in self.parameters():
            p.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none=True):
        refuse("zero_grad", set_to_none=(set_to_none, True))
        for p in self.parameters():
            p.grad = None

    def to(self, *what, dtype=None, device=None):
        for thing in (*what, device):
            dtype = thing if isinstance(thing, w.dtype) else on_device(thing) and dtype
        return self if dtype is None else converted(self, dtype)


HIDDEN = ("_made", "_before", "_after")


# ---- layers with PyTorch's arguments, which stay as attributes
def recorded(cls, own, make, **extra):
    """A class whose objects are made of arguments by name, as PyTorch has them."""
    def __init__(self, *args, **options):
        if args and isinstance(args[0], Tensor) and make:  # Linear(weight)
            given = {None: args, **options}
            make(self, *args, **options)
        else:
            given = fitted(cls.__name__, args, options, own, **extra, device=None, dtype=None)
            make(self, **passed(cls.__name__, given, own)) if make else Module.__init__(self, cls.__name__)
        vars(self)["_made"] = given
        self.to(device=given.get("device"), dtype=given.get("dtype"))
    cls.__init__, cls._recorded = __init__, True
    return cls


affine, pair = {"elementwise_affine": True}, lambda size: (size, size) if isinstance(size, int) else size
EXTRA = {"Embedding": F._LACKING, "LayerNorm": {**affine, "bias": True}, "RMSNorm": affine, "Conv2d": {"padding_mode": "zeros"},
         "Dropout": {"p": 0.5, "inplace": False}, "BatchNorm": {"affine": True, "track_running_stats": True}}
for _cls in [cls for cls in vars(nn).values() if isinstance(cls, type) and "forward" in vars(cls)]:
    recorded(_cls, declared(_cls.__name__), _cls.__init__, **EXTRA.get(_cls.__name__, {}))
for _name in ("kernel_size", "stride", "padding", "dilation"):
    setattr(nn.Conv2d, _name, property(lambda self, name=_name: pair(vars(self)["_made"][name])))


def calling(name, function, own):
    """A module that calls a function with its options."""
    options = lambda self: {name: x for name, x in vars(self)["_made"].items() if name in own}
    return recorded(type(name, (Module,), {
        "forward": lambda self, *x: function(*x, **options(self)),
        "extra_repr": lambda self: ", ".join(f"{key}={value}" for key, value in options(self).items())}), own, None)


def options_of(name, last=("input", "target")):
    """The options of a function of tensors, in PyTorch's order."""
    own = {**declared(name), **F._IN_PLACE.get(name, {})}
    return {key: own[key] for key in ("weight", "ignore_index", "reduction", *own) if key in own and key not in last}


window = {"kernel_size": ..., "stride": None, "padding": 0}
CALLED = {"ReLU": "relu", "ELU": "elu", "LeakyReLU": "leaky_relu", "SiLU": "silu", "Sigmoid": "sigmoid", "Tanh": "tanh",
          "Softplus": "softplus", "LogSigmoid": "logsigmoid", "Softmax": "softmax", "LogSoftmax": "log_softmax",
          "MSELoss": "mse_loss", "L1Loss": "l1_loss", "NLLLoss": "nll_loss", "BCELoss": "binary_cross_entropy",
          "CrossEntropyLoss": "cross_entropy", "BCEWithLogitsLoss": "binary_cross_entropy_with_logits",
          "KLDivLoss": "kl_div", "SmoothL1Loss": "smooth_l1_loss", "HuberLoss": "huber_loss"}
MADE = {**{name: calling(name, getattr(F, of), options_of(of)) for name, of in CALLED.items()},
        "MaxPool2d": calling("MaxPool2d", F.max_pool2d, window), "AvgPool2d": calling("AvgPool2d", F.avg_pool2d, window),
        "Identity": calling("Identity", lambda x: x, {})}
globals().update(MADE)  # where pickle looks for them


# ---- containers
class Function(Module):
    """A step that is no module."""

    def __init__(self, forward):
        super().__init__()
        self.forward = forward


class ModuleList(Module):
    """Modules by number."""

    def __init__(self, modules=()):
        super().__init__()
        self.extend(modules)

    def extend(self, modules):
        for name, module in modules.items() if isinstance(modules, dict) else enumerate(modules, len(self)):
            setattr(self, str(name), module if isinstance(module, Module) else Function(module))
        return self

    append, __iter__ = lambda self, module: self.extend([module]), lambda self: self.children()
    __len__ = lambda self: len(self.named_children())
    __getitem__ = lambda self, i: type(self)(list(self)[i]) if isinstance(i, slice) else list(self)[i]


class Sequential(ModuleList):
    """Modules and functions, one after the other."""

    def __init__(self, *steps):
        super().__init__(steps[0] if len(steps) == 1 and isinstance(steps[0], (dict, list)) else steps)

    def forward(self, x):
        for step in self:
            x = step(x)
        return x


class ModuleDict(ModuleList):
    """Modules by name."""

    def __init__(self, modules=()):
        super().__init__(dict(modules))

    keys, values = lambda self: [name for name, _ in self.items()], lambda self: list(self.children())
    items, __iter__ = Module.named_children, lambda self: iter(self.keys())
    __getitem__, __setitem__ = lambda self, name: vars(self)[name], Module.__setattr__
    __contains__ = lambda self, name: name in self.keys()


class MultiheadAttention(Module):
    """PyTorch's attention, with its names of parameters; in its masks, true is blocked."""

    def __init__(self, embed_dim, num_heads, dropout=0.0, bias=True, add_bias_kv=False, add_zero_attn=False, kdim=None,
                 vdim=None, batch_first=False):
        refuse("MultiheadAttention", add_bias_kv=(add_bias_kv, False), add_zero_attn=(add_zero_attn, False))
        super().__init__()
        self.embed_dim, self.num_heads, self.dropout, self.batch_first = embed_dim, num_heads, dropout, batch_first
        widths = [embed_dim, kdim or embed_dim, vdim or embed_dim]
        shapes = {f"{x}_proj_weight": (embed_dim, width) for x, width in zip("qkv", widths)}
        for name, shape in shapes.items() if len(set(widths)) > 1 else [("in_proj_weight", (3 * embed_dim, embed_dim))]:
            setattr(self, name, Parameter(nn.init.xavier_uniform_(w.empty(shape))))
        self.in_proj_bias = Parameter(w.zeros((3 * embed_dim,))) if bias else None
        self.out_proj = nn.Linear(embed_dim, embed_dim, bias=bias)
        bias and nn.init.zeros_(self.out_proj.bias)

    def forward(self, query, key, value, key_padding_mask=None, need_weights=True, attn_mask=None,
                average_attn_weights=True, is_causal=False):
        refuse("MultiheadAttention", is_causal=(is_causal and attn_mask is None, False))
        turn = (lambda x: x.transpose(0, 1)) if query.ndim == 3 and not self.batch_first else (lambda x: x)
        heads = lambda x: x.reshape(*x.shape[:-1], self.num_heads, -1).transpose(-3, -2)  # (B, T, C) → (B, H, T, C/H)
        own = vars(self)
        weights = own["in_proj_weight"].chunk(3) if "in_proj_weight" in own else [own[f"{x}_proj_weight"] for x in "qkv"]
        biases = [None] * 3 if self.in_proj_bias is None else self.in_proj_bias.chunk(3)
        q, k, v = [heads(F.linear(turn(x), a, b)) for x, a, b in zip((query, key, value), weights, biases)]
        if attn_mask is not None and attn_mask.ndim == query.ndim == 3:
            attn_mask = attn_mask.reshape(-1, self.num_heads, *attn_mask.shape[1:])
        masks = [attn_mask, None if key_padding_mask is None else key_padding_mask[..., None, None, :]]
        added = [w.zeros(m.shape, q.dtype).masked_fill(m, -float("inf")) if m.dtype == w.bool else m for m in masks if m is not None]
        attend = F.scaled_dot_product_attention_with_weights if need_weights else lambda *x: (
            F.scaled_dot_product_attention(*x), None)
        bias = sum(added[1:], added[0]) if added else None
        y, weights = attend(q, k, v, bias, self.dropout if self.training else 0.0)
        y = turn(self.out_proj(y.transpose(-3, -2).flatten(-2)))
        return y, weights.mean(-3) if need_weights and average_attn_weights else weights


nn.__dict__.update(MADE, Parameter=Parameter, BatchNorm2d=nn.BatchNorm, ModuleList=ModuleList, ModuleDict=ModuleDict,
                   Sequential=Sequential, MultiheadAttention=MultiheadAttention)
