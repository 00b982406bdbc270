"""The forms that Python gives to Weft's functions: sizes one by one, x[…], numbers in lists, guards. All else is as in the headers."""
from . import _weft as w
from ._weft import Tensor, default_generator, float32, nn


# ---- making tensors
def sizes(size):
    """Of f(2, 3) and of f((2, 3))."""
    return size[0] if len(size) == 1 else size


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


def tensor(data, dtype=None, requires_grad=False):
    """A copy of numbers in lists, of an array or of a tensor, with the types of torch.tensor."""
    import array  # only now: it takes 2 ms
    if isinstance(data, Tensor):
        x = data.detach().clone()
    elif hasattr(data, "__array_interface__") or isinstance(data, (array.array, memoryview)):
        x = w._copy(data)
    elif hasattr(data, "__dlpack__"):
        x = w.from_dlpack(getattr(data, "detach", lambda: data)()).clone()
    else:
        shape = flatten(data, flat := [])
        whole = bool(flat) and all(isinstance(number, int) for number in flat)
        dtype = dtype or (float32 if not whole else w.bool if all(isinstance(number, bool) for number in flat) else w.int64)
        try:
            x = w._copy(array.array("q" if whole and dtype not in (float32, w.float64) else "d", flat)).reshape(shape)
        except OverflowError:
            raise w.ValueError("tensor: a number is outside int64, -2**63 to 2**63 - 1, or float64, ±1.8e308; pass dtype=float64 or smaller ones") from None
    return x.to(dtype or x.dtype).requires_grad_(requires_grad)


def maker(name, **options):
    def make(*size, dtype=float32, requires_grad=False, **generator):
        return function(sizes(size), *{**options, **generator}.values(), dtype).requires_grad_(requires_grad)
    function = getattr(w, name)
    return make


zeros, ones, empty = maker("zeros"), maker("ones"), maker("empty")
randn, rand = maker("randn", generator=default_generator), maker("rand", generator=default_generator)


def arange(start, end=None, step=1, dtype=None):
    start, end = (0, start) if end is None else (start, end)
    whole = all(isinstance(number, int) for number in (start, end, step))
    return w.arange(start, end, step, dtype or (w.int64 if whole else float32))


# ---- indexing
def take(x, axis, index):
    """x at a mask, or at int64 indices, from an axis on; and the axis that follows."""
    is_mask = index.dtype == w.bool
    used, n = index.ndim if is_mask else 1, 1
    if is_mask and x.shape[axis:axis + used] != index.shape:
        raise w.ShapeError(f"index: a mask of shape {index.shape} does not fit {x.shape} from axis {axis} on; use the sizes of these axes")
    for size in x.shape[axis:axis + used]:
        n *= size
    rows = w.nonzero(index.reshape(-1)).reshape(-1) if is_mask else index.reshape(-1)
    before, after = x.shape[:axis], x.shape[axis + used:]
    found = w.index_select(x.reshape(*before, n, *after), axis, rows)
    shape = rows.shape if is_mask else index.shape
    return found.reshape(*before, *shape, *after), axis + len(shape)


def plain(s):
    """An index as an integer, a slice, … or a tensor: NumPy's integers and tensors without axes are integers, and bools are masks without axes."""
    if isinstance(s, (bool, list, range)):
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
            first, last, step = s.indices(x.size(axis))
            x, axis = x.slice(axis, first, last, step), axis + 1
        elif isinstance(s, Tensor):
            (x, axis), copies = take(x, axis, s), copies + 1
        elif isinstance(s, int):
            x = x.select(axis, s)
        else:
            raise w.IndexError(f"index: {s!r} is none; use integers, slices, ..., None, and tensors or lists of integers or bools")
    if copies > 1:
        raise w.IndexError("index: one tensor of indices at a time; gather takes an element of each row")
    return x, copies == 0


def assign(x, index, value):
    (target, is_view), index = indexed(x, index), plain(index)
    if isinstance(index, Tensor) and index.dtype == w.bool and not isinstance(value, Tensor):
        mask = index.reshape(*index.shape, *[1] * (x.ndim - index.ndim))
        x.copy_(x.detach().masked_fill(mask, value))
    elif not is_view:
        raise w.IndexError("index: x[indices] is a copy and cannot be assigned to; use where, or a mask and a number")
    elif isinstance(value, (int, float)):
        target.fill_(value)
    else:
        target.copy_(value if isinstance(value, Tensor) else tensor(value, x.dtype))


