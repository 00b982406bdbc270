// Sampling from logits (V,).
#include "weft/lm/generate.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "weft/core/creation.h"
#include "weft/core/modes.h"
#include "weft/lm/gpt.h"

namespace weft::lm {

namespace {

void check_sampling(const Tensor& logits, const SampleOptions& options) {
    const double temperature = options.temperature;
    if (!(temperature >= 0) || !std::isfinite(temperature))
        throw ValueError("sample: temperature must be finite and at least 0 (greedy), not ", temperature);
    if (options.top_k < 0) throw ValueError("sample: top_k must be at least 0 (all), not ", options.top_k);
    if (!(options.top_p > 0 && options.top_p <= 1))
        throw ValueError("sample: top_p must be above 0 and at most 1 (all), not ", options.top_p);
    if (!(options.min_p >= 0 && options.min_p <= 1))
        throw ValueError("sample: min_p must be at least 0 (all) and at most 1, not ", options.min_p);
    if (logits.rank() != 1 || logits.numel() == 0)
        throw ShapeError("sample: logits must be (V,) with V ≥ 1, not ", logits.shape());
    if (!takes_gradient(logits.dtype()))
        throw DTypeError("sample: logits must be float32 or float64, not ", name(logits.dtype()),
                         "; convert them with to()");
}

// Sets all weights to 0 but the top_k largest and, of those, the largest that sum to top_p of their total.
// The sum may be short by what logits are rounded by: 0.5 + 0.3 reaches 0.8.
void apply_top_k_top_p(std::vector<double>& weights, const SampleOptions& options, double rounding) {
    const std::size_t n = weights.size(), top_k = static_cast<std::size_t>(options.top_k);
    const std::size_t k = top_k > 0 ? std::min(n, top_k) : n;
    if (k == n && options.top_p == 1) return;
    const std::vector<double> all = weights;
    std::fill(weights.begin(), weights.end(), 0);

    std::vector<std::size_t> heap(n);  // sorted from its end as far as needed, which is seldom far
    std::iota(heap.begin(), heap.end(), std::size_t{0});
    const auto below = [&](std::size_t a, std::size_t b) { return all[a] != all[b] ? all[a] < all[b] : a > b; };
    std::make_heap(heap.begin(), heap.end(), below);
    std::size_t sorted = 0;
    const auto ranked = [&](std::size_t i) {  // index of the i-th largest weight, of equals the first
        for (; sorted <= i; ++sorted)
            std::pop_heap(heap.begin(), heap.end() - static_cast<std::ptrdiff_t>(sorted), below);
        return heap[n - 1 - i];
    };

    double total = 0, sum = 0;
    if (k == n)
        total = std::accumulate(all.begin(), all.end(), 0.0);
    else
        for (std::size_t i = 0; i < k; ++i) total += all[ranked(i)];
    for (std::size_t i = 0; i < k && (i == 0 || options.top_p == 1 || sum < (options.top_p - rounding) * total);
         ++i) {
        weights[ranked(i)] = all[ranked(i)];
        sum += all[ranked(i)];
    }
}

}  // namespace

std::int64_t sample(const Tensor& logits, const SampleOptions& options) {
    check_sampling(logits, options);
    std::vector<double> scores = logits.detach().to(float64).to_vector<double>();
    for (std::size_t i = 0; i < scores.size(); ++i)
        if (std::isnan(scores[i]) || scores[i] == INFINITY)
            throw ValueError("sample: logit ", i, " is ", scores[i],
                             "; logits must be finite, or -inf to exclude a token");

    const auto best = std::max_element(scores.begin(), scores.end());
    const double highest = *best;
    if (highest == -INFINITY)
        throw ValueError("sample: every logit is -inf; at least one token must be possible");
    if (options.temperature == 0) return best - scores.begin();
    for (double& score : scores) score = std::exp((score - highest) / options.temperature);
    for (double& score : scores)
        if (score < options.min_p) score = 0;  // the largest is 1
    apply_top_k_top_p(scores, options, logits.dtype() == float64 ? 1e-12 : 1e-6);
    return (options.rng ? *options.rng : default_rng()).categorical(scores);
}

// Generation of ids and of text. B batch, T tokens, V vocabulary.

namespace {

// What the next id of a sequence is drawn from. (V,) → (V,).
Tensor processed(const Tensor& logits, const text::Ids& ids, const GenerateOptions& options) {
    Tensor z = logits;
    if (const double penalty = options.repetition_penalty; penalty != 1) {
        const Tensor seen = from_vector(ids, {static_cast<std::int64_t>(ids.size())}),
                     of_seen = z.gather(0, seen);
        z = scatter(z, 0, seen, where(of_seen > 0, of_seen / penalty, of_seen * penalty));
    }
    return options.logits ? options.logits(z, ids) : z;
}

// How many of the prompt's tokens, but the last, the caches hold; they then hold no others.
std::int64_t kept_tokens(const LanguageModel& model, PromptCache& kept, const Tensor& prompt) {
    const text::Ids ids = prompt.select(0, 0).to_vector<std::int64_t>();
    const auto differs = std::mismatch(kept.ids.begin(), kept.ids.end(), ids.begin(), ids.end() - 1).first;
    std::int64_t past = differs - kept.ids.begin();
    if (kept.caches.empty() ||
        !model.caches_apply(kept.caches[0].longest(), static_cast<std::int64_t>(ids.size())))
        past = 0;
    for (nn::KeyValueCache& cache : kept.caches) cache.truncate(past);
    return past;
}

// prompt (B, T), T ≥ 1, of which `real` (B, T) are no padding, or undefined → (B, T + n), n ≤ max_new_tokens.
// `each` gets a step's B new ids; false ends generation.
Tensor generate_ids(const LanguageModel& model, const Tensor& prompt, const Tensor& real,
                    const GenerateOptions& options, const std::function<bool(const text::Ids&)>& each) {
    if (options.max_new_tokens < 0)
        throw ValueError("generate: max_new_tokens must be at least 0, not ", options.max_new_tokens);
    if (!(options.repetition_penalty > 0) || !std::isfinite(options.repetition_penalty))
        throw ValueError("generate: repetition_penalty must be finite and above 0, not ",
                         options.repetition_penalty);
    NoGrad off;
    (void)embedding(zeros({model.vocab_size(), 0}), prompt);  // refuses ids that the model does not have
    const std::int64_t B = prompt.size(0), given = prompt.size(1), block = model.context_length();
    if (options.kept != nullptr && B != 1)
        throw ValueError("generate: a PromptCache is of one prompt, not of ", B);
    const std::int64_t end =
        given + std::min(options.max_new_tokens, INT64_MAX - given);  // empty() refuses an overflow
    const Tensor all = empty({B, end}, int64);
    all.slice(1, 0, given).copy_(prompt);
    const bool use_cache = options.use_cache && model.has_caches();
    PromptCache kept;  // taken out while it is used: a function that is called here may generate with it, too
    std::int64_t past = 0;
    if (use_cache) {
        if (options.kept != nullptr) kept = std::exchange(*options.kept, {});
        past = kept_tokens(model, kept, prompt);
        if (kept.caches.empty()) kept.caches = model.make_caches(options.cache_dtype);
    }
    std::vector<bool> has_ended(static_cast<std::size_t>(B));
    std::int64_t T = given;
    for (bool goes_on = true; goes_on && T < end; ++T) {
        // Beyond block_size the window slides: every token gets a new position, so nothing cached applies.
        const bool cached = use_cache && T <= block;
        const Tensor logits = [&] {        // (B, V)
            const nn::EvalMode eval_mode;  // not during `each`
            if (!cached) return model(all.slice(1, std::max<std::int64_t>(0, T - block), T)).select(1, -1);
            if (past > 0 && !model.caches_apply(kept.caches[0].longest(), T)) {
                for (nn::KeyValueCache& cache : kept.caches) cache.clear();
                past = 0;
            }
            const Tensor mask = real.defined() ? cat({real, ones({B, T - given}, boolean)}, 1) : Tensor();
            return model.last_logits(all.slice(1, past, T), kept.caches, mask);
        }();
        if (cached) past = T;
        text::Ids next;
        for (std::int64_t b = 0; b < B; ++b) {
            const auto at = static_cast<std::size_t>(b);
            if (has_ended[at]) {
                next.push_back(options.end_ids[0]);  // stands in the tensor, and in no result
                continue;
            }
            const auto from = [&] {  // what the next id is drawn from
                if (!options.logits && options.repetition_penalty == 1) return logits[b];
                const auto own =
                    real.defined() ? static_cast<std::int64_t>(sum(real[b].to(int64)).item()) : given;
                return processed(logits[b], all[b].slice(0, given - own, T).to_vector<std::int64_t>(), options);
            };
            next.push_back(sample(from(), options.sampling));
            has_ended[at] = std::ranges::count(options.end_ids, next.back()) > 0;
        }
        all.slice(1, T, T + 1).copy_(from_vector(next, {B, 1}));
        goes_on = each(next) && std::ranges::count(has_ended, false) > 0;
    }
    if (use_cache && options.kept != nullptr) {
        kept.ids = all[0].slice(0, 0, past).to_vector<std::int64_t>();
        *options.kept = std::move(kept);
    }
    return all.slice(1, 0, T);
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
    const Tensor all = generate_ids(*this, ids.rank() == 1 ? ids.unsqueeze(0) : ids, {},
                                    {.max_new_tokens = max_new_tokens, .sampling = options},
                                    [](const text::Ids&) { return true; });
    return ids.rank() == 1 ? all.squeeze(0) : all;
}

text::Ids generate(const LanguageModel& model, const text::Ids& prompt, const GenerateOptions& options,
                   const std::function<bool(std::int64_t)>& each) {
    const auto given = static_cast<std::int64_t>(prompt.size());
    if (given == 0) throw ValueError("generate: the prompt is empty; give it at least one token");
    const Tensor all = generate_ids(model, from_vector(prompt, {1, given}), {}, options,
                                    [&](const text::Ids& next) { return !each || each(next[0]); });  // (1, T)
    return all.slice(1, given, all.size(1)).to_vector<std::int64_t>();
}

std::vector<text::Ids> generate_batch(const LanguageModel& model, const std::vector<text::Ids>& prompts,
                                      const GenerateOptions& options) {
    std::size_t longest = 0, shortest = SIZE_MAX;
    for (const text::Ids& prompt : prompts) {
        longest = std::max(longest, prompt.size());
        shortest = std::min(shortest, prompt.size());
    }
    if (prompts.empty()) throw ValueError("generate_batch: there are no prompts; give one at least");
    if (shortest == 0) throw ValueError("generate_batch: a prompt is empty; give each at least one token");
    const auto B = static_cast<std::int64_t>(prompts.size()), T = static_cast<std::int64_t>(longest);
    const bool is_padded = shortest < longest;
    const bool fits = options.use_cache && model.has_masks() &&
                      options.max_new_tokens <= model.context_length() - T;  // padding does not slide
    if (is_padded && !fits) {
        std::vector<text::Ids> results;
        for (const text::Ids& prompt : prompts) results.push_back(generate(model, prompt, options));
        return results;
    }
    text::Ids rows;
    std::vector<std::int64_t> padding;
    for (const text::Ids& prompt : prompts) {
        padding.push_back(T - static_cast<std::int64_t>(prompt.size()));
        rows.insert(rows.end(), longest - prompt.size(), prompt[0]);
        rows.insert(rows.end(), prompt.begin(), prompt.end());
    }
    const Tensor real = is_padded ? arange(T) >= from_vector(padding, {B, 1}) : Tensor();  // (B, T)
    std::vector<text::Ids> results(prompts.size());
    const auto each = [&](const text::Ids& next) {
        for (std::size_t b = 0; b < results.size(); ++b) {
            const bool ended =
                !results[b].empty() && std::ranges::count(options.end_ids, results[b].back()) > 0;
            if (!ended) results[b].push_back(next[b]);
        }
        return true;
    };
    (void)generate_ids(model, from_vector(rows, {B, T}), real, options, each);
    return results;
}

GeneratedText generate_text(const LanguageModel& model, const text::Tokenizer& tokenizer,
                            const std::string& prompt, const GenerateTextOptions& options) {
    return generate_text(model, tokenizer, tokenizer.encode(prompt), options);
}

GeneratedText generate_text(const LanguageModel& model, const text::Tokenizer& tokenizer,
                            const text::Ids& prompt, const GenerateTextOptions& options) {
    const bool is_padded = tokenizer.pre_trained() != nullptr && tokenizer.vocab_size() < model.vocab_size();
    if (tokenizer.vocab_size() != model.vocab_size() && !is_padded)
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
    generate(model, prompt, options.generate, each);
    if (options.write) {
        std::string rest = characters.push(output.take(true));
        rest += characters.finish();  // a statement of its own: the operands of + may be evaluated in any order
        if (!rest.empty() && result.finish_reason != GeneratedText::cancelled) options.write(rest);
    }
    result.text = output.text();
    return result;
}

}  // namespace weft::lm
