// B batch, T tokens, L layers, H heads, D = head_dim, C = d_model, V vocabulary.
#include "weft/lm/inside.h"

#include "weft/core/grad_mode.h"
#include "weft/ops.h"

namespace weft::lm {

namespace {

// B times the same ids → (B, T)
Tensor batch_of(const char* operation, const text::Ids& ids, std::int64_t B) {
    if (ids.empty()) throw ValueError(operation, ": there are no ids; give at least one");
    const auto T = static_cast<std::int64_t>(ids.size());
    return from_vector(ids, {1, T}).expand({B, T});
}

void check_token(const char* operation, const Decoder& model, std::int64_t token) {
    if (token < 0 || token >= model.config.vocab_size)
        throw IndexError(operation, ": token ", token, " is out of range for a vocabulary of ",
                         model.config.vocab_size);
}

std::string layer(std::size_t l) { return "layers[" + std::to_string(l) + "]"; }

// The logits of the token after ids (B, T) → (B, V)
Tensor next_logits(const Decoder& model, const Tensor& ids) {
    return model(ids, {.last_only = true}).squeeze(1).to(float64);
}

// What each block returns for ids (B, T) → L of (B, T, C)
std::vector<Tensor> block_outputs(const Decoder& model, const Tensor& ids) {
    std::vector<Tensor> outputs;
    std::vector<nn::ForwardHook> hooks;
    for (std::size_t l = 0; l < model.layers.size(); ++l)
        hooks.push_back(model.hook(layer(l), [&](const Tensor& y) { return outputs.emplace_back(y); }));
    (void)model(ids, {.last_only = true});
    return outputs;
}

}  // namespace

Tensor logit_lens(const Decoder& model, const text::Ids& ids) {
    const NoGrad off;
    const nn::EvalMode eval;
    std::vector<Tensor> rows;
    for (const Tensor& h : block_outputs(model, batch_of("logit_lens", ids, 1))) {
        const Tensor z = model.lm_head(model.norm(h.slice(1, h.size(1) - 1, h.size(1))));  // (1, 1, V)
        const auto cap = model.config.logits_softcap;
        rows.push_back((cap ? tanh(z / *cap) * *cap : z).squeeze());  // (V,)
    }
    return stack(rows);
}

Tensor head_effects(const Decoder& model, const text::Ids& ids, std::int64_t token) {
    const NoGrad off;
    const nn::EvalMode eval;
    check_token("head_effects", model, token);
    const auto log_probability = [&](std::int64_t B) {
        const Tensor logits = next_logits(model, batch_of("head_effects", ids, B));  // (B, V)
        return log_softmax(logits, 1).select(1, token);                              // (B,)
    };
    const Tensor whole = log_probability(1);  // (1,)
    std::vector<Tensor> rows;
    for (std::size_t l = 0; l < model.layers.size(); ++l) {
        const std::int64_t H = model.layers[l].self_attn.num_heads, D = model.layers[l].self_attn.head_dim;
        // Sample h of the batch is without head h.
        const Tensor is_off = eye(H).unsqueeze(2).expand({H, H, D}).reshape({H, 1, H * D}).to(boolean);
        const nn::ForwardHook hook = model.hook(layer(l) + ".self_attn.heads", [&](const Tensor& y) {
            return masked_fill(y, is_off, 0);
        });                                          // (H, T, H D)
        rows.push_back(log_probability(H) - whole);  // (H,)
    }
    return stack(rows);
}

Tensor patch_effects(const Decoder& model, const text::Ids& ids, const text::Ids& other, std::int64_t token,
                     std::int64_t other_token) {
    const NoGrad off;
    const nn::EvalMode eval;
    if (ids.size() != other.size())
        throw ValueError("patch_effects: prompts of ", ids.size(), " and of ", other.size(),
                         " tokens; use two of one length, so that positions correspond");
    check_token("patch_effects", model, token);
    check_token("patch_effects", model, other_token);
    const auto T = static_cast<std::int64_t>(ids.size());
    const auto difference = [&](const Tensor& batch) {
        const Tensor logits = next_logits(model, batch);                 // (B, V)
        return logits.select(1, other_token) - logits.select(1, token);  // (B,)
    };
    const Tensor batch = batch_of("patch_effects", ids, T), others = batch_of("patch_effects", other, 1);
    const Tensor from = difference(batch.slice(0, 0, 1)), to = difference(others);  // (1,), (1,)
    if (from.item() == to.item())
        throw ValueError("patch_effects: the logits of tokens ", token, " and ", other_token,
                         " differ by as much after either prompt; use tokens whose order changes");
    const std::vector<Tensor> states = block_outputs(model, others);  // L of (1, T, C)
    const Tensor is_patched = eye(T).unsqueeze(2).to(boolean);        // (T, T, 1): sample t at position t
    std::vector<Tensor> rows;
    for (std::size_t l = 0; l < model.layers.size(); ++l) {
        const nn::ForwardHook hook = model.hook(
            layer(l), [&](const Tensor& y) { return where(is_patched, states[l], y); });  // (T, T, C)
        rows.push_back((difference(batch) - from) / (to - from));                         // (T,)
    }
    return stack(rows);
}

}  // namespace weft::lm
