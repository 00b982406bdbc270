"""Modes, gradients and their checks, and what pybind11 leaves to Python: errors that say what was given."""
from collections.abc import Generator
from types import SimpleNamespace

from . import _weft as w
from ._weft import Tensor
from .tensors import extends, fail


# ---- modes, `with weft.no_grad():` or as decorators
class Resumed(Generator):
    """A generator that runs in a mode."""

    def __init__(self, mode, inner):
        self.mode, self.inner = mode, inner

    def send(self, value):
        with self.mode:
            return self.inner.send(value)

    def throw(self, *error):
        with self.mode:
            return self.inner.throw(*error)


class Mode:
    def __new__(cls, *args):
        return cls()(args[0]) if args and callable(args[0]) else super().__new__(cls)  # @no_grad

    def __init__(self, *args):
        self.args, self.active = args, []

    def __enter__(self):
        self.active.append(self.make(*self.args))

    def __exit__(self, *error):
        self.active.pop()

    def __call__(self, function):
        def guarded(*args, **kwargs):
            with self:
                return function(*args, **kwargs)
        flags = getattr(getattr(function, "__code__", None), "co_flags", 0)
        if flags & 0x280:  # of coroutines and asynchronous generators
            raise TypeError(f"{function.__name__} is async, and others run while it waits; use the mode in a `with` "
                            "around what computes")
        return (lambda *args, **kwargs: Resumed(self, function(*args, **kwargs))) if flags & 0x20 else guarded


class set_grad_enabled(Mode):
    """From now on, or until the end of a `with`."""
    make = staticmethod(w._grad_mode)

    def __init__(self, mode):
        super().__init__(mode)
        self.before = w.is_grad_enabled()
        w._set_grad_enabled(mode)

    def __exit__(self, *error):
        super().__exit__()
        w._set_grad_enabled(self.before)

    def __call__(self, function):
        w._set_grad_enabled(self.before)
        return super().__call__(function)


MODES = {name: type(name, (Mode,), {"make": staticmethod(make)}) for name, make in {
    "no_grad": lambda: w._grad_mode(False), "inference_mode": lambda *mode: w._grad_mode(False),
    "enable_grad": lambda: w._grad_mode(True), "composed": w._composed, "eval_mode": w._eval_mode}.items()}
MODES["set_grad_enabled"] = set_grad_enabled


# ---- gradients and their checks
tensors = lambda x: [] if x is None else [x] if isinstance(x, Tensor) else list(x)  # of one, of several or of none


def returning(function):
    """A function of tensors that Weft calls: what it returns is a tensor or None."""
    def checked(*args):
        y = function(*args)
        return y if y is None or isinstance(y, Tensor) else fail(
            w.DTypeError, f"{getattr(function, '__name__', function)} returned {type(y).__name__}; return a Tensor")
    return checked


def grad(outputs, inputs, grad_outputs=None, retain_graph=None, create_graph=False, allow_unused=False):
    retain_graph = create_graph if retain_graph is None else retain_graph
    return tuple(w.autograd._grad(*map(tensors, (outputs, inputs, grad_outputs)), retain_graph, create_graph, allow_unused))


def gradcheck(func, inputs, eps=1e-3, tolerance=1e-8, parameters=(), raise_exception=True, second=False):
    wrong = w.check._gradcheck(second, returning(lambda x: func(*x)), list(inputs), eps, tolerance, list(parameters))
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
    text = str(error).replace("weft._weft.", "").split("\n\nInvoked with: ")
    if len(text) == 1:
        raise error
    kinds = [type(x).__name__ + ", which requires a gradient" * (isinstance(x, Tensor) and x.requires_grad) for x in given]
    text = "\n".join(line for line in text[0].split("\n") if " axis: " not in line)  # as dim
    listed = "List[" in text or "abc.Sequence[" in text
    for is_it, advice in [
            (listed and any(isinstance(x, Tensor) for x in given[:2]),
             "A list of tensors is asked for, and a tensor given: write [x]."),
            ("float" in text and "gradient" in str(kinds),
             "A tensor that requires a gradient would lose it as a number: write x.item() if it may."),
            ("int" in text and any(isinstance(x, bool) for x in given),
             "A bool is no axis and no size: name the argument, as in keepdim=True or correction=0."),
            (any(hasattr(x, "__dlpack__") and not isinstance(x, Tensor) for x in given),
             "An array, or another library's tensor: copy it by weft.tensor(x).")]:
        text += f"\n{advice}" * is_it
    raise TypeError(f"{text}\nGiven: {'; '.join(kinds)}") from None


def unpicklable(x):
    raise TypeError(f"cannot pickle {type(x).__name__}" + "; save its state_dict()" * hasattr(x, "state_dict"))


w.dtype.__repr__ = w.dtype.__str__ = lambda x: f"weft.{x.name}"
for _class in Tensor.__base__.__subclasses__():
    if _class.__module__.startswith("weft.") and _class is not Tensor:
        _class.__reduce__ = (lambda x: (type(x), (int(x),))) if hasattr(_class, "__members__") else unpicklable
for _report in (w.check.FlowReport, w.check.AttentionReport):
    _report.__repr__ = _report.__str__
