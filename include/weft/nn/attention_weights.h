// Attention's weights in other forms: fused or separate projections, PyTorch's, GPT-2's. Each function takes
// and returns the named tensors of a state_dict. The values are the same to the last bit, outside the graph,
// and may share storage with the arguments. C = d_model.
#pragma once

#include <string>
#include <vector>

#include "weft/nn/module.h"

namespace weft::nn {

// Every W_q, W_k and W_v of a module or a whole model as one W_qkv, whose rows are those of Q, then K, then V;
// everything else is unchanged and in its place. ValueError where one of the three is missing (or the bias of
// one), naming it, or W_qkv is there already; ShapeError where they read tokens of different widths.
NamedTensors fused_state(const NamedTensors& state);

// The inverse: every W_qkv as W_q, W_k and W_v. `rows` are those of Q, K and V: {H·d_k, G·d_k, G·d_v}; a third
// each when not given. ShapeError where they are not all rows of a W_qkv.
NamedTensors separate_state(const NamedTensors& state, const std::vector<std::int64_t>& rows = {});

// What torch.nn.MultiheadAttention saves, under `prefix` ("encoder.layers.0.self_attn.", with its dot), for a
// MultiHeadAttention of as many heads: in_proj_weight becomes W_qkv; with kdim or vdim, q_proj_weight,
// k_proj_weight and v_proj_weight become W_q, W_k and W_v (make it with {.fused = false, .kdim = kdim,
// .vdim = vdim}); out_proj becomes W_out. Names without the prefix are left out. ValueError, by name, on
// bias_k and bias_v (add_bias_kv), on any other name, and on one that is missing; add_zero_attn leaves no trace
// in what is saved, and is not supported.
//
// Masks: PyTorch's module takes true for BLOCKED, in attn_mask and in key_padding_mask:
// Mask::blocked(attn_mask), Mask::blocked(key_padding_mask.unsqueeze(1).expand({B, T, S})). Its function
// torch.nn.functional.scaled_dot_product_attention takes true for VISIBLE: Mask::allowed(attn_mask). An
// attn_mask of (B·num_heads, T, S) is reshape({B, num_heads, T, S}) here.
NamedTensors from_torch_multihead_attention(const NamedTensors& state, const std::string& prefix = "");

// What GPT-2 saves of its attention under `prefix` ("h.0.attn."), for a CausalMultiHeadAttention of as many
// heads with bias: c_attn and c_proj are layers x W + b, so c_attn.weight (C, 3C) is transposed to W_qkv.weight
// (3C, C), and c_proj.weight to W_out.weight. The causal mask that older files keep as "bias" and "masked_bias"
// is left out. ValueError, by name, on any other name and on one that is missing; ShapeError where
// c_attn.weight is not (C, 3C).
NamedTensors from_gpt2_attention(const NamedTensors& state, const std::string& prefix = "");

}  // namespace weft::nn
