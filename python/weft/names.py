"""PyTorch's names and arguments that Weft's headers do not have, for tensors: devices, `axis=`, `new_zeros`, in-place operations."""
from . import _weft as w, forms, functional as F
from ._weft import Tensor

DTYPES = {"float": w.float32, "double": w.float64, "long": w.int64}
TYPES = {w.float32: "Float", w.float64: "Double", w.int64: "Long", w.bool: "Bool"}
default = {"dtype": w.float32}  # set_default_dtype


class device:
    """Where a tensor is: Weft computes on the processor, so every word except "cpu" is refused."""

    def __init__(self, type="cpu"):
        if str(type) not in ("cpu", "cpu:0"):
            raise w.ValueError(f"device: {str(type)!r} is not there, because Weft computes on the processor; use 'cpu'")
        self.type, self.index = "cpu", None

    def __repr__(self):
        return "device(type='cpu')"

    def __str__(self):
        return self.type

    def __eq__(self, other):
        return isinstance(other, device)

    def __hash__(self):
        return 0


def namespace(name, **members):
    """A module weft.name with these members."""
    module = type(w)("weft." + name)
    module.__dict__.update(members)
    return module


def set_default_dtype(dtype):
    if dtype not in (w.float32, w.float64):
        raise w.DTypeError(f"set_default_dtype: {dtype}; use float32 or float64")
    default["dtype"] = dtype


# ---- making tensors
def created(name):
    """The function of that name with PyTorch's device, size and default types."""
    function = forms.NAMES.get(name) or getattr(w, name)

    def make(*args, device=None, dtype=None, size=None, **options):
        device is None or globals()["device"](device)
        requires_grad = options.pop("requires_grad", False)
        args = args if size is None else (*args, size)
        if name == "randint":
            args = (0, *args) if len(args) == 2 else args
        elif name in ("zeros", "ones", "empty", "randn", "rand"):
            options["dtype"] = w.float32 if dtype in (w.int64, w.bool) else dtype or default["dtype"]
        elif name == "full":
            number = args[1]
            dtype = dtype or (w.bool if isinstance(number, bool) else w.int64 if isinstance(number, int) else default["dtype"])
        elif dtype is None and default["dtype"] != w.float32 and name in ("tensor", "eye", "linspace", "arange"):
            dtype = default["dtype"] if (made := function(*args, **options)).dtype == w.float32 else made.dtype
        if dtype is not None and name in ("tensor", "arange", "linspace", "eye", "full"):
            options["dtype"] = dtype
        made = function(*args, **options)
        return (made if dtype is None else made.to(dtype)).requires_grad_(requires_grad)
    make.__name__ = name
    return make


def made(*data):
    """Tensor(2, 3), Tensor([1, 2]) and Tensor(x), in float32."""
    is_shape = all(isinstance(size, int) for size in data)
    return CREATED["empty"](data or (0,), dtype=w.float32) if is_shape else forms.tensor(data[0], w.float32)


CREATED = {name: created(name) for name in ["zeros", "ones", "empty", "randn", "rand", "full", "arange", "linspace", "eye", "tensor", "randint", "randperm",
                                            "zeros_like", "ones_like", "full_like", "randn_like", "rand_like"]}


# ---- arguments that PyTorch has
def reduced(function):
    """`axis` is `dim`, and `dtype` is the type that the input is converted to first."""
    def reduce(input, *args, axis=None, dtype=None, **options):
        if axis is not None:
            options["dim"] = axis
        return function(input if dtype is None else input.to(dtype), *args, **options)
    return reduce


def norm(input, p=2, dim=None, keepdim=False):
    return w.norm(input, {"fro": 2, None: 2}.get(p, p), dim, keepdim)


def where(condition, input=None, other=None):
    if input is None:
        return tuple(w.nonzero(condition).unbind(1))
    y = w.where(condition, input, other)
    return y.to(w.int64) if isinstance(input, int) and isinstance(other, int) else y


def matrices(name, rank):
    def product(input, mat2):
        if input.ndim != rank or mat2.ndim != rank:
            raise w.ShapeError(f"{name}: {input.shape} and {mat2.shape}; give two tensors of rank {rank}, or use matmul")
        return input @ mat2
    return product


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


def extreme(name, of_bool):
    """max and min, of bools too."""
    function = reduced(forms.NAMES[name])
    return lambda input, *args, **options: of_bool(input, *args) if input.dtype == w.bool and len(args) == 1 else function(input, *args, **options)


def power(input, exponent):
    return w.pow(input, exponent) if isinstance(input, Tensor) else exponent.__rpow__(input)


run_backward = Tensor.backward
REDUCTIONS = {name: reduced(forms.NAMES.get(name) or getattr(w, name)) for name in [
    "sum", "mean", "prod", "argmax", "argmin", "var", "std", "cumsum", "cumprod", "logsumexp", "softmax", "log_softmax", "all", "any", "argsort"]}
