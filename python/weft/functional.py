"""The arguments of torch.nn.functional for Weft's functions; also in weft itself."""
from . import _weft as _w
from .tensors import fail as _fail, refuse as _refuse, single as _single, update as _update

globals().update({name: f for name, f in vars(_w).items() if name[0] != "_" and type(f) is type(_w.exp)})
_pair = lambda size: (size, size) if isinstance(size, int) else size


def _activation(name):
    def activate(input, *args, inplace=False, **options):
        compute = lambda: getattr(_w, name)(input, *args, **options)
        return _update(name + "_", input, compute) if inplace else compute()
    return activate


def _normalised(name):
    """PyTorch's normalized_shape: Weft normalises the last axis."""
    def normalise(input, normalized_shape, weight=None, *args, **options):
        shape = tuple(normalized_shape if hasattr(normalized_shape, "__len__") else (normalized_shape,))
        return getattr(_w, name)(input, weight, *args, **options) if shape == input.shape[-1:] else _fail(
            _w.ShapeError, f"{name}: normalized_shape {normalized_shape} of a tensor {input.shape}; "
                           "give the size of its last axis")
    return normalise


def _attention(attn_mask=None, dropout_p=0.0, is_causal=False, scale=None, softcap=None):
    """attn_mask: a Mask, a bool tensor, true where a query may attend, or a bias, as in PyTorch; rank 3: (H, T, S)."""
    if is_causal and attn_mask is not None:
        raise _w.ValueError("scaled_dot_product_attention: attn_mask should not be set when is_causal is; "
                            "combine them: attn_mask=mask | Mask.causal(), or -inf in a bias")
    mask, bias = (_w.Mask(), attn_mask) if isinstance(attn_mask, _w.Tensor) else (attn_mask or _w.Mask(), None)
    bias = bias.unsqueeze(0) if bias is not None and bias.ndim == 3 else bias
    mask, bias = (_w.Mask.allowed(bias), None) if bias is not None and bias.dtype == _w.bool else (mask, bias)
    return mask | _w.Mask.causal() if is_causal else mask, bias, scale, softcap, dropout_p, _w.default_generator


relu, leaky_relu, elu, silu = map(_activation, ["relu", "leaky_relu", "elu", "silu"])
layer_norm, rms_norm = map(_normalised, ["layer_norm", "rms_norm"])
conv2d = lambda input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1: _w.conv2d(
    input, weight, bias, groups=groups, **_single("conv2d", stride=stride, padding=padding, dilation=dilation))
embedding = lambda input, weight, padding_idx=None, max_norm=None, norm_type=2.0, scale_grad_by_freq=False, \
    sparse=False: _refuse("embedding", padding_idx=(padding_idx, None), max_norm=(max_norm, None), sparse=(
        sparse, False), scale_grad_by_freq=(scale_grad_by_freq, False)) or _w.embedding(weight, input)
max_pool2d, avg_pool2d = [
    lambda input, kernel_size, stride=None, padding=0, f=f: f(input, *_pair(kernel_size), stride or 0, padding)
    for f in (_w.max_pool2d, _w.avg_pool2d)]
dropout = lambda input, p=0.5, training=True, generator=_w.default_generator: (
    _w.dropout(input, p, generator, training))
unfold = lambda input, kernel_size, dilation=1, padding=0, stride=1: (
    _w.unfold(input, *_pair(kernel_size), stride, padding, dilation))
fold = lambda input, output_size, kernel_size, dilation=1, padding=0, stride=1: (
    _w.fold(input, *_pair(output_size), *_pair(kernel_size), stride, padding, dilation))
scaled_dot_product_attention, scaled_dot_product_attention_with_weights = [
    lambda query, key, value, *args, f=f, **options: f(query, key, value, *_attention(*args, **options))
    for f in (_w.scaled_dot_product_attention, _w.scaled_dot_product_attention_with_weights)]
multi_head_attention = lambda qkv, num_heads, *args, **options: (
    _w.multi_head_attention(qkv, num_heads, *_attention(*args, **options)))
