// Decoder. B batch, T tokens, S tokens so far, C = d_model, V vocabulary, H heads, G key-value heads, D =
// head_dim.
#include "weft/lm/decoder.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "lm/pretrained.h"
#include "weft/autograd/grad_mode.h"
#include "weft/autograd/raw.h"
#include "weft/base/error_list.h"
#include "weft/nn/cache_guard.h"
#include "weft/nn/init.h"
#include "weft/nn/rng_guard.h"

namespace weft::lm {

namespace {

std::string at_layer(std::int64_t layer, const std::string& name) {
    return "layers." + std::to_string(layer) + "." + name;
}

const DecoderLayerOptions& options_of(const DecoderConfig& config, std::int64_t layer) {
    return config.layers[config.layers.size() == 1 ? 0 : static_cast<std::size_t>(layer)];
}

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
    for (std::int64_t i = 0; i < static_cast<std::int64_t>(c.layers.size()); ++i) {
        const DecoderLayerOptions& layer = options_of(c, i);
        if (layer.window) (void)Mask::window(*layer.window);
        if (layer.rotary) (void)nn::rotary_table(0, 0, D, *layer.rotary, float32);
    }
}

std::int64_t qkv_rows(const DecoderConfig& c) { return (c.num_heads + 2 * c.num_kv_heads) * c.head_dim; }

Tensor activated(Activation kind, const Tensor& x) {
    switch (kind) {
        case Activation::silu:
            return silu(x);
        case Activation::gelu:
            return gelu(x);
        case Activation::gelu_tanh:
            return gelu(x, Gelu::tanh);
        case Activation::relu_squared:
            break;
    }
    const Tensor positive = relu(x);
    return positive * positive;
}

Tensor softcapped(const Tensor& x, std::optional<double> cap) { return cap ? tanh(x / *cap) * *cap : x; }

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
        const auto name = [i](const char* part) { return at_layer(i, part); };
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

// The tensors of a Decoder by name, seen from one of its parts.
class DecoderState {
public:
    explicit DecoderState(const nn::NamedTensors& tensors)
        : tensors_(std::make_shared<std::map<std::string, Tensor>>(tensors.begin(), tensors.end())) {}
    DecoderState operator/(const std::string& part) const { return {tensors_, prefix_ + part + "."}; }
    nn::Linear linear(const std::string& name) const {  // of name.weight and name.bias
        const DecoderState part = *this / name;
        return nn::Linear(part["weight"], part["bias"]);
    }
    Tensor operator[](const std::string& name) const {  // undefined if there is none
        const auto found = tensors_->find(prefix_ + name);
        return found == tensors_->end() ? Tensor() : found->second;
    }

private:
    std::shared_ptr<const std::map<std::string, Tensor>> tensors_;
    std::string prefix_;
    DecoderState(std::shared_ptr<const std::map<std::string, Tensor>> tensors, std::string prefix)
        : tensors_(std::move(tensors)), prefix_(std::move(prefix)) {}
};

namespace {

nn::NamedTensors initial_state(const DecoderConfig& config, const nn::RngGuard& guard) {
    Rng& rng = guard;
    const double residual_scale = 1 / std::sqrt(2.0 * static_cast<double>(config.num_layers));
    nn::NamedTensors state;
    for (const auto& [name, shape, is_weight] : decoder_parameters(config)) {
        if (!is_weight) {
            const bool is_one = name.ends_with(".weight") && config.norm != NormKind::rms_plus_one;
            state.emplace_back(name, is_one ? ones(shape) : zeros(shape));
            continue;
        }
        double deviation = name.starts_with("embed_") ? 0.02 : 1 / std::sqrt(static_cast<double>(shape[1]));
        if (name.ends_with("o_proj.weight") || name.ends_with("down_proj.weight")) deviation *= residual_scale;
        state.emplace_back(name, nn::normal(shape, 0, deviation, rng));
    }
    return state;
}

// The tensors that fit, or a ValueError that names all that do not.
DecoderState checked_state(const DecoderConfig& config, const nn::NamedTensors& state) {
    if (config.num_layers > static_cast<std::int64_t>(state.size()))  // before listing their names
        throw ValueError("Decoder: ", state.size(), " tensors are too few for ", config.num_layers, " layers");
    std::map<std::string, Tensor> left;
    ErrorList wrong;
    for (const auto& [name, value] : state)
        if (!left.emplace(name, value).second) wrong.add("repeated: " + name);
    nn::NamedTensors fitting;
    for (const auto& [name, shape, is_weight] : decoder_parameters(config)) {
        const auto found = left.extract(name);
        if (found.empty()) {
            wrong.add("missing: " + name + " " + shape.str());
            continue;
        }
        const Tensor value = found.mapped().packed() ? found.mapped() : found.mapped().detach();
        if (value.shape() != shape)
            wrong.add(name + ": shape " + value.shape().str() + ", but it has to be " + shape.str());
        else if (!is_floating_point(value.dtype()))
            wrong.add(name + ": " + weft::name(value.dtype()) + ", but it has to be floating");
        else
            fitting.emplace_back(name, is_weight ? value : value.to(computed_in(value.dtype())));
    }
    for (const auto& [name, value] : left) wrong.add("unexpected: " + name + " " + value.shape().str());
    if (!wrong.empty()) throw ValueError("Decoder: the state does not fit these sizes and options:", wrong);
    return DecoderState(fitting);
}

}  // namespace

// ---- the parts

DecoderNorm::DecoderNorm(const DecoderConfig& config, const DecoderState& state)
    : nn::Module(config.norm == NormKind::layer ? "LayerNorm" : "RMSNorm"),
      weight(register_parameter("weight", state["weight"])),
      bias(config.norm_bias ? register_parameter("bias", state["bias"]) : nn::Parameter()),
      norm(config.norm),
      eps(config.norm_eps) {}

Tensor DecoderNorm::operator()(const Tensor& x) const {
    return nn::located(*this, [&] {
        if (norm == NormKind::layer) return layer_norm(x, weight, bias, eps);
        return rms_norm(x, norm == NormKind::rms ? Tensor(weight) : weight + 1.0, eps);
    });
}

DecoderAttention::DecoderAttention(const DecoderConfig& c, std::int64_t layer, const DecoderState& state)
    : nn::Module("DecoderAttention"),
      num_heads(c.num_heads),
      num_kv_heads(c.num_kv_heads),
      head_dim(c.head_dim),
      options{.scale = c.attention_scale.value_or(1 / std::sqrt(static_cast<double>(head_dim))) /
                       (c.scale_by_layer ? static_cast<double>(layer + 1) : 1.0),
              .softcap = c.attention_softcap},
      qkv_proj(register_module_if(c.fused_qkv, "qkv_proj", [&] { return state.linear("qkv_proj"); })),
      q_proj(register_module_if(!c.fused_qkv, "q_proj", [&] { return state.linear("q_proj"); })),
      k_proj(register_module_if(!c.fused_qkv, "k_proj", [&] { return state.linear("k_proj"); })),
      v_proj(register_module_if(!c.fused_qkv, "v_proj", [&] { return state.linear("v_proj"); })),
      q_norm(register_module_if(c.qk_norm, "q_norm", [&] { return DecoderNorm(c, state / "q_norm"); })),
      k_norm(register_module_if(c.qk_norm, "k_norm", [&] { return DecoderNorm(c, state / "k_norm"); })),
      heads(register_module("heads", nn::Identity())),
      o_proj(register_module("o_proj", state.linear("o_proj"))) {}

Tensor DecoderAttention::operator()(const Tensor& x, const DecoderPass& pass) const {  // (B, T, C)
    return nn::located(*this, [&] {
        Heads qkv = [&]() -> Heads {
            if (qkv_proj) return PackedHeads{(*qkv_proj)(x), num_heads, num_kv_heads, head_dim};
            return std::array{nn::split_heads((*q_proj)(x), num_heads),
                              nn::split_heads((*k_proj)(x), num_kv_heads),
                              nn::split_heads((*v_proj)(x), num_kv_heads)};
        }();
        if (q_norm || pass.rotary != nullptr || pass.cache != nullptr) {
            auto [q, k, v] = qkv.qkv();  // (B, H, T, D), (B, G, T, D), (B, G, T, D)
            if (q_norm) q = (*q_norm)(q), k = (*k_norm)(k);
            if (pass.rotary != nullptr) q = nn::rotary(q, *pass.rotary), k = nn::rotary(k, *pass.rotary);
            if (pass.cache != nullptr)
                std::tie(k, v) = std::tuple_cat(pass.cache->append(k, v));  // (B, G, S, D)
            qkv = std::array{q, k, v};
        }
        AttentionOptions with_mask = options;
        with_mask.mask = pass.mask;
        const Tensor y = qkv.attend("Decoder", with_mask).output;    // (B, H, T, D)
        return o_proj(heads(traced("merged", nn::merge_heads(y))));  // (B, T, C)
    });
}

DecoderMLP::DecoderMLP(const DecoderConfig& c, const DecoderState& state)
    : nn::Module("DecoderMLP"),
      activation(c.activation),
      gate_proj(register_module_if(c.gated, "gate_proj", [&] { return state.linear("gate_proj"); })),
      up_proj(register_module("up_proj", state.linear("up_proj"))),
      down_proj(register_module("down_proj", state.linear("down_proj"))) {}

Tensor DecoderMLP::operator()(const Tensor& x) const {
    return nn::located(*this, [&] {
        if (!gate_proj) return down_proj(activated(activation, up_proj(x)));
        return down_proj(activated(activation, (*gate_proj)(x)) * up_proj(x));
    });
}

DecoderBlock::DecoderBlock(const DecoderConfig& c, std::int64_t layer, const DecoderState& state)
    : nn::Module("DecoderBlock"),
      options(options_of(c, layer)),
      input_layernorm(register_module_if(c.norm_place != NormPlace::after, "input_layernorm",
                                         [&] { return DecoderNorm(c, state / "input_layernorm"); })),
      self_attn(register_module("self_attn", DecoderAttention(c, layer, state / "self_attn"))),
      post_attention_layernorm(
          register_module_if(true, "post_attention_layernorm",
                             [&] { return DecoderNorm(c, state / "post_attention_layernorm"); })),
      pre_feedforward_layernorm(
          register_module_if(c.norm_place == NormPlace::around, "pre_feedforward_layernorm",
                             [&] { return DecoderNorm(c, state / "pre_feedforward_layernorm"); })),
      mlp(register_module("mlp", DecoderMLP(c, state / "mlp"))),
      post_feedforward_layernorm(
          register_module_if(c.norm_place != NormPlace::before, "post_feedforward_layernorm",
                             [&] { return DecoderNorm(c, state / "post_feedforward_layernorm"); })) {}

Tensor DecoderBlock::operator()(const Tensor& x, const DecoderPass& pass) const {  // (B, T, C)
    return nn::located(*this, [&] {
        const auto normed = [](const std::optional<DecoderNorm>& norm, const Tensor& x) {
            return norm ? (*norm)(x) : x;
        };
        const bool is_before = !post_feedforward_layernorm.has_value();
        const Tensor a = self_attn(normed(input_layernorm, x), pass);                             // (B, T, C)
        const Tensor h = traced("h", x + (is_before ? a : normed(post_attention_layernorm, a)));  // (B, T, C)
        const Tensor m = mlp(normed(is_before ? post_attention_layernorm : pre_feedforward_layernorm, h));
        return traced("y", h + normed(post_feedforward_layernorm, m));  // (B, T, C)
    });
}

// ---- Decoder

Decoder::Decoder(const DecoderConfig& config, Rng& rng)
    : Decoder(checked(config), DecoderState(initial_state(checked(config), nn::RngGuard(rng)))) {}

Decoder::Decoder(const DecoderConfig& config, const nn::NamedTensors& state)
    : Decoder(checked(config), checked_state(checked(config), state)) {}

Decoder::Decoder(const DecoderConfig& given, const DecoderState& state)
    : nn::Module("Decoder"),
      config(given),
      embed_tokens(register_module("embed_tokens", nn::Embedding(state["embed_tokens.weight"]))),
      embed_positions(config.learned_positions
                          ? register_module("embed_positions", nn::Embedding(state["embed_positions.weight"]))
                          : nn::Embedding()),
      layers(register_module("layers", nn::ModuleList<DecoderBlock>())),
      norm(register_module("norm", DecoderNorm(config, state / "norm"))),
      lm_head(register_module(
          "lm_head", nn::Linear(config.tied_head ? Tensor(embed_tokens.weight) : state["lm_head.weight"]))) {
    for (std::int64_t i = 0; i < config.num_layers; ++i) {
        layers.append(DecoderBlock(config, i, state / ("layers." + std::to_string(i))));
        const auto& rotary = layers[static_cast<std::size_t>(i)].options.rotary;
        if (rotary && std::ranges::find(rotaries_, *rotary) == rotaries_.end()) rotaries_.push_back(*rotary);
    }
}

Tensor Decoder::forward(const Tensor& ids, std::vector<nn::KeyValueCache>* caches,
                        const DecoderPassOptions& options) const {
    if (ids.rank() != 1 && ids.rank() != 2)
        throw ShapeError("Decoder: ids must be (B, T) or (T,), not ", ids.shape());
    const std::int64_t T = ids.size(-1), past = caches == nullptr ? 0 : (*caches)[0].length(), S = past + T;
    const Tensor& real = options.attention_mask;
    if (real.defined() && (ids.rank() != 2 || real.shape() != Shape{ids.size(0), S}))
        throw ShapeError("Decoder: an attention_mask ", real.shape(), " for ids ", ids.shape(),
                         (past > 0 ? " after " + std::to_string(past) + " in the caches" : std::string()),
                         "; it must be (B, S), a bool for every token so far");
    if (past > 0 && !caches_apply((*caches)[0].longest(), S))
        throw ShapeError(
            "Decoder: rotary angles change between ", (*caches)[0].longest(), " and ", S,
            " tokens, so what the caches hold no longer applies; clear() them and pass all tokens");
    if (config.learned_positions && S > config.block_size)
        throw ShapeError("Decoder: ", S, " tokens, but there are positions for ", config.block_size,
                         "; pass the last block_size tokens");
    Tensor x = embed_tokens(ids);  // (B, T, C)
    if (config.embedding_scale != 1) x = x * config.embedding_scale;
    if (config.learned_positions) {
        const auto places = [&] {  // of each sample's tokens, without the padding before them
            const Tensor count = cumsum(real.to(int64), 1) - 1;  // (B, S)
            return maximum(count, zeros({}, int64)).slice(1, past, S);
        };
        x = x + embed_positions(real.defined() ? places() : arange(T) + static_cast<double>(past));
    }
    traced("embedded", x);

    std::vector<nn::RotaryTable> tables;
    for (const nn::RotaryOptions& rotary : rotaries_)
        tables.push_back(nn::rotary_table(past, T, config.head_dim, rotary, x.dtype(), S));
    for (std::size_t i = 0; i < layers.size(); ++i) {
        const auto& [rotary, window] = layers[i].options;
        DecoderPass pass{.mask = Mask::causal(), .cache = caches == nullptr ? nullptr : &(*caches)[i]};
        if (real.defined()) pass.mask = pass.mask | Mask::keys(real);
        if (window) pass.mask = pass.mask | Mask::window(*window);
        if (rotary) {
            const auto at = std::ranges::find(rotaries_, *rotary) - rotaries_.begin();
            pass.rotary = &tables[static_cast<std::size_t>(at)];
        }
        x = layers[i](x, pass);  // (B, T, C)
    }
    if (options.last_only) x = x.slice(-2, T - 1, T);                              // (B, 1, C)
    return traced("logits", softcapped(lm_head(norm(x)), config.logits_softcap));  // (B, T, V)
}

Tensor Decoder::operator()(const Tensor& ids, const DecoderPassOptions& options) const {
    return nn::located(*this, [&] { return forward(ids, nullptr, options); });
}

Tensor Decoder::operator()(const Tensor& ids, std::vector<nn::KeyValueCache>& caches,
                           const DecoderPassOptions& options) const {
    if (caches.size() != layers.size())
        throw ValueError("Decoder: ", caches.size(), " caches for ", layers.size(),
                         " blocks; make_caches() makes one for each");
    for (const nn::KeyValueCache& cache : caches)
        if (cache.length() != caches[0].length())
            throw ValueError("Decoder: caches of ", caches[0].length(), " and of ", cache.length(),
                             " tokens; all must hold the same ones: clear() them");
    const nn::CacheGuard guard(caches);
    return nn::located(*this, [&] { return forward(ids, &caches, options); });
}

bool Decoder::caches_apply(std::int64_t past, std::int64_t S) const {
    return std::ranges::all_of(rotaries_, [&](const nn::RotaryOptions& rotary) {
        return past == S || nn::rotary_length(rotary, past) == nn::rotary_length(rotary, S);
    });
}

std::vector<nn::KeyValueCache> Decoder::make_caches(std::optional<DType> stored_as,
                                                    std::optional<std::int64_t> capacity) const {
    std::vector<nn::KeyValueCache> caches;
    for (std::size_t i = 0; i < layers.size(); ++i)
        caches.emplace_back(capacity.value_or(config.block_size), stored_as);
    return caches;
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
    const std::pair<const char*, const char*> names[] = {{"token_embedding.", "embed_tokens."},
                                                         {"position_embedding.", "embed_positions."},
                                                         {"blocks.", "layers."},
                                                         {".norm1.", ".input_layernorm."},
                                                         {".attn.W_qkv.", ".self_attn.qkv_proj."},
                                                         {".attn.W_out.", ".self_attn.o_proj."},
                                                         {".norm2.", ".post_attention_layernorm."},
                                                         {".mlp.W_in.", ".mlp.up_proj."},
                                                         {".mlp.W_out.", ".mlp.down_proj."}};
    nn::NamedTensors renamed;
    for (const auto& [gpt, value] : state) {
        if (gpt == "head.weight") continue;  // tied
        std::string name = gpt;
        for (const auto& [from, to] : names)
            if (const std::size_t at = name.find(from); at != std::string::npos)
                name.replace(at, std::string(from).size(), to);
        renamed.emplace_back(name, value);
    }
    return renamed;
}

GPTMemory decoder_memory(const DecoderConfig& given, std::variant<DType, BlockFormat> weights,
                         std::optional<DType> cache) {
    const DecoderConfig config = checked(given);
    const DType* const dtype = std::get_if<DType>(&weights);
    const DType computed = dtype != nullptr ? computed_in(*dtype) : float32;
    const auto size = [](DType type) { return static_cast<std::int64_t>(itemsize(type)); };
    GPTMemory memory{};
    for (const auto& [name, shape, is_weight] : decoder_parameters(config)) {
        const std::int64_t n = shape.numel();
        if (!is_weight || dtype != nullptr)
            memory.weights += n * size(is_weight ? *dtype : computed);
        else
            memory.weights +=
                n / block_length(std::get<BlockFormat>(weights)) * block_bytes(std::get<BlockFormat>(weights));
    }
    memory.cache = config.num_layers * 2 * config.num_kv_heads * config.head_dim * config.block_size *
                   size(cache.value_or(computed));
    return memory;
}

}  // namespace weft::lm
