"""PyTorch's optimisers with `param_groups`, their base class, and schedules of learning rates."""
from . import _weft as w, forms, names
from ._weft import Tensor, optim


class State(dict):
    """A dictionary for each parameter, made when it is asked for; copies of a handle are one parameter."""

    def __getitem__(self, p):
        return self.setdefault(p if isinstance(p, int) else hash(p), {})


class Optimizer:
    """The base class: groups of parameters with options, and a state for each parameter."""

    def __init__(self, params, defaults):
        groups = [params.named_parameters()] if isinstance(params, w.nn.Module) else list(params)
        if isinstance(params, w.nn.Module) or not (groups and isinstance(groups[0], dict)):
            groups = [{"params": groups[0] if isinstance(params, w.nn.Module) else groups}]
        self.defaults, self.state, self.param_groups, seen = defaults, State(), [], set()
        for group in groups:
            listed = [p[1] if isinstance(p, tuple) else p for p in forms.tensors(group["params"])]
            for p in listed:
                if not isinstance(p, Tensor) or not p.is_leaf:
                    raise w.GraphError(f"{type(self).__name__}: {type(p).__name__} is no leaf; pass parameters")
                if hash(p) in seen:
                    raise w.ValueError(f"{type(self).__name__}: a parameter of shape {p.shape} is there twice; leave one out")
                seen.add(hash(p))
            self.param_groups.append({**defaults, **group, "params": listed})
        if not seen:
            raise w.ValueError(f"{type(self).__name__}: there are no parameters; pass module.parameters()")

    def add_param_group(self, group):
        self.param_groups += Optimizer([group], self.defaults).param_groups

    def zero_grad(self, set_to_none=True):
        if not set_to_none:
            raise w.ValueError("zero_grad: set_to_none=False is not there, because gradients become None; leave it out")
        for group in self.param_groups:
            for p in group["params"]:
                p.grad = None

    def step(self, closure=None):
        """Calls `closure` for the loss, then `update(p, gradient, state, group)` for each parameter with a gradient."""
        with forms.NAMES["enable_grad"]():
            loss = None if closure is None else closure()
        with forms.NAMES["no_grad"]():
            for group in self.param_groups:
                for p in group["params"]:
                    if p.grad is not None:
                        self.update(p, p.grad, self.state[p], group)
        return loss

    def state_dict(self):
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


def native(name, **defaults):
    """An optimiser of Weft's, one for each group, whose options are those of `param_groups` at every step."""
    make = getattr(optim, name)

    def __init__(self, params, *args, **options):
        unknown = {key for key, value in options.items() if key not in defaults and value not in (None, False)}
        if unknown:
            raise TypeError(f"{name}: unknown arguments {sorted(unknown)}; it takes {', '.join(defaults)}")
        Optimizer.__init__(self, params, {**defaults, **dict(zip(defaults, args)), **{key: value for key, value in options.items() if key in defaults}})
        self.made = [(None, None)] * len(self.param_groups)
        for i in range(len(self.made)):
            self.rule(i)

    def rule(self, i):
        """The optimiser of group i: another, with the same state, when an option has changed."""
        group, (options, made) = self.param_groups[i], self.made[i] if i < len(self.made) else (None, None)
        wanted = {key: group[key] for key in defaults if key != "lr"}
        if options != wanted:
            state = made and made.state_dict()
            made = make(group["params"], lr=group["lr"], **wanted)
            state and made.load_state_dict(state)
            self.made[i:i + 1] = [(wanted, made)]
        made.lr = group["lr"]
        return made

    def step(self, closure=None):
        loss = None if closure is None else closure()
        for made in [self.rule(i) for i in range(len(self.param_groups))]:
            made.step()
        return loss

    def state_dict(self):
        """PyTorch's form: {"state": {number: {"step", "exp_avg", …}}, "param_groups": […]}."""
        self.state = State()
        for i, group in enumerate(self.param_groups):
            for key, x in self.rule(i).state_dict().items():
                number, _, moment = key.partition(".")
                if moment:
                    self.state[group["params"][int(number)]][moment] = x.to(w.float32) if moment == "step" else x
        return Optimizer.state_dict(self)

    def load_state_dict(self, state_dict):
        Optimizer.load_state_dict(self, state_dict)
        for i, group in enumerate(self.param_groups):
            own = [(j, self.state[hash(p)]) for j, p in enumerate(group["params"]) if hash(p) in self.state]
            flat = {f"{j}.{key}": names.CREATED["tensor"](x, dtype=w.int64) if key == "step" else x for j, state in own for key, x in state.items()}
            if flat:
                self.rule(i).load_state_dict({"step": max(x for key, x in flat.items() if key.endswith(".step")), **flat})
    members = {"__init__": __init__, "rule": rule, "step": step, "state_dict": state_dict, "load_state_dict": load_state_dict, "__doc__": f"torch.optim.{name}."}
    return type(name, (Optimizer,), members)


