"""PyTorch's modules and what it does with modules: arguments as attributes, hooks, walks, copies, containers, activations, losses, attention."""
from . import _weft as w, forms, functional as F, names
from ._weft import Tensor, nn

Module = nn.Module
registered, to_module, listed, zeroed, missing = Module.named_children, Module.to, Module.parameters, Module.zero_grad, Module.__getattr__
make_module = Module.__init__
Module.__init__ = lambda self, kind=None: make_module(self, kind or type(self).__name__)


# ---- what a module was made with: its attributes, and its copy
def recorded(cls, refused=(), rename=(), **signature):
    """Lets a class of Weft's have PyTorch's arguments, and keep them as attributes; without a signature, its own."""
    make = cls.__init__

    def __init__(self, *args, device=None, dtype=None, **options):
        if not signature or args and isinstance(args[0], Tensor):
            make(self, *args, **options)
            return object.__setattr__(self, "_made", {None: args, **options})
        given, more = bound(cls.__name__, signature, args[:len(signature)], options), args[len(signature):]
        device, dtype = (*more, *(device, dtype)[len(more):])
        names.device("cpu" if device is None else device)
        names.refuse(cls.__name__, **{name: (given[name], signature[name]) for name in refused})
        made = {dict(rename).get(name, name): names.square(cls.__name__, name, value) for name, value in given.items() if name not in refused}
        make(self, **made)
        object.__setattr__(self, "_made", given)
        if (dtype or names.default["dtype"]) != w.float32:
            to_module(self, dtype or names.default["dtype"])
    cls.__init__, cls._recorded = __init__, True


def bound(what, signature, args, options):
    """The arguments by name."""
    given = {**signature, **dict(zip(signature, args)), **options}
    if set(given) != set(signature) or len(args) > len(signature) or ... in given.values():
        raise TypeError(f"{what}: {args} {options}; it takes {', '.join(signature) or 'nothing'}")
    return given


def attribute(self, name):
    made = vars(self).get("_made", {})
    if name not in made or name == "bias" and made[name]:
        return missing(self, name)
    pair = isinstance(self, nn.Conv2d) and name in ("kernel_size", "stride", "padding", "dilation") and isinstance(made[name], int)
    return None if name == "bias" else (made[name],) * 2 if pair else made[name]


for _cls in [cls for cls in vars(nn).values() if isinstance(cls, type) and issubclass(cls, Module) and cls is not Module and "__call__" in vars(cls)]:
    _cls.forward = vars(_cls)["__call__"]
    del _cls.__call__
    _cls.__name__ in ("Linear", "Embedding", "LayerNorm", "RMSNorm", "Dropout", "Conv2d", "BatchNorm") or recorded(_cls)
affine, more = {"elementwise_affine": True}, {"padding_idx": None, "max_norm": None, "norm_type": 2.0, "scale_grad_by_freq": False, "sparse": False}
recorded(nn.Linear, in_features=..., out_features=..., bias=True)
recorded(nn.Embedding, more, num_embeddings=..., embedding_dim=..., **more)
recorded(nn.LayerNorm, affine, {"normalized_shape": "dim"}, normalized_shape=..., eps=1e-5, **affine, bias=True)
recorded(nn.RMSNorm, affine, {"normalized_shape": "dim"}, normalized_shape=..., eps=None, **affine)
recorded(nn.Dropout, ["inplace"], p=0.5, inplace=False)
recorded(nn.Conv2d, ["padding_mode"], in_channels=..., out_channels=..., kernel_size=..., stride=1, padding=0, dilation=1, groups=1, bias=True, padding_mode="zeros")
recorded(nn.BatchNorm, ["affine", "track_running_stats"], num_features=..., eps=1e-5, momentum=0.1, affine=True, track_running_stats=True)


# ---- calls and hooks
def call(self, *args, **options):
    for hook in list(vars(self).get("_before", {}).values()):
        changed = hook(self, args)
        args = args if changed is None else changed if isinstance(changed, tuple) else (changed,)
    y = self.forward(*args, **options)
    for hook in list(vars(self).get("_after", {}).values()):
        changed = hook(self, args, y)
        y = y if changed is None else changed
    return y


class Handle:
    """What register_forward_hook returns."""

    def __init__(self, hooks, hook):
        self.hooks, hooks[self] = hooks, hook

    def remove(self):
        self.hooks.pop(self, None)


# ---- walks
def named_children(self):
    return [(name, vars(self).get(name, child)) for name, child in registered(self)]


def named_modules(self, prefix="", seen=None):
    seen = set() if seen is None else seen
    if id(self) not in seen:
        seen.add(id(self))
        yield prefix, self
        for name, child in named_children(self):
            yield from named_modules(child, prefix + "." * bool(prefix) + name, seen)


