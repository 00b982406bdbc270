"""The arguments of torch.nn.functional for Weft's functions; also in weft itself."""
from . import _weft as _w
from .tensors import declared as _declared, fitted as _fitted, passed as _passed, update as _update

globals().update({name: f for name, f in vars(_w).items() if callable(f) and name[0] != "_" and not isinstance(f, type)})
_IN_PLACE = dict.fromkeys(["relu", "leaky_relu", "elu", "silu"], {"inplace": False})
_LACKING = {"padding_idx": None, "max_norm": None, "norm_type": 2.0, "scale_grad_by_freq": False, "sparse": False}
_pair = lambda size: (size, size) if isinstance(size, int) else size


def _activation(name):
    def activate(input, *args, inplace=False, **options):
        compute = lambda: getattr(_w, name)(input, *args, **options)
        return _update(name + "_", input, compute) if inplace else compute()
    return activate


def _adapted(name, **extra):
    """A function by its own arguments and `extra` ones."""
    own = _declared(name)
    return lambda *args, **options: getattr(_w, name)(**_passed(name, _fitted(name, args, options, own, **extra), own))


def _normalised(name):
    """PyTorch's normalized_shape: Weft normalises the last axis."""
    def normalise(input, normalized_shape, weight=None, *args, **options):
        if tuple(normalized_shape if hasattr(normalized_shape, "__len__") else (normalized_shape,)) != input.shape[-1:]:
            raise _w.ShapeError(f"{name}: normalized_shape {normalized_shape} of a tensor {input.shape}; "
                                "give the size of its last axis")
        return getattr(_w, name)(input, weight, *args, **options)
    return normalise


def _attention(attn_mask=None, dropout_p=0.0, is_causal=False, scale=None):
    """attn_mask: a Mask, or as in PyTorch a bool tensor, true where a query may attend, or a bias; of rank 3 it is (H, T, S)."""
    if is_causal and attn_mask is not None:
        raise _w.ValueError("scaled_dot_product_attention: attn_mask should not be set when is_causal is; "
                            "combine them: attn_mask=mask | Mask.causal(), or -inf in a bias")
    mask, bias = attn_mask if isinstance(attn_mask, _w.Mask) else _w.Mask(), None
    if isinstance(attn_mask, _w.Tensor):
        ranked = attn_mask.unsqueeze(0) if attn_mask.ndim == 3 else attn_mask
        mask, bias = (_w.Mask.allowed(ranked), None) if ranked.dtype == _w.bool else (mask, ranked)
    return mask | _w.Mask.causal() if is_causal else mask, bias, scale, dropout_p, _w.default_generator


globals().update({name: _activation(name) for name in _IN_PLACE})
conv2d, embedding = _adapted("conv2d"), _adapted("embedding", input=..., weight=..., **_LACKING)
layer_norm, rms_norm = map(_normalised, ["layer_norm", "rms_norm"])
max_pool2d, avg_pool2d = [lambda input, kernel_size, stride=None, padding=0, f=f: f(input, *_pair(kernel_size), stride or 0, padding)
                          for f in (_w.max_pool2d, _w.avg_pool2d)]
dropout = lambda input, p=0.5, training=True, generator=_w.default_generator: _w.dropout(input, p, generator, training)
unfold = lambda input, kernel_size, dilation=1, padding=0, stride=1: (
    _w.unfold(input, *_pair(kernel_size), stride, padding, dilation))
fold = lambda input, output_size, kernel_size, dilation=1, padding=0, stride=1: (
    _w.fold(input, *_pair(output_size), *_pair(kernel_size), stride, padding, dilation))
scaled_dot_product_attention, scaled_dot_product_attention_with_weights = [
    lambda query, key, value, *args, f=f, **options: f(query, key, value, *_attention(*args, **options))
    for f in (_w.scaled_dot_product_attention, _w.scaled_dot_product_attention_with_weights)]
multi_head_attention = lambda qkv, num_heads, *args, **options: (
    _w.multi_head_attention(qkv, num_heads, *_attention(*args, **options)))
