"""Modules as PyTorch has them: attributes are registered, arguments kept, hooks called; copies; containers, activations, losses and attention."""
from types import SimpleNamespace

from . import _weft as w, functional as F
from ._weft import Tensor, nn
from .tensors import extends, on_device, refuse

Module = nn.Module
make_module, registered, to_module, listed, zeroed = Module.__init__, Module.named_children, Module.to, Module.parameters, Module.zero_grad
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
    """What is registered under a name; a layer of Weft computes with its own tensors and modules, whatever its attributes are."""
    kind = self._kind(name)
    if kind and name not in vars(self):
        raise AttributeError(f"{type(self).__name__}.{name} is a {kind} that the layer computes with, and stays; change its values, as in {name}.copy_(value) under no_grad()")
    return kind


def state_of(self):
    """The arguments of a layer of Weft's, the values of what it computes with, and what was assigned, with its kind."""
    own, saved = vars(self), self.state_dict()
    values = {name: x for name, x in {**dict(self.named_buffers()), **saved}.items() if name.split(".")[0] not in own}
    assigned = [(name, x, self._kind(name), name in saved) for name, x in own.items() if name not in ("_made", "_before", "_after")]
    return own.get("_made"), (values, assigned, self.training)


def blank(cls, made):
    new, base = cls.__new__(cls), Module if made is None else next(c for c in cls.__mro__ if "_recorded" in vars(c))
    base.__init__(new, *([cls.__name__] if made is None else made.get(None, ())), **{key: value for key, value in (made or {}).items() if key})
    return new


@extends(Module)
class Methods:
    def __init__(self, kind=None):
        make_module(self, kind or type(self).__name__)

    def __init_subclass__(cls):
        for name in ("get_extra_state", "set_extra_state", "_save_to_state_dict", "_load_from_state_dict", "_apply"):
            if name in vars(cls):
                raise TypeError(f"{cls.__name__}.{name} would not be called; a state_dict has tensors: register_buffer")

    def __setattr__(self, name, value):
        """Registers modules, Parameters and other leaves that require a gradient, and tensors under the name of a buffer."""
        before, is_tensor = self._kind(name), isinstance(value, Tensor)
        if before and is_tensor and hash(value) == hash(getattr(self, name)):
            return  # self.w -= 1, in place
        kind = ("child" if isinstance(value, Module) else "buffer" if is_tensor and before == "buffer" and not issubclass(type(value), Parameter)
                else "parameter" if isinstance(value, Parameter) else None)
        if kind_of(self, name) and not kind and (value is not None or before == "buffer"):
            raise TypeError(f"cannot assign {type(value).__name__} as {before} {name!r} of {type(self).__name__} ({EXPECTED[before]} expected)")
        if kind:
            there = getattr(self, "_set_" + kind)(name, value)
            value = value if there is None or value.is_contiguous() else there
        elif before:
            self._remove(name)
        object.__setattr__(self, name, value)

    def __delattr__(self, name):
        if kind_of(self, name):
            self._remove(name)
        object.__delattr__(self, name)

    def __getattr__(self, name):
        """What is no attribute: what a layer of Weft's computes with, or was made with."""
        made, there = vars(self).get("_made") or {}, dict(self.named_parameters() + self.named_buffers() + self.named_children())
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

    def _hook(self, hooks, hook):
        there = vars(self).setdefault(hooks, [])
        there.append(hook)
        return SimpleNamespace(remove=lambda: hook in there and there.remove(hook))

    def __reduce_ex__(self, protocol):
        """For pickle and copy.deepcopy."""
        made, state = state_of(self)
        inside = [hash(x) for module in self.modules() for x in state_of(module)[1][0].values()]
        assigned = [x for module in self.modules() for x in vars(module).values() if isinstance(x, Tensor)]
        objects = {hash(x): id(x) for x in assigned}
        if any(hash(x) in inside or objects[hash(x)] != id(x) for x in assigned):
            raise w.GraphError(f"copy: two attributes in {type(self).__name__} are one tensor, but their copies would come apart; save its state_dict()")
        return blank, (type(self), made), state

    def __setstate__(self, state):
        values, assigned, training = state
        there = {**dict(self.named_buffers()), **self.state_dict()}
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

    def named_modules(self, prefix="", seen=None):
        seen = set() if seen is None else seen
        if id(self) not in seen:
            seen.add(id(self))
            yield prefix, self
            for name, child in self.named_children():
                yield from child.named_modules(prefix + "." * bool(prefix) + name, seen)

    def apply(self, fn):
        for child in self.children():
            child.apply(fn)
        fn(self)
        return self

    def requires_grad_(self, requires_grad=True):
        for p in self.parameters():
            p.requires_grad_(requires_grad)
        return self

    def to(self, *what, dtype=None, device=None):
        for thing in (*what, device):
            dtype = thing if isinstance(thing, w.dtype) else on_device(thing) and dtype
        return self if dtype is None else to_module(self, dtype)

    def zero_grad(self, set_to_none=True):
        refuse("zero_grad", set_to_none=(set_to_none, True))
        zeroed(self)

    named_children = lambda self: [(name, vars(self).get(name, child)) for name, child in registered(self)]
    children, modules = lambda self: (child for _, child in self.named_children()), lambda self: (module for _, module in self.named_modules())
    parameters, buffers = lambda self: iter(listed(self)), lambda self: (x for _, x in self.named_buffers())
    register_forward_hook, register_forward_pre_hook = lambda self, hook: self._hook("_after", hook), lambda self, hook: self._hook("_before", hook)
    add_module = register_parameter = lambda self, name, value: setattr(self, name, value)
    cpu, float, double, extra_repr = lambda self: self, lambda self: self.to(w.float32), lambda self: self.to(w.float64), lambda self: ""


