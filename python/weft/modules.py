"""PyTorch's modules and what it does with modules: containers, activations, losses, hooks, copies, initial values."""
from . import _weft as w, forms, functional as F, names
from ._weft import Tensor, nn

Module = nn.Module
registered, to_module, listed, zeroed = Module.named_children, Module.to, Module.parameters, Module.zero_grad


# ---- what a module was made with: its attributes, and its copy
def recorded(cls, refused=(), rename=(), **signature):
    """Lets a class of Weft's have PyTorch's arguments, keep them as attributes, and call `forward` as PyTorch does."""
    make = cls.__init__

    def __init__(self, *args, device=None, dtype=None, **options):
        if not signature or args and isinstance(args[0], Tensor):
            make(self, *args, **options)
            return object.__setattr__(self, "_made", {None: args, **options})
        if set(options) - set(signature) or len(args) > len(signature) + 2:
            raise TypeError(f"{cls.__name__}: unknown arguments {sorted(set(options) - set(signature)) or args}; it takes {', '.join(signature)}")
        given = {**signature, **dict(zip(signature, args)), **options}
        device, dtype = (*args[len(signature):], *[device, dtype][max(0, len(args) - len(signature)):])
        device is None or names.device(device)
        for name in refused:
            if given[name] != signature[name]:
                raise w.ValueError(f"{cls.__name__}: {name}={given[name]!r} is not there; leave it out")
        make(self, **{dict(rename).get(name, name): square(cls.__name__, name, value) for name, value in given.items() if name not in refused})
        object.__setattr__(self, "_made", given)
        if (dtype or names.default["dtype"]) != w.float32:
            to_module(self, dtype or names.default["dtype"])
    cls.__init__, cls._recorded = __init__, True


def square(what, name, value):
    """One number of PyTorch's (3, 3)."""
    if isinstance(value, (tuple, list)):
        if len(set(value)) != 1:
            raise w.ValueError(f"{what}: {name}={tuple(value)} is no single number; windows are square here")
        return value[0]
    return value


def attribute(self, name):
    made = vars(self).get("_made", {})
    if name not in made or name == "bias" and made[name]:
        return missing(self, name)
    if name == "bias":
        return None
    pair = isinstance(self, nn.Conv2d) and name in ("kernel_size", "stride", "padding", "dilation")
    return (made[name],) * 2 if pair and isinstance(made[name], int) else made[name]


missing, Module.__getattr__ = Module.__getattr__, attribute
for _cls in [cls for cls in vars(nn).values() if isinstance(cls, type) and issubclass(cls, Module) and cls is not Module and "__call__" in vars(cls)]:
    _cls.forward = vars(_cls)["__call__"]
    del _cls.__call__
    _cls.__name__ in ("Linear", "Embedding", "LayerNorm", "RMSNorm", "Dropout", "Conv2d", "BatchNorm") or recorded(_cls)
affine = {"elementwise_affine": True}
recorded(nn.Linear, in_features=..., out_features=..., bias=True)
recorded(nn.Embedding, ("padding_idx", "max_norm", "norm_type", "scale_grad_by_freq", "sparse"), num_embeddings=..., embedding_dim=..., padding_idx=None,
         max_norm=None, norm_type=2.0, scale_grad_by_freq=False, sparse=False)
recorded(nn.LayerNorm, affine, {"normalized_shape": "dim"}, normalized_shape=..., eps=1e-5, **affine, bias=True)
recorded(nn.RMSNorm, affine, {"normalized_shape": "dim"}, normalized_shape=..., eps=None, **affine)
recorded(nn.Dropout, ("inplace",), p=0.5, inplace=False)
recorded(nn.Conv2d, ("padding_mode",), in_channels=..., out_channels=..., kernel_size=..., stride=1, padding=0, dilation=1, groups=1, bias=True, padding_mode="zeros")
recorded(nn.BatchNorm, ("affine", "track_running_stats"), num_features=..., eps=1e-5, momentum=0.1, affine=True, track_running_stats=True)


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
        self.hooks, self.key = hooks, object()
        hooks[self.key] = hook

    def remove(self):
        self.hooks.pop(self.key, None)


