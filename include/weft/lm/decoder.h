// Decoder: one causal transformer whose options are what published models differ in.
// B batch, T tokens, S tokens so far, C = d_model, V vocabulary, H heads, G key-value heads, D = head_dim, F
// width of the MLP.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "weft/lm/gpt.h"
#include "weft/nn/kv_cache.h"
#include "weft/nn/layers.h"
#include "weft/text/tokenizer.h"

namespace weft::lm {

// How a norm scales a token x.
enum class NormKind {
    rms,  // x / √(mean x² + ε) · w (Zhang and Sennrich, "Root mean square layer normalization", 2019)
    rms_plus_one,  // the same · (1 + w), so that w = 0 changes nothing (Gemma Team, "Gemma", 2024)
    layer          // (x − mean) / √(var + ε) · w + b (Ba, Kiros and Hinton, "Layer normalization", 2016)
};
// Where a block h = x + f(x) has its norms, for f attention and MLP.
enum class NormPlace {
    before,  // x + f(norm x) (Xiong et al., "On layer normalization in the transformer architecture", 2020)
    around,  // x + norm f(norm x) (Gemma Team, "Gemma 2", 2024, §2)
    after    // x + norm f(x) (OLMo Team, "2 OLMo 2 furious", 2025, §3.1)
};
// What an MLP does between its layers.
enum class Activation {
    silu,         // x · σ(x)
    gelu,         // x · Φ(x)
    gelu_tanh,    // its tanh form, as in GPT-2 and Gemma
    relu_squared  // max(x, 0)² (So et al., "Primer", 2021, §4)
};

// What may differ from layer to layer.
struct DecoderLayerOptions {
    std::optional<nn::RotaryOptions> rotary = nn::RotaryOptions{.pairs = nn::RotaryPairs::halves};  // or none
    std::optional<std::int64_t> window = {};  // the tokens that a query sees, itself included [no limit]
    bool operator==(const DecoderLayerOptions&) const = default;  // equal in each option
};

// The sizes and options of a Decoder; the defaults are those of Llama (Touvron et al., 2023), in small.
//
//     lm::DecoderConfig config{.vocab_size = 100, .num_layers = 2, .num_kv_heads = 2, .d_model = 32};
//     config.qk_norm = true;                 // as in Qwen3
//     config.layers = {{.window = 16}, {}};  // the first block sees 16 tokens, the second all
//     const lm::Decoder model(config, rng);  // model.layers[0].options.window == 16
struct DecoderConfig {
    std::int64_t vocab_size = 256;     // V
    std::int64_t block_size = 64;      // the tokens of its training; learned positions end there
    std::int64_t num_layers = 4;       // the number of blocks
    std::int64_t num_heads = 4;        // H
    std::int64_t num_kv_heads = 0;     // G, which divides H [H]
    std::int64_t d_model = 128;        // C
    std::int64_t head_dim = 0;         // D [C / H]
    std::int64_t dim_feedforward = 0;  // F [4 C]

