"""What the golden scripts share: inputs, cases and the safetensors file they go to.

Every floating value that Weft is given (inputs and seed gradients) is representable in float32, so the float64 results serve
as the reference for float32 as well.
"""
import os
import re
import zlib

import numpy as np
import torch
from safetensors.numpy import load_file, save_file

torch.set_default_dtype(torch.float64)
torch.set_num_threads(1)


def versions():
    """One entry: more would be written in a random order, and the files would differ from run to run."""
    return {"made_by": f"tests/golden/make_golden.py with PyTorch {torch.__version__} and NumPy {np.__version__}"}


def generator(name):
    """A NumPy generator whose stream depends on the name alone, so that a new case changes no other."""
    return np.random.default_rng(zlib.crc32(name.encode()))


def representable(x):
    return np.asarray(x, dtype=np.float32).astype(np.float64)


def operation_of(name):
    """`softmax` of the sample softmax.last and of its arrays."""
    return re.split(r"[./+]", name)[0]


def others(path, only):
    """What a file has of other operations, where only some are made anew; else nothing."""
    return {name: x for name, x in load_file(path).items() if operation_of(name) not in only} if only else {}


class Golden:
    """A flat file of named arrays."""

    def __init__(self, arrays=()):
        self.arrays = dict(arrays)

    def put(self, name, x):
        if isinstance(x, torch.Tensor):
            x = x.detach().contiguous().numpy()
        x = np.ascontiguousarray(x) if np.ndim(x) else np.array(x)
        assert name not in self.arrays, name
        self.arrays[name] = x.copy()

    def save(self, path):
        save_file(self.arrays, path, metadata=versions())
        os.chmod(path, 0o644)
        print(f"{path}: {len(self.arrays)} arrays, {sum(a.nbytes for a in self.arrays.values())} bytes of values")


class Draw:
    """Inputs of one case; each method says what the values keep away from."""

    def __init__(self, name):
        self.rng = generator(name)

    def normal(self, *shape):
        return representable(self.rng.standard_normal(shape))

    def positive(self, *shape):  # 0.5 … 2.5
        return representable(0.5 + 2 * self.rng.random(shape))

    def away(self, *shape, gap=0.1):  # no value nearer to 0 than gap
        x = self.rng.standard_normal(shape)
        return representable(x + np.where(x < 0, -gap, gap))

    def distinct(self, *shape):  # no two values nearer than 0.1
        n = int(np.prod(shape))
        return representable((self.rng.permutation(n) - n / 2 + 0.25) * 0.125).reshape(shape)

    def integers(self, low, high, *shape):
        return self.rng.integers(low, high, size=shape, dtype=np.int64)

    def boolean(self, *shape):
        return self.rng.random(shape) < 0.4


def add_case(golden, name, function, inputs):
    """Stores inputs, outputs, a seed gradient per floating output, and the gradient of every floating input."""
    tensors = []
    for i, x in enumerate(inputs):
        x = np.asarray(x)
        golden.put(f"{name}/in{i}", x)
        t = torch.tensor(x)
        if t.is_floating_point():
            t.requires_grad_()
        tensors.append(t)
    outputs = function(*tensors)
    if not isinstance(outputs, (tuple, list)):
        outputs = (outputs,)
    draw = Draw(name + "/dy")
    total = None
    for i, y in enumerate(outputs):
        golden.put(f"{name}/out{i}", y)
        if y.is_floating_point() and y.requires_grad:
            dy = draw.normal(*y.shape)
            golden.put(f"{name}/dy{i}", dy)
            part = (torch.tensor(dy) * y).sum()
            total = part if total is None else total + part
    if total is None:
        return
    wanted = [(i, t) for i, t in enumerate(tensors) if t.requires_grad]
    for (i, _), g in zip(wanted, torch.autograd.grad(total, [t for _, t in wanted])):
        golden.put(f"{name}/grad{i}", g)