def hooked(kind):
    return lambda self, hook: Handle(vars(self).setdefault(kind, {}), hook)


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


def module_zero_grad(self, set_to_none=True):
    if not set_to_none:
        raise w.ValueError("zero_grad: set_to_none=False is not there, because gradients become None; leave it out")
    zeroed(self)


# ---- copies: copy.deepcopy and pickle take a module apart into its arguments, tensors, children and attributes
def parts(self):
    saved, plain = self.state_dict(), {key: x for key, x in vars(self).items() if not isinstance(x, (Tensor, Module)) and key not in ("_made", "_before", "_after")}
    children = {name: child for name, child in named_children(self) if name in vars(self)}
    tensors = [(name, x, name in saved) for name, x in {**dict(self.named_buffers()), **saved}.items() if name.split(".")[0] not in children]
    return vars(self).get("_made"), (tensors, list(children.items()), plain, self.training)


def blank(cls, made):
    new = cls.__new__(cls)
    if made is None:
        Module.__init__(new, cls.__name__)
    else:
        next(c for c in cls.__mro__ if "_recorded" in vars(c)).__init__(new, *made.get(None, ()), **{key: value for key, value in made.items() if key})
    return new


def put(self, state):
    tensors, children, plain, training = state
    there = {**dict(self.named_buffers()), **self.state_dict()}
    for key, value in plain.items():
        object.__setattr__(self, key, value)
    for name, x, persistent in tensors:
        if name in there:
            there[name].data = x
            there[name].requires_grad_(x.requires_grad)
        else:
            setattr(self, name, x) if x.requires_grad else self.register_buffer(name, x, persistent)
    for name, child in children:
        setattr(self, name, child)
    self.train(training)


def copied(self, memo):
    import copy
    made, state = parts(self)
    new = memo[id(self)] = blank(type(self), copy.deepcopy(made, memo))
    new.__setstate__(copy.deepcopy(state, memo))
    return new


def pickled(self, protocol):
    made, state = parts(self)
    if len({hash(x) for x in self.state_dict().values()}) < len(self.state_dict()):
        raise w.GraphError(f"pickle: {type(self).__name__} has tied tensors, which would come apart; save its state_dict()")
    return blank, (type(self), made), state


for _name, _value in {"__call__": call, "register_forward_hook": hooked("_after"), "register_forward_pre_hook": hooked("_before"), "apply": apply,
                      "named_children": named_children, "children": lambda self: (child for _, child in named_children(self)), "requires_grad_": frozen,
                      "named_modules": named_modules, "modules": lambda self: (module for _, module in named_modules(self)), "to": moved,
                      "cpu": lambda self: self, "float": lambda self: to_module(self, w.float32), "double": lambda self: to_module(self, w.float64),
                      "parameters": lambda self: iter(listed(self)), "zero_grad": module_zero_grad, "__deepcopy__": copied, "__reduce_ex__": pickled, "__setstate__": put, "extra_repr": lambda self: "",
                      "buffers": lambda self: (x for _, x in self.named_buffers()), "add_module": lambda self, name, module: setattr(self, name, module),
                      "register_parameter": lambda self, name, param: setattr(self, name, param)}.items():
    setattr(Module, _name, _value)


class LeafType(type):
    def __instancecheck__(cls, x):
        return isinstance(x, Tensor) and x.is_leaf and x.requires_grad


class Parameter(metaclass=LeafType):
    """A leaf that requires a gradient, or not; every such leaf is a Parameter."""

    def __new__(cls, data, requires_grad=True):
        return data.detach().requires_grad_(requires_grad)


nn.Parameter = Parameter


