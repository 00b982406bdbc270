"""Tensors under PyTorch's names, as Python writes them: f(2, 3), x[…], numbers in lists, devices, x.add_(y)."""
from . import _weft as w
from ._weft import Tensor, default_generator, float32

is_mask = lambda x: isinstance(x, Tensor) and x.dtype == w.bool
sizes = lambda size: size[0] if len(size) == 1 else size  # of f(2, 3) and of f((2, 3))


def fail(kind, text):
    raise kind(text) from None


def extends(cls):
    """A decorator: what stands in the body of the class becomes cls's."""
    own = ("__module__", "__dict__", "__weakref__", "__doc__")
    return lambda body: [setattr(cls, name, x) for name, x in vars(body).items() if name not in own]


# ---- PyTorch's arguments
def refuse(what, **arguments):
    """An argument that would have no effect, or one that is not there: name=(value, the value that is allowed)."""
    for name, (value, allowed) in arguments.items():
        value == allowed or fail(w.ValueError, f"{what}: {name}={value!r} is not there; leave it out")


def single(what, **given):
    """One number of each pair such as (3, 3), and nothing that is None, because Weft has defaults."""
    tupled = lambda x: tuple(x) if isinstance(x, (tuple, list)) else (x,)
    pairs = {name: tupled(x) for name, x in given.items() if x is not None}
    refuse(what, **{name: (pair, pair[:1] * len(pair)) for name, pair in pairs.items()})
    return {name: pair[0] for name, pair in pairs.items()}


class device(str):
    """Where a tensor is: Weft computes on the processor, so every word except "cpu" is refused."""
    type, index, __repr__ = "cpu", None, lambda self: "device(type='cpu')"
    def __new__(cls, type="cpu"):
        return super().__new__(cls, "cpu") if str(type) in ("cpu", "cpu:0") else fail(
            w.ValueError, f"device: {str(type)!r} is not there, because Weft computes on the processor; use 'cpu'")


def mover(convert, place=device):
    """x.to(a type, a device or a tensor)."""
    def to(x, *what, dtype=None, device=None):
        for thing in (*what, device):
            kind = getattr(thing, "dtype", thing)
            dtype = kind if isinstance(kind, w.dtype) else place(thing or "cpu") and dtype
        return x if dtype is None else convert(x, dtype)
    return to


Tensor.to = mover(Tensor.to)


# ---- making tensors
are = lambda xs, kind: len(xs) > 0 and all(isinstance(x, kind) for x in xs)
type_of = lambda *xs: w.bool if are(xs, bool) else w.int64 if are(xs, int) else float32


def tensor(data, dtype=None, requires_grad=False, device=None):
    """A copy of numbers in lists, of an array or of a tensor, with the types of torch.tensor."""
    import array  # only now: it takes 2 ms
    if isinstance(data, Tensor):
        x = data.detach().clone()
    elif hasattr(data, "__array_interface__") or isinstance(data, (array.array, memoryview)):
        x = w._copy(data)
    elif hasattr(data, "__dlpack__"):
        x = w.from_dlpack(getattr(data, "detach", lambda: data)()).clone()
    else:
        shape, flat, lists = (), [data], (list, tuple, range)
        while any(isinstance(x, lists) for x in flat):
            rows = {(len(x),) if isinstance(x, lists) else () for x in flat}
            if len(rows) > 1:
                raise w.ShapeError(f"tensor: rows of shapes {sorted(rows)}; all rows must have the same shape")
            shape, flat = shape + rows.pop(), [x for row in flat for x in row]
        for wrong in {type(x).__name__ for x in flat if not hasattr(x, "__float__")}:
            raise w.DTypeError(f"tensor: {wrong} is no number; pass numbers, lists of them, or an array")
        flat = [x.item() if hasattr(x, "item") else x for x in flat]
        dtype, floating = dtype or type_of(*flat), float32 in (dtype, type_of(*flat)) or dtype == w.float64
        try:
            x = w._copy(array.array("d" if floating else "q", flat)).reshape(shape)
        except OverflowError:
            fail(w.ValueError, "tensor: a number is outside int64, -2**63 to 2**63 - 1, or float64, ±1.8e308; "
                               "pass dtype=float64 or smaller ones")
    return x.to(dtype, device).requires_grad_(requires_grad)


