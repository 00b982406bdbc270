"""Tensors under PyTorch's names, as Python writes them: f(2, 3), x[…], numbers in lists, `axis=`, devices, x.add_(y). All else is as in the headers."""
import math

from . import _weft as w
from ._weft import Tensor, default_generator, float32

to_dtype = Tensor.to


def extends(cls):
    """A decorator: what stands in the body of the class becomes cls's."""
    def extend(body):
        for name, value in vars(body).items():
            if name not in ("__module__", "__dict__", "__weakref__", "__doc__"):
                setattr(cls, name, value)
    return extend


def refuse(what, **arguments):
    """An argument that would have no effect, or one that is not there: name=(value, the value that is allowed)."""
    for name, (value, allowed) in arguments.items():
        if value != allowed:
            raise w.ValueError(f"{what}: {name}={value!r} is not there; leave it out")


class device:
    """Where a tensor is: Weft computes on the processor, so every word except "cpu" is refused."""

    type, index = "cpu", None

    def __init__(self, type="cpu"):
        if str(type) not in ("cpu", "cpu:0"):
            raise w.ValueError(f"device: {str(type)!r} is not there, because Weft computes on the processor; use 'cpu'")

    __repr__, __str__, __hash__ = lambda self: "device(type='cpu')", lambda self: "cpu", lambda self: 0
    __eq__ = lambda self, other: isinstance(other, device)


on_device = lambda what: what is None or bool(device(what))
sizes = lambda size: size[0] if len(size) == 1 else size  # of f(2, 3) and of f((2, 3))


# ---- making tensors
def flatten(data, flat):
    """Appends the numbers of nested lists; returns their shape."""
    if isinstance(data, (list, tuple, range)):
        shapes = {flatten(item, flat) for item in data} or {()}
        if len(shapes) > 1:
            raise w.ShapeError(f"tensor: rows of shapes {sorted(shapes)}; all rows must have the same shape")
        return (len(data), *shapes.pop())
    if not hasattr(data, "__float__"):
        raise w.DTypeError(f"tensor: {type(data).__name__} is no number; pass numbers, lists of them, or an array")
    flat.append(data.item() if hasattr(data, "item") else data)
    return ()


def type_of(*numbers):
    """float32, unless all are bools or integers."""
    whole = numbers and all(isinstance(number, int) for number in numbers)
    return float32 if not whole else w.bool if all(isinstance(number, bool) for number in numbers) else w.int64


def tensor(data, dtype=None, requires_grad=False, device=None):
    """A copy of numbers in lists, of an array or of a tensor, with the types of torch.tensor."""
    import array  # only now: it takes 2 ms
    on_device(device)
    if isinstance(data, Tensor):
        x = data.detach().clone()
    elif hasattr(data, "__array_interface__") or isinstance(data, (array.array, memoryview)):
        x = w._copy(data)
    elif hasattr(data, "__dlpack__"):
        x = w.from_dlpack(getattr(data, "detach", lambda: data)()).clone()
    else:
        shape, usual = flatten(data, flat := []), type_of(*flat)
        dtype = dtype or usual
        try:
            x = w._copy(array.array("d" if float32 == usual or dtype in (float32, w.float64) else "q", flat)).reshape(shape)
        except OverflowError:
            raise w.ValueError("tensor: a number is outside int64, -2**63 to 2**63 - 1, or float64, ±1.8e308; pass dtype=float64 or smaller ones") from None
    return to_dtype(x, dtype or x.dtype).requires_grad_(requires_grad)


def maker(name, arrange):
    """Weft's function of that name with PyTorch's arguments: `arrange` gives Weft's, and the usual type, or None if there is no choice."""
    def make(*args, dtype=None, device=None, requires_grad=False, **options):
        on_device(device)
        values, usual = arrange(*args, **options)
        x = getattr(w, name)(*values, *([] if usual is None else [dtype if dtype in (float32, w.float64) else usual]))
        return (x if dtype is None else to_dtype(x, dtype)).requires_grad_(requires_grad)
    return make


