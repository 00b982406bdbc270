"""PyTorch's optimisers with `param_groups`, their base class, and schedules of learning rates."""
import math

from . import _weft as w
from ._weft import Tensor, optim
from .graph import enable_grad, tensors
from .tensors import tensor


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
        unnamed = lambda group: [p[1] if isinstance(p, tuple) else p for p in tensors(group["params"])]
        self.param_groups = [{**defaults, **group, "params": unnamed(group)} for group in groups]
        self.defaults, self.state = defaults, State()
        if not self.parameters():
            raise w.ValueError(f"{type(self).__name__}: there are no parameters; pass module.parameters()")
    lr = property(lambda self: self.param_groups[0]["lr"],
                  lambda self, lr: [group.update(lr=lr) for group in self.param_groups])
    zero_grad, parameters = w.nn.Module.zero_grad, lambda self: [p for group in self.param_groups for p in group["params"]]
    def state_dict(self):
        """PyTorch's form: {"state": {number: {"step", "exp_avg", …}}, "param_groups": […]}."""
        numbers = {hash(p): i for i, p in enumerate(self.parameters())}
        groups = [{**group, "params": [numbers[hash(p)] for p in group["params"]]} for group in self.param_groups]
        return {"state": {numbers[key]: dict(state) for key, state in self.state.items()}, "param_groups": groups}
    def load_state_dict(self, state_dict):
        flat, saved = self.parameters(), state_dict["param_groups"]
        if [len(group["params"]) for group in saved] != [len(group["params"]) for group in self.param_groups]:
            raise w.ValueError(f"{type(self).__name__}: the state has groups of other sizes; "
                               "make the optimiser of the same parameters")
        for group, new in zip(self.param_groups, saved):
            group.update(new, params=group["params"])
        copied = lambda state: {key: x.clone() if isinstance(x, Tensor) else x for key, x in state.items()}
        self.state = State({hash(flat[int(i)]): copied(state) for i, state in state_dict["state"].items()})


class Native(Optimizer):
    """A rule of Weft's, whose options are those of `param_groups` at every step."""
    def __init__(self, params, *args, **options):
        unknown = {key for key, value in options.items() if key not in self.options and value not in (None, False)}
        if unknown or len(args) > len(self.options):
            raise TypeError(f"{type(self).__name__}: unknown arguments {sorted(unknown) or args}; "
                            f"it takes {', '.join(self.options)}")
        known = {key: value for key, value in options.items() if key in self.options}
        super().__init__(params, {**self.options, **dict(zip(self.options, args)), **known})
        self.rule = self.make([group["params"] for group in self.param_groups])
        self._set_options()
    def _set_options(self):
        for i, group in enumerate(self.param_groups):
            self.rule.set_options(i, **{key: group[key] for key in self.options})
    def step(self, closure=None):
        loss = enable_grad(closure)() if closure else None
        self._set_options()
        self.rule.step()
        return loss
    def state_dict(self):
        flat, self.state = self.parameters(), State()
        for key, x in self.rule.state_dict().items():
            number, _, moment = key.partition(".")
            if moment:
                self.state[flat[int(number)]][moment] = x.float() if moment == "step" else x
        return super().state_dict()
    def load_state_dict(self, state_dict):
        super().load_state_dict(state_dict)
        self._set_options()
        found = {f"{i}.{key}": tensor(int(x)) if key == "step" else x
                 for i, state in state_dict["state"].items() for key, x in state.items()}
        if found:
            steps = [x for key, x in found.items() if key.endswith(".step")]
            self.rule.load_state_dict({"step": max(steps, key=int), **found})


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
    return type(name, (LRScheduler,), {"__init__": lambda self, optimizer, *args, last_epoch=-1, **options:
                                       LRScheduler.__init__(self, optimizer, make(*args, **options), last_epoch)})


SCHEDULES = {"LRScheduler": LRScheduler, **{name: scheduler(name, make) for name, make in {
    "LambdaLR": lambda lr_lambda: lambda t, lr, i: lr * (lr_lambda if callable(lr_lambda) else lr_lambda[i])(t),
    "StepLR": lambda step_size, gamma=0.1: lambda t, lr, i: lr * gamma ** (t // step_size),
    "MultiStepLR": lambda milestones, gamma=0.1: lambda t, lr, i: lr * gamma ** sum(t >= m for m in milestones),
    "ExponentialLR": lambda gamma: lambda t, lr, i: lr * gamma**t,
    "CosineAnnealingLR": lambda T_max, eta_min=0.0:
        lambda t, lr, i: eta_min + (lr - eta_min) * (1 + math.cos(math.pi * t / T_max)) / 2,
    "LinearLR": lambda start_factor=1 / 3, end_factor=1.0, total_iters=5:
        lambda t, lr, i: lr * (start_factor + (end_factor - start_factor) * min(t / total_iters, 1))}.items()}}
for _name in ("SGD", "Adam", "AdamW", "Muon"):
    _names, _defaults = (getattr(w._signatures[_name + "("][0], of) for of in ("__code__", "__defaults__"))
    setattr(optim, _name, type(_name, (Native,), {"options": dict(zip(_names.co_varnames[1:], _defaults)),
                                                  "make": getattr(optim, _name)}))
optim.Optimizer, optim.decay_groups = Optimizer, decay_groups
