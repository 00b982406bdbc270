"""Modules as PyTorch has them: attributes are registered, arguments kept, hooks called; copies; containers."""
from types import SimpleNamespace

from . import _weft as w, functional as F
from ._weft import Tensor, nn
from .graph import Mode, returning
from .tensors import extends, fail, mover, refuse, single

Module = nn.Module
named_children, parameters, make_module = Module.named_children, Module.parameters, Module.__init__
EXPECTED = {"parameter": "nn.Parameter or None", "buffer": "Tensor", "child": "nn.Module or None"}
HIDDEN = ("_made", "_before", "_after")
UNCALLED = {"get_extra_state", "set_extra_state", "_save_to_state_dict", "_load_from_state_dict", "_apply"}


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
    return kind if not kind or name in vars(self) else fail(
        AttributeError, f"{type(self).__name__}.{name} is a {kind} that the layer computes with, and stays; "
                        f"change its values, as in {name}.copy_(value) under no_grad()")


def inner(self):
    """The tensors inside that are not in attributes."""
    there = {**dict(self.named_buffers()), **self.state_dict()}
    return {name: x for name, x in there.items() if name.split(".")[0] not in vars(self)}


def blank(cls, made, values, training):
    """A module of a class without its __init__: with that of Module, or of the layer, and the values inside."""
    new, base = cls.__new__(cls), next(c for c in cls.__mro__ if "_recorded" in vars(c))
    base.__init__(new, *made.get(None, ()), **{name: x for name, x in made.items() if name})
    for name, x in inner(new).items():
        x.data = values[name]
        x.requires_grad_(values[name].requires_grad)
    return new.train(training)


@extends(Module)
class Methods:
    _recorded, to, training = True, mover(Module.to), property(Module.training)
    named_children = lambda self: [(name, vars(self).get(name, child)) for name, child in named_children(self)]
    children, modules, buffers = [lambda self, name=name: (x for _, x in getattr(self, name)()) for name in (
        "named_children", "named_modules", "named_buffers")]
    register_forward_hook, register_forward_pre_hook = [
        lambda self, hook, when=when: self._hook(when, hook) for when in ("_after", "_before")]
    parameters = lambda self: iter(parameters(self))
    pack = lambda self, format, pack=Module.pack: pack(self, getattr(w, str(format), format))
    add_module = register_parameter = lambda self, name, value: setattr(self, name, value)
    float, double = lambda self: self.to(w.float32), lambda self: self.to(w.float64)
    cpu, extra_repr = lambda self: self, lambda self: ", ".join(f"{key}={x}" for key, x in self._made.items() if key)
    apply = lambda self, fn: ([child.apply(fn) for child in self.children()], fn(self), self)[-1]
    requires_grad_ = lambda self, requires_grad=True: (
        [p.requires_grad_(requires_grad) for p in self.parameters()], self)[1]
    def __init__(self, kind=None):
        make_module(self, kind or type(self).__name__)
        vars(self).update(_made={None: (kind,)})
    def __init_subclass__(cls):
        for name in UNCALLED.intersection(vars(cls)):
            raise TypeError(f"{cls.__name__}.{name} would not be called; state_dict has tensors: register_buffer")
    def __setattr__(self, name, value):
        """Registers modules, Parameters, other leaves that require a gradient, and tensors named as a buffer."""
        before, is_tensor = self._kind(name), isinstance(value, Tensor)
        if before and is_tensor and hash(value) == hash(getattr(self, name)):
            return  # self.w -= 1, in place
        is_buffer = is_tensor and before == "buffer" and not issubclass(type(value), Parameter)
        kind = "child" if isinstance(value, Module) else (
            "buffer" if is_buffer else "parameter" * isinstance(value, Parameter))
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
        there = dict(self.named_parameters() + self.named_buffers() + self.named_children())
        found = {**vars(self).get("_made", {}), **there}
        found = {**found, "bias": there.get("bias")} if "bias" in found else found
        return found[name] if name in found else fail(
            AttributeError, f"{type(self).__name__} has no attribute, parameter, buffer or child {name!r}")
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
        return hooks.append(hook) or SimpleNamespace(remove=lambda: hook in hooks and hooks.remove(hook))
    def hook(self, path, f):
        """with model.hook("layers[3].mlp", f): inside, f gets what that module returns, and may return another."""
        at = dict(self.named_modules()).get(path.replace("[", ".").replace("]", ""))
        if not type(at).__module__.startswith("weft._weft") and at is not None:
            raise w.ValueError(f"hook: {path!r} is a module written in Python, {type(at).__name__}; "
                               "use its register_forward_hook")
        return Mode(lambda: self._hook_at(path, returning(f)))
    def __reduce_ex__(self, protocol):
        """For pickle and deepcopy: how it was made, the values inside, and what was assigned, with its kind."""
        own, persistent, modules = vars(self), self.state_dict(), list(self.modules())
        assigned = [x for module in modules for x in vars(module).values() if isinstance(x, Tensor)]
        inside = {hash(x) for module in modules for x in inner(module).values()}
        if len({*map(hash, assigned)} | inside) < len({*map(id, assigned)}) + len(inside):
            raise w.GraphError(f"copy: two attributes in {type(self).__name__} are one tensor, but their copies "
                               "would come apart; save its state_dict()")
        return blank, (type(self), own["_made"], inner(self), self.training), [
            (name, x, self._kind(name), name in persistent) for name, x in own.items() if name not in HIDDEN]
    def __setstate__(self, assigned):
        for name, x, kind, persistent in assigned:
            self.register_buffer(name, x, persistent) if kind == "buffer" else setattr(self, name, x)
    def register_buffer(self, name, tensor, persistent=True):
        if kind_of(self, name) != "buffer" and hasattr(self, name):
            raise w.ValueError(f"register_buffer: {type(self).__name__} has an attribute {name!r} already; "
                               "delete it first")
        self._set_buffer(name, tensor, persistent)
        object.__setattr__(self, name, tensor)
    def named_modules(self, prefix=""):
        found = {id(self): (prefix, self)}
        for name, child in self.named_children():
            for path, module in child.named_modules(f"{prefix}.{name}".strip(".")):
                found.setdefault(id(module), (path, module))
        return iter(found.values())
    def zero_grad(self, set_to_none=True):
        refuse("zero_grad", set_to_none=(set_to_none, True))
        for p in self.parameters():
            p.grad = None


