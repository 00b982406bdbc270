"""The arguments of torch.nn.functional for Weft's functions of neural networks; also in weft itself."""
from . import _weft as _w
from ._weft import (batch_norm, binary_cross_entropy, binary_cross_entropy_with_logits, cross_entropy, gelu, huber_loss, kl_div, l1_loss, linear, mse_loss, nll_loss, one_hot,
                    pad, sigmoid, smooth_l1_loss, tanh)
from .tensors import FUNCTIONS as _functions, refuse as _refuse, update as _update

globals().update({name: getattr(_w, name) for name in _w._activations}, softmax=_functions["softmax"], log_softmax=_functions["log_softmax"])


def _activation(name):
    def activate(input, *args, inplace=False, **options):
        compute = lambda: getattr(_w, name)(input, *args, **options)
        return _update(name + "_", input, compute) if inplace else compute()
    return activate


def _normalised(name):
    """PyTorch's normalized_shape: Weft normalises the last axis."""
    def normalise(input, normalized_shape, weight=None, *args, **options):
        if tuple(normalized_shape if hasattr(normalized_shape, "__len__") else (normalized_shape,)) != tuple(input.shape[-1:]):
            raise _w.ShapeError(f"{name}: normalized_shape {normalized_shape} of a tensor {input.shape}; give the size of its last axis")
        return getattr(_w, name)(input, weight, *args, **options)
    return normalise


def _pool(name):
    return lambda input, kernel_size, stride=None, padding=0: getattr(_w, name)(input, *_pair(kernel_size), stride or 0, padding)


def _attention(name):
    return lambda query, key, value, *args, **options: getattr(_w, name)(query, key, value, *_options(*args, **options))


def _options(attn_mask=None, dropout_p=0.0, is_causal=False, scale=None):
    """attn_mask: a Mask, or as in PyTorch a bool tensor, true where a query may attend, or a bias; of rank 3 it is (H, T, S)."""
    if is_causal and attn_mask is not None:
        raise _w.ValueError("scaled_dot_product_attention: attn_mask should not be set when is_causal is; combine them: attn_mask=mask | Mask.causal(), or -inf in a bias")
    mask, bias = attn_mask if isinstance(attn_mask, _w.Mask) else _w.Mask(), None
    if isinstance(attn_mask, _w.Tensor):
        ranked = attn_mask.unsqueeze(0) if attn_mask.ndim == 3 else attn_mask
        mask, bias = (_w.Mask.allowed(ranked), None) if ranked.dtype == _w.bool else (mask, ranked)
    return mask | _w.Mask.causal() if is_causal else mask, bias, scale, dropout_p, _w.default_generator


def _square(what, name, value):
    """One number of PyTorch's (3, 3)."""
    if not isinstance(value, (tuple, list)):
        return value
    _refuse(what, **{name: (tuple(value), (value[0],) * len(value))})
    return value[0]


def conv2d(input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
    return _w.conv2d(input, weight, bias, _square("conv2d", "stride", stride), _square("conv2d", "padding", padding), _square("conv2d", "dilation", dilation), groups)


def embedding(input, weight, padding_idx=None, max_norm=None, norm_type=2.0, scale_grad_by_freq=False, sparse=False):
    _refuse("embedding", padding_idx=(padding_idx, None), max_norm=(max_norm, None), scale_grad_by_freq=(scale_grad_by_freq, False), sparse=(sparse, False))
    return _w.embedding(weight, input)


_pair = lambda size: (size, size) if isinstance(size, int) else size
relu, leaky_relu, elu, silu = map(_activation, ["relu", "leaky_relu", "elu", "silu"])
layer_norm, rms_norm, max_pool2d, avg_pool2d = _normalised("layer_norm"), _normalised("rms_norm"), _pool("max_pool2d"), _pool("avg_pool2d")
dropout = lambda input, p=0.5, training=True, generator=_w.default_generator: _w.dropout(input, p, generator, training)
unfold = lambda input, kernel_size, dilation=1, padding=0, stride=1: _w.unfold(input, *_pair(kernel_size), stride, padding, dilation)
fold = lambda input, output_size, kernel_size, dilation=1, padding=0, stride=1: _w.fold(input, *_pair(output_size), *_pair(kernel_size), stride, padding, dilation)
scaled_dot_product_attention, scaled_dot_product_attention_with_weights = map(_attention, ["scaled_dot_product_attention", "scaled_dot_product_attention_with_weights"])
multi_head_attention = lambda qkv, num_heads, *args, **options: _w.multi_head_attention(qkv, num_heads, *_options(*args, **options))