    NormKind norm = NormKind::rms;             // of the norms
    double norm_eps = 1e-5;                    // ε
    NormPlace norm_place = NormPlace::before;  // in the blocks
    bool norm_bias = false;                    // of NormKind::layer
    bool qk_norm = false;                      // a norm of each query's and key's head, before rotary (Qwen3)
    std::vector<DecoderLayerOptions> layers = {};  // one for each block, or one [the defaults]
    bool learned_positions = false;                // a table (block_size, C) is added to the embeddings
    std::optional<double> attention_scale = {};    // of the scores [1/√D]
    bool scale_by_layer = false;  // scores of block i are also divided by i + 1 (GPT-2's option)
    std::optional<double> attention_softcap = {};  // of the scores, as AttentionOptions::softcap (Gemma 2)
    std::optional<double> logits_softcap = {};     // c · tanh(logits / c)
    bool qkv_bias = false;                         // of q_proj, k_proj and v_proj
    bool output_bias = false;                      // of o_proj
    bool mlp_bias = false;                         // of the MLP's layers
    bool fused_qkv = false;                        // one qkv_proj with the rows of q, k and v
    Activation activation = Activation::silu;      // of the MLP
    bool gated = true;  // down(act(gate x) ⊙ up x) (Shazeer, "GLU variants", 2020), else down(act(up x))
    double embedding_scale = 1;                             // multiplies the embeddings; Gemma's is √C
    bool tied_head = true;                                  // lm_head has the weight of embed_tokens
    bool operator==(const DecoderConfig&) const = default;  // equal in each option
};

// A parameter of a Decoder: its name in state_dict(), and its shape.
struct DecoderParameter {
    std::string name;  // "layers.0.mlp.up_proj.weight"
    Shape shape;       // of its values
    bool is_weight;    // of a linear layer or an embedding: may be half or in blocks
};
// Those of Decoder(config), a tied head once; allocates nothing. ValueError for sizes and options that do not
// fit.
//
//     const std::vector<lm::DecoderParameter> all = lm::decoder_parameters({.num_layers = 1});
//     // all.size() is 11
std::vector<DecoderParameter> decoder_parameters(const DecoderConfig& config);

class DecoderState;  // the tensors that parts are made of (src/lm/decoder.cpp)

// A norm of a Decoder, over the last axis: (…, n) → (…, n).
struct DecoderNorm : nn::Module {
    nn::Parameter weight, bias;  // (n,); bias where NormKind::layer has one
    const NormKind norm;         // the formula
    const double eps;            // ε
    DecoderNorm(const DecoderConfig& config, const DecoderState& state);  // made by Decoder
    Tensor operator()(const Tensor& x) const;                             // the formula
};

// What the blocks of one pass are given beside x.
//
//     const lm::DecoderPass pass{.mask = Mask::causal()};  // without rotary positions and cache
//     const lm::DecoderBlock& block = decoder.layers[0];
//     const lm::DecoderMLP& mlp = block.mlp;
//     const Tensor y = block(x, pass), z = mlp(x);  // x (B, T, C) → both (B, T, C)
struct DecoderPass {
    Mask mask = {};                           // which pairs of tokens are blocked
    const nn::RotaryTable* rotary = nullptr;  // of the layer's options, if it has any
    nn::KeyValueCache* cache = nullptr;       // the layer's, if there is one
};

// o_proj of the heads of attention, whose queries and keys are normed, then rotated. (B, T, C) → (B, T, C).
struct DecoderAttention : nn::Module {
    const std::int64_t num_heads, num_kv_heads, head_dim;  // H, G, D
    const AttentionOptions options;                        // the scale and the softcap
    std::optional<nn::Linear> qkv_proj;                    // C → (H + 2G) D, if fused
    std::optional<nn::Linear> q_proj, k_proj, v_proj;      // C → H D, G D and G D, if not
    std::optional<DecoderNorm> q_norm, k_norm;             // over D, if there is qk_norm
    nn::Identity heads;  // of the heads' outputs side by side, (B, T, H D): for hooks
    nn::Linear o_proj;   // H D → C
    DecoderAttention(const DecoderConfig& config, std::int64_t layer, const DecoderState& state);  // by Decoder
    Tensor operator()(const Tensor& x, const DecoderPass& pass) const;                             // as above
};

// down_proj(act(gate_proj x) ⊙ up_proj x), or down_proj(act(up_proj x)). (…, C) → (…, C).
struct DecoderMLP : nn::Module {
    const Activation activation;                                         // act
    std::optional<nn::Linear> gate_proj;                                 // C → F, if gated
    nn::Linear up_proj;                                                  // C → F
    nn::Linear down_proj;                                                // F → C
    DecoderMLP(const DecoderConfig& config, const DecoderState& state);  // made by Decoder
    Tensor operator()(const Tensor& x) const;                            // as above
};

// h = x + attention, y = h + MLP, with norms as NormPlace says. (B, T, C) → (B, T, C).
struct DecoderBlock : nn::Module {
    const DecoderLayerOptions options;  // of this layer
    // The parts have the names of transformers.
    std::optional<DecoderNorm> input_layernorm;  // before attention, unless norms are after
    DecoderAttention self_attn;                  // of the tokens in x
    DecoderNorm post_attention_layernorm;        // before the MLP; after attention where norms are after
    std::optional<DecoderNorm> pre_feedforward_layernorm;   // before the MLP, where norms are around
    DecoderMLP mlp;                                         // of each token
    std::optional<DecoderNorm> post_feedforward_layernorm;  // after the MLP, unless norms are before
    DecoderBlock(const DecoderConfig& config, std::int64_t layer,
                 const DecoderState& state);                            // made by Decoder
    Tensor operator()(const Tensor& x, const DecoderPass& pass) const;  // as above
};

// Options of one pass of a Decoder.
//
//     lm::DecoderPassOptions options{.last_only = true};
//     const Tensor last = decoder(tokens, options);  // (B, T) → (B, 1, V)
struct DecoderPassOptions {
    // Which of the S tokens are real, those in the caches included: bool (B, S), false for padding, which
    // stands on the left so that the last token is each sample's last. Padding changes no logit of a real
    // token.
    Tensor attention_mask = {};
    bool last_only = false;  // compute the logits of the last token alone, (B, 1, V)
};

// logits = lm_head(norm(blocks(embed_tokens(ids)))), as DecoderConfig says. ids int64 (B, T) or (T,) → (B, T,
// V) or (T, V). A GPT is a Decoder, too: decoder_config(gpt.config) and decoder_state(gpt.state_dict()) give
// its bits.
//
//     Rng rng(1);
//     const lm::Decoder model({.vocab_size = 65, .num_heads = 4, .num_kv_heads = 2, .d_model = 64}, rng);
//     const Tensor ids = randint(0, 65, {2, 16}, rng);  // (B, T)
//     const Tensor logits = model(ids);                 // (B, T, V)
//
// Names of parameters are those of transformers, without "model.". ShapeError for ids of another rank, more
// tokens than learned positions, or a mask that does not fit; IndexError for an id out of range.
struct Decoder : nn::Module {
    const DecoderConfig config;           // the constructor's argument
    nn::Embedding embed_tokens;           // (V, C)
    nn::Embedding embed_positions;        // (block_size, C), undefined without learned positions
    nn::ModuleList<DecoderBlock> layers;  // num_layers of them
    DecoderNorm norm;                     // after the last block
    nn::Linear lm_head;                   // C → V

