// LanguageModel: a handle for any model that gives logits for token ids. B batch, T tokens, V vocabulary.
#pragma once

#include <concepts>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "weft/nn/kv_cache.h"
#include "weft/nn/module.h"
#include "weft/text/tokenizer.h"

namespace weft::lm {

// What a struct needs to be a language model: config.vocab_size (V), config.block_size (the largest number of
// tokens that it sees), and logits = model(ids), ids int64 (B, T) → (B, T, V), or (T,) → (T, V). The logits of
// a token must not depend on later tokens.
template <class M>
concept CausalModel = requires(const M& model, const Tensor& ids) {
    { model(ids) } -> std::same_as<Tensor>;
    std::int64_t{model.config.vocab_size};
    std::int64_t{model.config.block_size};
    requires std::copy_constructible<M>;  // last: of a tuple of a LanguageModel it asks for this concept again
};

// A CausalModel that also computes the tokens after those in its caches, as GPT does.
template <class M>
concept CachingModel = CausalModel<M> &&
    requires(const M& model, const Tensor& ids, std::vector<nn::KeyValueCache>& caches) {
    { model(ids, caches) } -> std::same_as<Tensor>;
    { model.make_caches() } -> std::same_as<std::vector<nn::KeyValueCache>>;
};

// A GPT, a GPT-2 or a struct of your own, for what works with any of them: generation, the report of a run,
// programs. A CausalModel converts to it. Copies share the model.
//
//     struct Next {  // after token i comes i + 1, after 2 comes 0
//         struct {
//             std::int64_t vocab_size = 3, block_size = 8;
//         } config;
//         Tensor logits = tensor({{0, 9, 0}, {0, 0, 9}, {9, 0, 0}}).to(float32);         // (V, V)
//         Tensor operator()(const Tensor& ids) const { return embedding(logits, ids); }  // (B, T) → (B, T, V)
//     };
//     const lm::LanguageModel model = Next{};
//     const text::Ids ids = lm::generate(model, {0}, {.max_new_tokens = 3, .sampling = {.temperature = 0}});
//     // ids is {1, 2, 0}
//
// The handle of a Module is that module: it has the same parameters, modes, generators, state_dict and kind, so
// optimisers, checkpoints and dist::DataParallel take it. Any other handle is a module without parameters.
class LanguageModel : public nn::Module {
public:
    // The handle of a copy of the model; that of a Module shares its parameters. ValueError unless both sizes
    // are at least 1.
    template <class M>
    requires(!std::derived_from<M, LanguageModel> && CausalModel<M>) LanguageModel(const M& model)
        : LanguageModel(module_of(model),
                        {model.config.vocab_size, model.config.block_size, model, {}, {}, {}, {}}) {
        if constexpr (CachingModel<M>) {
            const M& held = *target<M>();  // lives as long as what holds the two functions
            functions_->make_caches = [&held](std::optional<DType> stored_as) {
                if constexpr (requires { held.make_caches(stored_as); }) return held.make_caches(stored_as);
                if (stored_as) throw ValueError("LanguageModel: the model's make_caches() takes no type");
                return held.make_caches();
            };
            functions_->cached = [&held](const Tensor& ids, std::vector<nn::KeyValueCache>& caches) {
                return held(ids, caches);
            };
            if constexpr (requires(const Tensor& x, std::vector<nn::KeyValueCache>& c) {
                              held(x, c, {.attention_mask = x, .last_only = true});
                          })
                functions_->last = [&held](const Tensor& ids, std::vector<nn::KeyValueCache>& caches,
                                           const Tensor& attention_mask) {
                    return held(ids, caches, {.attention_mask = attention_mask, .last_only = true});
                };
            if constexpr (requires { held.caches_apply(0, 0); })
                functions_->caches_apply = [&held](std::int64_t past, std::int64_t S) {
                    return held.caches_apply(past, S);
                };
        }
    }

    std::int64_t vocab_size() const { return functions_->vocab_size; }          // V
    std::int64_t context_length() const { return functions_->context_length; }  // the config's block_size

