"""PyTorch's names and arguments that Weft's headers do not have, for tensors: devices, `axis=`, `new_zeros`, in-place operations."""
from . import _weft as w, forms, functional as F
from ._weft import Tensor

TYPES = {w.float32: "Float", w.float64: "Double", w.int64: "Long", w.bool: "Bool"}
default = {"dtype": w.float32}  # set_default_dtype


def refuse(what, **arguments):
    """An argument that would have no effect, or one that is not there: name=(value, the value that is allowed)."""
    for name, (value, allowed) in arguments.items():
        if value != allowed:
            raise w.ValueError(f"{what}: {name}={value!r} is not there; leave it out")


def square(what, name, value):
    """One number of PyTorch's (3, 3)."""
    if isinstance(value, (tuple, list)):
        refuse(what, **{name: (tuple(value), (value[0],) * len(value))})
    return value[0] if isinstance(value, (tuple, list)) else value


def namespace(name, **members):
    """A module weft.name with these members."""
    module = type(w)("weft." + name)
    module.__dict__.update(members)
    return module


class device:
    """Where a tensor is: Weft computes on the processor, so every word except "cpu" is refused."""

    type, index = "cpu", None

    def __init__(self, type="cpu"):
        if str(type) not in ("cpu", "cpu:0"):
            raise w.ValueError(f"device: {str(type)!r} is not there, because Weft computes on the processor; use 'cpu'")

    __repr__, __str__, __hash__ = lambda self: "device(type='cpu')", lambda self: "cpu", lambda self: 0
    __eq__ = lambda self, other: isinstance(other, device)


on_device = lambda what: what is None or bool(device(what))


def set_default_dtype(dtype):
    if dtype not in (w.float32, w.float64):
        raise w.DTypeError(f"set_default_dtype: {dtype}; use float32 or float64")
    default["dtype"] = dtype


# ---- making tensors
def created(name):
    """The function of that name with PyTorch's device, size and types."""
    function = forms.NAMES.get(name) or getattr(w, name)

    def make(*args, device=None, dtype=None, size=None, requires_grad=False, **options):
        on_device(device)
        args = args if size is None else (*args, size)
        if name == "randint" and len(args) == 2:
            args = (0, *args)
        if name == "full" and dtype is None:
            dtype = w.bool if isinstance(args[1], bool) else w.int64 if isinstance(args[1], int) else default["dtype"]
        if dtype is None and name in FLOATING:
            dtype = default["dtype"]
        typed = {"dtype": dtype} if dtype and (name == "tensor" or name in TYPED and dtype not in (w.int64, w.bool)) else {}
        made = function(*args, **options, **typed)
        if dtype is None and name in ("arange", "tensor") and made.dtype == w.float32 != default["dtype"]:
            made = function(*args, **options, dtype=default["dtype"])
        return (made if dtype is None else to_dtype(made, dtype)).requires_grad_(requires_grad)
    make.__name__ = name
    return make


def made(*data):
    """Tensor(2, 3), Tensor([1, 2]) and Tensor(x), in float32."""
    is_shape = all(isinstance(size, int) for size in data)
    return CREATED["empty"](data or (0,), dtype=w.float32) if is_shape else forms.tensor(data[0], w.float32)


to_dtype, FLOATING = Tensor.to, {"zeros", "ones", "empty", "randn", "rand", "linspace", "eye"}
TYPED = {*FLOATING, "full", "arange", "tensor"}
CREATED = {name: created(name) for name in [*TYPED, "randint", "randperm", "zeros_like", "ones_like", "full_like", "randn_like", "rand_like"]}


# ---- arguments that PyTorch has
def reduced(function, of_bool=None):
    """`axis` is `dim`, and `dtype` is the type that the input is converted to first."""
    def reduce(input, *args, axis=None, dtype=None, **options):
        if of_bool and args and isinstance(args[0], Tensor) and input.dtype == w.bool:  # max and min of two
            return of_bool(input, *args)
        return function(input if dtype is None else to_dtype(input, dtype), *args, **options, **({} if axis is None else {"dim": axis}))
    return reduce


def where(condition, input=None, other=None):
    if input is None:
        return tuple(w.nonzero(condition).unbind(1))
    y = w.where(condition, input, other)
    return to_dtype(y, w.int64) if isinstance(input, int) and isinstance(other, int) else y


def product(name, rank):
    def multiply(input, mat2):
        if input.ndim != rank or mat2.ndim != rank:
            raise w.ShapeError(f"{name}: {input.shape} and {mat2.shape}; give two tensors of rank {rank}, or use matmul")
        return input @ mat2
    return multiply


def t(input):
    if input.ndim > 2:
        raise w.ShapeError(f"t: {input.shape} is no matrix; use transpose(dim0, dim1)")
    return input.transpose(0, 1) if input.ndim == 2 else input


