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
        x = w._copy(array.array("q" if whole else "d", flat)).reshape(shape)
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


def einsum(equation, *operands):
    return w.einsum(equation, operands)


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


def indexed(x, index):
    """x[index], and whether it is a view."""
    steps = [tensor(s) if isinstance(s, (list, range)) or hasattr(s, "__array_interface__") else s
             for s in (index if isinstance(index, tuple) else (index,))]
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
        else:
            x = x.select(axis, s)
    if copies > 1:
        raise w.IndexError("index: one tensor of indices at a time; gather takes an element of each row")
    return x, copies == 0


def assign(x, index, value):
    target, is_view = indexed(x, index)
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


def reduced(name):
    """all and any give a tensor, too, where Weft's functions give a bool."""
    return lambda input, dim=None, keepdim=False: getattr(w, name)(input, tuple(range(input.ndim)) if dim is None else dim, keepdim)


def both(name, of_two):
    """torch.max(x), max(x, dim) and max(x, y)."""
    function = getattr(w, name)
    return lambda x, *args, **kwargs: of_two(x, *args) if args and isinstance(args[0], Tensor) else function(x, *args, **kwargs)


def flip(input, dims):
    for dim in [dims] if isinstance(dims, int) else dims:
        input = w.flip(input, dim)
    return input


def clamp(input, min=None, max=None):
    return w.clamp(input, -float("inf") if min is None else min, float("inf") if max is None else max)


def scatter_add(input, dim, index, src):
    return input + w.scatter_add(input.shape, dim, index, src)


def unique(input, sorted=True, return_inverse=False, return_counts=False):
    """The values, which are sorted in any case, and what else is asked for."""
    values, inverse, counts = w.unique(input)
    found = (values,) + (inverse,) * bool(return_inverse) + (counts,) * bool(return_counts)
    return found if len(found) > 1 else values


class Handle:
    """What register_hook returns."""

    def __init__(self, x, hook):
        self.x, self.number = x, add_hook(x, hook)

    def remove(self):
        self.x.remove_hook(self.number)


add_hook = Tensor.register_hook
all_, any_, max_, min_ = reduced("all"), reduced("any"), both("max", w.maximum), both("min", w.minimum)
FUNCTIONS = {"all": all_, "any": any_, "max": max_, "min": min_, "flip": flip, "clamp": clamp, "scatter_add": scatter_add, "unique": unique}
METHODS = {"__getitem__": lambda x, index: indexed(x, index)[0], "__setitem__": assign, "__iter__": lambda x: (x[i] for i in range(len(x))),
           "__len__": lambda x: x.size(0), "__bool__": lambda x: bool(float(x)), "__int__": lambda x: int(x.item()), "__abs__": Tensor.__dict__["abs"],
           "__matmul__": Tensor.__dict__["matmul"], "__pow__": Tensor.__dict__["pow"], "__rpow__": lambda x, a: w.pow(w.full_like(x, a), x), "__array__": numpy,
           "__array_ufunc__": None,  # NumPy leaves operators with its numbers and arrays to Weft
           "__repr__": lambda x: f"tensor({x}, dtype={x.dtype}{', requires_grad=True' * x.requires_grad})", "numpy": numpy, "register_hook": lambda x, hook: Handle(x, hook),
           "scatter_": lambda x, *args, **kwargs: x.copy_(x.scatter(*args, **kwargs)),
           "item": lambda x: x.detach().reshape(()).tolist(), "tolist": lambda x: memoryview(x.detach()).tolist(),
           "size": lambda x, dim=None: x.shape if dim is None else x.shape[dim], "ndim": property(Tensor.dim),
           "mT": property(lambda x: x.transpose(-2, -1)), "float": lambda x: x.to(float32), "double": lambda x: x.to(w.float64),
           "long": lambda x: x.to(w.int64), "bool": lambda x: x.to(w.bool)}
