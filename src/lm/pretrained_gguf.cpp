// GGUF files as Decoder: their metadata, and the names and layouts of their tensors.
#include <algorithm>
#include <cmath>

#include "lm/pretrained.h"
#include "weft/base/text.h"
#include "weft/io/json.h"
#include "weft/lm/pretrained.h"
#include "weft/packed/packed.h"

namespace weft::lm {

namespace {

using io::KeyReader;
using nlohmann::json;

const Names gguf_names = {{"token_embd.", "embed_tokens."},
                          {"position_embd.", "embed_positions."},
                          {"output_norm.", "norm."},
                          {"blk.", "layers."},
                          {".attn_norm.", ".input_layernorm."},
                          {".attn_qkv.", ".self_attn.qkv_proj."},
                          {".attn_q.", ".self_attn.q_proj."},
                          {".attn_k.", ".self_attn.k_proj."},
                          {".attn_v.", ".self_attn.v_proj."},
                          {".attn_q_norm.", ".self_attn.q_norm."},
                          {".attn_k_norm.", ".self_attn.k_norm."},
                          {".attn_output.", ".self_attn.o_proj."},
                          {".ffn_gate.", ".mlp.gate_proj."},
                          {".ffn_up.", ".mlp.up_proj."},
                          {".ffn_down.", ".mlp.down_proj."},
                          {".post_ffw_norm.", ".post_feedforward_layernorm."}};

// Rows of a head's neighbours 0, d/2, 1, d/2 + 1, … put back in the order 0, 1, …: llama's GGUF files have them
// so.
Tensor in_halves(const Tensor& x, std::int64_t heads) {
    if (!is_quantized(x.dtype())) {
        const std::int64_t rows = x.size(0) / heads;
        Shape split{heads, rows / 2, 2}, whole = x.shape();
        for (int axis = 1; axis < x.rank(); ++axis) split.push_back(x.size(axis));
        return x.reshape(split).transpose(1, 2).reshape(whole);
    }
    const std::int64_t rows = x.size(0) / heads;
    const auto bytes = static_cast<std::size_t>(bytes_of(x.dtype(), x.size(1)));
    const std::string_view given = raw_values(x);
    std::string moved(given);
    for (std::int64_t row = 0; row < x.size(0); ++row) {
        const std::int64_t head = row / rows, at = row % rows, half = rows / 2;
        const std::int64_t from = head * rows + at % half * 2 + at / half;
        given.copy(&moved[static_cast<std::size_t>(row) * bytes], bytes,
                   static_cast<std::size_t>(from) * bytes);
    }
    const Tensor y = empty(x.shape(), x.dtype());
    set_raw_values(y, moved);
    return y;
}

// What llama.cpp passes over for each of these architectures, unless the architecture's reader takes it before:
// found by running it (tests/golden/make_gguf_keys_golden.py).
const std::vector<std::string> harmless_in_gguf = {"vocab_size",
                                                   "tensor_data_layout",
                                                   "pooling_type",
                                                   "use_parallel_residual",
                                                   "attention.layer_norm_epsilon",
                                                   "attention.layer_norm_rms_epsilon",
                                                   "attention.sliding_window",
                                                   "attention.clamp_kqv",
                                                   "attn_logit_softcapping",
                                                   "final_logit_softcapping",
                                                   "logit_scale",
                                                   "embedding_scale",
                                                   "residual_scale",
                                                   "rope.scaling.finetuned",
                                                   "rope.scaling.original_context_length"};

DecoderConfig read_sizes(KeyReader& keys, const io::Gguf& file) {
    keys.ignore(harmless_in_gguf);
    DecoderConfig c{.vocab_size = file.at("token_embd.weight").shape()[0],
                    .block_size = keys.size("context_length", 1000 * million),
                    .num_layers = keys.size("block_count", 10'000),
                    .num_heads = keys.size("attention.head_count", million),
                    .d_model = keys.size("embedding_length", million),
                    .dim_feedforward = keys.size("feed_forward_length", 100 * million)};
    c.num_kv_heads = keys.size("attention.head_count_kv", c.num_heads, c.num_heads);
    c.head_dim = keys.size("attention.key_length", million, std::max<std::int64_t>(1, c.d_model / c.num_heads));
    (void)keys.choice("attention.value_length", {c.head_dim}, 0);
    (void)keys.choice("attention.causal", {true}, 0);
    for (const char* name : {"expert_count", "expert_used_count"}) (void)keys.choice(name, {0}, 0);
    c.tied_head = !file.has("output.weight");
    return c;
}

DecoderConfig gguf_gpt2(KeyReader& keys, const io::Gguf& file) {
    DecoderConfig c = read_sizes(keys, file);
    c.norm = NormKind::layer, c.norm_eps = keys.number("attention.layer_norm_epsilon");
    c.norm_bias = c.qkv_bias = c.output_bias = c.mlp_bias = c.learned_positions = c.fused_qkv = true;
    c.activation = Activation::gelu_tanh, c.gated = false;
    c.layers = {{.rotary = std::nullopt}};
    return c;
}

std::optional<double> attention_factor_of(KeyReader& keys) {
    const double factor = keys.number("rope.scaling.attn_factor", 1);
    return factor == 1 ? std::nullopt : std::optional(factor);
}

// What stretches the positions: the keys, and Llama 3's factors, which divide each pair's rate.
nn::RotaryScaling read_scaling(KeyReader& keys, const io::Gguf& file, const DecoderConfig& c) {
    using Scaling = nn::RotaryScaling;
    const std::vector<json> types{"none", "linear", "yarn"};
    const std::size_t type = keys.choice("rope.scaling.type", types, 1);
    const double old = keys.number("rope.scale_linear", 1);
    const double given = keys.number("rope.scaling.factor", old), factor = type == 0 ? 1 : given;
    Scaling scaling{.factor = factor};
    if (type == 2 && factor != 1) {
        scaling.kind = Scaling::yarn;
        scaling.original_length =
            keys.size("rope.scaling.original_context_length", 1000 * million, c.block_size);
    } else if (factor != 1) {
        scaling.kind = Scaling::linear;
    }
    for (const auto& [name, value] : {std::pair("ext_factor", 1),
                                      {"attn_factor", 1},
                                      {"beta_fast", 32},
                                      {"beta_slow", 1},
                                      {"log_multiplier", 0}})
        (void)keys.choice("rope.scaling.yarn_" + std::string(name), {value}, 0);
    if (const auto times = attention_factor_of(keys))  // beside the paper's
        scaling.attention_factor = *times * (scaling.kind == Scaling::yarn ? 1 + 0.1 * std::log(factor) : 1);
    if (!file.has("rope_freqs.weight")) return scaling;
    const Tensor factors = file.at("rope_freqs.weight");
    if (scaling.kind == Scaling::yarn)
        keys.wrong("rope_freqs.weight is there beside yarn, and Decoder computes one of both");
    if (is_quantized(factors.dtype()) || factors.shape() != Shape{c.head_dim / 2}) {
        keys.wrong("rope_freqs.weight does not have " + std::to_string(c.head_dim / 2) + " numbers");
        return scaling;
    }
    const std::vector<double> list = (factors.to(float64) * factor).to_vector<double>();
    return {.kind = Scaling::longrope,
            .original_length = c.block_size,
            .short_factor = list,
            .long_factor = list,
            .attention_factor = scaling.attention_factor.value_or(1)};
}

// llama and qwen2.
DecoderConfig gguf_llama(KeyReader& keys, const io::Gguf& file) {
    DecoderConfig c = read_sizes(keys, file);
    const auto has = [&](const char* part) { return file.has("blk.0." + std::string(part)); };
    c.norm_eps = keys.number("attention.layer_norm_rms_epsilon");
    c.qkv_bias = has("attn_q.bias"), c.output_bias = has("attn_output.bias"), c.mlp_bias = has("ffn_up.bias");
    (void)keys.choice("rope.dimension_count", {c.head_dim}, 0);
    c.layers = {{.rotary = nn::RotaryOptions{.base = keys.number("rope.freq_base", 1e4),
                                             .pairs = nn::RotaryPairs::halves,
                                             .scaling = read_scaling(keys, file, c)}}};
    return c;
}

DecoderConfig gguf_qwen3(KeyReader& keys, const io::Gguf& file) {
    DecoderConfig c = gguf_llama(keys, file);
    c.qk_norm = true;
    return c;
}

DecoderConfig gguf_gemma3(KeyReader& keys, const io::Gguf& file) {
    DecoderConfig c = gguf_qwen3(keys, file);
    // The file's weights of norms are 1 + w.
    c.norm_place = NormPlace::around, c.activation = Activation::gelu_tanh;
    c.embedding_scale = static_cast<double>(std::sqrt(static_cast<float>(c.d_model)));
    c.logits_softcap = keys.optional_number("final_logit_softcapping");
    const DecoderLayerOptions layer = c.layers[0],
                              local{.rotary = nn::RotaryOptions{.base = keys.number("rope.freq_base_swa", 1e4),
                                                                .pairs = nn::RotaryPairs::halves,
                                                                .scaling = {.attention_factor =
                                                                                attention_factor_of(keys)}},
                                    .window = keys.size("attention.sliding_window", 1000 * million)};
    // Of so many layers the last sees all; or whether each layer has the window.
    const json& windows = keys.take("attention.sliding_window_pattern");
    const bool is_list = windows.is_array() && std::ssize(windows) == c.num_layers;
    const std::int64_t pattern = is_list ? 1 : keys.size("attention.sliding_window_pattern", million, 6);
    c.layers.clear();
    for (std::int64_t i = 0; i < c.num_layers; ++i) {
        const json has_window = is_list ? windows[static_cast<std::size_t>(i)] : json((i + 1) % pattern != 0);
        c.layers.push_back(has_window == false || has_window == 0 ? layer : local);
    }
    if (c.num_layers == 62)
        c.attention_scale = 1 / std::sqrt(static_cast<double>(c.d_model) /
                                          static_cast<double>(c.num_heads));  // the 27B model's
    return c;
}

const std::map<std::string, DecoderConfig (*)(KeyReader& keys, const io::Gguf& file)> gguf_families = {
    {"llama", gguf_llama},
    {"qwen2", gguf_llama},
    {"qwen3", gguf_qwen3},
    {"gemma3", gguf_gemma3},
    {"gpt2", gguf_gpt2}};

}  // namespace

nn::NamedTensors from_gguf(io::Gguf file, const DecoderConfig& config) {
    const std::string architecture = file.metadata.text("general.architecture");
    const bool has_norms_after = config.norm_place == NormPlace::around;
    nn::NamedTensors state;
    for (const auto& [in_file, value] : file.tensors) {
        if (in_file == "rope_freqs.weight") continue;  // read by pretrained_config
        std::string name = in_file == "output.weight" ? "lm_head.weight" : renamed(in_file, gguf_names);
        const auto norms = has_norms_after ? Names{{".post_attention_norm.", ".post_attention_layernorm."},
                                                   {".ffn_norm.", ".pre_feedforward_layernorm."}}
                                           : Names{{".ffn_norm.", ".post_attention_layernorm."}};
        name = renamed(name, norms);
        const bool is_q = name.find(".self_attn.q_proj.") != std::string::npos,
                   is_k = name.find(".self_attn.k_proj.") != std::string::npos;
        const std::int64_t heads = is_q ? config.num_heads : config.num_kv_heads;
        const bool divides = value.shape().rank() > 0 && value.size(0) % (2 * heads) == 0;
        state.emplace_back(
            name, architecture == "llama" && (is_q || is_k) && divides ? in_halves(value, heads) : value);
    }
    return without_tied_head(std::move(state), config);
}

DecoderConfig pretrained_config(const io::Gguf& file, const PretrainedOptions& options) {
    const io::GgufMetadata& meta = file.metadata;
    const std::string architecture = meta.text("general.architecture");
    ErrorList errors;
    DecoderConfig config;
    const auto found = gguf_families.find(architecture);
    if (found == gguf_families.end()) {
        errors.add("its architecture is \"" + excerpt(architecture) +
                   "\", and Decoder computes llama, qwen2, qwen3, gemma3 and gpt2");
    } else if (!file.has("token_embd.weight") || file.at("token_embd.weight").shape().rank() != 2) {
        errors.add("it has no matrix token_embd.weight");
    } else {
        // Keys of other names are the tokenizer's, or say where the file comes from.
        const json object = io::keys_of(meta, architecture + ".");
        KeyReader keys(object, errors, "Decoder", options.ignore_keys, architecture + ".");
        config = finished(found->second(keys, file), keys, errors);
    }
    refuse_errors(meta.file(), errors);
    return config;
}

}  // namespace weft::lm
