// Sampling from logits (V,).
#include "weft/models/sample.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace weft::nn {

namespace {

constexpr double minus_infinity = -std::numeric_limits<double>::infinity();

void check(const Tensor& logits, const SampleOptions& options) {
    const double temperature = options.temperature;
    if (!(temperature >= 0) || !std::isfinite(temperature))
        throw ValueError("sample: temperature must be finite and at least 0 (greedy), not ", temperature);
    if (options.top_k < 0) throw ValueError("sample: top_k must be at least 0 (all), not ", options.top_k);
    if (!(options.top_p > 0 && options.top_p <= 1))
        throw ValueError("sample: top_p must be above 0 and at most 1 (all), not ", options.top_p);
    if (temperature > 0 && options.rng == nullptr)
        throw ValueError("sample: a temperature above 0 needs a random generator: {.rng = &rng}");
    if (logits.rank() != 1 || logits.numel() == 0)
        throw ShapeError("sample: logits must be (V,) with V ≥ 1, not ", logits.shape());
}

// Indices in falling order of their values, of equals the first; only the first `count` of them are in their
// place.
class Ranking {
public:
    explicit Ranking(const std::vector<double>& values) : values_(values), order_(values.size()) {
        std::iota(order_.begin(), order_.end(), std::size_t{0});
    }
    std::size_t size() const { return order_.size(); }
    std::size_t operator[](std::size_t i) {
        while (i >= count_) {  // few are asked for, most of the time
            const std::size_t more = std::min(std::max<std::size_t>(64, 8 * count_), order_.size());
            std::partial_sort(order_.begin() + at(count_), order_.begin() + at(more), order_.end(),
                              [&](std::size_t a, std::size_t b) {
                                  return values_[a] != values_[b] ? values_[a] > values_[b] : a < b;
                              });
            count_ = more;
        }
        return order_[i];
    }

private:
    const std::vector<double>& values_;
    std::vector<std::size_t> order_;
    std::size_t count_ = 0;

    static std::ptrdiff_t at(std::size_t i) { return static_cast<std::ptrdiff_t>(i); }
};

// How many of the likeliest weights are kept; all others get none.
void apply_top_k_top_p(std::vector<double>& weights, const SampleOptions& options) {
    std::size_t count = weights.size();
    if (options.top_k > 0) count = std::min(count, static_cast<std::size_t>(options.top_k));
    if (count == weights.size() && options.top_p == 1) return;
    const std::vector<double> all = weights;
    Ranking ranking(all);
    double total = 0, sum = 0;
    if (count == all.size())
        total = std::accumulate(all.begin(), all.end(), 0.0);
    else
        for (std::size_t i = 0; i < count; ++i) total += all[ranking[i]];
    std::fill(weights.begin(), weights.end(), 0);
    for (std::size_t i = 0; i < count && (i == 0 || options.top_p == 1 || sum < options.top_p * total); ++i) {
        weights[ranking[i]] = all[ranking[i]];
        sum += all[ranking[i]];
    }
}

}  // namespace

std::int64_t sample(const Tensor& logits, const SampleOptions& options) {
    check(logits, options);
    std::vector<double> scores = logits.detach().to(float64).to_vector<double>();
    for (std::size_t i = 0; i < scores.size(); ++i)
        if (std::isnan(scores[i]) || scores[i] == -minus_infinity)
            throw ValueError("sample: logit ", i, " is ", scores[i],
                             "; a logit is finite, or −inf for a token that is left out");

    const auto best = std::max_element(scores.begin(), scores.end());
    const double highest = *best;
    if (options.temperature == 0) return best - scores.begin();
    if (highest == minus_infinity)
        throw ValueError("sample: every logit is -inf; one token or more must be possible");
    for (double& score : scores) score = std::exp((score - highest) / options.temperature);
    apply_top_k_top_p(scores, options);
    return options.rng->categorical(scores);
}

}  // namespace weft::nn