for _name in ["reshape", "view", "permute", "expand", "repeat", "broadcast_to", "sum_to"]:
    METHODS[_name] = lambda x, *size, _f=getattr(Tensor, _name): _f(x, sizes(size))
for _name, _value in {**FUNCTIONS, **METHODS}.items():
    setattr(Tensor, _name, _value)
NAMES = {**FUNCTIONS, "tensor": tensor, "zeros": zeros, "ones": ones, "empty": empty, "randn": randn, "rand": rand, "arange": arange,
         "einsum": einsum, "add": Tensor.__add__, "sub": Tensor.__sub__, "mul": Tensor.__mul__, "div": Tensor.__truediv__, "neg": Tensor.__neg__,
         "eq": Tensor.__eq__, "ne": Tensor.__ne__, "lt": Tensor.__lt__, "le": Tensor.__le__, "gt": Tensor.__gt__, "ge": Tensor.__ge__,
         "logical_and": Tensor.__and__, "logical_or": Tensor.__or__, "logical_not": Tensor.__invert__,
         **{name: getattr(Tensor, name) for name in ["reshape", "permute", "transpose", "squeeze", "unsqueeze", "select"]},
         "permute": lambda input, dims: input.permute(dims)}


# ---- modes, `with weft.no_grad():` or as decorators
def guard(make, *settings):
    class Guard:
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
            return guarded
    return Guard


NAMES |= {"no_grad": guard(w._grad_mode, False), "enable_grad": guard(w._grad_mode, True), "set_grad_enabled": guard(w._grad_mode),
          "composed": guard(w._composed), "eval_mode": guard(w._eval_mode)}


# ---- modules written in Python
def set_attribute(self, name, value):
    """A module, or a leaf that requires a gradient, is registered."""
    if isinstance(value, nn.Module):
        self._register_module(name, value)
    elif isinstance(value, Tensor) and value.requires_grad and value.is_leaf:
        value = self._register_parameter(name, value)
    object.__setattr__(self, name, value)


def get_attribute(self, name):
    """What is no attribute: a parameter, a buffer or a child of that name."""
    for key, value in self.named_parameters() + self.named_buffers() + self.named_children():
        if key == name:
            return value
    raise AttributeError(f"{type(self).__name__} has no attribute, parameter, buffer or child {name!r}")


class Sequential(nn.Module):
    """Functions and modules, one after the other."""

    def __init__(self, *steps):
        super().__init__("Sequential")
        self.steps = steps
        for i, step in enumerate(steps):
            if isinstance(step, nn.Module):
                self._register_module(str(i), step)

    def forward(self, x):
        for step in self.steps:
            x = step(x)
        return x


nn.Module.__setattr__, nn.Module.__getattr__, nn.Sequential = set_attribute, get_attribute, Sequential
nn.Module.__call__ = lambda self, *args, **kwargs: self.forward(*args, **kwargs)
nn.Parameter = lambda data, requires_grad=True: data.detach().requires_grad_(requires_grad)


# ---- gradients and their checks
def tensors(x):
    """Of one tensor, of several or of none."""
    return [] if x is None else [x] if isinstance(x, Tensor) else list(x)


def grad(outputs, inputs, grad_outputs=None, retain_graph=None, create_graph=False, allow_unused=False):
    retain_graph = create_graph if retain_graph is None else retain_graph
    return tuple(w.autograd._grad(tensors(outputs), tensors(inputs), tensors(grad_outputs), retain_graph, create_graph, allow_unused))


def checker(second):
    def check(func, inputs, eps=1e-3, tolerance=1e-8, parameters=(), raise_exception=True):
        message = w.check._gradcheck(second, lambda x: func(*x), list(inputs), eps, tolerance, list(parameters))
        if message and raise_exception:
            raise w.Error(message)
        return not message
    return check


w.autograd.grad, w.autograd.gradcheck, w.autograd.gradgradcheck = grad, checker(False), checker(True)