def apply(self, fn):
    for _, child in named_children(self):
        apply(child, fn)
    fn(self)
    return self


def frozen(self, requires_grad=True):
    for p in listed(self):
        p.requires_grad_(requires_grad)
    return self


def moved(self, *what, dtype=None, device=None):
    for thing in (*what, *([] if device is None else [device])):
        dtype = thing if isinstance(thing, w.dtype) else names.device(thing) and dtype
    return self if dtype is None else to_module(self, dtype)


# ---- copies: copy.deepcopy and pickle take a module apart into its arguments, tensors, children and attributes
def parts(self):
    saved, plain = self.state_dict(), {key: x for key, x in vars(self).items() if not isinstance(x, (Tensor, Module)) and key not in ("_made", "_before", "_after")}
    children = {name: child for name, child in named_children(self) if name in vars(self)}
    kind = lambda name: "parameter" if "." not in name and self._kind(name) == "parameter" else name in saved
    tensors = [(name, x, kind(name)) for name, x in {**dict(self.named_buffers()), **saved}.items() if name.split(".")[0] not in children]
    return vars(self).get("_made"), (tensors, list(children.items()), plain, self.training)


def blank(cls, made):
    new, base = cls.__new__(cls), Module if made is None else next(c for c in cls.__mro__ if "_recorded" in vars(c))
    base.__init__(new, *([cls.__name__] if made is None else made.get(None, ())), **{key: value for key, value in (made or {}).items() if key})
    return new


def put(self, state):
    tensors, children, plain, training = state
    there = {**dict(self.named_buffers()), **self.state_dict()}
    vars(self).update(plain)
    for name, x, kind in tensors:
        if name in there:
            there[name].data = x
            there[name].requires_grad_(x.requires_grad)
        elif kind == "parameter":
            setattr(self, name, x if x.requires_grad else Parameter(x, False))
        else:
            self.register_buffer(name, x, kind)
    for name, child in children:
        setattr(self, name, child)
    self.train(training)


def copied(self, memo):
    import copy
    made, state = parts(self)
    new = memo[id(self)] = blank(type(self), copy.deepcopy(made, memo))
    put(new, copy.deepcopy(state, memo))
    return new


def pickled(self, protocol):
    made, state = parts(self)
    if len({hash(x) for x in self.state_dict().values()}) < len(self.state_dict()):
        raise w.GraphError(f"pickle: {type(self).__name__} has tied tensors, which would come apart; save its state_dict()")
    return blank, (type(self), made), state


for _name, _value in {"__call__": call, "__getattr__": attribute, "__deepcopy__": copied, "__reduce_ex__": pickled, "__setstate__": put, "apply": apply, "to": moved,
                      "named_children": named_children, "children": lambda self: (child for _, child in named_children(self)), "requires_grad_": frozen,
                      "named_modules": named_modules, "modules": lambda self: (module for _, module in named_modules(self)), "cpu": lambda self: self,
                      "float": lambda self: to_module(self, w.float32), "double": lambda self: to_module(self, w.float64), "extra_repr": lambda self: "",
                      "register_forward_hook": lambda self, hook: Handle(vars(self).setdefault("_after", {}), hook),
                      "register_forward_pre_hook": lambda self, hook: Handle(vars(self).setdefault("_before", {}), hook),
                      "parameters": lambda self: iter(listed(self)), "buffers": lambda self: (x for _, x in self.named_buffers()),
                      "zero_grad": lambda self, set_to_none=True: names.refuse("zero_grad", set_to_none=(set_to_none, True)) or zeroed(self),
                      "add_module": lambda self, name, module: setattr(self, name, module), "register_parameter": lambda self, name, param: setattr(self, name, param)}.items():
    setattr(Module, _name, _value)


class LeafType(type(Tensor)):
    def __instancecheck__(cls, x):
        return isinstance(x, forms.Parameter) or isinstance(x, Tensor) and x.is_leaf and x.requires_grad


class Parameter(forms.Parameter, metaclass=LeafType):
    """A tensor that a module registers, trained or frozen; every leaf that requires a gradient is one."""


nn.Parameter = Parameter


# ---- containers
class ModuleList(Module):
    """Modules by number."""

    def __init__(self, modules=()):
        super().__init__(type(self).__name__)
        vars(self)["_names"] = []
        self.extend(modules)

    def append(self, module, name=None):
        self._names.append(str(len(self._names)) if name is None else name)
        setattr(self, self._names[-1], module)
        return self

    def extend(self, modules):
        for module in modules:
            self.append(module)
        return self

    def __getitem__(self, i):
        return type(self)(*self._packed(list(self)[i])) if isinstance(i, slice) else vars(self)[self._names[i]]

    _packed = staticmethod(lambda items: [items])
    __len__ = lambda self: len(self._names)
    __iter__ = lambda self: (vars(self)[name] for name in self._names)