class Adadelta(Optimizer):
    """Zeiler, "ADADELTA: an adaptive learning rate method", 2012, algorithm 1, times lr."""

    def __init__(self, params, lr=1.0, rho=0.9, eps=1e-6, weight_decay=0):
        super().__init__(params, {"lr": lr, "rho": rho, "eps": eps, "weight_decay": weight_decay})

    def update(self, p, gradient, state, group):
        rho, eps, g = group["rho"], group["eps"], gradient + group["weight_decay"] * p
        for key in ["square_avg", "acc_delta"]:
            state.setdefault(key, w.zeros_like(p))
        state["step"] = state.get("step", 0) + 1
        state["square_avg"] = rho * state["square_avg"] + (1 - rho) * g * g
        delta = w.sqrt(state["acc_delta"] + eps) / w.sqrt(state["square_avg"] + eps) * g
        state["acc_delta"] = rho * state["acc_delta"] + (1 - rho) * delta * delta
        p.add_(delta, -group["lr"])


# ---- schedules: lr = the group's first lr · factor(steps)
class LRScheduler:
    def __init__(self, optimizer, factor, last_epoch=-1):
        self.optimizer, self.factor, self.last_epoch = optimizer, factor, last_epoch
        for group in optimizer.param_groups:
            group.setdefault("initial_lr", group["lr"])
        self.base_lrs = [group["initial_lr"] for group in optimizer.param_groups]
        self.step()

    def step(self):
        self.last_epoch += 1
        for i, (group, lr) in enumerate(zip(self.optimizer.param_groups, self.base_lrs)):
            group["lr"] = self.factor(self.last_epoch, lr, i)

    def get_last_lr(self):
        return [group["lr"] for group in self.optimizer.param_groups]

    def state_dict(self):
        return {"last_epoch": self.last_epoch, "base_lrs": self.base_lrs}

    def load_state_dict(self, state_dict):
        self.last_epoch, self.base_lrs = state_dict["last_epoch"] - 1, state_dict["base_lrs"]
        self.step()


def scheduler(name, parameters, factor):
    """A schedule whose factor depends on the step t, the first lr and these parameters."""
    def __init__(self, optimizer, *args, last_epoch=-1, **options):
        given = {**parameters, **dict(zip(parameters, args)), **options}
        if set(given) != set(parameters) or ... in given.values():
            raise TypeError(f"{name}: it takes optimizer, {', '.join(parameters)}")
        LRScheduler.__init__(self, optimizer, lambda t, lr, i: factor(t, lr, i, **given), last_epoch)
    return type(name, (LRScheduler,), {"__init__": __init__})


def cosine(t, lr, i, T_max, eta_min):
    import math
    return eta_min + (lr - eta_min) * (1 + math.cos(math.pi * t / T_max)) / 2


SCHEDULERS = {"LambdaLR": ({"lr_lambda": ...}, lambda t, lr, i, lr_lambda: lr * (lr_lambda[i] if isinstance(lr_lambda, (list, tuple)) else lr_lambda)(t)),
              "StepLR": ({"step_size": ..., "gamma": 0.1}, lambda t, lr, i, step_size, gamma: lr * gamma ** (t // step_size)),
              "MultiStepLR": ({"milestones": ..., "gamma": 0.1}, lambda t, lr, i, milestones, gamma: lr * gamma ** sum(t >= m for m in milestones)),
              "ExponentialLR": ({"gamma": ...}, lambda t, lr, i, gamma: lr * gamma**t), "CosineAnnealingLR": ({"T_max": ..., "eta_min": 0.0}, cosine),
              "LinearLR": ({"start_factor": 1 / 3, "end_factor": 1.0, "total_iters": 5},
                           lambda t, lr, i, start_factor, end_factor, total_iters: lr * (start_factor + (end_factor - start_factor) * min(t, total_iters) / total_iters))}
lr_scheduler = {"LRScheduler": LRScheduler, **{name: scheduler(name, *parts) for name, parts in SCHEDULERS.items()}}
adam = {"lr": 1e-3, "betas": (0.9, 0.999), "eps": 1e-8}
OPTIMISERS = {"Optimizer": Optimizer, "Adadelta": Adadelta, "Adam": native("Adam", **adam, weight_decay=0), "AdamW": native("AdamW", **adam, weight_decay=0.01),
              "SGD": native("SGD", lr=1e-3, momentum=0, weight_decay=0, nesterov=False)}


def decay_groups(module, weight_decay):
    """Matrices decay; vectors do not."""
    split = {}
    for p in module.parameters():
        split.setdefault(p.ndim >= 2, []).append(p)
    return [{"params": split[is_matrix], "weight_decay": weight_decay if is_matrix else 0.0} for is_matrix in sorted(split, reverse=True)]


optim.__dict__.update(OPTIMISERS, decay_groups=decay_groups)
optim.lr_scheduler = names.namespace("optim.lr_scheduler", **lr_scheduler)
