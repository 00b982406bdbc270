// States: whether they fit a module, and those of others.
#pragma once

#include <string>
#include <vector>

#include "weft/nn/module.h"

namespace weft::nn {

// Internal: Whether a state_dict fits a module.

// One entry of a module's state_dict.
struct ExpectedTensor {
    std::string name;
    Shape shape;
    DType dtype;
};
// Throws what load_state_dict of a module with these tensors throws; the module need not exist.
void check_state(const std::string& kind, const std::vector<ExpectedTensor>& expected,
                 const NamedTensors& state, bool strict);
// Throws what module.load_state_dict(state, strict) throws, and changes nothing.
void check_load(const Module& module, const NamedTensors& state, bool strict = true);

// Converts the weights of attention: fused and separate projections, and those of PyTorch, GPT-2 and Flax
// (docs/models.md#weights-of-attention). The values keep their bits and may share storage with the arguments.

// Joins W_q, W_k and W_v, of one module or of every one in a model, into W_qkv with the rows of Q, then K, then
// V; other tensors are unchanged, and the order is kept. ValueError when one of the three (or its bias) is
// missing, naming it, or W_qkv is already there; ShapeError when they take tokens of different widths.
//
//     fused.load_state_dict(nn::fused_state(separate.state_dict()));
//     separate.load_state_dict(nn::separate_state(fused.state_dict()));
NamedTensors fused_state(const NamedTensors& state);

// The inverse: splits every W_qkv into W_q, W_k and W_v. `rows` are the rows of Q, K and V, {H·d_k, G·d_k,
// G·d_v}, by default a third each. ShapeError unless they add up to the rows of W_qkv.
NamedTensors separate_state(const NamedTensors& state, const std::vector<std::int64_t>& rows = {});

// What torch.nn.MultiheadAttention saves under `prefix` ("encoder.layers.0.self_attn.", with its dot), for a
// MultiHeadAttention, or with kdim or vdim an Attention, of as many heads; other names are left out.
// ValueError, by name, on bias_k and bias_v (add_bias_kv), an unknown name and a missing one.
//
//     nn::MultiHeadAttention attention(8, 2);
//     attention.load_state_dict(nn::from_torch_multihead_attention(
//         {{"self_attn.in_proj_weight", ones({24, 8})}, {"self_attn.out_proj.weight", ones({8, 8})}},
//         "self_attn."));
NamedTensors from_torch_multihead_attention(const NamedTensors& state, const std::string& prefix = "");

// What GPT-2 saves of its attention under `prefix` ("h.0.attn."), for a CausalMultiHeadAttention with as many
// heads and bias; a causal mask is left out. ValueError, by name, on any other name and on a missing one;
// ShapeError unless c_attn.weight is (C, 3C).
//
//     nn::CausalMultiHeadAttention attention(768, 12, rng, {.bias = true});
//     attention.load_state_dict(nn::from_gpt2_attention(gpt2, "h.0.attn."));
NamedTensors from_gpt2_attention(const NamedTensors& state, const std::string& prefix = "");

// The parameters of a Flax module (flax.linen) of Dense, LayerNorm, RMSNorm and Embed layers, named by their
// paths. `layers` pairs the path of each Flax layer with the name of the layer here, in the result's order; a
// Flax layer may serve several.
//
//     const io::NamedTensors params = io::load_npz(path);  // "Dense_0/kernel" (64, 192), …
//     attention.load_state_dict(nn::from_flax(params, {{"Dense_0", "W_qkv"}, {"Dense_1", "W_out"}}));
//
// ValueError, by name, for a layer that `params` lacks, and for a tensor that is in no layer or occurs twice;
// ShapeError for a kernel or embedding that is no matrix, and a scale or bias that is no vector, as those of
// DenseGeneral.
NamedTensors from_flax(const NamedTensors& params,
                       const std::vector<std::pair<std::string, std::string>>& layers);

}  // namespace weft::nn
