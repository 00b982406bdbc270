"""PyTorch's optimisers with `param_groups`, their base class, and schedules of learning rates."""
import math

from . import _weft as w
from ._weft import Tensor, optim
from .graph import enable_grad, tensors
from .tensors import refuse, tensor


class State(dict):
    """A dictionary for each parameter, made when it is asked for; copies of a handle are one parameter."""

    def __getitem__(self, p):
        return self.setdefault(p if isinstance(p, int) else hash(p), {})


class Optimizer:
    """Groups of parameters with options, and a state for each parameter."""

    def __init__(self, params, defaults):
        if isinstance(params, Tensor):
            raise TypeError(f"{type(self).__name__}: its rows are no parameters. Given: Tensor; write [x]")
        params = params.named_parameters() if isinstance(params, w.nn.Module) else list(params)
        groups = params if params and isinstance(params[0], dict) else [{"params": params}]
        self.defaults, self.state = defaults, State()
        self.param_groups = [{**defaults, **group, "params": [p[1] if isinstance(p, tuple) else p for p in tensors(group["params"])]} for group in groups]
        if not self._flat():
            raise w.ValueError(f"{type(self).__name__}: there are no parameters; pass module.parameters()")

    _flat = lambda self: [p for group in self.param_groups for p in group["params"]]

    def _set_lr(self, lr):
        for group in self.param_groups:
            group["lr"] = lr

    lr = property(lambda self: self.param_groups[0]["lr"], _set_lr)

    def zero_grad(self, set_to_none=True):
        refuse("zero_grad", set_to_none=(set_to_none, True))
        for p in self._flat():
            p.grad = None

    def state_dict(self):
        """PyTorch's form: {"state": {number: {"step", "exp_avg", …}}, "param_groups": […]}."""
        numbers = {hash(p): i for i, p in enumerate(self._flat())}
        groups = [{**group, "params": [numbers[hash(p)] for p in group["params"]]} for group in self.param_groups]
        return {"state": {numbers[key]: dict(state) for key, state in self.state.items()}, "param_groups": groups}

    def load_state_dict(self, state_dict):
        flat, saved = self._flat(), state_dict["param_groups"]
        if [len(group["params"]) for group in saved] != [len(group["params"]) for group in self.param_groups]:
            raise w.ValueError(f"{type(self).__name__}: the state has groups of other sizes; make the optimiser of the same parameters")
        self.param_groups[:] = [{**group, **new, "params": group["params"]} for group, new in zip(self.param_groups, saved)]
        self.state = State({hash(flat[int(i)]): {key: x.clone() if isinstance(x, Tensor) else x for key, x in state.items()} for i, state in state_dict["state"].items()})


class Native(Optimizer):
    """A rule of Weft's, whose options are those of `param_groups` at every step."""

    def __init__(self, params, *args, **options):
        unknown = {key for key, value in options.items() if key not in self.options and value not in (None, False)}
        if unknown or len(args) > len(self.options):
            raise TypeError(f"{type(self).__name__}: unknown arguments {sorted(unknown) or args}; it takes {', '.join(self.options)}")
        super().__init__(params, {**self.options, **dict(zip(self.options, args)), **{key: value for key, value in options.items() if key in self.options}})
        self.rule = self.make([group["params"] for group in self.param_groups])
        self.set_options()

    def set_options(self):
        for i, group in enumerate(self.param_groups):
            self.rule._set_options(i, **{key: group[key] for key in self.options})

    def step(self, closure=None):
        with enable_grad():
            loss = None if closure is None else closure()
        self.set_options()
        self.rule.step()
        return loss

    def state_dict(self):
        flat, self.state = self._flat(), State()
        for key, x in self.rule.state_dict().items():
            if "." in key:
                number, moment = key.split(".")
                self.state[flat[int(number)]][moment] = x.to(w.float32) if moment == "step" else x
        return super().state_dict()

    def load_state_dict(self, state_dict):
        super().load_state_dict(state_dict)
        self.set_options()
        found = {f"{i}.{key}": tensor(int(x)) if key == "step" else x for i, state in state_dict["state"].items() for key, x in state.items()}
        if found:
            self.rule.load_state_dict({"step": max((x for key, x in found.items() if key.endswith(".step")), key=int), **found})