def maker(name, usual=None, arrange=lambda *args, **options: (*args, *options.values())):
    """Weft's function of that name, whose arguments `arrange` gives; where it takes a type, `usual` of them."""
    def make(*args, dtype=None, device=None, requires_grad=False, **options):
        args = arrange(*args, **options)
        kind = {"dtype": dtype if dtype in (float32, w.float64) else usual(*args)} if usual else {}
        return getattr(w, name)(*args, **kind).to(dtype, device).requires_grad_(requires_grad)
    return make


of_size = lambda *shape, size=None: (sizes(shape) if size is None else size,)
drawn = lambda *shape, generator=default_generator, **size: (*of_size(*shape, **size), generator)
ranged = lambda low, high=None, size=None, generator=default_generator: (
    *((low, high, size) if None not in (high, size) else (0, low, high if size is None else size)), generator)
stepped = lambda start, end=None, step=1: (start, end, step) if end is not None else (0, start, step)
floats, filled = lambda *args: float32, lambda size, fill_value: (size, fill_value)
NAMES = {name: maker(name, *how) for names, *how in [
    ("zeros_like ones_like full_like randn_like rand_like randperm",), ("eye linspace", floats),
    ("zeros ones empty", floats, of_size), ("randn rand", floats, drawn), ("randint", None, ranged),
    ("arange", type_of, stepped), ("full", lambda size, x: type_of(x), filled)] for name in names.split()}
made = lambda *data: tensor(data[0], float32) if data and not isinstance(data[0], int) else w.empty(data or (0,))
new = lambda name: lambda x, *size, dtype=None, **options: NAMES[name](*size, dtype=dtype or x.dtype, **options)


# ---- indexing
def plain(s):
    """An index as it is computed with: tensors and arrays without axes are integers, lists and bools tensors."""
    if isinstance(s, (bool, list, range)) or type(s).__name__ == "bool_":  # NumPy's has an __index__ before 2.0
        return tensor(s)
    try:
        return s if isinstance(s, Tensor) and s.ndim else s.__index__()
    except (AttributeError, TypeError):  # what has none; an array's
        return tensor(s) if hasattr(s, "__array_interface__") else s


def indexed(x, index):
    """x[index], and whether it is a view."""
    steps = list(map(plain, index if isinstance(index, tuple) else (index,)))
    used = sum(s.ndim if is_mask(s) else 1 for s in steps if s is not None and s is not ...)
    copies, axis, skipped = sum(isinstance(s, Tensor) for s in steps), 0, x.ndim - used
    if skipped < 0:
        raise w.IndexError(f"index: {used} indices for shape {x.shape}; give at most one for each axis")
    if copies > 1:
        raise w.IndexError("index: one tensor of indices at a time; gather takes an element of each row")
    for s in steps:
        if s is ...:
            axis, skipped = axis + skipped, 0
        elif s is None:
            x, axis = x.unsqueeze(axis), axis + 1
        elif isinstance(s, slice):
            x, axis = x.slice(axis, *s.indices(x.size(axis))), axis + 1
        elif isinstance(s, int):
            x = x.select(axis, s)
        elif isinstance(s, Tensor):
            shape, end = x.shape, axis + (s.ndim if is_mask(s) else 1)
            if is_mask(s):  # its axes as one, and the indices of what is true
                if shape[axis:end] != s.shape:
                    raise w.ShapeError(f"index: a mask of shape {s.shape} does not fit {shape} from axis {axis} "
                                       "on; use the sizes of these axes")
                x, s = x.reshape(*shape[:axis], s.numel(), *shape[end:]), w.nonzero(s.reshape(-1)).reshape(-1)
            x = w.index_select(x, axis, s.reshape(-1)).reshape(*shape[:axis], *s.shape, *shape[end:])
            axis += s.ndim
        else:
            raise w.IndexError(f"index: {s!r} is none; use integers, slices, ..., None, and tensors or lists of "
                               "integers or bools")
    return x, copies == 0


# ---- functions, which are methods, too
def extreme(function, of_two, of_bools):
    """max(x), max(x, dim) and max(x, y)."""
    of = lambda x, y=None, *_: function if not isinstance(y, Tensor) else of_bools if is_mask(x) else of_two
    return lambda input, *args, **options: of(input, *args)(input, *args, **options)