class ParameterList(ModuleList):
    """Parameters by number."""


class Sequential(ModuleList):
    """Modules and functions, one after the other."""

    def __init__(self, *steps):
        super().__init__()
        for name, step in steps[0].items() if len(steps) == 1 and isinstance(steps[0], dict) else enumerate(steps):
            self.append(step, str(name))

    def forward(self, x):
        for step in self:
            x = step(x)
        return x

    _packed = staticmethod(lambda items: items)


class ModuleDict(Module):
    """Modules by name."""

    def __init__(self, modules=()):
        super().__init__("ModuleDict")
        for name, module in dict(modules).items():
            setattr(self, name, module)

    keys = lambda self: [name for name, _ in named_children(self)]
    values = lambda self: [module for _, module in named_children(self)]
    items = named_children
    __setitem__ = lambda self, name, module: setattr(self, name, module)
    __getitem__ = lambda self, name: vars(self)[name]
    __contains__ = lambda self, name: name in self.keys()
    __len__ = lambda self: len(self.keys())
    __iter__ = lambda self: iter(self.keys())


# ---- modules that call a function with their options
def calling(name, function, **defaults):
    def __init__(self, *args, **options):
        Module.__init__(self, name)
        vars(self)["_options"] = vars(self)["_made"] = bound(name, defaults, args, options)
    return type(name, (Module,), {"__init__": __init__, "_recorded": True, "forward": lambda self, *x: function(*x, **self._options),
                                  "extra_repr": lambda self: ", ".join(f"{key}={value}" for key, value in self._options.items())})


inplace, reduction, window = {"inplace": False}, {"reduction": "mean"}, {"kernel_size": ..., "stride": None, "padding": 0}
MADE = {"ReLU": (F.relu, inplace), "ELU": (F.elu, {"alpha": 1.0, **inplace}), "SELU": (F.selu, inplace), "LeakyReLU": (F.leaky_relu, {"negative_slope": 0.01, **inplace}),
        "SiLU": (F.silu, inplace), "GELU": (F.gelu, {"approximate": "none"}), "Sigmoid": (F.sigmoid, {}), "Tanh": (F.tanh, {}), "Softplus": (F.softplus, {}),
        "LogSigmoid": (F.logsigmoid, {}), "Softmax": (F.softmax, {"dim": ...}), "LogSoftmax": (F.log_softmax, {"dim": ...}),
        "Flatten": (w.flatten, {"start_dim": 1, "end_dim": -1}), "Identity": (lambda x: x, {}), "MaxPool2d": (F.max_pool2d, window), "AvgPool2d": (F.avg_pool2d, window),
        "MSELoss": (F.mse_loss, reduction), "L1Loss": (F.l1_loss, reduction), "NLLLoss": (F.nll_loss, {"weight": None, "ignore_index": -100, **reduction}),
        "CrossEntropyLoss": (F.cross_entropy, {"weight": None, "ignore_index": -100, **reduction, "label_smoothing": 0.0}), "BCELoss": (F.binary_cross_entropy, reduction),
        "BCEWithLogitsLoss": (F.binary_cross_entropy_with_logits, reduction), "KLDivLoss": (F.kl_div, {**reduction, "log_target": False}),
        "SmoothL1Loss": (F.smooth_l1_loss, {**reduction, "beta": 1.0}), "HuberLoss": (F.huber_loss, {**reduction, "delta": 1.0})}
MADE = {name: calling(name, function, **defaults) for name, (function, defaults) in MADE.items()}


def multi_head_attention_forward(query, key, value, embed_dim_to_check, num_heads, in_proj_weight, in_proj_bias, bias_k, bias_v, add_zero_attn, dropout_p,
                                 out_proj_weight, out_proj_bias, training=True, key_padding_mask=None, need_weights=True, attn_mask=None,
                                 use_separate_proj_weight=False, q_proj_weight=None, k_proj_weight=None, v_proj_weight=None, average_attn_weights=True, is_causal=False):
    """Attention of tokens (T, B, C), or (T, C), by PyTorch's arguments; in its masks, true is blocked."""
    names.refuse("multi_head_attention", bias_k=(bias_k, None), bias_v=(bias_v, None), add_zero_attn=(add_zero_attn, False), is_causal=(is_causal and attn_mask is None, False))
    weights = (q_proj_weight, k_proj_weight, v_proj_weight) if use_separate_proj_weight else in_proj_weight.chunk(3)
    biases, batched = [None] * 3 if in_proj_bias is None else in_proj_bias.chunk(3), query.ndim == 3
    first = [x.transpose(0, 1) if batched else x for x in (query, key, value)]
    q, k, v = [F.linear(x, weight, b).reshape(*x.shape[:-1], num_heads, -1).transpose(-3, -2) for x, weight, b in zip(first, weights, biases)]
    bias = None
    for mask, shape in [(attn_mask, lambda m: m.reshape(-1, num_heads, *m.shape[1:]) if m.ndim == 3 and batched else m), (key_padding_mask, lambda m: m.unsqueeze(-2).unsqueeze(-2))]:
        if mask is not None:
            added = shape(names.CREATED["zeros"](mask.shape, dtype=q.dtype).masked_fill(mask, -float("inf")) if mask.dtype == w.bool else mask)
            bias = added if bias is None else bias + added
    attend = F.scaled_dot_product_attention_with_weights if need_weights else F.scaled_dot_product_attention
    found = attend(q, k, v, attn_mask=bias, dropout_p=dropout_p if training else 0.0)
    y, weights = found if need_weights else (found, None)
    y = F.linear(y.transpose(-3, -2).reshape(*first[0].shape[:-1], embed_dim_to_check), out_proj_weight, out_proj_bias)
    return y.transpose(0, 1) if batched else y, weights.mean(-3) if need_weights and average_attn_weights else weights


