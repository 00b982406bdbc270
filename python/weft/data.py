"""Batches of a dataset, files of dictionaries, and the categorical distribution, under PyTorch's names."""
from . import _weft as w, forms, functional as F, names
from ._weft import Tensor

save_module, load_module = w.save, w.load


class Dataset:
    """What has a length and items."""


class TensorDataset(Dataset):
    """Rows of tensors of the same length."""

    def __init__(self, *tensors):
        if len({x.size(0) for x in tensors}) != 1:
            raise w.ShapeError(f"TensorDataset: shapes {[x.shape for x in tensors]}; give tensors with as many rows")
        self.tensors = tensors

    def __getitem__(self, i):
        return tuple(x[i] for x in self.tensors)

    def __len__(self):
        return len(self.tensors[0])


class RandomSampler:
    """Random positions, each once, or with replacement as many as wanted, without end in memory."""

    def __init__(self, data_source, replacement=False, num_samples=None, generator=None):
        self.data_source, self.replacement, self.generator = data_source, replacement, generator or w.default_generator
        self.num_samples = len(data_source) if num_samples is None else num_samples

    def __iter__(self):
        n, left = len(self.data_source), self.num_samples
        while left > 0:
            drawn = (w.randint(0, n, (min(left, 4096),), self.generator) if self.replacement else w.randperm(n, self.generator)).tolist()[:left]
            yield from drawn
            left -= len(drawn)

    def __len__(self):
        return self.num_samples


def default_collate(items):
    """A batch of tensors, numbers, tuples and dictionaries, as PyTorch stacks them."""
    first = items[0]
    if isinstance(first, (tuple, list)):
        return [default_collate(column) for column in zip(*items)]
    if isinstance(first, dict):
        return {key: default_collate([item[key] for item in items]) for key in first}
    if isinstance(first, str):
        return list(items)
    return w.stack([x if isinstance(x, Tensor) else names.CREATED["tensor"](x, dtype=w.float64 if isinstance(x, float) else None) for x in items])


class DataLoader:
    """Batches of a dataset, in this process."""

    def __init__(self, dataset, batch_size=1, shuffle=None, sampler=None, num_workers=0, collate_fn=None, pin_memory=False, drop_last=False, generator=None):
        names.refuse("DataLoader", num_workers=(num_workers, 0), pin_memory=(pin_memory, False))
        if shuffle and sampler is not None:
            raise w.ValueError("DataLoader: both shuffle and sampler; give one")
        self.dataset, self.batch_size, self.drop_last, self.collate_fn = dataset, batch_size, drop_last, collate_fn or default_collate
        self.sampler = sampler if sampler is not None else RandomSampler(dataset, generator=generator) if shuffle else range(len(dataset))

    def __iter__(self):
        batch = []
        for i in self.sampler:
            batch.append(self.dataset[i])
            if len(batch) == self.batch_size:
                yield self.collate_fn(batch)
                batch = []
        if batch and not self.drop_last:
            yield self.collate_fn(batch)

    def __len__(self):
        return len(self.sampler) // self.batch_size if self.drop_last else -(-len(self.sampler) // self.batch_size)


# ---- files: tensors in safetensors, the rest of the dictionary as JSON in its metadata
def packed(x, path, tensors):
    """The JSON of x, whose tensors are named by their paths."""
    if isinstance(x, Tensor):
        tensors[path] = x.detach().contiguous()
        return {"tensor": path}
    if isinstance(x, dict):
        return {"dict": [[packed(key, "", None), packed(value, f"{path}.{key}".strip("."), tensors)] for key, value in x.items()]}
    if isinstance(x, (list, tuple)):
        return {type(x).__name__: [packed(item, f"{path}.{i}".strip("."), tensors) for i, item in enumerate(x)]}
    if x is not None and not isinstance(x, (bool, int, float, str)):
        raise w.ValueError(f"save: {path or 'the object'} is a {type(x).__name__}; save tensors, numbers, texts, and dictionaries and lists of them")
    return x


def unpacked(x, tensors):
    if not isinstance(x, dict):
        return x
    (kind, value), = x.items()
    if kind == "tensor":
        return tensors[value]
    if kind == "dict":
        return {unpacked(key, tensors): unpacked(item, tensors) for key, item in value}
    return (tuple if kind == "tuple" else list)(unpacked(item, tensors) for item in value)


def save(obj, path):
    """A module's state, or a dictionary or list of tensors, numbers and texts, as a safetensors file."""
    import json
    if isinstance(obj, w.nn.Module):
        return save_module(obj, path)
    tensors = {}
    tree = packed(obj, "", tensors)
    plain = isinstance(obj, dict) and all(isinstance(x, Tensor) and isinstance(key, str) for key, x in obj.items())
    w.save_safetensors(path, tensors, {} if plain else {"weft": json.dumps(tree)})


def load(f, path=None, strict=True, map_location=None):
    """load(path): what save wrote. load(module, path): the values of a module."""
    import json
    if isinstance(f, w.nn.Module):
        return load_module(f, path, strict)
    map_location is None or names.device(map_location)
    tensors, metadata = w._load(f)
    return unpacked(json.loads(dict(metadata)["weft"]), tensors) if "weft" in dict(metadata) else tensors


class Categorical:
    """Classes 0, 1, … with these probabilities along the last axis."""

    def __init__(self, probs=None, logits=None):
        if (probs is None) == (logits is None):
            raise w.ValueError("Categorical: give probs or logits, one of them")
        self.logits = F.log_softmax(logits, -1) if probs is None else w.log(probs / probs.sum(-1, True))
        self.probs = w.exp(self.logits)

    def sample(self, sample_shape=()):
        n = len(w.zeros(sample_shape).reshape(-1)) if sample_shape else 1
        drawn = w.multinomial(self.probs.detach().reshape(-1, self.probs.size(-1)), n, w.default_generator, True)
        return drawn.transpose(0, 1).reshape(*sample_shape, *self.probs.shape[:-1])

    def log_prob(self, value):
        return self.logits.expand(*value.shape, self.logits.size(-1)).gather(-1, value.unsqueeze(-1)).squeeze(-1)

    def entropy(self):
        return -(self.probs * self.logits).sum(-1)


DATA = {"Dataset": Dataset, "TensorDataset": TensorDataset, "RandomSampler": RandomSampler, "DataLoader": DataLoader, "default_collate": default_collate}