class Functions:
    max, min = extreme(w.max, w.maximum, Tensor.__or__), extreme(w.min, w.minimum, Tensor.__and__)
    norm = lambda input, p=2, dim=None, keepdim=False: w.norm(input, 2 if p in (None, "fro") else p, dim, keepdim)
    scatter_add = lambda input, dim, index, src: input + w.scatter_add(input.shape, dim, index, src)
    pow = lambda input, exponent: (input if isinstance(input, Tensor) else w.full_like(exponent, input))**exponent
    unbind = lambda input, dim=0: tuple(input.select(dim, i) for i in range(input.size(dim)))
    narrow = lambda input, dim, start, length: input.slice(dim, start, start + length)
    square, t = lambda input: input * input, lambda input: input.T if input.ndim > 1 else input
    mm = lambda input, mat2: input @ mat2 if input.ndim == mat2.ndim == 2 else fail(
        w.ShapeError, f"mm: {input.shape} and {mat2.shape}; give two tensors of rank 2, or use matmul")
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
        input = input if min is None else w.where(input < min, min, input)  # a bound gets what lies beyond
        return input if max is None else w.where(input > max, max, input)
    def masked_fill(input, mask, value):
        y = w.masked_fill(input, mask, 0 if isinstance(value, Tensor) else value)
        return w.where(mask, value.reshape(()), y) if isinstance(value, Tensor) else y
    def unique(input, sorted=True, return_inverse=False, return_counts=False):
        values, inverse, counts = w.unique(input)  # sorted in any case
        found = (values, *[inverse] * return_inverse, *[counts] * return_counts)
        return found if len(found) > 1 else values
    clip = clamp


# ---- in place
def update(name, x, compute):
    """Writes compute() to x: to its memory outside the graph; in it, x becomes the result, where it is alone."""
    is_alone, y = x._is_alone(), compute()
    if not w.is_grad_enabled() or not (x.requires_grad or y.requires_grad):
        return x.copy_(y.detach())
    if x.requires_grad and x.is_leaf:
        raise w.GraphError(f"{name}: a leaf that requires a gradient cannot be changed in the graph; "
                           "do so under no_grad()")
    if not is_alone:
        raise w.GraphError(f"{name}: a view, or the graph, has the tensor's memory, too; "
                           f"write x = {name.rstrip('_')}(x, …) instead")
    x._become(y)
    return x


inplace = lambda name, function: lambda x, *args, **options: update(name, x, lambda: function(x, *args, **options))
IN_PLACE = {
    **{name: getattr(Tensor, name) for name in ["triu", "tril", "relu", "exp", "sqrt", "pow", "scatter"]},
    "clamp": Functions.clamp, "masked_fill": Functions.masked_fill, "div": Tensor.__truediv__,
    "sub": lambda x, other, alpha=1: x - other * alpha, "lerp": lambda x, end, weight: x + (end - x) * weight,
    "add": lambda x, other, alpha=1: x + (other * alpha if alpha != 1 else other),
    "normal": lambda x, mean=0.0, std=1.0, **generator: mean + std * w.randn_like(x.detach(), **generator),
    "uniform": lambda x, a=0.0, b=1.0, **generator: a + (b - a) * w.rand_like(x.detach(), **generator)}


# ---- methods
def unpickled(kind, data, letter, shape, requires_grad):
    return kind(w._copy(memoryview(data).cast(letter)).reshape(shape)).requires_grad_(requires_grad)


