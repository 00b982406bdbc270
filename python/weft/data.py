"""Batches of a dataset, and files of dictionaries, under PyTorch's names."""
from itertools import islice

from . import _weft as w
from ._weft import Tensor
from .tensors import refuse, tensor


class Dataset:
    """What has a length and items."""


def default_collate(items):
    """A batch of tensors, numbers, tuples and dictionaries, as PyTorch stacks them."""
    first = items[0]
    if isinstance(first, (tuple, list)):
        return [default_collate(column) for column in zip(*items)]
    if isinstance(first, dict):
        return {key: default_collate([item[key] for item in items]) for key in first}
    if isinstance(first, str):
        return list(items)
    kind = w.float64 if isinstance(first, float) else None
    return w.stack([x if isinstance(x, Tensor) else tensor(x, kind) for x in items])


class DataLoader:
    """Batches of a dataset, in this process."""
    def __init__(self, dataset, batch_size=1, shuffle=None, sampler=None, num_workers=0, collate_fn=None,
                 pin_memory=False, drop_last=False, generator=None):
        refuse("DataLoader", num_workers=(num_workers, 0), pin_memory=(pin_memory, False))
        if shuffle and sampler is not None:
            raise w.ValueError("DataLoader: both shuffle and sampler; give one")
        self.dataset, self.batch_size, self.drop_last = dataset, batch_size, drop_last
        self.collate_fn, generator = collate_fn or default_collate, generator or w.default_generator
        self.sampler = range(len(dataset)) if sampler is None else sampler
        self.order = (lambda: w.randperm(len(dataset), generator).tolist()) if shuffle else lambda: self.sampler
    def __iter__(self):
        order = iter(self.order())
        for batch in iter(lambda: list(islice(order, self.batch_size)), []):
            if len(batch) == self.batch_size or not self.drop_last:
                yield self.collate_fn([self.dataset[i] for i in batch])
    __len__ = lambda self: (len(self.sampler) + (0 if self.drop_last else self.batch_size - 1)) // self.batch_size


# ---- files: tensors in safetensors, the rest of the dictionary as JSON in its metadata
def packed(x, path, tensors):
    """The JSON of x, whose tensors are named by their paths."""
    if isinstance(x, Tensor):
        while path in tensors:  # {"a": {"b": x}, "a.b": y}
            path += "'"
        tensors[path] = x.detach().contiguous()
        return {"tensor": path}
    if isinstance(x, dict):
        return {"dict": [[packed(key, "", None), packed(item, f"{path}.{key}".strip("."), tensors)]
                         for key, item in x.items()]}
    if isinstance(x, (list, tuple)):
        return {type(x).__name__: [packed(item, f"{path}.{i}".strip("."), tensors) for i, item in enumerate(x)]}
    if x is not None and not isinstance(x, (bool, int, float, str)):
        raise w.ValueError(f"save: {path or 'the object'} is a {type(x).__name__}; save tensors, numbers, texts, "
                           "and dictionaries and lists of them")
    return x


def save(obj, path):
    """A module's state, or a dictionary or list of tensors, numbers and texts, as a safetensors file."""
    import json
    obj = obj.state_dict() if isinstance(obj, w.nn.Module) else obj
    tree = packed(obj, "", tensors := {})
    flat = isinstance(obj, dict) and list(tensors) == list(obj)
    w.save_safetensors(path, tensors, {} if flat else {"weft": json.dumps(tree)})


def load(f, path=None, strict=True, map_location=None):
    """load(path): what save wrote. load(module, path): the values of a module."""
    import json
    if isinstance(f, w.nn.Module):
        return f.load_state_dict(load_safetensors(path), strict)
    tensor(0, device=map_location)  # refuses another device
    tensors, metadata = w._load(f)
    kinds = {"tensor": tensors.get, "dict": dict, "list": list, "tuple": tuple}
    unpacked = lambda x: next(kinds[kind](value) for kind, value in x.items())
    return json.loads(metadata["weft"], object_hook=unpacked) if "weft" in metadata else tensors


load_safetensors = lambda path: w._load(path)[0]
FILES = {"save": save, "load": load, "load_safetensors": load_safetensors}
DATA = {"Dataset": Dataset, "DataLoader": DataLoader, "default_collate": default_collate}