# ---- layers of Weft, with PyTorch's arguments
def bound(what, signature, args, options):
    """The arguments by name."""
    given = {**signature, **dict(zip(signature, args)), **options}
    if set(given) != set(signature) or len(args) > len(signature) or ... in given.values():
        raise TypeError(f"{what}: {args} {options}; it takes {', '.join(signature) or 'nothing'}")
    return given


def recorded(cls, refused=(), renamed=(), pairs=(), **signature):
    """Lets a class of Weft's have PyTorch's arguments, and keep them as attributes; without a signature, its own."""
    make = cls.__init__

    def __init__(self, *args, **options):
        if not signature or args and isinstance(args[0], Tensor):
            make(self, *args, **options)
            return object.__setattr__(self, "_made", {None: args, **options})
        given = bound(cls.__name__, {**signature, "device": None, "dtype": None}, args, options)
        dtype, _ = given.pop("dtype"), on_device(given.pop("device"))
        refuse(cls.__name__, **{name: (given[name], signature[name]) for name in refused})
        make(self, **{dict(renamed).get(name, name): F._square(cls.__name__, name, value) for name, value in given.items() if name not in refused})
        object.__setattr__(self, "_made", {name: (value, value) if name in pairs and isinstance(value, int) else value for name, value in given.items()})
        dtype is None or to_module(self, dtype)
    cls.__init__, cls._recorded = __init__, True


affine, dim, more = {"elementwise_affine": True}, {"normalized_shape": "dim"}, {"padding_idx": None, "max_norm": None, "norm_type": 2.0, "scale_grad_by_freq": False, "sparse": False}
window = {"kernel_size": ..., "stride": 1, "padding": 0, "dilation": 1}
recorded(nn.Linear, in_features=..., out_features=..., bias=True)
recorded(nn.Embedding, more, num_embeddings=..., embedding_dim=..., **more)
recorded(nn.LayerNorm, affine, dim, normalized_shape=..., eps=1e-5, **affine, bias=True)
recorded(nn.RMSNorm, affine, dim, normalized_shape=..., eps=None, **affine)
recorded(nn.Dropout, ["inplace"], p=0.5, inplace=False)
recorded(nn.Conv2d, ["padding_mode"], (), window, in_channels=..., out_channels=..., **window, groups=1, bias=True, padding_mode="zeros")
recorded(nn.BatchNorm, ["affine", "track_running_stats"], num_features=..., eps=1e-5, momentum=0.1, affine=True, track_running_stats=True)
for _cls in [cls for cls in vars(nn).values() if isinstance(cls, type) and "forward" in vars(cls) and "_recorded" not in vars(cls)]:
    recorded(_cls)


