// GPT-2's checkpoints as lm::GPT (Radford et al., "Language models are unsupervised multitask learners", 2019),
// in the form of Hugging Face's transformers: a folder with config.json, model.safetensors, and the vocab.json
// and merges.txt that text::BytePairs reads. V vocabulary, C = d_model, F the MLP's hidden size.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "weft/lm/gpt.h"

namespace weft::lm {

// The sizes in a config.json, for a GPT with bias and without dropout.
//
//     const lm::GPTConfig config = lm::gpt2_config(folder / "config.json");
//
// IoError, naming the path and everything that is wrong at once: a size that is missing or not a whole number
// above 0; an n_head that does not divide n_embd; and what Weft's GPT does not compute: a model_type other than
// "gpt2", an activation_function other than GELU's tanh form ("gelu_new", "gelu_pytorch_tanh"),
// scale_attn_weights false, scale_attn_by_inverse_layer_idx, add_cross_attention, tie_word_embeddings false,
// and every key that GPT-2 neither has nor is known to ignore. Keys that `ignore_keys` names count as absent.
// reorder_and_upcast_attn only changes rounding in half precision and is ignored.
GPTConfig gpt2_config(const std::filesystem::path& path, const std::vector<std::string>& ignore_keys = {});

// A GPT-2's tensors as the state_dict of GPT(config): wte becomes token_embedding, wpe position_embedding, ln_f
// norm, h.i blocks.i, and in it ln_1 norm1, ln_2 norm2, attn.c_attn (C, 3C) attn.W_qkv, attn.c_proj attn.W_out,
// mlp.c_fc (C, F) mlp.W_in and mlp.c_proj (F, C) mlp.W_out, with W transposed: GPT-2's layers are x W + b.
//
//     nn::NamedTensors state = lm::from_gpt2(io::load_safetensors(path).tensors, config);
//
// Names may begin with "transformer.". An lm_head.weight (V, C) is allowed if it has the bits of wte.weight;
// the causal masks of older files, attn.bias and attn.masked_bias, are ignored. ValueError, listing every
// missing, unexpected and repeated name, every wrong shape and every type that is not floating.
nn::NamedTensors from_gpt2(const nn::NamedTensors& state, const GPTConfig& config);

// Options of load_gpt2.
//
//     const lm::GPT2Options exact{.dtype = float64};  // for load_gpt2(folder, exact); exact.dropout is 0
struct GPT2Options {
    DType dtype = float32;                      // or float64: the file's values are converted
    double dropout = 0;                         // probability in training; the file's are ignored
    std::vector<std::string> ignore_keys = {};  // of config.json, at your own risk
};

// The model in a folder, in evaluation mode: call train() to fine-tune it.
//
//     lm::GPT model = lm::load_gpt2(folder);
//     const text::Tokenizer tokenizer = text::BytePairs::load(folder);
//     const lm::GenerateOptions greedy = {.max_new_tokens = 5, .sampling = {.temperature = 0}};
//     const std::string text = lm::generate_text(model, tokenizer, "The loom", {.generate = greedy}).text;
//
// IoError, naming the file, for what gpt2_config, from_gpt2 or io::load_sharded_checkpoint refuses.
GPT load_gpt2(const std::filesystem::path& folder, const GPT2Options& options = {});

}  // namespace weft::lm
