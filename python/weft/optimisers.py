"""PyTorch's optimisers with `param_groups`, their base class, and schedules of learning rates."""
import math

from . import _weft as w, forms, names
from ._weft import Tensor, optim


class State(dict):
    """A dictionary for each parameter, made when it is asked for; copies of a handle are one parameter."""

    def __getitem__(self, p):
        return self.setdefault(p if isinstance(p, int) else hash(p), {})


class Optimizer:
    """Groups of parameters with options, and a state for each parameter."""

    def __init__(self, params, defaults):
        if isinstance(params, Tensor):
            raise TypeError(f"{type(self).__name__}: its rows are no parameters. Given: Tensor; write [x]")
        params = [{"params": params.named_parameters()}] if isinstance(params, w.nn.Module) else list(params)
        groups = params if params and isinstance(params[0], dict) else [{"params": params}]
        flat = [[p[1] if isinstance(p, tuple) else p for p in forms.tensors(group["params"])] for group in groups]
        self.defaults, self.state, self.param_groups = defaults, State(), [{**defaults, **group, "params": ps} for group, ps in zip(groups, flat)]
        if not any(flat):
            raise w.ValueError(f"{type(self).__name__}: there are no parameters; pass module.parameters()")

    def zero_grad(self, set_to_none=True):
        names.refuse("zero_grad", set_to_none=(set_to_none, True))
        for group in self.param_groups:
            for p in group["params"]:
                p.grad = None

    def state_dict(self):
        """PyTorch's form: {"state": {number: {"step", "exp_avg", …}}, "param_groups": […]}."""
        numbers = {hash(p): i for i, p in enumerate(p for group in self.param_groups for p in group["params"])}
        groups = [{**group, "params": [numbers[hash(p)] for p in group["params"]]} for group in self.param_groups]
        return {"state": {numbers[key]: dict(state) for key, state in self.state.items()}, "param_groups": groups}

    def load_state_dict(self, state_dict):
        flat = [p for group in self.param_groups for p in group["params"]]
        if [len(group["params"]) for group in state_dict["param_groups"]] != [len(group["params"]) for group in self.param_groups]:
            raise w.ValueError(f"{type(self).__name__}: the state has groups of other sizes; make the optimiser of the same parameters")
        for group, saved in zip(self.param_groups, state_dict["param_groups"]):
            group.update({key: value for key, value in saved.items() if key != "params"})
        self.state = State({hash(flat[int(i)]): {key: x.clone() if isinstance(x, Tensor) else x for key, x in state.items()} for i, state in state_dict["state"].items()})

    @property
    def lr(self):
        return self.param_groups[0]["lr"]

    @lr.setter
    def lr(self, lr):
        for group in self.param_groups:
            group["lr"] = lr


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
        with forms.NAMES["enable_grad"]():
            loss = None if closure is None else closure()
        self.set_options()
        self.rule.step()
        return loss

    def state_dict(self):
        flat = [p for group in self.param_groups for p in group["params"]]
        self.state = State()
        for key, x in self.rule.state_dict().items():
            if "." in key:
                number, moment = key.split(".")
                self.state[flat[int(number)]][moment] = x.to(w.float32) if moment == "step" else x
        return super().state_dict()

    def load_state_dict(self, state_dict):
        super().load_state_dict(state_dict)
        self.set_options()
        steps = {f"{i}.step": names.CREATED["tensor"](int(state["step"])) for i, state in state_dict["state"].items()}
        moments = {f"{i}.{key}": x for i, state in state_dict["state"].items() for key, x in state.items() if key != "step"}
        if steps:
            self.rule.load_state_dict({"step": max(steps.values(), key=int), **steps, **moments})


