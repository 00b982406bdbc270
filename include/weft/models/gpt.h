// GPT: a language model of causal transformer blocks (Radford et al., "Language models are unsupervised
// multitask learners", 2019, §2.3). B batch, T tokens, C = d_model, V vocabulary.
#pragma once

#include "weft/models/sample.h"
#include "weft/nn/embedding.h"
#include "weft/nn/module_list.h"
#include "weft/nn/transformer.h"

namespace weft::nn {

// A GPT's sizes.
struct GPTConfig {
    std::int64_t vocab_size = 256;  // V: how many tokens there are
    std::int64_t block_size = 64;   // the longest sequence
    std::int64_t num_layers = 4;    // blocks, one after another
    std::int64_t num_heads = 4;     // H, in each block
    std::int64_t d_model = 128;     // C: the width of a token
    double dropout = 0;  // on the attention weights, what is added to x, and the embeddings, in training
    bool bias = false;   // of every linear layer and norm
    std::int64_t dim_feedforward = 0;  // of each block's MLP; 4 · d_model when 0
    double layer_norm_eps = 1e-5;      // of every norm
};

// x = token_embedding(ids) + position_embedding(0 … T − 1), through the blocks, a last norm, and the head,
// whose weight is token_embedding's (Press and Wolf, "Using the output embedding to improve language models",
// 2017). ids int64 (B, T) or (T,), each in 0 … V − 1, → logits (B, T, V) or (T, V). First values are
// normal: embeddings with deviation 0.02, a projection from n inputs with 1/√n (GPT-2's 0.02 suits its width of
// 1600; at a width of 128 this learns much faster), divided by √(2 · num_layers) as GPT-2's where it leads into
// the residual stream; biases 0. ValueError when the config's sizes are not ≥ 1 (dim_feedforward ≥ 0),
// num_heads does not divide d_model, or layer_norm_eps is not above 0; ShapeError when T > block_size;
// IndexError on an id out of range.
struct GPT : Module {
    GPTConfig config;                     // as made
    Embedding token_embedding;            // (V, C)
    Embedding position_embedding;         // (block_size, C)
    Dropout drop;                         // on the embeddings' sum
    ModuleList<TransformerBlock> blocks;  // config.num_layers of them
    LayerNorm norm;                       // after the last block
    Linear head;                          // C → V, tied

    GPT(const GPTConfig& config, Rng& rng);      // first values from `rng`
    Tensor operator()(const Tensor& ids) const;  // ids (B, T) → logits (B, T, V)
    // The same for the T tokens that follow those in the caches, which take them in: what the pass over all S
    // tokens gives at the last T positions. One cache for each block, all of one length; make_caches() makes
    // them, for block_size tokens. ValueError on another number of caches or on lengths that differ; ShapeError
    // when S > block_size; GraphError unless a NoGrad lives. The caches are as before when it throws.
    Tensor operator()(const Tensor& ids, std::vector<KeyValueCache>& caches) const;
    std::vector<KeyValueCache> make_caches() const;  // one for each block, empty

    // ids (T,) or (B, T), T ≥ 1, → (T + n,) or (B, T + n), n = max_new_tokens: n times the next id, sampled
    // from what the model says about the last block_size ids; while all of them fit, each is computed once and
    // cached. In evaluation mode and outside the graph, whatever the modes were; they come back.
    Tensor generate(const Tensor& ids, std::int64_t max_new_tokens, const SampleOptions& options);

private:
    std::int64_t count_tokens(const Tensor& ids, std::int64_t past) const;
};

// Refuses whatever GPT(config).load_state_dict(state) would, without that GPT: names, shapes and types, which
// are float32, are compared before sizes of unknown origin cost memory.
void check_state_dict(const GPTConfig& config, const NamedTensors& state);

}  // namespace weft::nn