FUNCTIONS = {**REDUCTIONS, "max": extreme("max", Tensor.__or__), "min": extreme("min", Tensor.__and__), "pow": power, "norm": norm, "mm": matrices("mm", 2), "bmm": matrices("bmm", 3), "t": t, "clip": forms.clamp, "clamp": forms.clamp,
             "square": lambda input: input * input, "unbind": lambda input, dim=0: tuple(input.select(dim, i) for i in range(input.size(dim))),
             "narrow": lambda input, dim, start, length: input.slice(dim, start, start + length)}


# ---- functions of weft.nn.functional
def activation(name):
    function = getattr(F, name)

    def activate(input, *args, inplace=False, **options):
        y = function(input, *args, **options)
        return update(name + "_", input, y) if inplace else y
    activate.__name__ = name
    return activate


def selu(input):
    """λ(x), or λα(eˣ − 1) below 0 (Klambauer et al., "Self-normalizing neural networks", 2017, eq. 2)."""
    return 1.0507009873554805 * w.elu(input, 1.6732632423543772)


def embedding(input, weight, padding_idx=None, max_norm=None, norm_type=2.0, scale_grad_by_freq=False, sparse=False):
    if (padding_idx, max_norm, scale_grad_by_freq, sparse) != (None, None, False, False):
        raise w.ValueError("embedding: padding_idx, max_norm, scale_grad_by_freq and sparse are not there; leave them out")
    return w.embedding(weight, input)