def backward(self, gradient=None, retain_graph=None, create_graph=False, inputs=None):
    if create_graph:
        raise w.ValueError("backward: create_graph is not there, because x.grad is outside the graph; use autograd.grad(y, [x], create_graph=True)")
    if inputs is None:
        return run_backward(self, gradient, bool(retain_graph))
    for x, dx in zip(forms.tensors(inputs), w.autograd.grad([self], forms.tensors(inputs), gradient, retain_graph)):
        x.grad = dx if x.grad is None else x.grad + dx


run_backward, REDUCED = Tensor.backward, ["sum", "mean", "prod", "argmax", "argmin", "var", "std", "cumsum", "cumprod", "logsumexp", "softmax", "log_softmax", "all", "any", "argsort"]
FUNCTIONS = {**{name: reduced(forms.NAMES.get(name) or getattr(w, name)) for name in REDUCED}, "clip": forms.clamp, "clamp": forms.clamp,
             "max": reduced(forms.NAMES["max"], Tensor.__or__), "min": reduced(forms.NAMES["min"], Tensor.__and__), "mm": product("mm", 2), "bmm": product("bmm", 3), "t": t,
             "norm": lambda input, p=2, dim=None, keepdim=False: w.norm(input, 2 if p in (None, "fro") else p, dim, keepdim), "square": lambda input: input * input,
             "pow": lambda input, exponent: w.pow(input, exponent) if isinstance(input, Tensor) else exponent.__rpow__(input),
             "unbind": lambda input, dim=0: tuple(input.select(dim, i) for i in range(input.size(dim))),
             "narrow": lambda input, dim, start, length: input.slice(dim, start, start + length)}


# ---- functions of weft.nn.functional
def activation(name, function):
    def activate(input, *args, inplace=False, **options):
        compute = lambda: function(input, *args, **options)
        return update(name + "_", input, compute) if inplace else compute()
    return activate


def selu(input):
    """λx, or λα(eˣ − 1) below 0 (Klambauer et al., "Self-normalizing neural networks", 2017, eq. 2)."""
    return 1.0507009873554805 * w.elu(input, 1.6732632423543772)


def embedding(input, weight, padding_idx=None, max_norm=None, norm_type=2.0, scale_grad_by_freq=False, sparse=False):
    refuse("embedding", padding_idx=(padding_idx, None), max_norm=(max_norm, None), scale_grad_by_freq=(scale_grad_by_freq, False), sparse=(sparse, False))
    return w.embedding(weight, input)


