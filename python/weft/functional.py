"""The arguments of torch.nn.functional for Weft's functions of neural networks; also in weft itself."""
from . import _weft as w
from ._weft import (Mask, Tensor, binary_cross_entropy_with_logits, conv2d, cross_entropy, elu, huber_loss, l1_loss, leaky_relu, linear,
                    log_softmax, mse_loss, nll_loss, one_hot, pad, relu, sigmoid, silu, softmax, softplus, tanh)


def last_axis(name, x, shape):
    """PyTorch's normalized_shape: Weft normalises the last axis."""
    if tuple(shape if hasattr(shape, "__len__") else (shape,)) != tuple(x.shape[-1:]):
        raise w.ShapeError(f"{name}: normalized_shape {shape} of a tensor {x.shape}; give the size of its last axis")


def layer_norm(input, normalized_shape, weight=None, bias=None, eps=1e-5):
    last_axis("layer_norm", input, normalized_shape)
    return w.layer_norm(input, weight, bias, eps)


def rms_norm(input, normalized_shape, weight=None, eps=None):
    last_axis("rms_norm", input, normalized_shape)
    return w.rms_norm(input, weight, eps)


def batch_norm(input, running_mean, running_var, weight=None, bias=None, training=False, momentum=0.1, eps=1e-5):
    return w.batch_norm(input, running_mean, running_var, weight, bias, training, momentum, eps)


def gelu(input, approximate="none"):
    return w.gelu(input, {"none": w.Gelu.exact, "tanh": w.Gelu.tanh}[approximate])


def dropout(input, p=0.5, training=True, generator=w.default_generator):
    return w.dropout(input, p, generator, training)


def embedding(input, weight):
    return w.embedding(weight, input)


def pair(size):
    return (size, size) if isinstance(size, int) else size


def unfold(input, kernel_size, dilation=1, padding=0, stride=1):
    return w.unfold(input, *pair(kernel_size), stride, padding, dilation)


def fold(input, output_size, kernel_size, dilation=1, padding=0, stride=1):
    return w.fold(input, *pair(output_size), *pair(kernel_size), stride, padding, dilation)


def max_pool2d(input, kernel_size, stride=None, padding=0):
    return w.max_pool2d(input, *pair(kernel_size), stride or 0, padding)


def avg_pool2d(input, kernel_size, stride=None, padding=0):
    return w.avg_pool2d(input, *pair(kernel_size), stride or 0, padding)


def options(attn_mask, dropout_p, is_causal, scale):
    """attn_mask: a Mask, or as in PyTorch a bool tensor, true where a query may attend, or a bias; of rank 3 it is (H, T, S)."""
    mask, bias = attn_mask if isinstance(attn_mask, Mask) else Mask(), None
    if isinstance(attn_mask, Tensor):
        ranked = attn_mask.unsqueeze(0) if attn_mask.ndim == 3 else attn_mask
        mask, bias = (Mask.allowed(ranked), None) if ranked.dtype == w.bool else (mask, ranked)
    return mask | Mask.causal() if is_causal else mask, bias, scale, dropout_p, w.default_generator


def scaled_dot_product_attention(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None):
    return w.scaled_dot_product_attention(query, key, value, *options(attn_mask, dropout_p, is_causal, scale))


def scaled_dot_product_attention_with_weights(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None):
    return w.scaled_dot_product_attention_with_weights(query, key, value, *options(attn_mask, dropout_p, is_causal, scale))


def multi_head_attention(qkv, num_heads, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None):
    return w.multi_head_attention(qkv, num_heads, *options(attn_mask, dropout_p, is_causal, scale))