of_size = lambda *shape, size=None: ((sizes(shape) if size is None else size,), float32)
drawn = lambda *shape, size=None, generator=default_generator: ((*of_size(*shape, size=size)[0], generator), float32)
given = lambda *args, **options: ((*args, *options.values()), None)
ARRANGED = {"zeros": of_size, "ones": of_size, "empty": of_size, "randn": drawn, "rand": drawn, "zeros_like": given, "ones_like": given, "full_like": given,
            "randn_like": given, "rand_like": given, "randperm": given, "eye": lambda *n: (n, float32), "linspace": lambda start, end, steps: ((start, end, steps), float32),
            "full": lambda size, fill_value: ((size, fill_value), type_of(fill_value)),
            "arange": lambda start, end=None, step=1: ((0, start, step) if end is None else (start, end, step), type_of(start, start if end is None else end, step)),
            "randint": lambda low, high=None, size=None, generator=default_generator:
                ((*((low, high, size) if None not in (high, size) else (0, low, high if size is None else size)), generator), None)}
NAMES = {name: maker(name, arrange) for name, arrange in ARRANGED.items()}
made = lambda *data: tensor(data[0], float32) if data and not isinstance(data[0], int) else w.empty(data or (0,))  # Tensor(2, 3), Tensor([1, 2]), Tensor(x)
new = lambda name: lambda self, *size, dtype=None, **options: NAMES[name](*size, dtype=dtype or self.dtype, **options)


# ---- indexing
def take(x, axis, index):
    """x at a mask, or at int64 indices, from an axis on; and the axis that follows."""
    is_mask = index.dtype == w.bool
    used = index.ndim if is_mask else 1
    before, at, after = x.shape[:axis], x.shape[axis:axis + used], x.shape[axis + used:]
    if is_mask and at != index.shape:
        raise w.ShapeError(f"index: a mask of shape {index.shape} does not fit {x.shape} from axis {axis} on; use the sizes of these axes")
    rows = w.nonzero(index.reshape(-1)).reshape(-1) if is_mask else index.reshape(-1)
    shape = rows.shape if is_mask else index.shape
    return w.index_select(x.reshape(*before, math.prod(at), *after), axis, rows).reshape(*before, *shape, *after), axis + len(shape)


def plain(s):
    """An index as an integer, a slice, … or a tensor: NumPy's integers and tensors without axes are integers, and bools are masks without axes."""
    if isinstance(s, (bool, list, range)) or type(s).__name__ == "bool_":  # NumPy's has an __index__ before 2.0
        return tensor(s)
    try:
        return s if isinstance(s, Tensor) and s.ndim else s.__index__()
    except (AttributeError, TypeError):  # what has none; an array's
        return tensor(s) if hasattr(s, "__array_interface__") else s


def indexed(x, index):
    """x[index], and whether it is a view."""
    steps = list(map(plain, index if isinstance(index, tuple) else (index,)))
    used = sum(s.ndim if isinstance(s, Tensor) and s.dtype == w.bool else 1 for s in steps if s is not None and s is not ...)
    if used > x.ndim:
        raise w.IndexError(f"index: {used} indices for shape {x.shape}; give at most one for each axis")
    axis, skipped, copies = 0, x.ndim - used, 0
    for s in steps:
        if s is ...:
            axis, skipped = axis + skipped, 0
        elif s is None:
            x, axis = x.unsqueeze(axis), axis + 1
        elif isinstance(s, slice):
            x, axis = x.slice(axis, *s.indices(x.size(axis))), axis + 1
        elif isinstance(s, Tensor):
            (x, axis), copies = take(x, axis, s), copies + 1
        elif isinstance(s, int):
            x = x.select(axis, s)
        else:
            raise w.IndexError(f"index: {s!r} is none; use integers, slices, ..., None, and tensors or lists of integers or bools")
    if copies > 1:
        raise w.IndexError("index: one tensor of indices at a time; gather takes an element of each row")
    return x, copies == 0


# ---- functions, which are methods, too
def reduced(function):
    """`axis` is `dim`, and `dtype` is the type that the input is converted to first."""
    def reduce(input, *args, axis=None, dtype=None, **options):
        return function(input if dtype is None else to_dtype(input, dtype), *args, **options, **({} if axis is None else {"dim": axis}))
    return reduce


def extreme(function, of_two, of_bools):
    """max(x), max(x, dim) and max(x, y)."""
    return lambda input, *args, **options: (function if not args or not isinstance(args[0], Tensor) else
                                            of_bools if input.dtype == w.bool else of_two)(input, *args, **options)


