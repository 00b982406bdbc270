"""The arguments of torch.nn.functional for Weft's functions of neural networks; also in weft itself."""
from . import _weft as _w
from ._weft import (binary_cross_entropy, binary_cross_entropy_with_logits, conv2d, cross_entropy, huber_loss, kl_div, l1_loss, linear,
                    log_softmax, mse_loss, nll_loss, one_hot, pad, relu, sigmoid, smooth_l1_loss, softmax, tanh)

globals().update({name: getattr(_w, name) for name in _w._activations})  # silu, softplus, …


def _last_axis(name, x, shape):
    """PyTorch's normalized_shape: Weft normalises the last axis."""
    if tuple(shape if hasattr(shape, "__len__") else (shape,)) != tuple(x.shape[-1:]):
        raise _w.ShapeError(f"{name}: normalized_shape {shape} of a tensor {x.shape}; give the size of its last axis")


def layer_norm(input, normalized_shape, weight=None, bias=None, eps=1e-5):
    _last_axis("layer_norm", input, normalized_shape)
    return _w.layer_norm(input, weight, bias, eps)


def rms_norm(input, normalized_shape, weight=None, eps=None):
    _last_axis("rms_norm", input, normalized_shape)
    return _w.rms_norm(input, weight, eps)


def batch_norm(input, running_mean, running_var, weight=None, bias=None, training=False, momentum=0.1, eps=1e-5):
    return _w.batch_norm(input, running_mean, running_var, weight, bias, training, momentum, eps)


def gelu(input, approximate="none"):
    if approximate not in ("none", "tanh"):
        raise _w.ValueError(f"gelu: approximate is {approximate!r}; use 'none' or 'tanh'")
    return _w.gelu(input, _w.Gelu.tanh if approximate == "tanh" else _w.Gelu.exact)


def dropout(input, p=0.5, training=True, generator=_w.default_generator):
    return _w.dropout(input, p, generator, training)


def embedding(input, weight):
    return _w.embedding(weight, input)


def _pair(size):
    return (size, size) if isinstance(size, int) else size


def unfold(input, kernel_size, dilation=1, padding=0, stride=1):
    return _w.unfold(input, *_pair(kernel_size), stride, padding, dilation)


def fold(input, output_size, kernel_size, dilation=1, padding=0, stride=1):
    return _w.fold(input, *_pair(output_size), *_pair(kernel_size), stride, padding, dilation)


def max_pool2d(input, kernel_size, stride=None, padding=0):
    return _w.max_pool2d(input, *_pair(kernel_size), stride or 0, padding)


def avg_pool2d(input, kernel_size, stride=None, padding=0):
    return _w.avg_pool2d(input, *_pair(kernel_size), stride or 0, padding)


def _options(attn_mask, dropout_p, is_causal, scale):
    """attn_mask: a Mask, or as in PyTorch a bool tensor, true where a query may attend, or a bias; of rank 3 it is (H, T, S)."""
    if is_causal and attn_mask is not None:
        raise _w.ValueError("scaled_dot_product_attention: attn_mask should not be set when is_causal is; combine them: attn_mask=mask | Mask.causal(), or -inf in a bias")
    mask, bias = attn_mask if isinstance(attn_mask, _w.Mask) else _w.Mask(), None
    if isinstance(attn_mask, _w.Tensor):
        ranked = attn_mask.unsqueeze(0) if attn_mask.ndim == 3 else attn_mask
        mask, bias = (_w.Mask.allowed(ranked), None) if ranked.dtype == _w.bool else (mask, ranked)
    return mask | _w.Mask.causal() if is_causal else mask, bias, scale, dropout_p, _w.default_generator


def scaled_dot_product_attention(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None):
    return _w.scaled_dot_product_attention(query, key, value, *_options(attn_mask, dropout_p, is_causal, scale))


def scaled_dot_product_attention_with_weights(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None):
    return _w.scaled_dot_product_attention_with_weights(query, key, value, *_options(attn_mask, dropout_p, is_causal, scale))


def multi_head_attention(qkv, num_heads, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None):
    return _w.multi_head_attention(qkv, num_heads, *_options(attn_mask, dropout_p, is_causal, scale))
