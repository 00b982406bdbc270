// The handle of a language model. B batch, T tokens, V vocabulary.
#include "weft/lm/language_model.h"

#include "weft/core/modes.h"
#include "weft/lm/decoder.h"
#include "weft/nn/kv_cache.h"
#include "weft/ops.h"

namespace weft::lm {

LanguageModel::LanguageModel(const nn::Module& module, Functions functions)
    : nn::Module(module), functions_(std::make_shared<Functions>(std::move(functions))) {
    for (const auto& [name, size] : {std::pair("vocab_size", vocab_size()), {"block_size", context_length()}})
        if (size < 1) throw ValueError(kind(), ": config.", name, " must be at least 1, not ", size);
}

Tensor LanguageModel::checked(const Tensor& ids, Tensor logits) const {
    Shape expected = ids.shape();
    expected.push_back(vocab_size());
    if (logits.shape() != expected)
        throw ShapeError(kind(), ": ids ", ids.shape(), " gave logits ", logits.shape(), ", not ", expected,
                         "; return config.vocab_size logits for each token");
    return logits;
}

const LanguageModel::Functions& LanguageModel::caching() const {
    if (!has_caches())
        throw ValueError(kind(),
                         ": the model has no caches; call it with all ids, or give it make_caches() and "
                         "operator()(ids, caches)");
    return *functions_;
}

Tensor LanguageModel::operator()(const Tensor& ids) const { return checked(ids, functions_->logits(ids)); }

Tensor LanguageModel::operator()(const Tensor& ids, std::vector<nn::KeyValueCache>& caches) const {
    const nn::CacheGuard guard(caches);
    return checked(ids, caching().cached(ids, caches));
}

Tensor LanguageModel::last_logits(const Tensor& ids, std::vector<nn::KeyValueCache>& caches,
                                  const Tensor& attention_mask) const {
    if (!has_masks() && attention_mask.defined())
        throw ValueError(kind(), ": the model takes no attention_mask; give it samples of one length");
    if (!has_masks()) return (*this)(ids, caches).select(1, -1);
    const nn::CacheGuard guard(caches);
    return checked(ids.slice(1, -1, ids.size(1)), functions_->last(ids, caches, attention_mask)).select(1, 0);
}

std::vector<nn::KeyValueCache> LanguageModel::make_caches(std::optional<DType> stored_as) const {
    return caching().make_caches(stored_as);
}

Likelihood log_likelihood(const LanguageModel& model, const text::Ids& ids,
                          std::optional<std::int64_t> given_window, std::optional<std::int64_t> given_stride) {
    const auto n = static_cast<std::int64_t>(ids.size());
    if (n < 2)
        throw ValueError("log_likelihood: ", n, " tokens; the first is given, so there must be two or more");
    const std::int64_t window = given_window.value_or(model.context_length());
    if (window < 2 || window > model.context_length())
        throw ValueError("log_likelihood: a window of ", window, " tokens; use 2 to ", model.context_length(),
                         ", the model's context");
    const std::int64_t stride = given_stride.value_or(window / 2);
    if (stride < 1 || stride >= window)
        throw ValueError("log_likelihood: a stride of ", stride, " tokens; use 1 to ", window - 1,
                         ", so that windows overlap");
    const NoGrad off;
    const nn::EvalMode eval;
    const Tensor all = from_vector(ids, {1, n});
    Likelihood found;
    for (std::int64_t begin = 0, counted = 1; counted < n; begin += stride) {
        const std::int64_t end = std::min(begin + window, n);
        const Tensor logits =
            model(all.slice(1, begin, end - 1)).slice(1, counted - 1 - begin, end - 1 - begin);
        const Tensor targets = all.slice(1, counted, end);  // (1, end − counted)
        const Tensor of_tokens = log_softmax(logits.to(float64), -1).gather(2, targets.unsqueeze(2));
        found.nats -= sum(of_tokens).item();
        found.tokens += end - counted;
        counted = end;
    }
    return found;
}

// B batch, T tokens, L layers, H heads, D = head_dim, C = d_model, V vocabulary.

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