def conv1d(input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
    padded = w.pad(input, (padding, padding)) if padding else input
    return w.conv2d(padded.unsqueeze(-2), weight.unsqueeze(-2), bias, stride, 0, dilation, groups).squeeze(-2)


def conv2d(input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
    one = [x if isinstance(x, int) else x[0] if len(set(x)) == 1 else None for x in (stride, padding, dilation)]
    if None in one:
        raise w.ValueError(f"conv2d: stride {stride}, padding {padding}, dilation {dilation}; both axes must have the same")
    return w.conv2d(input, weight, bias, *one, groups)


def upsample_nearest(input, scale_factor):
    return w.repeat_interleave(w.repeat_interleave(input, scale_factor, -1), scale_factor, -2)


# ---- in place
def update(name, x, y):
    """Writes y to x: to its memory outside the graph; in it, x becomes y, where nothing else has its memory."""
    if not w.is_grad_enabled() or not (x.requires_grad or y.requires_grad):
        return x.copy_(y.detach())
    if x.requires_grad and x.is_leaf:
        raise w.GraphError(f"{name}: a leaf that requires a gradient cannot be changed in the graph; do so under no_grad()")
    if not x._become(y):
        raise w.GraphError(f"{name}: a view, or the graph, has the tensor's memory, too; write x = {name.rstrip('_')}(x, …) instead")
    return x


def inplace(name, function):
    return lambda self, *args, **options: update(name, self, function(self, *args, **options))


def drawn(name, draw, first, second):
    def fill(self, *args, generator=None, **options):
        a, b = (*args, *(options.get(key, value) for key, value in [first, second][len(args):]))
        start = CREATED["rand" if name == "uniform_" else "randn"](self.shape, dtype=self.dtype, generator=generator or w.default_generator)
        return self.copy_(draw(start, a, b))
    return fill


def index_add(self, dim, index, source, alpha=1):
    shape = [1] * self.ndim
    shape[dim] = index.numel()
    return forms.scatter_add(self, dim, index.reshape(shape).expand(source.shape), source * alpha)


def index_fill(self, dim, index, value):
    shape = [1] * self.ndim
    shape[dim] = self.size(dim)
    hit = w.scatter_add((self.size(dim),), 0, index.reshape(-1), CREATED["ones"](index.numel())) > 0
    return self.masked_fill(hit.reshape(shape), value)


IN_PLACE = {"clamp_": forms.clamp, "triu_": w.triu, "tril_": w.tril, "relu_": F.relu, "exp_": w.exp, "sqrt_": w.sqrt, "neg_": Tensor.__neg__, "pow_": w.pow,
            "sub_": lambda x, other, alpha=1: x - other * alpha, "div_": Tensor.__truediv__, "masked_fill_": Tensor.masked_fill, "index_add_": index_add,
            "lerp_": lambda x, end, weight: x + (end - x) * weight, "index_fill_": index_fill, "scatter_": lambda x, *a, **o: w.scatter(x, *a, **o),
            "scatter_add_": forms.scatter_add, "addcmul_": lambda x, a, b, value=1: x + value * a * b, "addcdiv_": lambda x, a, b, value=1: x + value * a / b}
add_in_place = Tensor.add_


def add_(self, other, alpha=1):
    """Numbers too, and in the graph as `update` has it."""
    y = self + other * alpha if alpha != 1 else self + other
    return update("add_", self, y)


def converted(self, *what, dtype=None, device=None):
    """x.to("cpu"), x.to(float64), x.to(y), x.to(device, dtype)."""
    for thing in (*what, *([] if device is None else [globals()["device"](device)])):
        dtype = thing.dtype if isinstance(thing, Tensor) else thing if isinstance(thing, w.dtype) else globals()["device"](thing) and dtype
    return self if dtype is None else to_dtype(self, dtype)


def set_data(self, other):
    """x.data = y copies y's values; x.data -= y has written them already."""
    same = self.shape == other.shape and self.dtype == other.dtype
    self.detach().copy_(other.detach()) if same else self._set_data(other)


def new(name):
    return lambda self, *size, dtype=None, device=None, **o: CREATED[name](forms.sizes(size), dtype=dtype or self.dtype, device=device, **o)


def pickled(x, protocol):
    if not x.is_leaf:
        raise w.GraphError("pickle: the result of an operation; pickle x.detach()")
    return restored, (memoryview(x.detach().contiguous()).tobytes(), tuple(x.shape), TYPES[x.dtype], x.requires_grad)


def restored(values, shape, type, requires_grad):
    flat = w._copy(memoryview(values).cast("fdq?"[list(TYPES.values()).index(type)]))
    return flat.reshape(shape).requires_grad_(requires_grad)


def copied(x, memo):
    """For copy.deepcopy: one tensor in several places stays one."""
    if not x.is_leaf:
        raise w.GraphError("deepcopy: the result of an operation; copy a leaf, or x.detach()")
    key = ("weft", hash(x))
    if key not in memo:
        memo[key] = (x.detach().clone().requires_grad_(x.requires_grad), x)
    return memo[key][0]


to_dtype = Tensor.to
METHODS = {**FUNCTIONS, **{name: inplace(name, function) for name, function in IN_PLACE.items()}, "add_": add_, "to": converted, "backward": backward,
           "uniform_": drawn("uniform_", lambda u, low, high: low + (high - low) * u, ("from", 0), ("to", 1)),
           "normal_": drawn("normal_", lambda z, mean, std: mean + std * z, ("mean", 0), ("std", 1)),
           **{name: getattr(Tensor, f"__{name}__") for name in ["eq", "ne", "lt", "le", "gt", "ge"]}, "__deepcopy__": copied, "__reduce_ex__": pickled,
           "cpu": lambda self: self, "device": property(lambda self: device("cpu")), "data": property(Tensor.detach, set_data),
           "type": lambda self, dtype=None: f"torch.{TYPES[self.dtype]}Tensor" if dtype is None else self.to(dtype),
           "type_as": lambda self, other: to_dtype(self, other.dtype), "view_as": lambda self, other: self.view(other.shape),
           "reshape_as": lambda self, other: self.reshape(other.shape), "expand_as": lambda self, other: self.expand(other.shape),
           "int": lambda self: to_dtype(self, w.int64), **{f"new_{name}": new(name) for name in ["zeros", "ones", "empty"]}}
for _name, _value in METHODS.items():
    setattr(Tensor, _name, _value)
F.selu = selu
F.__dict__.update({name: activation(name) for name in ["relu", "leaky_relu", "elu", "selu", "silu"]}, softmax=REDUCTIONS["softmax"], log_softmax=REDUCTIONS["log_softmax"],
                  embedding=embedding, conv1d=conv1d, conv2d=conv2d, upsample_nearest=upsample_nearest, logsigmoid=w.logsigmoid,
                  **{name: getattr(w, name) for name in ["kl_div", "smooth_l1_loss", "binary_cross_entropy"]})
NAMES = {**forms.NAMES, **CREATED, **FUNCTIONS, **DTYPES, "device": device, "where": where, "set_default_dtype": set_default_dtype,
         "empty_like": lambda input, **options: CREATED["zeros_like"](input, **options), "is_tensor": lambda obj: isinstance(obj, Tensor),
         "FloatTensor": made, "LongTensor": lambda data: forms.tensor(data, w.int64), "numel": Tensor.numel,
         "cat": lambda tensors, dim=0, axis=None: w.cat(tensors, dim if axis is None else axis), "stack": lambda tensors, dim=0, axis=None: w.stack(tensors, dim if axis is None else axis),
         "inference_mode": forms.NAMES["no_grad"], "get_default_dtype": lambda: default["dtype"],
         "cuda": namespace("cuda", is_available=lambda: False, device_count=lambda: 0, empty_cache=lambda: None, is_bf16_supported=lambda: False),
         "xpu": namespace("xpu", is_available=lambda: False), "backends": namespace("backends", mps=namespace("backends.mps", is_available=lambda: False))}
