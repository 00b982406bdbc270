// Sampling from logits (V,).
#include "weft/lm/sample.h"

#include <algorithm>
#include <cmath>
#include <numeric>

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

}  // namespace weft::lm