# ---- layers, and calls of functions, with PyTorch's arguments, which stay as attributes
def recorded(cls, signature, make=None):
    """A class with these arguments. A layer of Weft's takes those that it has; the others must be the default."""
    name, bind = cls.__name__, eval(f"lambda {signature}: locals()", vars(w))
    names, own = bind.__code__.co_varnames, w._signatures[name + "("][0].__code__.co_varnames if make else ()
    lacking = dict(zip(names[::-1], (bind.__defaults__ or ())[::-1]))
    def __init__(self, *args, **options):
        if make and args and isinstance(args[0], Tensor):  # Linear(weight)
            make(self, *args, **options)
            return vars(self).update(_made={None: args, **options})
        try:
            given = bind(*args, **options)
        except TypeError as error:
            fail(TypeError, f"{str(error).replace('<lambda>', name)}; it takes {', '.join(names) or 'nothing'}")
        moved = given.pop("dtype", None), given.pop("device", None)
        refuse(name, **{key: (value, lacking[key]) for key, value in given.items() if make and key not in own})
        make(self, **single(name, **{key: given[key] for key in own})) if make else Module.__init__(self, name)
        vars(self).update(_made=given)
        self.to(*moved)
    cls.__init__, cls._recorded = __init__, True
    return cls


def calling(name, function, signature=""):
    """A module that calls a function with its arguments."""
    return recorded(type(name, (Module,), {"forward": lambda self, *x: function(*x, **self._made)}), signature)


texts = {id(f): text for text, f in w._signatures.items() if text[-1:] != "("}
declared = lambda name: max((texts[id(f)] for f in w._signatures[name + "("]),
                            key=lambda text: ("axis" not in text, len(text)))
options = lambda text: text.partition("target, " if "target, " in text else "input, ")[2]  # after the tensors
SIGNATURES = {
    "Linear": "in_features, out_features, bias=True", "Dropout": "p=0.5, inplace=False",
    "LayerNorm": "normalized_shape, eps=1e-5, elementwise_affine=True, bias=True",
    "RMSNorm": declared("RMSNorm") + ", elementwise_affine=True",
    "BatchNorm": declared("BatchNorm") + ", affine=True, track_running_stats=True",
    "Conv2d": declared("Conv2d") + ", padding_mode='zeros'",
    "Embedding": declared("Embedding") + ", padding_idx=None, max_norm=None, norm_type=2.0, "
                                         "scale_grad_by_freq=False, sparse=False"}
for _cls in [cls for cls in vars(nn).values() if isinstance(cls, type) and "forward" in vars(cls)]:
    _text = SIGNATURES.get(_cls.__name__)
    recorded(_cls, f"{_text}, device=None, dtype=None" if _text else declared(_cls.__name__), _cls.__init__)
for _name in ("kernel_size", "stride", "padding", "dilation"):
    setattr(nn.Conv2d, _name, property(lambda self, name=_name: F._pair(self._made[name])))
