// The sizes and options of a Decoder: what they allow, its parameters, its memory, and those of a GPT.
#include <algorithm>
#include <cmath>

#include "lm/pretrained.h"

namespace weft::lm {

namespace {

void check(const DecoderConfig& c) {
    const std::pair<const char*, std::int64_t> sizes[] = {{"vocab_size", c.vocab_size},
                                                          {"block_size", c.block_size},
                                                          {"num_layers", c.num_layers},
                                                          {"num_heads", c.num_heads},
                                                          {"d_model", c.d_model}};
    for (const auto& [name, size] : sizes)
        if (size < 1) throw ValueError("Decoder: ", name, " must be at least 1, not ", size);
    const std::pair<const char*, std::int64_t> defaults[] = {
        {"num_kv_heads", c.num_kv_heads}, {"head_dim", c.head_dim}, {"dim_feedforward", c.dim_feedforward}};
    for (const auto& [name, size] : defaults)
        if (size < 0)
            throw ValueError("Decoder: ", name, " must be at least 1, or 0 for the default, not ", size);
    if (c.head_dim == 0) nn::head_dim(c.d_model, c.num_heads, "Decoder");
    if (c.num_kv_heads > 0 && c.num_heads % c.num_kv_heads != 0)
        throw ValueError("Decoder: ", c.num_heads, " query heads cannot share ", c.num_kv_heads,
                         " key-value heads; num_kv_heads must divide num_heads");
    if (c.layers.size() > 1 && static_cast<std::int64_t>(c.layers.size()) != c.num_layers)
        throw ValueError("Decoder: options of ", c.layers.size(), " layers for ", c.num_layers,
                         " blocks; give one for each, one for all, or none");
    const std::pair<const char*, double> numbers[] = {{"norm_eps", c.norm_eps},
                                                      {"attention_scale", c.attention_scale.value_or(1)},
                                                      {"attention_softcap", c.attention_softcap.value_or(1)},
                                                      {"logits_softcap", c.logits_softcap.value_or(1)},
                                                      {"embedding_scale", c.embedding_scale}};
    for (const auto& [name, value] : numbers)
        if (!(value > 0 && std::isfinite(value)))
            throw ValueError("Decoder: ", name, " must be finite and above 0, not ", value);
    if (c.norm_bias && c.norm != NormKind::layer)
        throw ValueError("Decoder: norm_bias is an option of NormKind::layer");
    const std::int64_t D = c.head_dim == 0 ? c.d_model / c.num_heads : c.head_dim;
    for (const DecoderLayerOptions& layer : c.layers) {
        if (layer.window) (void)Mask::window(*layer.window);
        if (layer.rotary) (void)nn::rotary_table(0, 0, D, *layer.rotary, float32);
    }
}

std::int64_t qkv_rows(const DecoderConfig& c) { return (c.num_heads + 2 * c.num_kv_heads) * c.head_dim; }

}  // namespace

DecoderConfig checked(DecoderConfig config) {
    check(config);
    if (config.num_kv_heads == 0) config.num_kv_heads = config.num_heads;
    if (config.head_dim == 0) config.head_dim = config.d_model / config.num_heads;
    if (config.dim_feedforward == 0) config.dim_feedforward = 4 * config.d_model;
    auto& layers = config.layers;  // one for all where they are equal
    if (layers.empty()) layers.emplace_back();
    if (std::ranges::all_of(layers, [&](const auto& layer) { return layer == layers[0]; })) layers.resize(1);
    return config;
}

std::vector<DecoderParameter> decoder_parameters(const DecoderConfig& given) {
    const DecoderConfig c = checked(given);
    const std::int64_t C = c.d_model, F = c.dim_feedforward, D = c.head_dim;
    std::vector<DecoderParameter> all{{"embed_tokens.weight", {c.vocab_size, C}, true}};
    if (c.learned_positions) all.push_back({"embed_positions.weight", {c.block_size, C}, true});
    const auto norm = [&](const std::string& name, std::int64_t width) {
        all.push_back({name + ".weight", {width}, false});
        if (c.norm_bias) all.push_back({name + ".bias", {width}, false});
    };
    const auto layer = [&](const std::string& name, std::int64_t in, std::int64_t out, bool bias) {
        all.push_back({name + ".weight", {out, in}, true});
        if (bias) all.push_back({name + ".bias", {out}, false});
    };
    for (std::int64_t i = 0; i < c.num_layers; ++i) {
        const auto name = [i](const char* part) { return "layers." + std::to_string(i) + "." + part; };
        if (c.norm_place != NormPlace::after) norm(name("input_layernorm"), C);
        if (c.fused_qkv) layer(name("self_attn.qkv_proj"), C, qkv_rows(c), c.qkv_bias);
        if (!c.fused_qkv) {
            layer(name("self_attn.q_proj"), C, c.num_heads * D, c.qkv_bias);
            layer(name("self_attn.k_proj"), C, c.num_kv_heads * D, c.qkv_bias);
            layer(name("self_attn.v_proj"), C, c.num_kv_heads * D, c.qkv_bias);
        }
        if (c.qk_norm) norm(name("self_attn.q_norm"), D), norm(name("self_attn.k_norm"), D);
        layer(name("self_attn.o_proj"), c.num_heads * D, C, c.output_bias);
        norm(name("post_attention_layernorm"), C);
        if (c.norm_place == NormPlace::around) norm(name("pre_feedforward_layernorm"), C);
        if (c.norm_place != NormPlace::before) norm(name("post_feedforward_layernorm"), C);
        if (c.gated) layer(name("mlp.gate_proj"), C, F, c.mlp_bias);
        layer(name("mlp.up_proj"), C, F, c.mlp_bias);
        layer(name("mlp.down_proj"), F, C, c.mlp_bias);
    }
    norm("norm", C);
    if (!c.tied_head) layer("lm_head", C, c.vocab_size, false);
    return all;
}

// ---- GPTs

DecoderConfig decoder_config(const GPTConfig& gpt) {
    const nn::AttentionConfig& a = gpt.attention;
    const std::int64_t width = nn::head_dim(gpt.d_model, gpt.num_heads, "decoder_config");
    if (gpt.dropout != 0 || a.dropout.value_or(0) != 0 || (a.d_v != 0 && a.d_v != (a.d_k == 0 ? width : a.d_k)))
        throw ValueError("decoder_config: a Decoder has no dropout, and values as wide as keys");
    DecoderConfig config{.vocab_size = gpt.vocab_size,
                         .block_size = gpt.block_size,
                         .num_layers = gpt.num_layers,
                         .num_heads = gpt.num_heads,
                         .num_kv_heads = a.num_kv_heads,
                         .d_model = gpt.d_model,
                         .head_dim = a.d_k,
                         .dim_feedforward = gpt.dim_feedforward,
                         .norm = NormKind::layer,
                         .norm_eps = gpt.layer_norm_eps,
                         .norm_bias = gpt.bias,
                         .layers = {{.rotary = std::nullopt}},
                         .learned_positions = !a.rotary_base,
                         .qkv_bias = a.bias.value_or(gpt.bias),
                         .output_bias = a.bias.value_or(gpt.bias),
                         .mlp_bias = gpt.bias,
                         .fused_qkv = true,
                         .activation = Activation::gelu_tanh,
                         .gated = false};
    if (a.rotary_base) config.layers[0].rotary = nn::RotaryOptions{.base = *a.rotary_base};
    return config;
}

nn::NamedTensors decoder_state(const nn::NamedTensors& state) {
    static const Names names = {{"token_embedding.", "embed_tokens."},
                                {"position_embedding.", "embed_positions."},
                                {"blocks.", "layers."},
                                {".norm1.", ".input_layernorm."},
                                {".attn.W_qkv.", ".self_attn.qkv_proj."},
                                {".attn.W_out.", ".self_attn.o_proj."},
                                {".norm2.", ".post_attention_layernorm."},
                                {".mlp.W_in.", ".mlp.up_proj."},
                                {".mlp.W_out.", ".mlp.down_proj."}};
    nn::NamedTensors found;
    for (const auto& [name, value] : state)
        if (name != "head.weight") found.emplace_back(renamed(name, names), value);  // the head is tied
    return found;
}

GPTMemory decoder_memory(const DecoderConfig& given, DType weights, std::optional<DType> cache) {
    const DecoderConfig config = checked(given);
    GPTMemory memory{};
    for (const auto& [name, shape, is_weight] : decoder_parameters(config))
        memory.weights += bytes_as(weights, shape, is_weight);
    const DType kept = cache.value_or(computed_in(weights));
    memory.cache = config.num_layers * 2 * config.num_kv_heads * config.head_dim * config.block_size *
                   static_cast<std::int64_t>(itemsize(kept));
    return memory;
}

}  // namespace weft::lm