class Functions:
    max, min = reduced(extreme(w.max, w.maximum, Tensor.__or__)), reduced(extreme(w.min, w.minimum, Tensor.__and__))
    all = reduced(lambda input, dim=None, keepdim=False: w.all(input, tuple(range(input.ndim)) if dim is None else dim, keepdim))  # a tensor, too
    any = reduced(lambda input, dim=None, keepdim=False: w.any(input, tuple(range(input.ndim)) if dim is None else dim, keepdim))
    norm = lambda input, p=2, dim=None, keepdim=False: w.norm(input, 2 if p in (None, "fro") else p, dim, keepdim)
    scatter_add = lambda input, dim, index, src: input + w.scatter_add(input.shape, dim, index, src)
    pow = lambda input, exponent: w.pow(input if isinstance(input, Tensor) else w.full_like(exponent, input), exponent)
    unbind = lambda input, dim=0: tuple(input.select(dim, i) for i in range(input.size(dim)))
    narrow = lambda input, dim, start, length: input.slice(dim, start, start + length)
    square = lambda input: input * input
    t = lambda input: input.T if input.ndim > 1 else input

    def flip(input, dims):
        dims = [dims] if isinstance(dims, int) else list(dims)
        if len({dim % (input.ndim or 1) for dim in dims}) < len(dims):
            raise w.IndexError(f"flip: an axis appears twice in {dims}; name each axis once")
        for dim in dims:
            input = w.flip(input, dim)
        return input

    def clamp(input, min=None, max=None):
        if min is None and max is None:
            raise w.ValueError("clamp: at least one of min and max must not be None")
        if not isinstance(min, Tensor) and not isinstance(max, Tensor):
            return w.clamp(input, min, max)
        input = input if min is None else w.where(input < min, min, input)  # a bound gets the gradient of what lies beyond
        return input if max is None else w.where(input > max, max, input)

    def masked_fill(input, mask, value):
        return w.where(mask, value.reshape(()), w.masked_fill(input, mask, 0)) if isinstance(value, Tensor) else w.masked_fill(input, mask, value)

    def unique(input, sorted=True, return_inverse=False, return_counts=False):
        values, inverse, counts = w.unique(input)  # sorted in any case
        found = (values,) + (inverse,) * bool(return_inverse) + (counts,) * bool(return_counts)
        return found if len(found) > 1 else values

    def mm(input, mat2):
        if input.ndim != 2 or mat2.ndim != 2:
            raise w.ShapeError(f"mm: {input.shape} and {mat2.shape}; give two tensors of rank 2, or use matmul")
        return input @ mat2

    clip = clamp


REDUCED = ["sum", "mean", "prod", "argmax", "argmin", "var", "std", "cumsum", "cumprod", "logsumexp", "softmax", "log_softmax", "argsort"]
FUNCTIONS = {**{name: reduced(getattr(w, name)) for name in REDUCED}, **{name: value for name, value in vars(Functions).items() if not name.startswith("_")}}


def where(condition, input=None, other=None):
    if input is None:
        return w.nonzero(condition).unbind(1)
    y = w.where(condition, input, other)
    return to_dtype(y, w.int64) if isinstance(input, int) and isinstance(other, int) else y


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


inplace = lambda name, function: lambda self, *args, **options: update(name, self, lambda: function(self, *args, **options))
IN_PLACE = {"clamp_": Functions.clamp, "masked_fill_": Functions.masked_fill, "div_": Tensor.__truediv__, "sub_": lambda x, other, alpha=1: x - other * alpha,
            "add_": lambda x, other, alpha=1: x + (other * alpha if alpha != 1 else other), "lerp_": lambda x, end, weight: x + (end - x) * weight,
            **{name + "_": getattr(Tensor, name) for name in ["triu", "tril", "relu", "exp", "sqrt", "pow", "scatter"]},
            "normal_": lambda x, mean=0.0, std=1.0, generator=default_generator: mean + std * w.randn_like(x.detach(), generator),
            "uniform_": lambda x, a=0.0, b=1.0, generator=default_generator: a + (b - a) * w.rand_like(x.detach(), generator)}


# ---- methods
def unpickled(kind, data, letter, shape, requires_grad):
    x = w._copy(memoryview(data).cast(letter)).reshape(shape)
    return x.requires_grad_(requires_grad) if kind is Tensor else kind(x, requires_grad)