# ---- containers
class ModuleList(Module):
    """Modules by number."""

    def __init__(self, modules=()):
        super().__init__(type(self).__name__)
        object.__setattr__(self, "_names", [])
        self.extend(modules)

    def append(self, module, name=None):
        name = str(len(self._names)) if name is None else name
        self._names.append(name)
        setattr(self, name, module)
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

    def append(self, value, name=None):
        return super().append(value if isinstance(value, Tensor) and not value.is_leaf or value.requires_grad else nn.Parameter(value), name)


class Sequential(ModuleList):
    """Modules and functions, one after the other."""

    def __init__(self, *steps):
        super().__init__()
        pairs = steps[0].items() if len(steps) == 1 and isinstance(steps[0], dict) else enumerate(steps)
        for name, step in pairs:
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
        self.update(modules)

    def update(self, modules):
        for name, module in (modules.items() if hasattr(modules, "items") else modules):
            self[name] = module

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
        given = {**defaults, **dict(zip(defaults, args)), **options}
        unknown = set(given) - set(defaults)
        if unknown or len(args) > len(defaults):
            raise TypeError(f"{name}: unknown arguments {sorted(unknown) or args}; it takes {', '.join(defaults) or 'none'}")
        Module.__init__(self, name)
        object.__setattr__(self, "options", given)
    members = {"__init__": __init__, "__doc__": f"{name}: a module that calls {function.__name__}.",
               "forward": lambda self, *x: function(*x, **self.options), "extra_repr": lambda self: ", ".join(f"{k}={v}" for k, v in self.options.items()),
               "__getattr__": lambda self, key: vars(self)["options"][key] if key in vars(self).get("options", {}) else Module.__getattr__(self, key)}
    return type(name, (Module,), members)


reduction = {"reduction": "mean"}
CALLING = {"ReLU": (F.relu, {"inplace": False}), "ELU": (F.elu, {"alpha": 1.0, "inplace": False}), "SELU": (F.selu, {"inplace": False}),
           "LeakyReLU": (F.leaky_relu, {"negative_slope": 0.01, "inplace": False}), "SiLU": (F.silu, {"inplace": False}), "GELU": (F.gelu, {"approximate": "none"}),
           "Sigmoid": (F.sigmoid, {}), "Tanh": (F.tanh, {}), "Softplus": (F.softplus, {}), "LogSigmoid": (F.logsigmoid, {}),
           "Softmax": (F.softmax, {"dim": None}), "LogSoftmax": (F.log_softmax, {"dim": None}), "Flatten": (w.flatten, {"start_dim": 1, "end_dim": -1}),
           "Identity": (lambda x: x, {}), "MaxPool2d": (F.max_pool2d, {"kernel_size": 2, "stride": None, "padding": 0}),
           "AvgPool2d": (F.avg_pool2d, {"kernel_size": 2, "stride": None, "padding": 0}), "MSELoss": (F.mse_loss, reduction), "L1Loss": (F.l1_loss, reduction),
           "CrossEntropyLoss": (F.cross_entropy, {"weight": None, "ignore_index": -100, "reduction": "mean", "label_smoothing": 0.0}),
           "NLLLoss": (F.nll_loss, {"weight": None, "ignore_index": -100, "reduction": "mean"}), "BCELoss": (F.binary_cross_entropy, reduction),
           "BCEWithLogitsLoss": (F.binary_cross_entropy_with_logits, reduction), "KLDivLoss": (F.kl_div, {"reduction": "mean", "log_target": False}),
           "SmoothL1Loss": (F.smooth_l1_loss, {"reduction": "mean", "beta": 1.0}), "HuberLoss": (F.huber_loss, {"reduction": "mean", "delta": 1.0})}


