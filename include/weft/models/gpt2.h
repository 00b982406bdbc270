// GPT-2's checkpoints as nn::GPT (Radford et al., "Language models are unsupervised multitask learners", 2019),
// in the form in which Hugging Face's transformers keeps them: a folder with config.json and model.safetensors,
// and the tokeniser's vocab.json and merges.txt, which text::BytePairs reads. V vocabulary, C = d_model, F the
// MLP's hidden size.
#pragma once

#include <filesystem>

#include "weft/models/gpt.h"

namespace weft::nn {

// What config.json says, for a GPT with bias and without dropout. IoError, naming the path and everything that
// is wrong at once: a size that is missing or no whole number above 0, n_head that does not divide n_embd, and
// whatever Weft's GPT does not compute: another model_type than "gpt2", an activation_function other than
// GELU's tanh form
// ("gelu_new", "gelu_pytorch_tanh"), scale_attn_weights false, scale_attn_by_inverse_layer_idx,
// add_cross_attention, tie_word_embeddings false. reorder_and_upcast_attn changes rounding in half precision
// alone and is not looked at.
GPTConfig gpt2_config(const std::filesystem::path& path);

// What GPT-2 saves, as the state_dict of GPT(config): wte is token_embedding, wpe position_embedding, h.i is
// blocks.i with ln_1 norm1, ln_2 norm2, attn.c_attn (C, 3C) W_qkv, attn.c_proj W_out, mlp.c_fc (C, F) W_in and
// mlp.c_proj (F, C) W_out, and ln_f is norm. GPT-2's layers are x W + b, so their weights are transposed. With
// or without "transformer." before a name. lm_head.weight (V, C) may be there when it equals wte.weight to the
// bit; the causal masks that older files keep as attn.bias and attn.masked_bias are left out. ValueError that
// lists every missing, unexpected and repeated name, every other shape and every type that is not floating.
NamedTensors from_gpt2(const NamedTensors& state, const GPTConfig& config);

// How a GPT-2 is read.
struct GPT2Options {
    DType dtype = float32;  // or float64: the file's values are converted
    double dropout = 0;     // for training on; config.json's own are not read
};

// The model in a folder, in evaluation mode: call train() to train on. IoError, naming the file, where
// gpt2_config, from_gpt2 or io::load_safetensors refuses.
GPT load_gpt2(const std::filesystem::path& folder, const GPT2Options& options = {});

}  // namespace weft::nn
