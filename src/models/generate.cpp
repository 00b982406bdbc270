// Generation, token after token. B batch, T tokens, V vocabulary.
#include "weft/models/generate.h"

#include <algorithm>

namespace weft::nn {

namespace {

// prompt (B, T), T ≥ 1, and up to options.length more: (B, T + ·). `each` sees the new ids of one step, (B,).
Tensor generate_ids(const GPT& model, const Tensor& prompt, const GenerateOptions& options,
                    const std::function<bool(const text::Ids&)>& each) {
    if (options.max_new_tokens < 0)
        throw ValueError("generate: the number of tokens must be at least 0, not ", options.max_new_tokens);
    NoGrad off;
    const std::int64_t B = prompt.size(0), given = prompt.size(1), block = model.config.block_size;
    const std::int64_t end = given + std::min(options.max_new_tokens, INT64_MAX - given);  // empty() refuses it
    const Tensor all = empty({B, end}, int64);
    all.slice(1, 0, given).copy_(prompt);
    std::vector<KeyValueCache> caches = model.make_caches();
    for (std::int64_t T = given; T < end; ++T) {
        // Beyond block_size the window slides, so every token has another position, and nothing cached holds.
        const bool cached = options.use_cache && T <= block;
        const Tensor all_logits = [&] {  // (B, ·, V)
            const EvalMode model_alone;  // `each` runs in the caller's mode
            return cached ? model(all.slice(1, caches[0].length(), T), caches)
                          : model(all.slice(1, std::max<std::int64_t>(0, T - block), T));
        }();
        const Tensor logits = all_logits.select(1, -1);  // (B, V)
        text::Ids next;
        for (std::int64_t b = 0; b < B; ++b) next.push_back(sample(logits[b], options.sampling));
        all.slice(1, T, T + 1).copy_(from_vector(next, {B, 1}));
        if (!each(next)) return all.slice(1, 0, T + 1);
    }
    return all;
}

}  // namespace

Tensor GPT::generate(const Tensor& ids, std::int64_t max_new_tokens, const SampleOptions& options) {
    if ((ids.rank() != 1 && ids.rank() != 2) || ids.size(-1) == 0)
        throw ShapeError("generate: ids must be (T,) or (B, T) with T ≥ 1, not ", ids.shape());
    const Tensor all = generate_ids(*this, ids.rank() == 1 ? ids.unsqueeze(0) : ids,
                                    {.max_new_tokens = max_new_tokens, .sampling = options},
                                    [](const text::Ids&) { return true; });
    return ids.rank() == 1 ? all.squeeze(0) : all;
}

text::Ids generate(const GPT& model, const text::Ids& prompt, const GenerateOptions& options,
                   const std::function<bool(std::int64_t)>& each) {
    const auto given = static_cast<std::int64_t>(prompt.size());
    if (given == 0) throw ValueError("generate: the prompt is empty; the model needs a token to go on from");
    const Tensor all = generate_ids(model, from_vector(prompt, {1, given}), options,
                                    [&](const text::Ids& next) { return !each || each(next[0]); });  // (1, T)
    return all.slice(1, given, all.size(1)).to_vector<std::int64_t>();
}

}  // namespace weft::nn