class MultiheadAttention(Module):
    """PyTorch's attention: its names of parameters, its arguments, and its masks, in which true is blocked."""

    def __init__(self, embed_dim, num_heads, dropout=0.0, bias=True, add_bias_kv=False, add_zero_attn=False, kdim=None, vdim=None, batch_first=False):
        if add_bias_kv or add_zero_attn:
            raise w.ValueError("MultiheadAttention: add_bias_kv and add_zero_attn are not there; leave them out")
        super().__init__("MultiheadAttention")
        self.embed_dim, self.num_heads, self.dropout, self.batch_first = embed_dim, num_heads, dropout, batch_first
        self.kdim, self.vdim, rows = kdim or embed_dim, vdim or embed_dim, names.CREATED["empty"]
        self.separate = (self.kdim, self.vdim) != (embed_dim, embed_dim)
        shapes = ({"q_proj_weight": (embed_dim, embed_dim), "k_proj_weight": (embed_dim, self.kdim), "v_proj_weight": (embed_dim, self.vdim)}
                  if self.separate else {"in_proj_weight": (3 * embed_dim, embed_dim)})
        for name, shape in shapes.items():
            setattr(self, name, nn.Parameter(init["xavier_uniform_"](rows(shape))))
        self.in_proj_bias = nn.Parameter(names.CREATED["zeros"](3 * embed_dim)) if bias else None
        self.out_proj = nn.Linear(embed_dim, embed_dim, bias=bias)
        bias and init["zeros_"](self.out_proj.bias)

    def forward(self, query, key, value, key_padding_mask=None, need_weights=True, attn_mask=None, average_attn_weights=True, is_causal=False):
        turn = (lambda x: x) if query.ndim == 2 or not self.batch_first else (lambda x: x.transpose(0, 1))
        separate = [getattr(self, name) for name in ["q_proj_weight", "k_proj_weight", "v_proj_weight"]] if self.separate else [None] * 3
        y, weights = multi_head_attention_forward(
            turn(query), turn(key), turn(value), self.embed_dim, self.num_heads, None if self.separate else self.in_proj_weight, self.in_proj_bias, None, None,
            False, self.dropout, self.out_proj.weight, self.out_proj.bias, self.training, key_padding_mask, need_weights, attn_mask, self.separate, *separate,
            average_attn_weights=average_attn_weights, is_causal=is_causal)
        return turn(y), weights


def multi_head_attention_forward(query, key, value, embed_dim_to_check, num_heads, in_proj_weight, in_proj_bias, bias_k, bias_v, add_zero_attn, dropout_p,
                                 out_proj_weight, out_proj_bias, training=True, key_padding_mask=None, need_weights=True, attn_mask=None,
                                 use_separate_proj_weight=False, q_proj_weight=None, k_proj_weight=None, v_proj_weight=None, average_attn_weights=True, is_causal=False):
    """Attention of tokens (T, B, C), or (T, C), by PyTorch's arguments; in its masks, true is blocked."""
    if bias_k is not None or bias_v is not None or add_zero_attn or is_causal and attn_mask is None:
        raise w.ValueError("multi_head_attention_forward: bias_k, bias_v and add_zero_attn are not there, and is_causal needs attn_mask; pass the mask alone")
    weights = (q_proj_weight, k_proj_weight, v_proj_weight) if use_separate_proj_weight else in_proj_weight.chunk(3)
    biases, batched = [None] * 3 if in_proj_bias is None else in_proj_bias.chunk(3), query.ndim == 3
    first = [x.transpose(0, 1) if batched else x for x in (query, key, value)]
    q, k, v = [F.linear(x, weight, b).reshape(*x.shape[:-1], num_heads, -1).transpose(-3, -2) for x, weight, b in zip(first, weights, biases)]
    bias = None
    for mask, shape in [(attn_mask, lambda m: m.reshape(-1, num_heads, *m.shape[1:]) if m.ndim == 3 and batched else m),
                        (key_padding_mask, lambda m: m.unsqueeze(-2).unsqueeze(-2))]:
        if mask is not None:
            added = shape(names.CREATED["zeros"](mask.shape, dtype=q.dtype).masked_fill(mask, -float("inf")) if mask.dtype == w.bool else mask)
            bias = added if bias is None else bias + added
    attend = F.scaled_dot_product_attention_with_weights if need_weights else F.scaled_dot_product_attention
    found = attend(q, k, v, attn_mask=bias, dropout_p=dropout_p if training else 0.0)
    y, weights = found if need_weights else (found, None)
    y = F.linear(y.transpose(-3, -2).reshape(*first[0].shape[:-1], embed_dim_to_check), out_proj_weight, out_proj_bias)
    return y.transpose(0, 1) if batched else y, weights.mean(-3) if need_weights and average_attn_weights else weights