@extends(Tensor)
class Methods:
    float, double, long, bool = [lambda x, dtype=dtype: to_dtype(x, dtype) for dtype in (float32, w.float64, w.int64, w.bool)]
    eq, ne, lt, le, gt, ge = Tensor.__eq__, Tensor.__ne__, Tensor.__lt__, Tensor.__le__, Tensor.__gt__, Tensor.__ge__
    new_zeros, new_ones, new_empty = new("zeros"), new("ones"), new("empty")
    ndim, mT, device = property(Tensor.dim), property(lambda x: x.transpose(-2, -1)), property(lambda x: device())
    type_as, view_as, cpu = lambda x, other: to_dtype(x, other.dtype), lambda x, other: x.view(other.shape), lambda x: x
    item, tolist = lambda x: x.detach().reshape(()).tolist(), lambda x: memoryview(to_dtype(x.detach(), w.float32) if x.dtype in (w.float16, w.bfloat16) else x.detach()).tolist()
    __abs__, __matmul__, __pow__, __rpow__ = Tensor.abs, Tensor.matmul, Tensor.pow, lambda x, a: w.pow(w.full_like(x, a), x)
    __len__, __bool__, __int__, __iter__ = lambda x: x.size(0), lambda x: bool(float(x)), lambda x: int(x.item()), lambda x: (x[i] for i in range(len(x)))
    __repr__ = lambda x: f"tensor({x}, dtype={x.dtype}{', requires_grad=True' * x.requires_grad})"
    __getitem__ = lambda x, index: indexed(x, index)[0]
    __array_ufunc__ = None  # NumPy leaves operators with its numbers and arrays to Weft

    def __setitem__(x, index, value):
        (target, is_view), index = indexed(x, index), plain(index)
        if isinstance(index, Tensor) and index.dtype == w.bool and not isinstance(value, Tensor):
            x.copy_(w.masked_fill(x.detach(), index.reshape(*index.shape, *[1] * (x.ndim - index.ndim)), value))
        elif not is_view:
            raise w.IndexError("index: x[indices] is a copy and cannot be assigned to; use where, or a mask and a number")
        elif isinstance(value, (int, float)):
            target.fill_(value)
        else:
            target.copy_(value if isinstance(value, Tensor) else tensor(value, x.dtype))

    def __index__(x):
        if x.dtype != w.int64 or x.ndim:
            raise TypeError(f"only an int64 tensor without axes is an index, not {x.dtype} of shape {x.shape}")
        return x.item()

    def numpy(x, *args, **kwargs):
        if x.requires_grad:  # NumPy asks for __array__ where the buffer is refused
            raise w.GraphError("numpy: a tensor that requires a gradient shares no memory; share x.detach()")
        if x.dtype == w.bfloat16:
            raise w.DTypeError("numpy: NumPy has no bfloat16; share x.to(weft.float32)")
        import numpy as np
        return np.array(x, *args, **kwargs) if args or kwargs else np.asarray(x)

    def __reduce__(x):
        if not x.is_leaf:
            raise w.GraphError("pickle and deepcopy: a tensor that was computed in the graph leads to all of it; take x.detach()")
        values = memoryview(x.detach().contiguous())
        return unpickled, (type(x), values.tobytes(), values.format, x.shape, x.requires_grad)

    def to(x, *what, dtype=None, device=None):
        on_device(device)
        for thing in what:  # a type, a device, or a tensor
            dtype = thing.dtype if isinstance(thing, Tensor) else thing if isinstance(thing, w.dtype) else on_device(thing) and dtype
        return x if dtype is None else to_dtype(x, dtype)

    def _write(x, other):
        """x.data = y copies y's values; x.data -= y has written them already."""
        x.detach().copy_(other.detach()) if x.shape == other.shape and x.dtype == other.dtype else x._set_data(other)

    __array__, data = numpy, property(Tensor.detach, _write)


SIZED = {name: lambda x, *size, f=getattr(Tensor, name): f(x, sizes(size)) for name in ["reshape", "view", "permute", "expand", "repeat", "broadcast_to", "sum_to"]}
for _name, _value in {**FUNCTIONS, **SIZED, **{name: inplace(name, function) for name, function in IN_PLACE.items()}}.items():
    setattr(Tensor, _name, _value)
NAMES |= {**FUNCTIONS, "tensor": tensor, "where": where, "device": device,
          **{name: getattr(Tensor, name) for name in ["reshape", "transpose", "squeeze", "unsqueeze", "select"]}, "empty_like": NAMES["zeros_like"],
          "permute": lambda input, dims: input.permute(dims), "einsum": lambda equation, *operands: w.einsum(equation, operands),
          "cat": lambda tensors, dim=0, axis=None: w.cat(tensors, dim if axis is None else axis),
          "stack": lambda tensors, dim=0, axis=None: w.stack(tensors, dim if axis is None else axis), "is_tensor": lambda obj: isinstance(obj, Tensor),
          "FloatTensor": made, "LongTensor": lambda data: tensor(data, w.int64), "float": float32, "double": w.float64, "long": w.int64}