# ---- Tensor's methods
def numpy(x, *args, **kwargs):
    if x.requires_grad:  # NumPy asks for __array__ where the buffer is refused
        raise w.GraphError("numpy: a tensor that requires a gradient shares no memory; share x.detach()")
    import numpy as np
    return np.array(x, *args, **kwargs) if args or kwargs else np.asarray(x)


def rebuild(kind, data, letter, shape, requires_grad):
    x = w._copy(memoryview(data).cast(letter)).reshape(shape)
    return x.requires_grad_(requires_grad) if kind is Tensor else kind(x, requires_grad)


def reduce(x):
    """What pickle and copy store."""
    if not x.is_leaf:
        raise w.GraphError("pickle: a tensor that was computed in the graph leads to all of it; pickle x.detach()")
    values = memoryview(x.detach().contiguous())
    return rebuild, (type(x), values.tobytes(), values.format, x.shape, x.requires_grad)


def index(x):
    if x.dtype != w.int64 or x.ndim:
        raise TypeError(f"only an int64 tensor without axes is an index, not {x.dtype} of shape {x.shape}")
    return x.item()


def reduced(name):
    """all and any give a tensor, too, where Weft's functions give a bool."""
    return lambda input, dim=None, keepdim=False: getattr(w, name)(input, tuple(range(input.ndim)) if dim is None else dim, keepdim)


def both(name, of_two):
    """torch.max(x), max(x, dim) and max(x, y)."""
    function = getattr(w, name)
    return lambda x, *args, **kwargs: of_two(x, *args) if args and isinstance(args[0], Tensor) else function(x, *args, **kwargs)


def flip(input, dims):
    dims = [dims] if isinstance(dims, int) else list(dims)
    if len({dim % (input.ndim or 1) for dim in dims}) < len(dims):
        raise w.IndexError(f"flip: an axis appears twice in {dims}; name each axis once")
    for dim in dims:
        input = w.flip(input, dim)
    return input


def clamp(input, min=None, max=None):
    """Between numbers, or tensors, which then get the gradient of what lies beyond."""
    if min is None and max is None:
        raise w.ValueError("clamp: at least one of min and max must not be None")
    if not isinstance(min, Tensor) and not isinstance(max, Tensor):
        return w.clamp(input, -float("inf") if min is None else min, float("inf") if max is None else max)
    input = input if min is None else w.where(input < min, min, input)
    return input if max is None else w.where(input > max, max, input)


def unique(input, sorted=True, return_inverse=False, return_counts=False):
    """The values, which are sorted in any case, and what else is asked for."""
    values, inverse, counts = w.unique(input)
    found = (values,) + (inverse,) * bool(return_inverse) + (counts,) * bool(return_counts)
    return found if len(found) > 1 else values


def returning(function):
    """A function of tensors that Weft calls: what it returns is a tensor or None."""
    def checked(*args):
        if isinstance(y := function(*args), (Tensor, type(None))):
            return y
        raise w.DTypeError(f"{getattr(function, '__name__', function)} returned {type(y).__name__}; return a Tensor")
    return checked


class Handle:
    """What register_hook returns."""

    def __init__(self, x, hook):
        self.x, self.number = x, add_hook(x, returning(hook))

    def remove(self):
        self.x.remove_hook(self.number)


add_hook = Tensor.register_hook
all_, any_, max_, min_ = reduced("all"), reduced("any"), both("max", w.maximum), both("min", w.minimum)
FUNCTIONS = {"all": all_, "any": any_, "max": max_, "min": min_, "flip": flip, "clamp": clamp,
             "masked_fill": lambda input, mask, value: (w.where(mask, value.reshape(()), w.masked_fill(input, mask, 0)) if isinstance(value, Tensor)
                                                        else w.masked_fill(input, mask, value)),
             "scatter_add": lambda input, dim, index, src: input + w.scatter_add(input.shape, dim, index, src), "unique": unique}
METHODS = {"__getitem__": lambda x, index: indexed(x, index)[0], "__setitem__": assign, "__iter__": lambda x: (x[i] for i in range(len(x))),
           "__len__": lambda x: x.size(0), "__bool__": lambda x: bool(float(x)), "__int__": lambda x: int(x.item()), "__abs__": Tensor.__dict__["abs"],
           "__matmul__": Tensor.__dict__["matmul"], "__pow__": Tensor.__dict__["pow"], "__rpow__": lambda x, a: w.pow(w.full_like(x, a), x), "__array__": numpy,
           "__array_ufunc__": None,  # NumPy leaves operators with its numbers and arrays to Weft
           "__repr__": lambda x: f"tensor({x}, dtype={x.dtype}{', requires_grad=True' * x.requires_grad})", "numpy": numpy, "register_hook": lambda x, hook: Handle(x, hook),
           "item": lambda x: x.detach().reshape(()).tolist(), "tolist": lambda x: memoryview(x.detach()).tolist(),
           "__reduce__": reduce, "__index__": index, "ndim": property(Tensor.dim),
           "mT": property(lambda x: x.transpose(-2, -1)), "float": lambda x: x.to(float32), "double": lambda x: x.to(w.float64),
           "long": lambda x: x.to(w.int64), "bool": lambda x: x.to(w.bool)}