    // The logits of ids (B, T) → (B, T, V), or (T,) → (T, V). ShapeError if the model gives another shape; and
    // what the model refuses.
    Tensor operator()(const Tensor& ids) const;
    // The logits of the T tokens in ids (B, T) that follow those in the caches, which then hold them too. The
    // same errors, after which the caches are as before; ValueError unless has_caches().
    Tensor operator()(const Tensor& ids, std::vector<nn::KeyValueCache>& caches) const;
    // The logits of the last of these tokens alone, (B, V). `attention_mask` says which of the S tokens so far
    // are real, bool (B, S), for samples of several lengths that are padded on the left. ValueError for a mask
    // unless has_masks().
    Tensor last_logits(const Tensor& ids, std::vector<nn::KeyValueCache>& caches,
                       const Tensor& attention_mask = {}) const;
    bool has_masks() const { return functions_->last != nullptr; }  // as a Decoder has
    // Whether caches whose longest() is `past` apply in a sequence of S tokens: true unless the model says
    // otherwise.
    bool caches_apply(std::int64_t past, std::int64_t S) const {
        return !functions_->caches_apply || functions_->caches_apply(past, S);
    }
    // Empty caches, of bfloat16 or float16 if wanted. ValueError unless has_caches(), and for a type if the
    // model's own make_caches takes none.
    std::vector<nn::KeyValueCache> make_caches(std::optional<DType> stored_as = {}) const;
    bool has_caches() const { return functions_->cached != nullptr; }  // whether the model is a CachingModel

    // The model if its type is M, else null: for what one kind of model has.
    //
    //     const lm::LanguageModel handle = gpt;
    //     const std::int64_t layers = handle.target<lm::GPT>()->config.num_layers;  // 2
    template <class M>
    const M* target() const {
        return std::as_const(functions_->logits).template target<M>();
    }

private:
    struct Functions {
        std::int64_t vocab_size, context_length;
        std::function<Tensor(const Tensor&)> logits;  // the model itself
        std::function<Tensor(const Tensor&, std::vector<nn::KeyValueCache>&)> cached;
        std::function<std::vector<nn::KeyValueCache>(std::optional<DType>)> make_caches;
        std::function<Tensor(const Tensor&, std::vector<nn::KeyValueCache>&, const Tensor&)> last;
        std::function<bool(std::int64_t, std::int64_t)> caches_apply;
    };
    std::shared_ptr<Functions> functions_;

    template <class M>
    static nn::Module module_of(const M& model) {
        if constexpr (std::derived_from<M, nn::Module>)
            return model;
        else
            return nn::Module("LanguageModel");
    }
    LanguageModel(const nn::Module& module, Functions functions);
    Tensor checked(const Tensor& ids, Tensor logits) const;
    const Functions& caching() const;
};

// How well a model predicts a text. V vocabulary.

// What log_likelihood found.
struct Likelihood {
    double nats = 0;          // −Σ ln p(token | those before it)
    std::int64_t tokens = 0;  // the terms of the sum: the first id has none
    // The mean, and the perplexity e^mean (Jelinek et al., 1977).
    double mean() const { return nats / static_cast<double>(tokens); }
};

// The negative log-likelihood of a text's tokens after the first, each given those before it. A text longer
// than `window` tokens [the model's context] is read in windows that begin `stride` tokens apart [half of the
// window]: each token is counted once, with the most tokens before it that a window has. Runs in evaluation
// mode and under NoGrad.
//
//     const lm::Likelihood found = lm::log_likelihood(model, {1, 2, 0, 1});  // found.tokens is 3
//     const double perplexity = std::exp(found.mean());
//
// ValueError for fewer than two ids, a window that is below 2 or above the context, or a stride outside 1 …
// window − 1; IndexError for an id out of range.
Likelihood log_likelihood(const LanguageModel& model, const text::Ids& ids,
                          std::optional<std::int64_t> window = {}, std::optional<std::int64_t> stride = {});

}  // namespace weft::lm
