// GGUF files as Decoder: their metadata, and the names and layouts of their tensors.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "lm/pretrained.h"
#include "weft/io/input_file.h"
#include "weft/lm/pretrained.h"

namespace weft::lm {

namespace {

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
    if (!x.packed()) {
        const std::int64_t rows = x.size(0) / heads;
        Shape split{heads, rows / 2, 2}, whole = x.shape();
        for (int axis = 1; axis < x.rank(); ++axis) split.push_back(x.size(axis));
        return x.reshape(split).transpose(1, 2).reshape(whole);
    }
    const PackedMatrix& w = *x.packed();
    const std::int64_t rows = w.rows() / heads;
    const auto bytes = static_cast<std::size_t>(w.row_bytes());
    return Tensor(PackedMatrix(w.format(), w.rows(), w.columns(), [&](std::span<std::byte> to) {
        for (std::int64_t row = 0; row < w.rows(); ++row) {
            const std::int64_t head = row / rows, at = row % rows, half = rows / 2;
            const std::int64_t from = head * rows + at % half * 2 + at / half;
            std::memcpy(to.data() + static_cast<std::size_t>(row) * bytes,
                        w.bytes().data() + static_cast<std::size_t>(from) * bytes, bytes);
        }
    }));
}

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

DecoderConfig pretrained_config(const io::Gguf& file) {
    const std::string here = "cannot read the model in " + io::display_path(file.metadata.file()) + ": ";
    const io::GgufMetadata& meta = file.metadata;
    const std::string architecture = meta.text("general.architecture"), prefix = architecture + ".";
    const auto is = [&](const char* name) { return architecture == name; };
    if (!is("llama") && !is("qwen2") && !is("qwen3") && !is("gemma3") && !is("gpt2"))
        throw IoError(here, "its architecture is \"", architecture,
                      "\", and Decoder computes llama, qwen2, qwen3, gemma3 and gpt2");
    const auto size = [&](const std::string& key, std::optional<std::int64_t> otherwise = {}) {
        const std::int64_t n = meta.integer(prefix + key, otherwise);
        if (n < 1 || n > 1'000'000'000)
            throw IoError(here, prefix, key, " is ", n, ", not a whole number in 1 … 1000000000");
        return n;
    };
    if (!file.has("token_embd.weight") || file.at("token_embd.weight").shape().rank() != 2)
        throw IoError(here, "it has no matrix token_embd.weight");
    DecoderConfig c{.vocab_size = file.at("token_embd.weight").shape()[0],
                    .block_size = size("context_length"),
                    .num_layers = size("block_count"),
                    .num_heads = size("attention.head_count"),
                    .d_model = size("embedding_length"),
                    .dim_feedforward = size("feed_forward_length")};
    c.num_kv_heads = size("attention.head_count_kv", c.num_heads);
    c.head_dim = size("attention.key_length", std::max<std::int64_t>(1, c.d_model / c.num_heads));
    c.tied_head = !file.has("output.weight");
    const auto has = [&](const char* part) { return file.has("blk.0." + std::string(part)); };
    if (is("gpt2")) {
        c.norm = NormKind::layer, c.norm_eps = meta.number(prefix + "attention.layer_norm_epsilon", 1e-5);
        c.norm_bias = c.qkv_bias = c.output_bias = c.mlp_bias = c.learned_positions = c.fused_qkv = true;
        c.activation = Activation::gelu_tanh, c.gated = false;
        c.layers = {{.rotary = std::nullopt}};
        return c;
    }
    c.norm_eps = meta.number(prefix + "attention.layer_norm_rms_epsilon");
    c.qkv_bias = has("attn_q.bias"), c.output_bias = has("attn_output.bias"), c.mlp_bias = has("ffn_up.bias");
    c.qk_norm = is("qwen3") || is("gemma3");
    if (size("rope.dimension_count", c.head_dim) != c.head_dim)
        throw IoError(here, prefix, "rope.dimension_count is ", size("rope.dimension_count"),
                      ", and heads are ", c.head_dim, " wide");
    DecoderLayerOptions layer{
        .rotary = nn::RotaryOptions{.base = meta.number(prefix + "rope.freq_base", is("gemma3") ? 1e6 : 1e4),
                                    .pairs = nn::RotaryPairs::halves}};
    nn::RotaryScaling& scaling = layer.rotary->scaling;
    const std::string type =
        meta.has(prefix + "rope.scaling.type") ? meta.text(prefix + "rope.scaling.type") : "none";
    if (type == "linear") {
        scaling.kind = nn::RotaryScaling::linear;
        scaling.factor = meta.number(prefix + "rope.scaling.factor");
    } else if (type == "yarn") {
        scaling = {.kind = nn::RotaryScaling::yarn,
                   .factor = meta.number(prefix + "rope.scaling.factor"),
                   .original_length = size("rope.scaling.original_context_length")};
    } else if (type != "none") {
        throw IoError(here, prefix, "rope.scaling.type is \"", type,
                      "\", and Decoder computes none, linear and yarn of a GGUF file");
    }
    if (file.has("rope_freqs.weight")) {  // what divides each pair's rate: Llama 3's scaling, worked out
        const Tensor factors = file.at("rope_freqs.weight");
        if (factors.packed() || factors.shape() != Shape{c.head_dim / 2})
            throw IoError(here, "rope_freqs.weight does not have ", c.head_dim / 2, " numbers");
        const std::vector<double> list = factors.to(float64).to_vector<double>();
        scaling = {.kind = nn::RotaryScaling::longrope,
                   .original_length = c.block_size,
                   .short_factor = list,
                   .long_factor = list,
                   .attention_factor = 1};
    }
    c.layers = {layer};
    if (is("gemma3")) {
        // The file's weights of norms are 1 + w.
        c.norm_place = NormPlace::around, c.activation = Activation::gelu_tanh;
        c.embedding_scale = static_cast<double>(std::sqrt(static_cast<float>(c.d_model)));
        DecoderLayerOptions local{
            .rotary = nn::RotaryOptions{.base = meta.number(prefix + "rope.freq_base_swa", 1e4),
                                        .pairs = nn::RotaryPairs::halves},
            .window = size("attention.sliding_window")};
        c.layers.clear();
        for (std::int64_t i = 0; i < std::min<std::int64_t>(c.num_layers, 10'000); ++i)
            c.layers.push_back((i + 1) % 6 == 0 ? layer : local);
        if (c.num_layers == 62)
            c.attention_scale = 1 / std::sqrt(static_cast<double>(c.d_model) /
                                              static_cast<double>(c.num_heads));  // the 27B model's
    }
    return c;
}

}  // namespace weft::lm