for _name in ["reshape", "view", "permute", "expand", "repeat", "broadcast_to", "sum_to"]:
    METHODS[_name] = lambda x, *size, _f=getattr(Tensor, _name): _f(x, sizes(size))
for _name, _value in {**FUNCTIONS, **METHODS}.items():
    setattr(Tensor, _name, _value)
NAMES = {**FUNCTIONS, "tensor": tensor, "zeros": zeros, "ones": ones, "empty": empty, "randn": randn, "rand": rand, "arange": arange,
         "einsum": lambda equation, *operands: w.einsum(equation, operands),
         **{name: getattr(Tensor, name) for name in ["reshape", "permute", "transpose", "squeeze", "unsqueeze", "select"]},
         "permute": lambda input, dims: input.permute(dims)}


# ---- modes, `with weft.no_grad():` or as decorators
def guard(make, *settings):
    class Guard:
        def __new__(cls, *args):
            return cls()(args[0]) if args and callable(args[0]) else super().__new__(cls)  # @no_grad

        def __init__(self, *args):
            self.args, self.active = settings or args, []

        def __enter__(self):
            self.active.append(make(*self.args))

        def __exit__(self, *error):
            self.active.pop()

        def __call__(self, function):
            def guarded(*args, **kwargs):
                with self:
                    return function(*args, **kwargs)

            def resumed(*args, **kwargs):
                generator, step = function(*args, **kwargs), lambda: next(generator)
                while True:
                    try:
                        with self:
                            y = step()
                    except StopIteration as stop:
                        return stop.value
                    try:
                        step = lambda sent=(yield y): generator.send(sent)
                    except BaseException as error:  # GeneratorExit, too
                        step = lambda error=error: generator.throw(error)
            flags = getattr(getattr(function, "__code__", None), "co_flags", 0)
            if flags & 0x280:  # of coroutines and asynchronous generators
                raise TypeError(f"{function.__name__} is async, and others run while it waits; use the mode in a `with` around what computes")
            return resumed if flags & 0x20 else guarded  # of generators
    return Guard


class set_grad_enabled(guard(w._grad_mode)):
    """From now on, or until the end of a `with`."""

    def __init__(self, mode):
        self.before = w.is_grad_enabled()
        super().__init__(mode)
        w._set_grad_enabled(mode)

    def __exit__(self, *error):
        super().__exit__(*error)
        w._set_grad_enabled(self.before)

    def __call__(self, function):
        w._set_grad_enabled(self.before)
        return super().__call__(function)


NAMES |= {"no_grad": guard(w._grad_mode, False), "enable_grad": guard(w._grad_mode, True), "set_grad_enabled": set_grad_enabled,
          "composed": guard(w._composed), "eval_mode": guard(w._eval_mode)}


# ---- modules written in Python
class Parameter(Tensor):
    """A tensor that a module registers, trained or frozen."""

    def __init__(self, data, requires_grad=True):
        super().__init__(data.detach().contiguous().requires_grad_(requires_grad))


def kind_of(self, name):
    """What is registered under a name; a layer of Weft computes with its own tensors and modules, whatever its attributes are."""
    kind = self._kind(name)
    if kind and name not in vars(self):
        raise AttributeError(f"{type(self).__name__}.{name} is a {kind} that the layer computes with, and stays; change its values, as in {name}.copy_(value) under no_grad()")
    return kind


def set_attribute(self, name, value):
    """Registers modules, Parameters and other leaves that require a gradient, and tensors under the name of a buffer."""
    before, is_tensor = self._kind(name), isinstance(value, Tensor)
    if before and is_tensor and hash(value) == hash(getattr(self, name)):
        return  # self.w -= 1, in place
    kind = ("child" if isinstance(value, nn.Module) else "buffer" if is_tensor and before == "buffer" and not isinstance(value, Parameter)
            else "parameter" if is_tensor and (isinstance(value, Parameter) or value.requires_grad and value.is_leaf) else None)
    if kind_of(self, name) and not kind and (value is not None or before == "buffer"):
        raise TypeError(f"cannot assign {type(value).__name__} as {before} {name!r} of {type(self).__name__} ({EXPECTED[before]} expected)")
    if kind:
        registered = getattr(self, "_set_" + kind)(name, value)
        value = value if registered is None or value.is_contiguous() else registered
    elif before:
        self._remove(name)
    object.__setattr__(self, name, value)


