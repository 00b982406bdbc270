"""Tensors under PyTorch's names, as Python writes them: f(2, 3), x[…], numbers in lists, devices, x.add_(y)."""
from . import _weft as w
from ._weft import Tensor, default_generator, float32

to_dtype = Tensor.to
is_mask = lambda x: isinstance(x, Tensor) and x.dtype == w.bool
sizes = lambda size: size[0] if len(size) == 1 else size  # of f(2, 3) and of f((2, 3))
on_device = lambda what: what is None or bool(device(what))


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


def declared(name):
    """{argument: default} of a function or class of the headers; ... where there is no default."""
    f = max(w._signatures[name + "("], key=lambda f: f.__code__.co_argcount)
    names, defaults = f.__code__.co_varnames, f.__defaults__ or ()
    return dict(zip(names, (...,) * (len(names) - len(defaults)) + defaults))


def fitted(what, args, options, own, **extra):
    """The arguments by name. `extra` ones, in their order, are last, and refused where Weft's `own` lack them."""
    signature = {**{name: x for name, x in own.items() if name not in extra}, **extra}
    given = {**signature, **dict(zip(signature, args)), **options}
    if set(given) != set(signature) or len(args) > len(signature) or any(x is ... for x in given.values()):
        said = ", ".join([type(x).__name__ for x in args] + [f"{name}=…" for name in options])
        raise TypeError(f"{what}({said}): it takes {', '.join(signature) or 'nothing'}")
    refuse(what, **{name: (given[name], x) for name, x in extra.items() if name not in own})
    return given


def passed(what, given, own):
    """What of them Weft takes: one number of a pair such as (3, 3), and nothing that is None."""
    pairs = {name: tuple(x) for name, x in given.items() if isinstance(x, (tuple, list))}
    refuse(what, **{name: (pair, pair[:1] * len(pair)) for name, pair in pairs.items()})
    return {name: pairs.get(name, (x,))[0] for name, x in given.items() if name in own and x is not None}


class device(str):
    """Where a tensor is: Weft computes on the processor, so every word except "cpu" is refused."""
    type, index, __repr__ = "cpu", None, lambda self: "device(type='cpu')"

    def __new__(cls, type="cpu"):
        if str(type) not in ("cpu", "cpu:0"):
            raise w.ValueError(f"device: {str(type)!r} is not there, because Weft computes on the processor; use 'cpu'")
        return super().__new__(cls, "cpu")


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
    if not numbers or not all(isinstance(x, int) for x in numbers):
        return float32
    return w.bool if all(isinstance(x, bool) for x in numbers) else w.int64


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
        shape, dtype = flatten(data, flat := []), dtype or type_of(*flat)
        letter = "d" if dtype in (float32, w.float64) or type_of(*flat) == float32 else "q"
        try:
            x = w._copy(array.array(letter, flat)).reshape(shape)
        except OverflowError:
            fail(w.ValueError, "tensor: a number is outside int64, -2**63 to 2**63 - 1, or float64, ±1.8e308; "
                               "pass dtype=float64 or smaller ones")
    return to_dtype(x, dtype or x.dtype).requires_grad_(requires_grad)


def maker(name, arrange=lambda *args, **options: (*args, *options.values()), usual=lambda *args: float32):
    """Weft's function of that name, whose arguments `arrange` gives; where it takes a type, `usual` of them."""
    def make(*args, dtype=None, device=None, requires_grad=False, **options):
        on_device(device)
        args = arrange(*args, **options)
        kinds = [dtype if dtype in (float32, w.float64) else usual(*args)] * ("dtype" in declared(name))
        x = getattr(w, name)(*args, *kinds)
        return (x if dtype is None else to_dtype(x, dtype)).requires_grad_(requires_grad)
    return make


of_size = lambda *shape, size=None: (sizes(shape) if size is None else size,)
drawn = lambda *shape, size=None, generator=default_generator: (sizes(shape) if size is None else size, generator)
stepped = lambda start, end=None, step=1: (start, end, step) if end is not None else (0, start, step)
ranged = lambda low, high=None, size=None, generator=default_generator: (
    *((low, high, size) if None not in (high, size) else (0, low, high if size is None else size)), generator)
