// Decoder. B batch, T tokens, S tokens so far, C = d_model, V vocabulary, H heads, G key-value heads, D =
// head_dim.
#include "weft/lm/decoder.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "lm/caches.h"
#include "lm/pretrained.h"
#include "weft/base/text.h"
#include "weft/core/op.h"
#include "weft/nn/clone.h"
#include "weft/nn/init.h"
#include "weft/nn/kv_cache.h"

namespace weft::lm {

namespace {

const DecoderLayerOptions& options_of(const DecoderConfig& config, std::int64_t layer) {
    return config.layers[config.layers.size() == 1 ? 0 : static_cast<std::size_t>(layer)];
}

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
    for (const auto& [name, value] : without_tied_head(state, config))
        if (!left.emplace(name, value).second) wrong.add("repeated: " + name);
    nn::NamedTensors fitting;
    for (const auto& [name, shape, is_weight] : decoder_parameters(config)) {
        const auto found = left.extract(name);
        if (found.empty()) {
            wrong.add("missing: " + name + " " + shape.str());
            continue;
        }
        const Tensor value = found.mapped().detach();
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
    const nn::CacheGuard guard({pass.cache, pass.cache == nullptr ? 0u : 1u});
    return nn::located(*this, [&] {
        AttentionOptions with_mask = options;
        with_mask.mask = pass.mask;
        const HeadSizes sizes(num_heads, num_kv_heads, head_dim);
        if (qkv_proj && !q_norm && pass.rotary == nullptr && pass.cache == nullptr) {
            const Tensor qkv = (*qkv_proj)(x);
            const Op op("Decoder", Op::of_others);
            return o_proj(heads(multi_head_attention(qkv, sizes, with_mask)));  // (B, T, C)
        }
        auto [q, k, v] = qkv_proj ? Heads::split_qkv((*qkv_proj)(x), sizes)  // (B, H, T, D), (B, G, T, D) twice
                                  : std::array{nn::split_heads((*q_proj)(x), num_heads),
                                               nn::split_heads((*k_proj)(x), num_kv_heads),
                                               nn::split_heads((*v_proj)(x), num_kv_heads)};
        if (q_norm) q = (*q_norm)(q), k = (*k_norm)(k);
        if (pass.rotary != nullptr) q = rotary(q, *pass.rotary), k = rotary(k, *pass.rotary);
        if (pass.cache != nullptr) std::tie(k, v) = std::tuple_cat(pass.cache->append(k, v));  // (B, G, S, D)
        Tensor y;
        {
            const Op op("Decoder", Op::of_others);
            y = scaled_dot_product_attention(q, k, v, with_mask);  // (B, H, T, D)
        }
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
          register_module("post_attention_layernorm", DecoderNorm(c, state / "post_attention_layernorm"))),
      pre_feedforward_layernorm(
          register_module_if(c.norm_place == NormPlace::around, "pre_feedforward_layernorm",
                             [&] { return DecoderNorm(c, state / "pre_feedforward_layernorm"); })),
      mlp(register_module("mlp", DecoderMLP(c, state / "mlp"))),
      post_feedforward_layernorm(
          register_module_if(c.norm_place != NormPlace::before, "post_feedforward_layernorm",
                             [&] { return DecoderNorm(c, state / "post_feedforward_layernorm"); })) {}

Tensor DecoderBlock::operator()(const Tensor& x, const DecoderPass& pass) const {  // (B, T, C)
    const nn::CacheGuard guard({pass.cache, pass.cache == nullptr ? 0u : 1u});
    return nn::located(*this, [&] {
        const auto normed = [](const std::optional<DecoderNorm>& norm, const Tensor& x) {
            return norm ? (*norm)(x) : x;
        };
        const Tensor a = self_attn(normed(input_layernorm, x), pass);  // (B, T, C)
        if (!post_feedforward_layernorm) {                             // norms before the sublayers alone
            const Tensor h = traced("h", x + a);                       // (B, T, C)
            return traced("y", h + mlp(post_attention_layernorm(h)));  // (B, T, C)
        }
        const Tensor h = traced("h", x + post_attention_layernorm(a));  // (B, T, C)
        const Tensor m = mlp(normed(pre_feedforward_layernorm, h));     // (B, T, C)
        return traced("y", h + (*post_feedforward_layernorm)(m));       // (B, T, C)
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
    check_caches("Decoder", caches, layers.size());
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

}  // namespace weft::lm
