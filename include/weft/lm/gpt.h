// Sampling: one token drawn from a language model's logits. V vocabulary.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "weft/core/tensor.h"
#include "weft/nn/layers.h"
#include "weft/nn/transformer.h"

namespace weft::lm {

// Options of sample.
struct SampleOptions {
    double temperature = 1;  // 0 takes the largest logit; ValueError if negative or not finite
    std::int64_t top_k = 0;  // keep the k largest logits; 0 or more than V keeps all. ValueError if negative
    Rng* rng = nullptr;      // default_rng() if null
    // Of those, keep the most likely ones, at least one, until their probabilities sum to p (Holtzman et al.,
    // "The curious case of neural text degeneration", 2020, §3.1); 1 keeps all. ValueError unless 0 < p ≤ 1.
    double top_p = 1;
    // Keep those whose probability is at least min_p times the largest (Nguyen et al., "Turning up the heat:
    // min-p sampling", 2024, §3), before top_k and top_p; 0 sets no limit. ValueError unless 0 ≤ min_p ≤ 1.
    double min_p = 0;
};

// One id, drawn with probability softmax(logits / temperature) from logits (V,) of any floating type. Among
// equal logits the first counts as the largest.
//
//     Rng rng(1);
//     const Tensor logits = tensor({0.0, 2, 1});
//     const std::int64_t likeliest = lm::sample(logits, {.temperature = 0});     // 1
//     const std::int64_t drawn = lm::sample(logits, {.top_k = 2, .rng = &rng});  // 1 or 2
//
// ShapeError unless logits are (V,) with V ≥ 1, DTypeError unless floating; ValueError for a logit of NaN or
// +∞, and if all are −∞, at every temperature.
std::int64_t sample(const Tensor& logits, const SampleOptions& options);

// GPT: a language model of causal transformer blocks (Radford et al., "Language models are unsupervised
// multitask learners", 2019, §2.3). B batch, T tokens, C = d_model, V vocabulary.

// The sizes and options of a GPT.
struct GPTConfig {
    std::int64_t vocab_size = 256;  // V
    std::int64_t block_size = 64;   // the largest number of tokens in a sequence
    std::int64_t num_layers = 4;    // the number of blocks
    std::int64_t num_heads = 4;     // H, in each block
    std::int64_t d_model = 128;     // C
    double dropout = 0;  // probability for attention weights, what a block adds to x, and the embeddings
    bool bias = false;   // whether linear layers and norms have one
    std::int64_t dim_feedforward = 0;    // hidden size of each block's MLP; 4 · d_model when 0
    double layer_norm_eps = 1e-5;        // eps of every norm
    nn::AttentionConfig attention = {};  // each block's; where it leaves out bias or dropout, the above
};

// logits = head(norm(blocks(x))), x = token_embedding(ids) + position_embedding(0 … T − 1); the head shares the
// weight of token_embedding (Press and Wolf, "Using the output embedding to improve language models", 2017).
// Where attention has rotary positions, x = token_embedding(ids). ids int64 (B, T) or (T,), each in 0 … V − 1,
// → logits (B, T, V) or (T, V).
//
//     Rng rng(1);
//     lm::GPT model({.vocab_size = 65, .block_size = 32, .d_model = 64}, rng);
//     const Tensor ids = randint(0, 65, {2, 16}, rng);  // (B, T)
//     const Tensor logits = model(ids);                 // (B, T, V)
//     // One head of keys and values for two of queries, and positions as angles:
//     const lm::GPT turned({.num_heads = 4, .attention = {.num_kv_heads = 2, .rotary_base = 10000}}, rng);
//
// Initial values are normal: embeddings with standard deviation 0.02, a projection from n inputs with 1/√n
// (GPT-2's 0.02 suits its width of 1600; at a width of 128 this learns much faster). As in GPT-2, a projection
// into the residual stream is divided by √(2 · num_layers). Biases are 0. ValueError unless the config's sizes
// are ≥ 1 (dim_feedforward ≥ 0), num_heads divides d_model, layer_norm_eps > 0, and attention leaves out
// max_seq_len and is what CausalMultiHeadAttention takes; ShapeError if T > block_size; IndexError for an id
// out of range.
struct GPT : nn::Module {
    const GPTConfig config;                       // the constructor's argument
    nn::Embedding token_embedding;                // (V, C)
    nn::Embedding position_embedding;             // (block_size, C), undefined with rotary positions
    nn::Dropout drop;                             // applied to the sum of the embeddings
    nn::ModuleList<nn::TransformerBlock> blocks;  // num_layers of them
    nn::LayerNorm norm;                           // after the last block
    nn::Linear head;                              // C → V, its weight tied to token_embedding