NAMES = {name: maker(name, *how) for how, names in [
    ([], ["zeros_like", "ones_like", "full_like", "randn_like", "rand_like", "randperm", "eye", "linspace"]),
    ([of_size], ["zeros", "ones", "empty"]), ([drawn], ["randn", "rand"]), ([ranged], ["randint"]),
    ([stepped, type_of], ["arange"]), ([lambda size, fill_value: (size, fill_value), lambda size, x: type_of(x)], ["full"])]
    for name in names}
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
    copies = sum(isinstance(s, Tensor) for s in steps)
    if used > x.ndim:
        raise w.IndexError(f"index: {used} indices for shape {x.shape}; give at most one for each axis")
    if copies > 1:
        raise w.IndexError("index: one tensor of indices at a time; gather takes an element of each row")
    axis, skipped = 0, x.ndim - used
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
                    raise w.ShapeError(f"index: a mask of shape {s.shape} does not fit {shape} from axis {axis} on; "
                                       "use the sizes of these axes")
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


def unique(input, sorted=True, return_inverse=False, return_counts=False):
    values, inverse, counts = w.unique(input)  # sorted in any case
    found = (values, *[inverse] * return_inverse, *[counts] * return_counts)
    return found if len(found) > 1 else values


def where(condition, input=None, other=None):
    if input is None:
        return w.nonzero(condition).unbind(1)
    y = w.where(condition, input, other)
    return to_dtype(y, w.int64) if isinstance(input, int) and isinstance(other, int) else y


def masked_fill(input, mask, value):
    y = w.masked_fill(input, mask, 0 if isinstance(value, Tensor) else value)
    return w.where(mask, value.reshape(()), y) if isinstance(value, Tensor) else y


FUNCTIONS = {
    "flip": flip, "clamp": clamp, "clip": clamp, "unique": unique, "masked_fill": masked_fill,
    "max": extreme(w.max, w.maximum, Tensor.__or__), "min": extreme(w.min, w.minimum, Tensor.__and__),
    **{name: lambda input, *args, f=getattr(w, name), **options: f(input, *(args or () if options else (None,)), **options)
       for name in ("all", "any")},  # tensors without a dim, too
    "norm": lambda input, p=2, dim=None, keepdim=False: w.norm(input, 2 if p in (None, "fro") else p, dim, keepdim),
    "scatter_add": lambda input, dim, index, src: input + w.scatter_add(input.shape, dim, index, src),
    "pow": lambda input, exponent: w.pow(input if isinstance(input, Tensor) else w.full_like(exponent, input), exponent),
    "unbind": lambda input, dim=0: tuple(input.select(dim, i) for i in range(input.size(dim))),
    "narrow": lambda input, dim, start, length: input.slice(dim, start, start + length),
    "square": lambda input: input * input, "t": lambda input: input.T if input.ndim > 1 else input,
    "mm": lambda input, mat2: input @ mat2 if input.ndim == mat2.ndim == 2 else fail(
        w.ShapeError, f"mm: {input.shape} and {mat2.shape}; give two tensors of rank 2, or use matmul")}


# ---- in place
def update(name, x, compute):
    """Writes compute() to x: to its memory outside the graph; in it, x becomes the result, if nothing else has that."""
    is_alone, y = x._is_alone(), compute()
    if not w.is_grad_enabled() or not (x.requires_grad or y.requires_grad):
        return x.copy_(y.detach())
    if x.requires_grad and x.is_leaf:
        raise w.GraphError(f"{name}: a leaf that requires a gradient cannot be changed in the graph; do so under no_grad()")
    if not is_alone:
        raise w.GraphError(f"{name}: a view, or the graph, has the tensor's memory, too; "
                           f"write x = {name.rstrip('_')}(x, …) instead")
    x._become(y)
    return x


inplace = lambda name, function: lambda x, *args, **options: update(name, x, lambda: function(x, *args, **options))
IN_PLACE = {
    "clamp_": clamp, "masked_fill_": masked_fill, "div_": Tensor.__truediv__,
    **{name + "_": getattr(Tensor, name) for name in ["triu", "tril", "relu", "exp", "sqrt", "pow", "scatter"]},
    "sub_": lambda x, other, alpha=1: x - other * alpha, "lerp_": lambda x, end, weight: x + (end - x) * weight,
    "add_": lambda x, other, alpha=1: x + (other * alpha if alpha != 1 else other),
    "normal_": lambda x, mean=0.0, std=1.0, generator=default_generator: mean + std * w.randn_like(x.detach(), generator),
    "uniform_": lambda x, a=0.0, b=1.0, generator=default_generator: a + (b - a) * w.rand_like(x.detach(), generator)}


# ---- methods
def unpickled(kind, data, letter, shape, requires_grad):
    x = w._copy(memoryview(data).cast(letter)).reshape(shape)
    return x.requires_grad_(requires_grad) if kind is Tensor else kind(x, requires_grad)