MADE = {name: calling(name, getattr(F, of), f"{options(declared(of))}, {more}".strip(", ")) for more, *names in [
    "inplace=False ReLU relu SiLU silu ELU elu LeakyReLU leaky_relu".split(),
    ["", *"Sigmoid sigmoid Tanh tanh Softplus softplus LogSigmoid logsigmoid Softmax softmax MSELoss mse_loss "
          "LogSoftmax log_softmax L1Loss l1_loss SmoothL1Loss smooth_l1_loss HuberLoss huber_loss "
          "BCELoss binary_cross_entropy BCEWithLogitsLoss binary_cross_entropy_with_logits NLLLoss nll_loss "
          "KLDivLoss kl_div CrossEntropyLoss cross_entropy".split()]] for name, of in zip(names[::2], names[1::2])}
MADE.update({pool: calling(pool, f, "kernel_size, stride=None, padding=0") for pool, f in [
    ("MaxPool2d", F.max_pool2d), ("AvgPool2d", F.avg_pool2d)]}, Identity=calling("Identity", lambda x: x))
globals().update(MADE)  # where pickle looks for them


# ---- containers
class ModuleList(Module):
    """Modules by number; a function becomes one."""
    def __init__(self, modules=()):
        super().__init__()
        self.extend(modules)
    def extend(self, modules):
        for name, step in modules.items() if isinstance(modules, dict) else enumerate(modules, len(self)):
            module = step if isinstance(step, Module) else Module("Function")
            module is step or setattr(module, "forward", step)
            setattr(self, str(name), module)
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
    __init__ = lambda self, modules=(): ModuleList.__init__(self, dict(modules))
    items, values, __setitem__ = Module.named_children, lambda self: list(self.children()), Module.__setattr__
    keys, __iter__ = lambda self: [name for name, _ in self.items()], lambda self: iter(self.keys())
    __getitem__, __contains__ = lambda self, name: vars(self)[name], lambda self, name: name in self.keys()


class MultiheadAttention(Module):
    """PyTorch's attention, with its names of parameters; in its masks, true is blocked."""
    def __init__(self, embed_dim, num_heads, dropout=0.0, bias=True, add_bias_kv=False, add_zero_attn=False,
                 kdim=None, vdim=None, batch_first=False):
        refuse("MultiheadAttention", add_bias_kv=(add_bias_kv, False), add_zero_attn=(add_zero_attn, False))
        super().__init__()
        self.embed_dim, self.num_heads, self.dropout, self.batch_first = embed_dim, num_heads, dropout, batch_first
        widths = [embed_dim, kdim or embed_dim, vdim or embed_dim]
        shapes = {f"{x}_proj_weight": (embed_dim, width) for x, width in zip("qkv", widths)}
        shapes = shapes if len({*widths}) > 1 else {"in_proj_weight": (3 * embed_dim, embed_dim)}
        for name, shape in shapes.items():
            setattr(self, name, Parameter(nn.init.xavier_uniform_(w.empty(shape))))
        self.in_proj_bias = Parameter(w.zeros(3 * embed_dim)) if bias else None
        self.out_proj = nn.Linear(embed_dim, embed_dim, bias=bias)
        bias and nn.init.zeros_(self.out_proj.bias)
    def forward(self, query, key, value, key_padding_mask=None, need_weights=True, attn_mask=None,
                average_attn_weights=True, is_causal=False):
        refuse("MultiheadAttention", is_causal=(is_causal and attn_mask is None, False))
        turn = lambda x: x.transpose(0, 1) if x.ndim == 3 and not self.batch_first else x
        heads = lambda x: x.reshape(*x.shape[:-1], self.num_heads, -1).transpose(-3, -2)  # → (B, H, T, C/H)
        own = [p for name, p in vars(self).items() if name.endswith("_proj_weight")]
        weights, biases = own if len(own) == 3 else own[0].chunk(3), [None] * 3
        biases = biases if self.in_proj_bias is None else self.in_proj_bias.chunk(3)
        q, k, v = [heads(F.linear(turn(x), a, b)) for x, a, b in zip((query, key, value), weights, biases)]
        if attn_mask is not None and attn_mask.ndim == query.ndim == 3:
            attn_mask = attn_mask.reshape(-1, self.num_heads, *attn_mask.shape[1:])
        bias, padding = None, None if key_padding_mask is None else key_padding_mask[..., None, None, :]
        for mask in [mask for mask in (attn_mask, padding) if mask is not None]:
            added = w.zeros(mask.shape, q.dtype).masked_fill(mask, -float("inf")) if mask.dtype == w.bool else mask
            bias = added if bias is None else bias + added
        attend = F.scaled_dot_product_attention_with_weights if need_weights else F.scaled_dot_product_attention
        y = attend(q, k, v, bias, self.dropout if self.training else 0.0)
        y, weights = y if need_weights else (y, None)
        y = turn(self.out_proj(y.transpose(-3, -2).flatten(-2)))
        return y, weights.mean(-3) if need_weights and average_attn_weights else weights


nn.__dict__.update(MADE, Parameter=Parameter, BatchNorm2d=nn.BatchNorm, ModuleList=ModuleList, Sequential=Sequential,
                   ModuleDict=ModuleDict, MultiheadAttention=MultiheadAttention)