def conv1d(input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
    padded = w.pad(input, (padding, padding)) if padding else input
    return w.conv2d(padded.unsqueeze(-2), weight.unsqueeze(-2), bias, stride, 0, dilation, groups).squeeze(-2)


def conv2d(input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
    return w.conv2d(input, weight, bias, square("conv2d", "stride", stride), square("conv2d", "padding", padding), square("conv2d", "dilation", dilation), groups)


# ---- in place
def update(name, x, compute):
    """Writes compute() to x: to its memory outside the graph; in it, x becomes the result, where nothing else has its memory."""
    is_alone, y = x._is_alone(), compute()
    if not w.is_grad_enabled() or not (x.requires_grad or y.requires_grad):
        return x.copy_(y.detach())
    if x.requires_grad and x.is_leaf:
        raise w.GraphError(f"{name}: a leaf that requires a gradient cannot be changed in the graph; do so under no_grad()")
    if not is_alone:
        raise w.GraphError(f"{name}: a view, or the graph, has the tensor's memory, too; write x = {name.rstrip('_')}(x, …) instead")
    x._become(y)
    return x


def inplace(name, function):
    return lambda self, *args, **options: update(name, self, lambda: function(self, *args, **options))


def along(x, dim, index):
    """The shape of an index along one axis."""
    return [index.numel() if axis == dim % x.ndim else 1 for axis in range(x.ndim)]


def index_add(self, dim, index, source, alpha=1):
    return forms.FUNCTIONS["scatter_add"](self, dim, index.reshape(along(self, dim, index)).expand(source.shape), source * alpha)


def index_fill(self, dim, index, value):
    hit = w.scatter_add((self.size(dim),), 0, index.reshape(-1), CREATED["ones"](index.numel())) > 0
    return self.masked_fill(hit.reshape(along(self, dim, hit)), value)


IN_PLACE = {"clamp_": forms.clamp, "triu_": w.triu, "tril_": w.tril, "relu_": w.relu, "exp_": w.exp, "sqrt_": w.sqrt, "pow_": w.pow, "masked_fill_": Tensor.masked_fill,
            "add_": lambda x, other, alpha=1: x + (other * alpha if alpha != 1 else other), "sub_": lambda x, other, alpha=1: x - other * alpha, "div_": Tensor.__truediv__,
            "lerp_": lambda x, end, weight: x + (end - x) * weight, "index_add_": index_add, "index_fill_": index_fill, "scatter_": w.scatter, "scatter_add_": forms.FUNCTIONS["scatter_add"],
            "addcmul_": lambda x, a, b, value=1: x + value * a * b, "addcdiv_": lambda x, a, b, value=1: x + value * a / b,
            "normal_": lambda x, mean=0.0, std=1.0, generator=None: mean + std * w.randn_like(x.detach(), generator or w.default_generator),
            "uniform_": lambda x, a=0.0, b=1.0, generator=None: a + (b - a) * w.rand_like(x.detach(), generator or w.default_generator)}


# ---- methods
def converted(self, *what, dtype=None, device=None):
    """x.to("cpu"), x.to(float64), x.to(y), x.to(device, dtype)."""
    on_device(device)
    for thing in what:
        dtype = thing.dtype if isinstance(thing, Tensor) else thing if isinstance(thing, w.dtype) else on_device(thing) and dtype
    return self if dtype is None else to_dtype(self, dtype)


def set_data(self, other):
    """x.data = y copies y's values; x.data -= y has written them already."""
    self.detach().copy_(other.detach()) if self.shape == other.shape and self.dtype == other.dtype else self._set_data(other)


def new(name):
    return lambda self, *size, dtype=None, device=None, **options: CREATED[name](forms.sizes(size), dtype=dtype or self.dtype, device=device, **options)


def copied(x, memo):
    """For copy.deepcopy: one tensor in several places stays one."""
    if not x.is_leaf:
        raise w.GraphError("deepcopy: the result of an operation; copy a leaf, or x.detach()")
    if (key := ("weft", hash(x))) not in memo:
        y = x.detach().clone()
        memo[key] = (y.requires_grad_(x.requires_grad) if type(x) is Tensor else type(x)(y, x.requires_grad), x)
    return memo[key][0]


METHODS = {**FUNCTIONS, **{name: inplace(name, function) for name, function in IN_PLACE.items()}, "to": converted, "backward": backward, "cpu": lambda self: self,
           **{name: getattr(Tensor, f"__{name}__") for name in ["eq", "ne", "lt", "le", "gt", "ge"]}, "__deepcopy__": copied,
           "device": property(lambda self: device()), "data": property(Tensor.detach, set_data),
           "type": lambda self, dtype=None: f"torch.{TYPES[self.dtype]}Tensor" if dtype is None else to_dtype(self, dtype),
           "type_as": lambda self, other: to_dtype(self, other.dtype), "view_as": lambda self, other: self.view(other.shape),
           "reshape_as": lambda self, other: self.reshape(other.shape), "expand_as": lambda self, other: self.expand(other.shape),
           **{f"new_{name}": new(name) for name in ["zeros", "ones", "empty"]}}
for _name, _value in METHODS.items():
    setattr(Tensor, _name, _value)
ACTIVATIONS = {name: activation(name, getattr(w, name, None) or selu) for name in ["relu", "leaky_relu", "elu", "selu", "silu"]}
F.__dict__.update(ACTIVATIONS, embedding=embedding, conv1d=conv1d, conv2d=conv2d, **{name: FUNCTIONS[name] for name in ["softmax", "log_softmax"]},
                  upsample_nearest=lambda input, scale_factor: w.repeat_interleave(w.repeat_interleave(input, scale_factor, -1), scale_factor, -2),
                  **{name: getattr(w, name) for name in ["logsigmoid", "kl_div", "smooth_l1_loss", "binary_cross_entropy"]})
no, NAMES = lambda: False, {**forms.NAMES, **CREATED, **FUNCTIONS, "float": w.float32, "double": w.float64, "long": w.int64, "device": device, "where": where}
NAMES |= {"empty_like": CREATED["zeros_like"], "is_tensor": lambda obj: isinstance(obj, Tensor), "FloatTensor": made, "LongTensor": lambda data: forms.tensor(data, w.int64),
          "cat": lambda tensors, dim=0, axis=None: w.cat(tensors, dim if axis is None else axis),
          "stack": lambda tensors, dim=0, axis=None: w.stack(tensors, dim if axis is None else axis), "inference_mode": forms.NAMES["no_grad"],
          "set_default_dtype": set_default_dtype, "get_default_dtype": lambda: default["dtype"], "xpu": namespace("xpu", is_available=no),
          "cuda": namespace("cuda", is_available=no, is_bf16_supported=no, device_count=lambda: 0, empty_cache=lambda: None),
          "backends": namespace("backends", mps=namespace("backends.mps", is_available=no))}