@extends(Tensor)
class Methods:
    float, double, long, bool = [lambda x, kind=k: to_dtype(x, kind) for k in (float32, w.float64, w.int64, w.bool)]
    eq, ne, lt, le, gt, ge = Tensor.__eq__, Tensor.__ne__, Tensor.__lt__, Tensor.__le__, Tensor.__gt__, Tensor.__ge__
    shape, dtype, T, is_leaf, ndim = map(property, (Tensor.shape, Tensor.dtype, Tensor.T, Tensor.is_leaf, Tensor.dim))
    requires_grad, grad = property(Tensor.requires_grad, Tensor.requires_grad_), property(Tensor.grad, Tensor.set_grad)
    mT, device, stride, cpu = property(lambda x: x.transpose(-2, -1)), property(lambda x: device()), Tensor.strides, lambda x: x
    new_zeros, new_ones, new_empty = map(new, ("zeros", "ones", "empty"))
    type_as, view_as = lambda x, other: to_dtype(x, other.dtype), lambda x, other: x.view(other.shape)
    item, tolist = lambda x: x.detach().reshape(()).tolist(), lambda x: memoryview(x.detach()).tolist()
    __abs__, __matmul__, __pow__, __rpow__ = Tensor.abs, Tensor.matmul, Tensor.pow, lambda x, a: w.pow(w.full_like(x, a), x)
    __len__, __iter__ = lambda x: x.size(0), lambda x: (x[i] for i in range(len(x)))
    __bool__, __int__, __getitem__ = lambda x: bool(float(x)), lambda x: int(x.item()), lambda x, index: indexed(x, index)[0]
    __repr__ = lambda x: f"tensor({x}, dtype={x.dtype}{', requires_grad=True' * x.requires_grad})"
    __array_ufunc__ = None  # NumPy leaves operators with its numbers and arrays to Weft
    __index__ = lambda x: x.item() if x.dtype == w.int64 and not x.ndim else fail(
        TypeError, f"only an int64 tensor without axes is an index, not {x.dtype} of shape {x.shape}")

    def __setitem__(x, index, value):
        (target, is_view), index = indexed(x, index), plain(index)
        if is_mask(index) and not isinstance(value, Tensor):
            mask = index.reshape(*index.shape, *[1] * (x.ndim - index.ndim))
            x.copy_(w.masked_fill(x.detach(), mask, value))
        elif not is_view:
            raise w.IndexError("index: x[indices] is a copy and cannot be assigned to; use where, or a mask and a number")
        elif isinstance(value, (int, float)):
            target.fill_(value)
        else:
            target.copy_(value if isinstance(value, Tensor) else tensor(value, x.dtype))

    def numpy(x, *args, **kwargs):
        if x.requires_grad:  # NumPy asks for __array__ where the buffer is refused
            raise w.GraphError("numpy: a tensor that requires a gradient shares no memory; share x.detach()")
        import numpy as np
        return np.array(x, *args, **kwargs) if args or kwargs else np.asarray(x)

    def __reduce__(x):
        if not x.is_leaf:
            raise w.GraphError("pickle and deepcopy: a tensor that was computed in the graph leads to all of it; "
                               "take x.detach()")
        values = memoryview(x.detach().contiguous())
        return unpickled, (type(x), values.tobytes(), values.format, x.shape, x.requires_grad)

    def to(x, *what, dtype=None, device=None):
        on_device(device)
        for thing in what:  # a tensor, a type, or a device
            kind = getattr(thing, "dtype", thing)
            dtype = kind if isinstance(kind, w.dtype) else on_device(thing) and dtype
        return x if dtype is None else to_dtype(x, dtype)

    def _write(x, other):
        """x.data = y copies y's values; x.data -= y has written them already."""
        fits = x.shape == other.shape and x.dtype == other.dtype
        x.detach().copy_(other.detach()) if fits else x._set_data(other)

    __array__, data = numpy, property(Tensor.detach, _write)


SIZED = ["reshape", "view", "permute", "expand", "repeat", "broadcast_to", "sum_to"]
for _name, _method in {**FUNCTIONS, **{name: inplace(name, function) for name, function in IN_PLACE.items()}, **{
        name: lambda x, *size, f=getattr(Tensor, name): f(x, sizes(size)) for name in SIZED}}.items():
    setattr(Tensor, _name, _method)
NAMES |= {**FUNCTIONS, "tensor": tensor, "where": where, "device": device, "empty_like": NAMES["zeros_like"],
          **{name: getattr(Tensor, name) for name in ["reshape", "transpose", "squeeze", "unsqueeze", "select"]},
          "permute": lambda input, dims: input.permute(dims), "is_tensor": lambda obj: isinstance(obj, Tensor),
          "einsum": lambda equation, *operands: w.einsum(equation, operands), "FloatTensor": made,
          "LongTensor": lambda data: tensor(data, w.int64), "float": float32, "double": w.float64, "long": w.int64}