# ---- containers
class ModuleList(Module):
    """Modules by number."""

    def __init__(self, modules=()):
        super().__init__()
        self.extend(modules)

    def append(self, module):
        setattr(self, str(len(self)), module)
        return self

    def extend(self, modules):
        for module in modules:
            self.append(module)
        return self

    __len__, __iter__ = lambda self: len(self.named_children()), lambda self: self.children()
    __getitem__ = lambda self, i: type(self)(list(self)[i]) if isinstance(i, slice) else list(self)[i]


class Sequential(ModuleList):
    """Modules and functions, one after the other."""

    def __init__(self, *steps):
        Module.__init__(self)
        steps = steps[0] if len(steps) == 1 and isinstance(steps[0], (dict, list)) else steps
        for name, step in steps.items() if isinstance(steps, dict) else enumerate(steps):
            setattr(self, str(name), step if isinstance(step, Module) else Function(step))

    def forward(self, x):
        for step in self:
            x = step(x)
        return x


class Function(Module):
    """A step that is no module."""

    def __init__(self, forward):
        super().__init__()
        self.forward = forward


class ModuleDict(Module):
    """Modules by name."""

    def __init__(self, modules=()):
        super().__init__()
        for name, module in dict(modules).items():
            setattr(self, name, module)

    items, keys, values = lambda self: self.named_children(), lambda self: [name for name, _ in self.items()], lambda self: list(self.children())
    __getitem__, __setitem__ = lambda self, name: vars(self)[name], lambda self, name, module: setattr(self, name, module)
    __contains__, __len__, __iter__ = lambda self, name: name in self.keys(), lambda self: len(self.keys()), lambda self: iter(self.keys())


# ---- modules that call a function with their options
def calling(name, function, **defaults):
    def __init__(self, *args, **options):
        Module.__init__(self, name)
        vars(self)["_made"] = bound(name, defaults, args, options)
    return type(name, (Module,), {"__init__": __init__, "_recorded": True, "forward": lambda self, *x: function(*x, **vars(self)["_made"]),
                                  "extra_repr": lambda self: ", ".join(f"{key}={value}" for key, value in vars(self)["_made"].items())})


inplace, reduction, window = {"inplace": False}, {"reduction": "mean"}, {"kernel_size": ..., "stride": None, "padding": 0}
MADE = {"ReLU": (F.relu, inplace), "ELU": (F.elu, {"alpha": 1.0, **inplace}), "LeakyReLU": (F.leaky_relu, {"negative_slope": 0.01, **inplace}), "SiLU": (F.silu, inplace),
        "GELU": (F.gelu, {"approximate": "none"}), "Sigmoid": (F.sigmoid, {}), "Tanh": (F.tanh, {}), "Softplus": (F.softplus, {}), "LogSigmoid": (F.logsigmoid, {}),
        "Softmax": (F.softmax, {"dim": ...}), "LogSoftmax": (F.log_softmax, {"dim": ...}), "Flatten": (w.flatten, {"start_dim": 1, "end_dim": -1}),
        "Identity": (lambda x: x, {}), "MaxPool2d": (F.max_pool2d, window), "AvgPool2d": (F.avg_pool2d, window), "MSELoss": (F.mse_loss, reduction),
        "L1Loss": (F.l1_loss, reduction), "NLLLoss": (F.nll_loss, {"weight": None, "ignore_index": -100, **reduction}), "BCELoss": (F.binary_cross_entropy, reduction),
        "CrossEntropyLoss": (F.cross_entropy, {"weight": None, "ignore_index": -100, **reduction, "label_smoothing": 0.0}),
        "BCEWithLogitsLoss": (F.binary_cross_entropy_with_logits, reduction), "KLDivLoss": (F.kl_div, {**reduction, "log_target": False}),
        "SmoothL1Loss": (F.smooth_l1_loss, {**reduction, "beta": 1.0}), "HuberLoss": (F.huber_loss, {**reduction, "delta": 1.0})}
