// Generation of ids and of text. B batch, T tokens, V vocabulary.
#include "weft/lm/generate.h"
#include "weft/autograd/grad_mode.h"
#include "weft/ops/creation.h"

#include <algorithm>

namespace weft::lm {

namespace {

// prompt (B, T), T ≥ 1 → (B, T + n), n ≤ max_new_tokens. `each` gets a step's B new ids; false ends generation.
Tensor generate_ids(const LanguageModel& model, const Tensor& prompt, const GenerateOptions& options,
                    const std::function<bool(const text::Ids&)>& each) {
    if (options.max_new_tokens < 0)
        throw ValueError("generate: max_new_tokens must be at least 0, not ", options.max_new_tokens);
    NoGrad off;
    (void)embedding(zeros({model.vocab_size(), 0}), prompt);  // refuses ids that the model does not have
    const std::int64_t B = prompt.size(0), given = prompt.size(1), block = model.context_length();
    const std::int64_t end =
        given + std::min(options.max_new_tokens, INT64_MAX - given);  // empty() refuses an overflow
    const Tensor all = empty({B, end}, int64);
    all.slice(1, 0, given).copy_(prompt);
    const bool use_cache = options.use_cache && model.has_caches();
    std::vector<nn::KeyValueCache> caches;
    if (use_cache) caches = model.make_caches(options.cache_dtype);
    for (std::int64_t T = given; T < end; ++T) {
        // Beyond block_size the window slides: every token gets a new position, so nothing cached applies.
        const bool cached = use_cache && T <= block;
        const Tensor all_logits = [&] {    // (B, ·, V)
            const nn::EvalMode eval_mode;  // not during `each`
            return cached ? model(all.slice(1, T == given ? 0 : T - 1, T), caches)
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

// Text that grows until `stop` occurs in it.
class StopMatcher {
public:
    explicit StopMatcher(std::string stop) : stop_(std::move(stop)) {}

    // True if `stop` occurs; the text then ends before it.
    bool add(const std::string& piece) {
        const std::size_t before = text_.size();
        text_ += piece;
        if (stop_.empty()) return false;
        const std::size_t found = text_.find(stop_, before < stop_.size() ? 0 : before - stop_.size() + 1);
        if (found == std::string::npos) return false;
        text_.resize(found);
        return true;
    }
    // What has not been taken and cannot be the beginning of `stop`; all of the rest if the text has ended.
    std::string take(bool ended) {
        std::size_t withheld = ended ? 0 : std::min(stop_.size(), text_.size() - taken_);
        while (withheld > 0 && text_.compare(text_.size() - withheld, withheld, stop_, 0, withheld) != 0)
            --withheld;
        const std::string fresh = text_.substr(taken_, text_.size() - withheld - taken_);
        taken_ += fresh.size();
        return fresh;
    }
    const std::string& text() const { return text_; }

private:
    std::string stop_, text_;
    std::size_t taken_ = 0;
};

}  // namespace

Tensor GPT::generate(const Tensor& ids, std::int64_t max_new_tokens, const SampleOptions& options) {
    if ((ids.rank() != 1 && ids.rank() != 2) || ids.size(-1) == 0)
        throw ShapeError("generate: ids must be (T,) or (B, T) with T ≥ 1, not ", ids.shape());
    const Tensor all = generate_ids(*this, ids.rank() == 1 ? ids.unsqueeze(0) : ids,
                                    {.max_new_tokens = max_new_tokens, .sampling = options},
                                    [](const text::Ids&) { return true; });
    return ids.rank() == 1 ? all.squeeze(0) : all;
}

text::Ids generate(const LanguageModel& model, const text::Ids& prompt, const GenerateOptions& options,
                   const std::function<bool(std::int64_t)>& each) {
    const auto given = static_cast<std::int64_t>(prompt.size());
    if (given == 0) throw ValueError("generate: the prompt is empty; give it at least one token");
    const Tensor all = generate_ids(model, from_vector(prompt, {1, given}), options,
                                    [&](const text::Ids& next) { return !each || each(next[0]); });  // (1, T)
    return all.slice(1, given, all.size(1)).to_vector<std::int64_t>();
}

GeneratedText generate_text(const LanguageModel& model, const text::Tokenizer& tokenizer,
                            const std::string& prompt, const GenerateTextOptions& options) {
    if (tokenizer.vocab_size() != model.vocab_size())
        throw ValueError("generate_text: the tokeniser has ", tokenizer.vocab_size(), " tokens and the model ",
                         model.vocab_size(), "; use the tokeniser that the model was trained with");
    GeneratedText result;
    StopMatcher output(options.stop);
    text::Utf8Stream characters;
    const std::optional<std::int64_t> end = options.stop_at_eos ? tokenizer.eos_token_id() : std::nullopt;
    const auto each = [&](std::int64_t id) {
        result.ids.push_back(id);
        bool ended = true;
        if (id == end)
            result.finish_reason = GeneratedText::end_of_text;
        else if (output.add(tokenizer.piece(id)))
            result.finish_reason = GeneratedText::stop;
        else
            ended = false;
        if (options.write && !options.write(characters.push(output.take(ended))) && !ended) {
            result.finish_reason = GeneratedText::cancelled;
            return false;
        }
        return !ended;
    };
    generate(model, tokenizer.encode(prompt), options.generate, each);
    if (options.write) {
        std::string rest = characters.push(output.take(true));
        rest += characters.finish();  // a statement of its own: the operands of + may be evaluated in any order
        if (!rest.empty() && result.finish_reason != GeneratedText::cancelled) options.write(rest);
    }
    result.text = output.text();
    return result;
}

}  // namespace weft::lm