adam = {"lr": 1e-3, "betas": (0.9, 0.999), "eps": 1e-8}
RULES = {"SGD": {"lr": 1e-3, "momentum": 0, "weight_decay": 0, "nesterov": False}, "Adam": {**adam, "weight_decay": 0}, "AdamW": {**adam, "weight_decay": 0.01},
         "Muon": {"lr": 1e-3, "weight_decay": 0.1, "momentum": 0.95, "nesterov": True, "ns_coefficients": (3.4445, -4.7750, 2.0315), "eps": 1e-7, "ns_steps": 5}}
RULES = {name: type(name, (Native,), {"options": options, "make": staticmethod(getattr(optim, name))}) for name, options in RULES.items()}


def decay_groups(module, weight_decay):
    """Matrices decay; vectors do not."""
    ps = list(module.parameters())
    groups = [([p for p in ps if p.ndim >= 2], weight_decay), ([p for p in ps if p.ndim < 2], 0.0)]
    return [{"params": group, "weight_decay": decay} for group, decay in groups if group]


# ---- schedules: each group's rate is a function of the step and of its first rate
class LRScheduler:
    def __init__(self, optimizer, rate, last_epoch=-1):
        self.optimizer, self.rate, self.last_epoch = optimizer, rate, last_epoch
        self.base_lrs = [group.setdefault("initial_lr", group["lr"]) for group in optimizer.param_groups]
        self.step()

    def step(self):
        self.last_epoch += 1
        for i, (group, lr) in enumerate(zip(self.optimizer.param_groups, self.base_lrs)):
            group["lr"] = self.rate(self.last_epoch, lr, i)

    get_last_lr = lambda self: [group["lr"] for group in self.optimizer.param_groups]
    state_dict = lambda self: {"last_epoch": self.last_epoch, "base_lrs": self.base_lrs}

    def load_state_dict(self, state_dict):
        self.last_epoch, self.base_lrs = state_dict["last_epoch"] - 1, state_dict["base_lrs"]
        self.step()


def scheduler(name, make):
    """`make` takes PyTorch's arguments and gives the rate at step t of the group i that began with lr."""
    make.__name__ = make.__qualname__ = name
    return type(name, (LRScheduler,), {"__init__": lambda self, optimizer, *args, last_epoch=-1, **options: LRScheduler.__init__(self, optimizer, make(*args, **options), last_epoch)})


SCHEDULES = {"LambdaLR": lambda lr_lambda: lambda t, lr, i: lr * (lr_lambda[i] if isinstance(lr_lambda, (list, tuple)) else lr_lambda)(t),
             "StepLR": lambda step_size, gamma=0.1: lambda t, lr, i: lr * gamma ** (t // step_size),
             "MultiStepLR": lambda milestones, gamma=0.1: lambda t, lr, i: lr * gamma ** sum(t >= m for m in milestones),
             "ExponentialLR": lambda gamma: lambda t, lr, i: lr * gamma**t,
             "CosineAnnealingLR": lambda T_max, eta_min=0.0: lambda t, lr, i: eta_min + (lr - eta_min) * (1 + math.cos(math.pi * t / T_max)) / 2,
             "LinearLR": lambda start_factor=1 / 3, end_factor=1.0, total_iters=5:
                 lambda t, lr, i: lr * (start_factor + (end_factor - start_factor) * min(t, total_iters) / total_iters)}
SCHEDULES = {name: scheduler(name, make) for name, make in SCHEDULES.items()}
optim.__dict__.update(RULES, Optimizer=Optimizer, decay_groups=decay_groups)