    // Initial values from `rng` as GPT's: normal, with a deviation of 0.02 for embeddings and 1/√n for a layer
    // of n inputs, divided by √(2 · num_layers) where it adds to x. ValueError for what decoder_parameters
    // refuses.
    explicit Decoder(const DecoderConfig& config, Rng& rng = default_rng());
    // Made of the tensors in `state`, which have the names and shapes of decoder_parameters, without copying
    // them; weights may be half or in blocks. A tied head may be there, too, with the embedding's values.
    // ValueError with a line for each missing, unexpected or repeated name, wrong shape and wrong type.
    Decoder(const DecoderConfig& config, const nn::NamedTensors& state);

    Tensor operator()(const Tensor& ids, const DecoderPassOptions& options = {}) const;  // (B, T) → (B, T, V)
    // ids (B, T) of the T tokens that follow those in the caches → their logits (B, T, V), to rounding the last
    // T of a pass over S + T. ValueError unless there is one cache for each block, of one length; GraphError if
    // keys would enter the graph: call it under NoGrad; ShapeError where the caches do not apply. If it throws,
    // the caches are unchanged.
    Tensor operator()(const Tensor& ids, std::vector<nn::KeyValueCache>& caches,
                      const DecoderPassOptions& options = {}) const;
    // Whether caches whose longest() is `past` apply in a sequence of S tokens. They do not where rotary angles
    // depend on the length (RotaryScaling's dynamic and longrope) and differ.
    bool caches_apply(std::int64_t past, std::int64_t S) const;
    // One empty cache for each block, of `capacity` tokens [block_size]; of bfloat16 or float16 if wanted.
    std::vector<nn::KeyValueCache> make_caches(std::optional<DType> stored_as = {},
                                               std::optional<std::int64_t> capacity = {}) const;

private:
    std::vector<nn::RotaryOptions> rotaries_;  // each different one of the layers
    Decoder(const DecoderConfig& config, const DecoderState& state);
    Tensor forward(const Tensor& ids, std::vector<nn::KeyValueCache>* caches,
                   const DecoderPassOptions& options) const;
};

// The options with which a Decoder is that GPT, which has neither dropout nor options of attention beside
// grouped heads, widths and rotary positions. ValueError for a GPT with others.
DecoderConfig decoder_config(const GPTConfig& config);
// A GPT's state_dict with the names of a Decoder.
//
//     const lm::GPT gpt({.vocab_size = 65, .d_model = 64, .bias = true}, rng);
//     const lm::Decoder same(lm::decoder_config(gpt.config), lm::decoder_state(gpt.state_dict()));
nn::NamedTensors decoder_state(const nn::NamedTensors& state);

// That of Decoder(config) after to() or pack(), and of its caches.
//
//     const lm::GPTMemory memory = lm::decoder_memory({.d_model = 64}, bfloat16);
GPTMemory decoder_memory(const DecoderConfig& config, DType weights = float32, std::optional<DType> cache = {});

// Looking inside a Decoder, by hooks on its modules: what its blocks would predict, which heads a prediction
// needs, and where in the model two prompts differ. T tokens, L layers, H heads, D = head_dim, C = d_model, V
// vocabulary. Each runs in evaluation mode and under NoGrad, and leaves no hook behind; hooks that are there
// act, too.

// The logit lens: the logits of the token after T ids that the model would give if it ended after each of its
// blocks. Row l is lm_head(norm(h)), with the soft cap if there is one, of the last token's h (C,) out of
// layers[l] → (L, V). Row L − 1 is the model's own. (nostalgebraist, "interpreting GPT: the logit lens", 2020.)
//
//     const Tensor lens = lm::logit_lens(model, {1, 2, 0});  // (L, V)
//     const Tensor likeliest = argmax(lens, 1);              // (L,), a token for each layer
//
// ValueError for no ids; what the model refuses.
Tensor logit_lens(const Decoder& model, const text::Ids& ids);

// What the prediction of a token loses without each head, by zero ablation → (L, H), float64:
// e[l, h] = ln p(token | ids, head h of layer l switched off) − ln p(token | ids). Switched off means that the
// D columns of the head in what layers[l].self_attn.heads returns are 0 at each position. A head with e < 0
// helps. (Michel, Levy and Neubig, "Are sixteen heads really better than one?", 2019, §3.) A pass for each
// layer, over a batch of H.
//
//     const Tensor effects = lm::head_effects(model, {1, 2, 0}, 1);  // (L, H)
//     const double lost = min(effects).item();                       // by the head it needs most
//
// ValueError for no ids, IndexError for a token outside 0 … V − 1; what the model refuses.
Tensor head_effects(const Decoder& model, const text::Ids& ids, std::int64_t token);

// Where the model holds what tells two prompts apart, by activation patching → (L, T), float64. The model runs
// on `ids` with the output h[t] (C,) of layers[l] at position t replaced by that of a run on `other`. With d =
// the logit of other_token − that of token, for the token after the prompt, e[l, t] = (d(patched) − d(ids)) /
// (d(other) − d(ids)): 0 is the prediction for `ids` and 1 that for `other`, to rounding; e[L − 1, T − 1] is 1.
// (Meng et al., "Locating and editing factual associations in GPT", 2022, §2, where the run that is patched
// has noise in its embeddings.) A pass for each layer, over a batch of T.
//
//     const Tensor moved = lm::patch_effects(model, {1, 2, 0}, {1, 3, 0}, 1, 2);  // (L, T)
//     const double at_the_end = moved[-1][-1].item();                             // about 1
//
// ValueError for no ids, prompts of different lengths, and where d is the same for both; IndexError for a token
// outside 0 … V − 1; what the model refuses.
Tensor patch_effects(const Decoder& model, const text::Ids& ids, const text::Ids& other, std::int64_t token,
                     std::int64_t other_token);

}  // namespace weft::lm
