"""Modes, gradients and their checks, and what pybind11 leaves to Python: errors that say what was given."""
from _collections_abc import Generator  # of collections.abc, which takes time
from types import SimpleNamespace

from . import _weft as w
from ._weft import Tensor
from .tensors import extends, fail


# ---- modes, `with weft.no_grad():` or as decorators
def inside(mode, function, *args, **options):
    with mode:
        return function(*args, **options)


class Resumed(Generator):
    """A generator that runs in a mode."""
    def __init__(self, *of):
        self.mode, self.inner = of
    send = lambda self, value: inside(self.mode, self.inner.send, value)
    throw = lambda self, *error: inside(self.mode, self.inner.throw, *error)


class Mode:
    """What `make` gives is on inside; after set_grad_enabled, what was on before is on again."""
    def __init__(self, make, before=None):
        self.make, self.before, self.active = make, before, []
    __enter__ = lambda self: self.active.append(self.make())
    def __exit__(self, *error):
        self.active.pop()
        self._return()
    _return = lambda self: self.before is None or w._set_grad_enabled(self.before)
    def __call__(self, function):
        self._return()
        flags = getattr(getattr(function, "__code__", None), "co_flags", 0)
        if flags & 0x280:  # of coroutines and asynchronous generators
            raise TypeError(f"{function.__name__} is async, and others run while it waits; "
                            "use the mode in a `with` around what computes")
        return lambda *args, **options: Resumed(self, function(*args, **options)) if flags & 0x20 else (
            inside(self, function, *args, **options))


def set_grad_enabled(mode):
    """From now on, or until the end of a `with`."""
    guard = Mode(lambda: w._grad_mode(mode), w.is_grad_enabled())
    w._set_grad_enabled(mode)
    return guard


moded = lambda make: lambda *args: Mode(make)(*args) if args and callable(args[0]) else Mode(make)  # @no_grad, too
no_grad, enable_grad = moded(lambda: w._grad_mode(False)), moded(lambda: w._grad_mode(True))
MODES = {"no_grad": no_grad, "inference_mode": no_grad, "enable_grad": enable_grad, "composed": moded(w._composed),
         "eval_mode": moded(w._eval_mode), "set_grad_enabled": set_grad_enabled}


# ---- gradients and their checks
tensors = lambda x: [] if x is None else [x] if isinstance(x, Tensor) else list(x)  # of one, of several or of none


def returning(function):
    """A function of tensors that Weft calls: what it returns is a tensor or None."""
    name = getattr(function, "__name__", function)
    check = lambda y: y if y is None or isinstance(y, Tensor) else fail(
        w.DTypeError, f"{name} returned {type(y).__name__}; return a Tensor")
    return lambda *args: check(function(*args))


def grad(outputs, inputs, grad_outputs=None, retain_graph=None, create_graph=False, allow_unused=False):
    retain = create_graph if retain_graph is None else retain_graph
    of = map(tensors, (outputs, inputs, grad_outputs))
    return tuple(w.autograd._grad(*of, retain, create_graph, allow_unused))


def gradcheck(func, inputs, eps=1e-3, tolerance=1e-8, parameters=(), raise_exception=True, second=False):
    checked = returning(lambda x: func(*x))
    wrong = w.check._gradcheck(second, checked, list(inputs), eps, tolerance, list(parameters))
    return fail(w.Error, wrong) if wrong and raise_exception else not wrong


@extends(Tensor)
class Methods:
    def register_hook(self, hook, add=Tensor.register_hook):
        number = add(self, returning(hook))
        return SimpleNamespace(remove=lambda: self.remove_hook(number))
    def backward(self, gradient=None, retain_graph=None, create_graph=False, inputs=None, run=Tensor.backward):
        if create_graph:
            raise w.ValueError("backward: create_graph is not there, because x.grad is outside the graph; "
                               "use autograd.grad(y, [x], create_graph=True)")
        if inputs is None:
            return run(self, gradient, bool(retain_graph))
        for x, dx in zip(tensors(inputs), grad(self, inputs, gradient, retain_graph)):
            x.grad = dx if x.grad is None else x.grad + dx


w.autograd.grad, w.autograd.gradcheck = grad, gradcheck
w.autograd.gradgradcheck = lambda *args, **options: gradcheck(*args, **options, second=True)
w.autograd.Variable = lambda data, requires_grad=False: data.detach().requires_grad_(requires_grad)


# ---- what pybind11 leaves to us
def refuse_call(error, given):
    """If no overload fits: what was given, by its types, because the values could be a whole state dict."""
    text, *values = str(error).replace("weft._weft.", "").split("\n\nInvoked with: ")
    if not values:
        raise error
    trained = [isinstance(x, Tensor) and x.requires_grad for x in given]
    kinds = [type(x).__name__ + ", which requires a gradient" * trains for x, trains in zip(given, trained)]
    text = "\n".join(line for line in text.split("\n") if " axis: " not in line)  # as dim
    listed = "List[" in text or "abc.Sequence[" in text
    for is_it, advice in [
            (listed and any(isinstance(x, Tensor) for x in given[:2]),
             "A list of tensors is asked for, and a tensor given: write [x]."),
            ("float" in text and any(trained),
             "A tensor that requires a gradient would lose it as a number: write x.item() if it may."),
            ("int" in text and any(isinstance(x, bool) for x in given),
             "A bool is no axis and no size: name the argument, as in keepdim=True or correction=0."),
            (any(hasattr(x, "__dlpack__") and not isinstance(x, Tensor) for x in given),
             "An array, or another library's tensor: copy it by weft.tensor(x).")]:
        text += f"\n{advice}" * is_it
    raise TypeError(f"{text}\nGiven: {'; '.join(kinds)}") from None


unpicklable = lambda x: fail(
    TypeError, f"cannot pickle {type(x).__name__}" + "; save its state_dict()" * hasattr(x, "state_dict"))
w.dtype.__repr__ = w.dtype.__str__ = lambda x: f"weft.{x.name}"
for _class in Tensor.__base__.__subclasses__():
    if _class.__module__.startswith("weft.") and _class is not Tensor:
        _class.__reduce__ = (lambda x: (type(x), (int(x),))) if hasattr(_class, "__members__") else unpicklable
for _report in (w.check.FlowReport, w.check.AttentionReport):
    _report.__repr__ = _report.__str__