MADE = {name: calling(name, function, **defaults) for name, (function, defaults) in MADE.items()}


class MultiheadAttention(Module):
    """PyTorch's attention, with its names of parameters; in its masks, true is blocked."""

    def __init__(self, embed_dim, num_heads, dropout=0.0, bias=True, add_bias_kv=False, add_zero_attn=False, kdim=None, vdim=None, batch_first=False):
        refuse("MultiheadAttention", add_bias_kv=(add_bias_kv, False), add_zero_attn=(add_zero_attn, False))
        super().__init__()
        self.embed_dim, self.num_heads, self.dropout, self.batch_first = embed_dim, num_heads, dropout, batch_first
        widths = {"q_proj_weight": embed_dim, "k_proj_weight": kdim or embed_dim, "v_proj_weight": vdim or embed_dim}
        self.separate = len(set(widths.values())) > 1
        for name, width in widths.items() if self.separate else [("in_proj_weight", embed_dim)]:
            setattr(self, name, Parameter(nn.init.xavier_uniform_(w.empty((embed_dim if self.separate else 3 * embed_dim, width)))))
        self.in_proj_bias = Parameter(w.zeros((3 * embed_dim,))) if bias else None
        self.out_proj = nn.Linear(embed_dim, embed_dim, bias=bias)
        bias and nn.init.zeros_(self.out_proj.bias)

    def forward(self, query, key, value, key_padding_mask=None, need_weights=True, attn_mask=None, average_attn_weights=True, is_causal=False):
        refuse("MultiheadAttention", is_causal=(is_causal and attn_mask is None, False))
        batched = query.ndim == 3
        turn = (lambda x: x.transpose(0, 1)) if batched and not self.batch_first else (lambda x: x)
        heads = lambda x: x.reshape(*x.shape[:-1], self.num_heads, -1).transpose(-3, -2)  # (B, T, C) → (B, H, T, C/H)
        weights = [self.q_proj_weight, self.k_proj_weight, self.v_proj_weight] if self.separate else self.in_proj_weight.chunk(3)
        biases = [None] * 3 if self.in_proj_bias is None else self.in_proj_bias.chunk(3)
        q, k, v = [heads(F.linear(turn(x), weight, bias)) for x, weight, bias in zip((query, key, value), weights, biases)]
        bias = None
        for mask, shape in [(attn_mask, lambda m: m.reshape(-1, self.num_heads, *m.shape[1:]) if m.ndim == 3 and batched else m), (key_padding_mask, lambda m: m[..., None, None, :])]:
            if mask is not None:
                added = shape(w.zeros(mask.shape, q.dtype).masked_fill(mask, -float("inf")) if mask.dtype == w.bool else mask)
                bias = added if bias is None else bias + added
        attend = F.scaled_dot_product_attention_with_weights if need_weights else F.scaled_dot_product_attention
        y = attend(q, k, v, bias, self.dropout if self.training else 0.0)
        y, weights = y if need_weights else (y, None)
        y = turn(self.out_proj(y.transpose(-3, -2).flatten(-2)))
        return y, (weights.mean(-3) if average_attn_weights else weights) if need_weights else None


globals().update(MADE)  # where pickle looks for them
nn.__dict__.update(MADE, Parameter=Parameter, BatchNorm2d=nn.BatchNorm, ModuleList=ModuleList, ModuleDict=ModuleDict, Sequential=Sequential, MultiheadAttention=MultiheadAttention)
