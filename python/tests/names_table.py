"""PyTorch's names in public programs (names.txt), a call of each (rows.txt), and what the calls give in a library: python3 names_table.py
prints how many of the names Weft has."""
import ast
import collections
import math
import pathlib
import re

HERE = pathlib.Path(__file__).resolve().parent
LOOSE = re.compile(r"moments|extent|shares|seen|spread")  # of random numbers

# What the calls use, in the words of either library.
SHARED = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.rest = nn.Linear(8, 4), nn.Sequential(nn.ReLU(), nn.Linear(4, 2, bias=False))

    def forward(self, x):
        return self.rest(self.first(x))

class Squares(data.Dataset):
    def __len__(self):
        return 4

    def __getitem__(self, i):
        return torch.tensor([i, i * i]), i

class Descent(optim.Optimizer):
    def __init__(self, params, lr):
        super().__init__(params, dict(lr=lr))

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            for p in group["params"]:
                state = self.state[p]
                if len(state) == 0:
                    state["seen"] = torch.zeros_like(p)
                state["seen"].lerp_(p.grad, 0.5)
                p.mul_(0.9).add_(state["seen"], alpha=-group["lr"])

def ramp(*size):
    return torch.sin(torch.arange(math.prod(size), dtype=torch.float32)).reshape(*size)

def leaf():
    return ramp(2, 3).requires_grad_()

def filled(module):
    with torch.no_grad():
        for i, p in enumerate(module.parameters()):
            p.copy_(torch.cos(torch.arange(p.numel(), dtype=torch.float32) + i).reshape(p.shape))
    return module

def net():
    return Net()

def mha(batch_first):
    return filled(nn.MultiheadAttention(8, 2, batch_first=batch_first))

def stepped(optimizer):
    ps = [p for group in optimizer.param_groups for p in group["params"]]
    for _ in range(4):
        optimizer.zero_grad()
        sum((p**2).sum() + p.sum() for p in ps).backward()
        optimizer.step()
    return [p.detach().clone() for p in ps]

def rates(schedule):
    optimizer = optim.SGD([leaf()], lr=0.1)
    s = schedule(optimizer)
    return [optimizer.param_groups[0]["lr"]] + [(s.step(), optimizer.param_groups[0]["lr"])[1] for _ in range(4)]

def grads(f, *inputs):
    xs = [x.clone().requires_grad_() for x in inputs]
    y = f(*xs)
    y.sum().backward()
    return y, [x.grad for x in xs]

def changed(f, x):
    a = x.clone().requires_grad_()
    b = a * 2
    y = f(b)
    y.sum().backward()
    return y is b, b, a.grad

def visited(module, walk):
    names = []
    walk(module, lambda m: names.append(type(m).__name__))
    return names

def moments(tensors):
    x = next(iter(tensors))
    return x.mean().item(), x.std().item()

def extent(x):
    return x.min().item(), x.max().item(), x.mean().item(), x.std().item()

def shares(x):
    return (x == 0).float().mean().item(), x.max().item()

def seen(draws):
    return torch.stack(list(draws)).float().mean(0)

def spread(numbers, n):
    found = list(numbers)
    return [found.count(i) / len(found) for i in range(n)]

def modes(m):
    with m.no_grad():
        off = m.is_grad_enabled()
        with m.enable_grad():
            on = m.is_grad_enabled()
    return off, on, m.no_grad()(lambda: (leaf() * 2).requires_grad)()

def inferred(m):
    @m.inference_mode()
    def f():
        return (leaf() * 2).requires_grad
    return f(), (leaf() * 2).requires_grad

x, v, i, ids, img, q, heads = ramp(2, 3), ramp(3), torch.tensor([0, 2, 1]), torch.tensor([[0, 1, 2], [3, 1, 0]]), ramp(2, 3, 6, 6), ramp(2, 5, 8), ramp(2, 2, 4, 3)
p, c = torch.abs(x) + 0.1, x > 0.1
"""


def programs():
    """{name: [(positional, keywords)]}, an entry for each program."""
    found = collections.defaultdict(list)
    for line in (HERE / "names.txt").read_text().splitlines():
        if not line.startswith(("#", "==")):
            for name, arguments in re.findall(r"([\w.]+)(?:\(([^)]*)\))?", line):
                words = arguments.split()
                positional = next((99 if word == "*" else int(word) for word in words if word[0] in "*0123456789"), 0)
                found[name].append((positional, {word for word in words if word[0].isalpha()}))
    return found


def rows():
    """The calls, and the reasons of what is not there."""
    lines = [line for line in (HERE / "rows.txt").read_text().splitlines() if not line.startswith("#")]
    pairs = [line.split(": ", 1) for line in lines]
    return {name: text for name, text in pairs if name[0] != "-"}, {name[1:]: text for name, text in pairs if name[0] == "-"}


def given(name, text):
    """The most positional arguments and all keywords of the calls of that name; None where it is not there."""
    short, most, keywords = name.rsplit(".", 1)[-1], None, set()
    row, helpers = ast.parse(text.strip()), {node.name: node for node in ast.parse(SHARED).body if hasattr(node, "name")}
    called = [helpers[node.id] for node in ast.walk(row) if isinstance(node, ast.Name) and node.id in helpers]
    for node in [node for tree in [row, *called] for node in ast.walk(tree)]:
        if isinstance(node, ast.Attribute) and node.attr == short or isinstance(node, ast.Name) and node.id == short:
            most = most or 0
        if isinstance(node, ast.Constant) and node.value == short:  # setattr(x, "data", y)
            most = most or 0
        if isinstance(node, ast.Call) and getattr(node.func, "attr", getattr(node.func, "id", None)) == short:
            starred = any(isinstance(a, ast.Starred) for a in node.args)
            most = max(most or 0, 99 if starred else len(node.args))
            keywords |= {k.arg for k in node.keywords}
    return most, keywords


def environment(library):
    """The names that calls use, of Weft or of PyTorch."""
    import numpy
    names = {"torch": library, "nn": library.nn, "F": library.nn.functional, "optim": library.optim, "data": library.utils.data, "autograd": library.autograd,
             "math": math, "numpy": numpy, "OrderedDict": collections.OrderedDict}
    exec(SHARED, names)
    return names


def flat(value):
    """Numbers with their shapes, texts and None, in order."""
    if hasattr(value, "detach"):
        numbers = value.detach().reshape(-1).tolist()
        return [["tensor", list(value.shape), [float(f"{n:.9g}") for n in numbers]]]
    if isinstance(value, dict):
        return [item for key in value for item in [str(key), *flat(value[key])]]
    if isinstance(value, (list, tuple)):
        return [item for part in value for item in flat(part)]
    if value is None or isinstance(value, (bool, str)):
        return [value]
    if hasattr(value, "__float__"):
        return [float(value)]
    return [re.sub(r"^(torch|weft)\.", "", str(value))]


if __name__ == "__main__":
    present, absent = rows()
    print(f"{len(present)} of the {len(programs())} names of PyTorch that {sum(line.startswith('==') for line in open(HERE / 'names.txt'))} public programs use are there")
