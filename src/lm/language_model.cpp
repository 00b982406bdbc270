// The handle of a language model. B batch, T tokens, V vocabulary.
#include "weft/lm/language_model.h"
#include "weft/nn/cache_guard.h"

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

}  // namespace weft::lm
