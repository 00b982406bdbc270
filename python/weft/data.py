"""Batches of a dataset, and files of dictionaries, under PyTorch's names."""
from . import _weft as w
from ._weft import Tensor
from .tensors import on_device, refuse, tensor

save_module, load_module = w.save, w.load


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
    return w.stack([tensor(x, dtype=w.float64 if isinstance(x, float) else None) if not isinstance(x, Tensor) else x for x in items])


class DataLoader:
    """Batches of a dataset, in this process."""

    def __init__(self, dataset, batch_size=1, shuffle=None, sampler=None, num_workers=0, collate_fn=None, pin_memory=False, drop_last=False, generator=None):
        refuse("DataLoader", num_workers=(num_workers, 0), pin_memory=(pin_memory, False))
        if shuffle and sampler is not None:
            raise w.ValueError("DataLoader: both shuffle and sampler; give one")
        self.dataset, self.batch_size, self.drop_last, self.collate_fn = dataset, batch_size, drop_last, collate_fn or default_collate
        drawn = lambda: w.randperm(len(dataset), generator or w.default_generator).tolist()
        self.sampler, self.order = sampler if sampler is not None else range(len(dataset)), drawn if shuffle else lambda: self.sampler

    def __iter__(self):
        batch = []
        for i in self.order():
            batch.append(self.dataset[i])
            if len(batch) == self.batch_size:
                yield self.collate_fn(batch)
                batch = []
        if batch and not self.drop_last:
            yield self.collate_fn(batch)

    __len__ = lambda self: len(self.sampler) // self.batch_size if self.drop_last else -(-len(self.sampler) // self.batch_size)


# ---- files: tensors in safetensors, the rest of the dictionary as JSON in its metadata
def packed(x, path, tensors):
    """The JSON of x, whose tensors are named by their paths."""
    if isinstance(x, Tensor):
        while path in tensors:  # {"a": {"b": x}, "a.b": y}
            path += "'"
        tensors[path] = x.detach().contiguous()
        return {"tensor": path}
    if isinstance(x, dict):
        return {"dict": [[packed(key, "", None), packed(value, f"{path}.{key}".strip("."), tensors)] for key, value in x.items()]}
    if isinstance(x, (list, tuple)):
        return {type(x).__name__: [packed(item, f"{path}.{i}".strip("."), tensors) for i, item in enumerate(x)]}
    if x is not None and not isinstance(x, (bool, int, float, str)):
        raise w.ValueError(f"save: {path or 'the object'} is a {type(x).__name__}; save tensors, numbers, texts, and dictionaries and lists of them")
    return x


def save(obj, path):
    """A module's state, or a dictionary or list of tensors, numbers and texts, as a safetensors file."""
    import json
    if isinstance(obj, w.nn.Module):
        return save_module(obj, path)
    tree = packed(obj, "", tensors := {})
    w.save_safetensors(path, tensors, {} if isinstance(obj, dict) and list(tensors) == list(obj) else {"weft": json.dumps(tree)})


def load(f, path=None, strict=True, map_location=None):
    """load(path): what save wrote. load(module, path): the values of a module."""
    import json
    if isinstance(f, w.nn.Module):
        return load_module(f, path, strict)
    on_device(map_location)
    tensors, metadata = w._load(f)
    kinds = {"tensor": tensors.get, "dict": dict, "list": list, "tuple": tuple}
    return json.loads(dict(metadata)["weft"], object_hook=lambda x: next(kinds[kind](value) for kind, value in x.items())) if metadata and "weft" in dict(metadata) else tensors


DATA = {"Dataset": Dataset, "DataLoader": DataLoader, "default_collate": default_collate}