# ---- initial values
def fans(x):
    if x.ndim < 2:
        raise w.ShapeError(f"init: {x.shape} has no fan; give a tensor of rank 2 or more")
    field = x[0][0].numel()
    return x.size(1) * field, x.size(0) * field


def drawn(scale, uniform):
    """Values of mean 0 whose standard deviation is scale(x, …)."""
    def fill(tensor, *args, generator=None, **options):
        std = scale(tensor, *args, **options)
        with forms.NAMES["no_grad"]():
            return tensor.uniform_(-3**0.5 * std, 3**0.5 * std, generator=generator) if uniform else tensor.normal_(0, std, generator=generator)
    return fill


def gain(nonlinearity, param=None):
    known = {"linear": 1, "sigmoid": 1, "conv1d": 1, "conv2d": 1, "tanh": 5 / 3, "relu": 2**0.5, "leaky_relu": (2 / (1 + (0.01 if param is None else param) ** 2)) ** 0.5, "selu": 0.75}
    if nonlinearity not in known:
        raise w.ValueError(f"calculate_gain: {nonlinearity!r} is not known; use one of {', '.join(known)}")
    return known[nonlinearity]


def kaiming(x, a=0, mode="fan_in", nonlinearity="leaky_relu"):
    return gain(nonlinearity, a) / fans(x)[mode == "fan_out"] ** 0.5


def plain(method):
    def fill(tensor, *args, **options):
        with forms.NAMES["no_grad"]():
            return getattr(tensor, method)(*args, **options)
    return fill


xavier = lambda x, gain=1.0: gain * (2 / sum(fans(x))) ** 0.5
init = {"normal_": lambda tensor, mean=0.0, std=1.0, generator=None: plain("normal_")(tensor, mean, std, generator=generator),
        "uniform_": lambda tensor, a=0.0, b=1.0, generator=None: plain("uniform_")(tensor, a, b, generator=generator),
        "zeros_": plain("zero_"), "constant_": plain("fill_"), "ones_": lambda tensor: plain("fill_")(tensor, 1), "calculate_gain": gain,
        "xavier_uniform_": drawn(xavier, True), "xavier_normal_": drawn(xavier, False), "kaiming_uniform_": drawn(kaiming, True), "kaiming_normal_": drawn(kaiming, False)}


def reset(self):
    """The values of a new layer."""
    if isinstance(self, nn.Embedding):
        init["normal_"](self.weight)
        return
    bound = fans(self.weight)[0] ** -0.5
    for x in listed(self):
        init["uniform_"](x, -bound, bound)


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
        self.weight = nn.Parameter(names.CREATED["empty"](out_channels, in_channels // groups, kernel_size))
        self.bias = nn.Parameter(names.CREATED["empty"](out_channels)) if bias else None
        reset(self)

    def forward(self, x):
        return F.conv1d(x, self.weight, self.bias, **self.options)


nn.Linear.reset_parameters = nn.Embedding.reset_parameters = nn.Conv2d.reset_parameters = reset
MADE = {name: calling(name, function, **defaults) for name, (function, defaults) in CALLING.items()}
globals().update(MADE)  # where pickle looks for them
nn.__dict__.update(MADE, ModuleList=ModuleList, ParameterList=ParameterList, ModuleDict=ModuleDict, Sequential=Sequential, Conv1d=Conv1d, BatchNorm2d=BatchNorm2d,
                   MultiheadAttention=MultiheadAttention)
F.multi_head_attention_forward = multi_head_attention_forward