class MultiheadAttention(Module):
    """PyTorch's attention, with its names of parameters."""

    def __init__(self, embed_dim, num_heads, dropout=0.0, bias=True, add_bias_kv=False, add_zero_attn=False, kdim=None, vdim=None, batch_first=False):
        names.refuse("MultiheadAttention", add_bias_kv=(add_bias_kv, False), add_zero_attn=(add_zero_attn, False))
        super().__init__("MultiheadAttention")
        self.embed_dim, self.num_heads, self.dropout, self.batch_first = embed_dim, num_heads, dropout, batch_first
        widths = {"q_proj_weight": embed_dim, "k_proj_weight": kdim or embed_dim, "v_proj_weight": vdim or embed_dim}
        self.separate = len(set(widths.values())) > 1
        for name, width in widths.items() if self.separate else [("in_proj_weight", embed_dim)]:
            setattr(self, name, Parameter(nn.init.xavier_uniform_(names.CREATED["empty"](embed_dim if self.separate else 3 * embed_dim, width))))
        self.in_proj_bias = Parameter(names.CREATED["zeros"](3 * embed_dim)) if bias else None
        self.out_proj = nn.Linear(embed_dim, embed_dim, bias=bias)
        bias and nn.init.zeros_(self.out_proj.bias)

    def forward(self, query, key, value, key_padding_mask=None, need_weights=True, attn_mask=None, average_attn_weights=True, is_causal=False):
        turn = (lambda x: x.transpose(0, 1)) if query.ndim == 3 and self.batch_first else (lambda x: x)
        separate = [getattr(self, name) if self.separate else None for name in ["q_proj_weight", "k_proj_weight", "v_proj_weight"]]
        y, weights = multi_head_attention_forward(
            turn(query), turn(key), turn(value), self.embed_dim, self.num_heads, None if self.separate else self.in_proj_weight, self.in_proj_bias, None, None,
            False, self.dropout, self.out_proj.weight, self.out_proj.bias, self.training, key_padding_mask, need_weights, attn_mask, self.separate, *separate,
            average_attn_weights, is_causal)
        return turn(y), weights


# ---- layers
def reset(self):
    """The values of a new layer."""
    bound = self.weight[0].numel() ** -0.5
    for x in listed(self):
        nn.init.normal_(x) if isinstance(self, nn.Embedding) else nn.init.uniform_(x, -bound, bound)


class BatchNorm2d(nn.BatchNorm):
    """Of images (N, C, H, W)."""

    def forward(self, x):
        if x.ndim != 4:
            raise w.ShapeError(f"BatchNorm2d: {x.shape}; give images (N, C, H, W), or use BatchNorm")
        return super().forward(x)


class Conv1d(Module):
    """conv1d with learned filters."""

    def __init__(self, in_channels, out_channels, kernel_size, stride=1, padding=0, dilation=1, groups=1, bias=True):
        super().__init__("Conv1d")
        self.options = {"stride": stride, "padding": padding, "dilation": dilation, "groups": groups}
        self.weight = Parameter(names.CREATED["empty"](out_channels, in_channels // groups, kernel_size))
        self.bias = Parameter(names.CREATED["empty"](out_channels)) if bias else None
        reset(self)

    def forward(self, x):
        return F.conv1d(x, self.weight, self.bias, **self.options)


nn.Linear.reset_parameters = nn.Embedding.reset_parameters = nn.Conv2d.reset_parameters = reset
globals().update(MADE)  # where pickle looks for them
nn.__dict__.update(MADE, **{cls.__name__: cls for cls in [ModuleList, ParameterList, ModuleDict, Sequential, Conv1d, BatchNorm2d, MultiheadAttention]})
F.multi_head_attention_forward = multi_head_attention_forward
