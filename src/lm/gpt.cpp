// GPT. B batch, T tokens, C = d_model, V vocabulary.
#include "weft/lm/gpt.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "lm/caches.h"
#include "lm/pretrained.h"
#include "weft/base/text.h"
#include "weft/core/creation.h"
#include "weft/core/modes.h"
#include "weft/io/files.h"
#include "weft/io/json.h"
#include "weft/io/safetensors.h"
#include "weft/nn/clone.h"
#include "weft/nn/init.h"
#include "weft/nn/kv_cache.h"
#include "weft/nn/states.h"
#include "weft/packed/packed.h"

namespace weft::lm {

namespace {

const GPTConfig& checked_config(const GPTConfig& config) {
    const std::pair<const char*, std::int64_t> sizes[] = {{"vocab_size", config.vocab_size},
                                                          {"block_size", config.block_size},
                                                          {"num_layers", config.num_layers}};
    for (const auto& [name, size] : sizes)
        if (size < 1) throw ValueError("GPT: ", name, " must be at least 1, not ", size);
    nn::head_dim(config.d_model, config.num_heads, "GPT");
    if (config.attention.max_seq_len)
        throw ValueError("GPT: attention.max_seq_len is ", *config.attention.max_seq_len, ", but block_size, ",
                         config.block_size, ", is the longest sequence; leave it out");
    return config;
}

}  // namespace

GPT::GPT(const GPTConfig& config, Rng& rng) : GPT(config, nn::RngGuard(rng)) {}

GPT::GPT(const GPTConfig& given, const nn::RngGuard& guard)
    : nn::Module("GPT"),
      config(checked_config(given)),
      token_embedding(
          register_module("token_embedding", nn::Embedding(config.vocab_size, config.d_model, guard))),
      position_embedding(
          config.attention.rotary_base
              ? nn::Embedding()
              : register_module("position_embedding", nn::Embedding(config.block_size, config.d_model, guard))),
      drop(register_module("drop", nn::Dropout(config.dropout, guard))),
      blocks(register_module("blocks", nn::ModuleList<nn::TransformerBlock>())),
      norm(register_module("norm",
                           nn::LayerNorm(config.d_model, {.eps = config.layer_norm_eps, .bias = config.bias}))),
      head(register_module("head", nn::Linear(token_embedding.weight))) {
    Rng& rng = guard;
    for (std::int64_t i = 0; i < config.num_layers; ++i)
        blocks.append(nn::TransformerBlock(config.d_model, config.num_heads, rng,
                                           {.max_seq_len = config.block_size,
                                            .bias = config.bias,
                                            .dropout = config.dropout,
                                            .dim_feedforward = config.dim_feedforward,
                                            .layer_norm_eps = config.layer_norm_eps,
                                            .attention = config.attention}));

    if (rng.skips_init()) return;  // they will be loaded
    const NoGrad off;
    const double residual_scale = 1 / std::sqrt(2.0 * static_cast<double>(config.num_layers));
    for (auto& [name, parameter] : named_parameters()) {
        if (name.ends_with(".bias")) parameter.copy_(zeros(parameter.shape()));
        if (parameter.rank() < 2) continue;
        double deviation = 1 / std::sqrt(static_cast<double>(parameter.size(1)));
        if (name.ends_with("embedding.weight")) deviation = 0.02;
        if (name.ends_with("W_out.weight")) deviation *= residual_scale;
        parameter.copy_(nn::normal(parameter.shape(), 0, deviation, rng));
    }
}

// ids (B, T) or (T,) that follow `past` tokens → (B, T, C) or (T, C).
Tensor GPT::embedded(const Tensor& ids, std::int64_t past) const {
    if (ids.rank() != 1 && ids.rank() != 2)
        throw ShapeError("GPT: ids must be (B, T) or (T,), not ", ids.shape());
    const std::int64_t T = ids.size(-1);
    if (past + T > config.block_size)
        throw ShapeError("GPT: ", T, " tokens in ", ids.shape(),
                         (past > 0 ? " after " + std::to_string(past) + " in the caches" : std::string()),
                         ", but block_size is ", config.block_size, "; pass the last block_size tokens",
                         (past > 0 ? ", and clear the caches" : ""));
    Tensor x = token_embedding(ids);
    if (position_embedding.weight.defined()) x = x + position_embedding(arange(T) + static_cast<double>(past));
    return traced("embedded", drop(x));
}

Tensor GPT::operator()(const Tensor& ids) const {  // (B, T)
    return nn::located(*this, [&] {
        Tensor x = embedded(ids, 0);                                    // (B, T, C)
        for (const nn::TransformerBlock& block : blocks) x = block(x);  // (B, T, C)
        return traced("logits", head(norm(x)));                         // (B, T, V)
    });
}

Tensor GPT::operator()(const Tensor& ids, std::vector<nn::KeyValueCache>& caches) const {  // (B, T)
    check_caches("GPT", caches, blocks.size());
    const std::int64_t past = caches[0].length();
    const nn::CacheGuard guard(caches);
    return nn::located(*this, [&] {
        Tensor x = embedded(ids, past);                                               // (B, T, C)
        for (std::size_t i = 0; i < caches.size(); ++i) x = blocks[i](x, caches[i]);  // (B, T, C)
        return traced("logits", head(norm(x)));                                       // (B, T, V)
    });
}

std::vector<nn::KeyValueCache> GPT::make_caches(std::optional<DType> stored_as) const {
    std::vector<nn::KeyValueCache> caches;
    for (std::size_t i = 0; i < blocks.size(); ++i) caches.emplace_back(config.block_size, stored_as);
    return caches;
}

// GPT-2's config.json, and the tensors of a GPT under both names. C = d_model, F hidden size of the MLP.

namespace {

struct GPTEntry {
    std::string weft_name, gpt2_name;
    Shape shape;              // in GPT-2
    bool transposed = false;  // in Weft
};

// The widths of keys and values, and how many heads have them.
struct Widths {
    std::int64_t d_k, d_v, groups;
};
Widths widths(const GPTConfig& config) {
    const nn::AttentionConfig& a = config.attention;
    const std::int64_t width = nn::head_dim(config.d_model, config.num_heads, "GPT");
    return {a.d_k == 0 ? width : a.d_k, a.d_v == 0 ? width : a.d_v,
            a.num_kv_heads == 0 ? config.num_heads : a.num_kv_heads};
}

// All tensors but the tied head.
std::vector<GPTEntry> gpt_entries(const GPTConfig& config) {
    const std::int64_t C = config.d_model, F = config.dim_feedforward == 0 ? 4 * C : config.dim_feedforward;
    const nn::AttentionConfig& a = config.attention;
    const std::int64_t H = config.num_heads;
    const auto [d_k, d_v, G] = widths(config);
    std::vector<GPTEntry> all{{"token_embedding.weight", "wte.weight", {config.vocab_size, C}}};
    if (!a.rotary_base) all.push_back({"position_embedding.weight", "wpe.weight", {config.block_size, C}});
    // A norm of weight (C,) or a linear layer of weight (in, out), which in Weft is (out, in).
    const auto layer = [&](const std::string& weft_name, const std::string& gpt2_name, const Shape& weight,
                           bool bias) {
        all.push_back({weft_name + ".weight", gpt2_name + ".weight", weight, weight.rank() == 2});
        if (bias) all.push_back({weft_name + ".bias", gpt2_name + ".bias", {weight.back()}});
    };
    for (std::int64_t i = 0; i < config.num_layers; ++i) {
        const std::string block = "blocks." + std::to_string(i) + ".", h = "h." + std::to_string(i) + ".";
        layer(block + "norm1", h + "ln_1", {C}, config.bias);
        layer(block + "attn.W_qkv", h + "attn.c_attn", {C, H * d_k + G * (d_k + d_v)},
              a.bias.value_or(config.bias));
        layer(block + "attn.W_out", h + "attn.c_proj", {H * d_v, C}, a.bias.value_or(config.bias));
        layer(block + "norm2", h + "ln_2", {C}, config.bias);
        layer(block + "mlp.W_in", h + "mlp.c_fc", {C, F}, config.bias);
        layer(block + "mlp.W_out", h + "mlp.c_proj", {F, C}, config.bias);
    }
    layer("norm", "ln_f", {C}, config.bias);
    return all;
}

bool is_causal_mask(const std::string& name) {
    return name.starts_with("h.") && (name.ends_with(".attn.bias") || name.ends_with(".attn.masked_bias"));
}

}  // namespace

GPTConfig gpt2_config(const std::filesystem::path& path, const std::vector<std::string>& ignore_keys) {
    const nlohmann::json object = io::load_json(path);
    ErrorList errors;
    io::KeyReader file(object, errors, "GPT", ignore_keys);
    file.ignore(harmless_in_config);
    file.ignore({"n_ctx"});
    (void)file.choice("model_type", {"gpt2"}, 0);
    if (!file.has("model_type")) file.wrong("model_type is missing");
    GPTConfig config{.vocab_size = file.size("vocab_size", 100 * million),
                     .block_size = file.size("n_positions", 100 * million),
                     .num_layers = file.size("n_layer", 10'000),
                     .num_heads = file.size("n_head", million),
                     .d_model = file.size("n_embd", million),
                     .bias = true};
    config.layer_norm_eps = file.number("layer_norm_epsilon", config.layer_norm_eps);
    if (file.has("n_inner")) config.dim_feedforward = file.size("n_inner", 10 * million);
    const bool are_sizes = file.take("n_embd") == config.d_model && file.take("n_head") == config.num_heads;
    if (are_sizes && config.d_model % config.num_heads != 0)
        file.wrong("n_embd " + std::to_string(config.d_model) + " does not divide into n_head " +
                   std::to_string(config.num_heads) + " heads");
    (void)file.choice("activation_function", {"gelu_new", "gelu_pytorch_tanh"}, 0);
    for (const char* name : {"scale_attn_weights", "tie_word_embeddings"}) (void)file.choice(name, {true}, 0);
    for (const char* name : {"scale_attn_by_inverse_layer_idx", "add_cross_attention"})
        (void)file.choice(name, {false}, 0);
    file.finish();
    if (!errors.empty())
        throw IoError(io::display_path(path), " does not describe a GPT-2 that Weft can run:", errors);
    return config;
}

GPTMemory memory_of(const GPTConfig& config, DType weights, std::optional<DType> cache) {
    GPTMemory memory{};
    for (const GPTEntry& entry : gpt_entries(config))
        memory.weights += bytes_as(weights, entry.shape, entry.shape.rank() >= 2);
    const DType kept = cache.value_or(computed_in(weights));
    const auto [d_k, d_v, groups] = widths(config);
    memory.cache = config.num_layers * groups * (d_k + d_v) * config.block_size *
                   static_cast<std::int64_t>(itemsize(kept));
    return memory;
}

void check_state_dict(const GPTConfig& config, const nn::NamedTensors& state) {
    if (config.num_layers > static_cast<std::int64_t>(state.size()))  // before listing their names
        throw ValueError("load_state_dict: the state does not fit this GPT: ", state.size(),
                         " tensors are too few for ", config.num_layers, " layers");
    std::vector<nn::ExpectedTensor> expected;
    for (const GPTEntry& entry : gpt_entries(config)) {
        Shape shape = entry.shape;
        if (entry.transposed) std::swap(shape[0], shape[1]);
        expected.push_back({entry.weft_name, shape, float32});
    }
    expected.push_back({"head.weight", {config.vocab_size, config.d_model}, float32});
    nn::check_state("GPT", expected, state, true);
}

nn::NamedTensors from_gpt2(const nn::NamedTensors& state, const GPTConfig& config) {
    const std::string prefix = "transformer.";
    std::map<std::string, Tensor> left;
    ErrorList wrong;
    for (const auto& [full, value] : state) {
        const std::string name = full.starts_with(prefix) ? full.substr(prefix.size()) : full;
        if (!is_causal_mask(name) && !left.emplace(name, value.detach()).second)
            wrong.add("repeated: " + excerpt(full, 200));
    }
    std::vector<GPTEntry> entries = gpt_entries(config);
    if (left.contains("lm_head.weight"))
        entries.push_back({"head.weight", "lm_head.weight", {config.vocab_size, config.d_model}});
    nn::NamedTensors result;
    for (const GPTEntry& entry : entries) {
        const auto found = left.find(entry.gpt2_name);
        if (found == left.end()) {
            wrong.add("missing: " + entry.gpt2_name + " " + entry.shape.str());
            continue;
        }
        const Tensor value = found->second;
        left.erase(found);
        if (!(value.shape() == entry.shape))
            wrong.add(entry.gpt2_name + ": shape " + value.shape().str() + ", but it has to be " +
                      entry.shape.str());
        else if (!is_floating_point(value.dtype()))
            wrong.add(entry.gpt2_name + ": " + name(value.dtype()) + ", but it has to be floating");
        else
            result.emplace_back(entry.weft_name, entry.transposed ? value.T() : value);
    }
    if (!result.empty() && result.back().first == "head.weight") {
        if (!same_bits(result.back().second, result[0].second))
            wrong.add("lm_head.weight: its values differ from those of wte.weight, to which the head is tied");
        result.pop_back();
    }
    for (const auto& [name, value] : left)
        wrong.add("unexpected: " + excerpt(name, 200) + " " + value.shape().str());
    if (!wrong.empty()) throw ValueError("from_gpt2: the state is not that of a GPT-2 of these sizes:", wrong);
    result.emplace_back("head.weight", result[0].second);
    return result;
}

GPT load_gpt2(const std::filesystem::path& folder, const GPT2Options& options) {
    GPTConfig config = gpt2_config(folder / "config.json", options.ignore_keys);
    config.dropout = options.dropout;
    nn::NamedTensors state;
    try {
        state = from_gpt2(io::load_sharded_checkpoint(folder), config);
    } catch (const ValueError& error) {
        throw IoError("cannot load ", folder.string(), ": ", error.what());
    }
    for (auto& [name, value] : state) value = value.to(options.dtype);
    Rng rng = Rng::skip_init();
    GPT model(config, rng);
    model.to(options.dtype);
    model.load_state_dict(state);
    model.eval();
    return model;
}

}  // namespace weft::lm