@extends(Tensor)
class Methods:
    float, double, long, bool = [lambda x, kind=kind: x.to(kind) for kind in (float32, w.float64, w.int64, w.bool)]
    shape, dtype, T, is_leaf, ndim = map(property, (
        Tensor.shape, Tensor.dtype, Tensor.T, Tensor.is_leaf, Tensor.dim))
    mT, device = property(lambda x: x.transpose(-2, -1)), property(lambda x: device())
    grad, requires_grad = property(Tensor.grad, Tensor.set_grad), property(Tensor.requires_grad, Tensor.requires_grad_)
    new_zeros, new_ones, new_empty = map(new, ("zeros", "ones", "empty"))
    type_as, view_as, cpu = lambda x, other: x.to(other.dtype), lambda x, other: x.view(other.shape), lambda x: x
    item, tolist = lambda x: x.detach().reshape(()).tolist(), lambda x: memoryview(
        x.detach().to(float32) if x.dtype in (w.float16, w.bfloat16) else x.detach()).tolist()
    stride, __abs__, __matmul__, __pow__ = Tensor.strides, Tensor.abs, Tensor.matmul, Tensor.pow
    __rpow__, __bool__ = lambda x, a: w.full_like(x, a)**x, lambda x: bool(float(x))
    __len__, __iter__ = lambda x: x.size(0), lambda x: (x[i] for i in range(len(x)))
    __int__ = lambda x: int(x.item())
    __repr__ = lambda x: f"tensor({x}, dtype={x.dtype}{', requires_grad=True' * x.requires_grad})"
    __getitem__ = lambda x, index: indexed(x, index)[0]
    __index__ = lambda x: x.item() if x.dtype == w.int64 and not x.ndim else fail(
        TypeError, f"only an int64 tensor without axes is an index, not {x.dtype} of shape {x.shape}")
    __array_ufunc__ = None  # NumPy leaves operators with its numbers and arrays to Weft
    def __setitem__(x, index, value):
        (target, is_view), index = indexed(x, index), plain(index)
        if is_mask(index) and not isinstance(value, Tensor):
            mask = index.reshape(*index.shape, *[1] * (x.ndim - index.ndim))
            x.copy_(w.masked_fill(x.detach(), mask, value))
        elif not is_view:
            raise w.IndexError("index: x[indices] is a copy and cannot be assigned to; use where, or a mask and a "
                               "number")
        elif isinstance(value, (int, float)):
            target.fill_(value)
        else:
            target.copy_(value if isinstance(value, Tensor) else tensor(value, x.dtype))
    def numpy(x, *args, **kwargs):
        if x.requires_grad:  # NumPy asks for __array__ where the buffer is refused
            raise w.GraphError("numpy: a tensor that requires a gradient shares no memory; share x.detach()")
        if x.dtype == w.bfloat16:
            raise w.DTypeError("numpy: NumPy has no bfloat16; share x.to(weft.float32)")
        x.data_ptr()  # refuses a weight in blocks
        import numpy as np
        return np.array(x, *args, **kwargs) if args or kwargs else np.asarray(x)
    def __reduce__(x):
        if not x.is_leaf:
            raise w.GraphError("pickle and deepcopy: a tensor that was computed in the graph leads to all of it; "
                               "take x.detach()")
        values = memoryview(x.detach().contiguous())
        return unpickled, (type(x), values.tobytes(), values.format, x.shape, x.requires_grad)
    def _write(x, other):
        """x.data = y copies y's values; x.data -= y has written them already."""
        fits = x.shape == other.shape and x.dtype == other.dtype
        x.detach().copy_(other.detach()) if fits else x._set_data(other)
    __array__, data = numpy, property(Tensor.detach, _write)


FUNCTIONS = {name: f for name, f in vars(Functions).items() if name[0] != "_"}
SIZED = {name: lambda x, *size, f=getattr(Tensor, name): f(x, sizes(size)) for name in [
    "reshape", "view", "permute", "expand", "repeat", "broadcast_to", "sum_to"]}
for _name, _method in {**FUNCTIONS, **SIZED, **{of + "_": inplace(of + "_", f) for of, f in IN_PLACE.items()}}.items():
    setattr(Tensor, _name, _method)
NAMES |= {**FUNCTIONS, "tensor": tensor, "device": device, "empty_like": NAMES["zeros_like"],
          "where": lambda condition, input=None, other=None: w.nonzero(condition).unbind(1) if input is None else (
              w.where(condition, input, other).to(w.int64 if are((input, other), int) else None)),
          **{name: getattr(Tensor, name) for name in ["reshape", "transpose", "squeeze", "unsqueeze", "select"]},
          "permute": lambda input, dims: input.permute(dims), "is_tensor": lambda obj: isinstance(obj, Tensor),
          "einsum": lambda equation, *operands: w.einsum(equation, operands), "FloatTensor": made,
          "LongTensor": lambda data: tensor(data, w.int64), "float": float32, "double": w.float64, "long": w.int64}