    GPT(const GPTConfig& config, Rng& rng = default_rng());  // initial values from `rng`
    Tensor operator()(const Tensor& ids) const;              // ids (B, T) → logits (B, T, V)
    // ids (B, T) of the T tokens that follow the S in the caches → their logits (B, T, V), to rounding the last
    // T of a pass over all S + T. The caches then hold S + T tokens, at most block_size.
    //
    //     const NoGrad no_grad;
    //     std::vector<nn::KeyValueCache> caches = model.make_caches();
    //     model(ids.slice(1, 0, 15), caches);                       // fills the caches
    //     const Tensor last = model(ids.slice(1, 15, 16), caches);  // (B, 1, V)
    //
    // ValueError unless there is one cache per block, all of one length; ShapeError if S + T > block_size;
    // GraphError if keys would enter the graph: call it under NoGrad. If it throws, the caches are unchanged.
    Tensor operator()(const Tensor& ids, std::vector<nn::KeyValueCache>& caches) const;
    // One empty cache of block_size tokens for each block; of bfloat16 or float16 if wanted.
    std::vector<nn::KeyValueCache> make_caches(std::optional<DType> stored_as = {}) const;

    // ids (T,) or (B, T), T ≥ 1, → (T + n,) or (B, T + n), n = max_new_tokens: appends n ids, each sampled from
    // the logits of the last block_size ids before it, with caches as weft::lm::generate.
    //
    //     const Tensor more = model.generate(ids, 8, {.rng = &rng});  // (B, T + 8)
    //
    // Runs in evaluation mode and under NoGrad, and restores both modes. ShapeError for other shapes;
    // ValueError if n < 0; and what `sample` refuses.
    Tensor generate(const Tensor& ids, std::int64_t max_new_tokens, const SampleOptions& options);

private:
    GPT(const GPTConfig& config, const nn::RngGuard& rng);
    Tensor embedded(const Tensor& ids, std::int64_t past) const;
};

// What a GPT takes in memory, in bytes.
//
//     const lm::GPTMemory memory = lm::memory_of({.d_model = 64}, bfloat16);
struct GPTMemory {
    std::int64_t weights, cache;  // of the parameters, and of a cache of block_size tokens
};
// That of GPT(config) after to() or pack(), and of make_caches(cache). Allocates nothing.
GPTMemory memory_of(const GPTConfig& config, DType weights = float32, std::optional<DType> cache = {});

// Refuses what GPT(config).load_state_dict(state) would, with the same errors, without making that GPT: sizes
// of unknown origin cost no memory before names, shapes and types (float32) are checked.
//
//     const lm::GPTConfig config{.vocab_size = 5, .block_size = 8, .num_layers = 1};
//     lm::check_state_dict(config, lm::GPT(config).state_dict());  // throws nothing
void check_state_dict(const GPTConfig& config, const nn::NamedTensors& state);

// GPT-2's checkpoints as lm::GPT (Radford et al., "Language models are unsupervised multitask learners", 2019),
// in the form of Hugging Face's transformers: a folder with config.json, model.safetensors, and the vocab.json
// and merges.txt that text::BytePairs reads. V vocabulary, C = d_model, F the MLP's hidden size.

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