EXPECTED = {"parameter": "nn.Parameter or None", "buffer": "Tensor", "child": "nn.Module or None"}


def delete_attribute(self, name):
    if kind_of(self, name):
        self._remove(name)
    object.__delattr__(self, name)


def register_buffer(self, name, tensor, persistent=True):
    if kind_of(self, name) != "buffer" and hasattr(self, name):
        raise w.ValueError(f"register_buffer: {type(self).__name__} has an attribute {name!r} already; delete it first")
    self._set_buffer(name, tensor, persistent)
    object.__setattr__(self, name, tensor)


def refuse_overrides(cls):
    for name in ("get_extra_state", "set_extra_state", "_save_to_state_dict", "_load_from_state_dict", "_apply"):
        if name in vars(cls):
            raise TypeError(f"{cls.__name__}.{name} would not be called; a state_dict has tensors: register_buffer")


def get_attribute(self, name):
    """What is no attribute: a parameter, a buffer or a child of that name."""
    for key, value in self.named_parameters() + self.named_buffers() + self.named_children():
        if key == name:
            return value
    raise AttributeError(f"{type(self).__name__} has no attribute, parameter, buffer or child {name!r}")


nn.Module.__setattr__, nn.Module.__getattr__, nn.Module.__delattr__, nn.Module.register_buffer = set_attribute, get_attribute, delete_attribute, register_buffer
nn.Module.__call__ = lambda self, *args, **kwargs: self.forward(*args, **kwargs)
nn.Module.__init_subclass__, nn.Parameter = classmethod(refuse_overrides), Parameter


# ---- gradients and their checks
def tensors(x):
    """Of one tensor, of several or of none."""
    return [] if x is None else [x] if isinstance(x, Tensor) else list(x)


def grad(outputs, inputs, grad_outputs=None, retain_graph=None, create_graph=False, allow_unused=False):
    retain_graph = create_graph if retain_graph is None else retain_graph
    return tuple(w.autograd._grad(tensors(outputs), tensors(inputs), tensors(grad_outputs), retain_graph, create_graph, allow_unused))


def checker(second):
    def check(func, inputs, eps=1e-3, tolerance=1e-8, parameters=(), raise_exception=True):
        message = w.check._gradcheck(second, returning(lambda x: func(*x)), list(inputs), eps, tolerance, list(parameters))
        if message and raise_exception:
            raise w.Error(message)
        return not message
    return check


w.autograd.grad, w.autograd.gradcheck, w.autograd.gradgradcheck = grad, checker(False), checker(True)


# ---- what pybind11 leaves to us
def refuse(error, given):
    """If no overload fits: what was given, by its types, because the values could be a whole state dict."""
    text = str(error).replace("weft._weft.", "").split("\n\nInvoked with: ")
    if len(text) == 1:
        raise error
    kinds = [type(x).__name__ + ", which requires a gradient" * (isinstance(x, Tensor) and x.requires_grad) for x in given]
    listed = "List[" in text[0] or "abc.Sequence[" in text[0]
    for is_it, advice in [(listed and any(isinstance(x, Tensor) for x in given[:2]), "A list of tensors is asked for, and a tensor given: write [x]."),
                          ("float" in text[0] and "gradient" in str(kinds), "A tensor that requires a gradient would lose it as a number: write x.item() if it may."),
                          ("int" in text[0] and any(isinstance(x, bool) for x in given), "A bool is no axis and no size: name the argument, as in keepdim=True or correction=0."),
                          (any(hasattr(x, "__dlpack__") and not isinstance(x, Tensor) for x in given), "An array, or another library's tensor: copy it by weft.tensor(x).")]:
        text[0] += f"\n{advice}" * is_it
    raise TypeError(f"{text[0]}\nGiven: {'; '.join(kinds)}") from None


def unpicklable(x):
    raise TypeError(f"cannot pickle {type(x).__name__}" + "; save its state_dict()" * hasattr(x, "state_dict"))


w.dtype.__repr__ = w.dtype.__str__ = lambda x: f"weft.{x.name}"
for _class in Tensor.__base__.__subclasses__():
    if _class.__module__.startswith("weft.") and _class is not Tensor:
        _class.__reduce__ = (lambda x: (type(x), (int(x),))) if hasattr(_class, "__members__") else unpicklable