class Adadelta(Optimizer):
    """Zeiler, "ADADELTA: an adaptive learning rate method", 2012, algorithm 1, times lr."""

    def __init__(self, params, lr=1.0, rho=0.9, eps=1e-6, weight_decay=0):
        super().__init__(params, {"lr": lr, "rho": rho, "eps": eps, "weight_decay": weight_decay})

    def step(self):
        with forms.NAMES["no_grad"]():
            for group, p in [(group, p) for group in self.param_groups for p in group["params"] if p.grad is not None]:
                rho, eps, state, g = group["rho"], group["eps"], self.state[p], p.grad + group["weight_decay"] * p
                square, moved = state.get("square_avg", w.zeros_like(p)), state.get("acc_delta", w.zeros_like(p))
                state["square_avg"], state["step"] = rho * square + (1 - rho) * g * g, state.get("step", 0) + 1
                delta = w.sqrt(moved + eps) / w.sqrt(state["square_avg"] + eps) * g
                state["acc_delta"] = rho * moved + (1 - rho) * delta * delta
                p.add_(delta, -group["lr"])


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

    def get_last_lr(self):
        return [group["lr"] for group in self.optimizer.param_groups]

    def state_dict(self):
        return {"last_epoch": self.last_epoch, "base_lrs": self.base_lrs}

    def load_state_dict(self, state_dict):
        self.last_epoch, self.base_lrs = state_dict["last_epoch"] - 1, state_dict["base_lrs"]
        self.step()


def scheduler(name, parameters, rate):
    def __init__(self, optimizer, *args, last_epoch=-1, **options):
        given = {**parameters, **dict(zip(parameters, args)), **options}
        if set(given) != set(parameters) or ... in given.values():
            raise TypeError(f"{name}: it takes optimizer, {', '.join(parameters)}")
        LRScheduler.__init__(self, optimizer, lambda t, lr, i: rate(t, lr, i, **given), last_epoch)
    return type(name, (LRScheduler,), {"__init__": __init__})


SCHEDULERS = {"LambdaLR": ({"lr_lambda": ...}, lambda t, lr, i, lr_lambda: lr * (lr_lambda[i] if isinstance(lr_lambda, (list, tuple)) else lr_lambda)(t)),
              "StepLR": ({"step_size": ..., "gamma": 0.1}, lambda t, lr, i, step_size, gamma: lr * gamma ** (t // step_size)),
              "MultiStepLR": ({"milestones": ..., "gamma": 0.1}, lambda t, lr, i, milestones, gamma: lr * gamma ** sum(t >= m for m in milestones)),
              "ExponentialLR": ({"gamma": ...}, lambda t, lr, i, gamma: lr * gamma**t),
              "CosineAnnealingLR": ({"T_max": ..., "eta_min": 0.0}, lambda t, lr, i, T_max, eta_min: eta_min + (lr - eta_min) * (1 + math.cos(math.pi * t / T_max)) / 2),
              "LinearLR": ({"start_factor": 1 / 3, "end_factor": 1.0, "total_iters": 5},
                           lambda t, lr, i, start_factor, end_factor, total_iters: lr * (start_factor + (end_factor - start_factor) * min(t, total_iters) / total_iters))}
lr_scheduler = {"LRScheduler": LRScheduler, **{name: scheduler(name, *parts) for name, parts in SCHEDULERS.items()}}
adam = {"lr": 1e-3, "betas": (0.9, 0.999), "eps": 1e-8}
RULES = {"SGD": {"lr": 1e-3, "momentum": 0, "weight_decay": 0, "nesterov": False}, "Adam": {**adam, "weight_decay": 0}, "AdamW": {**adam, "weight_decay": 0.01},
         "Muon": {"lr": 1e-3, "weight_decay": 0.1, "momentum": 0.95, "nesterov": True, "ns_coefficients": (3.4445, -4.7750, 2.0315), "eps": 1e-7, "ns_steps": 5}}
RULES = {name: type(name, (Native,), {"options": options, "make": staticmethod(getattr(optim, name))}) for name, options in RULES.items()}


def decay_groups(module, weight_decay):
    """Matrices decay; vectors do not."""
    ps = list(module.parameters())
    groups = [([p for p in ps if p.ndim >= 2], weight_decay), ([p for p in ps if p.ndim < 2], 0.0)]
    return [{"params": group, "weight_decay": decay} for group, decay in groups if group]


optim.__dict__.update(RULES, Optimizer=Optimizer, Adadelta=Adadelta, decay_groups=decay_groups, lr_scheduler=names.namespace("optim.lr_scheduler", **lr_scheduler))
