// Series that stay bounded however long the run.
#include <algorithm>
#include <cmath>

#include "viz/report_content.h"

namespace weft::viz {
namespace {

// How many of the first bins to keep when all from `step` on goes: a bin that reaches over it goes whole.
std::size_t bins_before(std::int64_t step, const std::vector<std::int64_t>& steps, std::int64_t size,
                        std::int64_t end) {
    std::size_t kept = 0;
    while (kept < steps.size()) {
        const std::int64_t next = kept + 1 < steps.size() ? steps[kept + 1] : end + 1;
        if (steps[kept] >= step || (size > 1 && next > step)) break;
        ++kept;
    }
    return kept;
}

// The last step of the bins that are kept, when there are more.
std::int64_t end_of(std::size_t kept, const std::vector<std::int64_t>& steps, std::int64_t size) {
    return kept == 0 ? -1 : size == 1 ? steps[kept - 1] : steps[kept] - 1;
}

// The root mean square of values that stand for n and m values each. A parameter that had no gradient in one
// part has the other's.
float joined(float a, std::int64_t n, float b, std::int64_t m) {
    if (a == GradientColumns::absent) return b;
    if (b == GradientColumns::absent) return a;
    const double x = a, y = b, nn = static_cast<double>(n), mm = static_cast<double>(m);
    return static_cast<float>(std::sqrt((nn * x * x + mm * y * y) / (nn + mm)));
}

}  // namespace

void Series::add(std::int64_t step, double value) {
    end = step;
    if (!steps.empty() && last < size) {
        const std::size_t bin = steps.size() - 1;
        ++last;
        mean[bin] += (value - mean[bin]) / static_cast<double>(last);
        low[bin] = std::min(low[bin], value), high[bin] = std::max(high[bin], value);
        return;
    }
    if (steps.size() == most) {
        for (std::size_t i = 0; i < most / 2; ++i) {
            const std::size_t a = 2 * i, b = a + 1;
            steps[i] = steps[a];
            mean[i] = mean[a] + (mean[b] - mean[a]) / 2;
            low[i] = std::min(low[a], low[b]), high[i] = std::max(high[a], high[b]);
        }
        steps.resize(most / 2), mean.resize(most / 2), low.resize(most / 2), high.resize(most / 2);
        size *= 2;
    }
    steps.push_back(step), mean.push_back(value), low.push_back(value), high.push_back(value);
    last = 1;
}

void Series::cut(std::int64_t step) {
    const std::size_t kept = bins_before(step, steps, size, end);
    if (kept == steps.size()) return;
    end = end_of(kept, steps, size);
    steps.resize(kept), mean.resize(kept), low.resize(kept), high.resize(kept);
    last = kept > 0 ? size : 0;
}

std::size_t GradientColumns::most() const {
    const std::size_t wanted = 120'000 / std::max<std::size_t>(1, rows.size());
    return std::clamp<std::size_t>(wanted / 2 * 2, 32, 256);
}

void GradientColumns::add(std::int64_t step, const std::vector<float>& column) {
    const std::size_t R = rows.size();
    end = step;
    if (!steps.empty() && last < size) {
        float* bin = norms.data() + (steps.size() - 1) * R;
        for (std::size_t r = 0; r < R; ++r) bin[r] = joined(bin[r], last, column[r], 1);
        ++last;
        return;
    }
    if (steps.size() == most()) {
        const std::size_t half = most() / 2;
        for (std::size_t i = 0; i < half; ++i) {
            steps[i] = steps[2 * i];
            for (std::size_t r = 0; r < R; ++r)
                norms[i * R + r] = joined(norms[2 * i * R + r], size, norms[(2 * i + 1) * R + r], size);
        }
        steps.resize(half), norms.resize(half * R);
        size *= 2;
    }
    steps.push_back(step);
    norms.insert(norms.end(), column.begin(), column.end());
    last = 1;
}

void GradientColumns::cut(std::int64_t step) {
    const std::size_t kept = bins_before(step, steps, size, end);
    if (kept == steps.size()) return;
    end = end_of(kept, steps, size);
    steps.resize(kept), norms.resize(kept * rows.size());
    last = kept > 0 ? size : 0;
}

bool Timeline::has(std::int64_t step) const {
    const auto found = std::lower_bound(kept.begin(), kept.end(), step,
                                        [](const Entry& e, std::int64_t wanted) { return e.step < wanted; });
    return found != kept.end() && found->step == step;
}

void Timeline::add(std::int64_t step) {
    if (kept.empty()) {
        kept.push_back({step, 0});
        return;
    }
    const Entry back = kept.back();
    if (back.step == step) return;
    if (back.ordinal % stride != 0) kept.pop_back();
    kept.push_back({step, back.ordinal + 1});
}

void Timeline::coarsen() {
    stride *= 2;
    const std::int64_t last = kept.empty() ? 0 : kept.back().ordinal;
    std::erase_if(kept, [&](const Entry& e) { return e.ordinal % stride != 0 && e.ordinal != last; });
}

void Timeline::cut(std::int64_t step) {
    std::erase_if(kept, [&](const Entry& e) { return e.step >= step; });
}

std::size_t Sentence::bytes(bool causal) const {
    std::size_t all = 0;
    for (const std::int64_t h : heads) all += static_cast<std::size_t>(h);
    return all * pairs(tokens.size(), causal);
}

void Report::Content::forget_thinned() {
    std::erase_if(samples, [&](const Sample& s) { return !sampled.has(s.step); });
    for (Sentence& sentence : sentences)
        std::erase_if(sentence.snapshots, [&](const Snapshot& s) { return !attended.has(s.step); });
    std::erase_if(sentences, [](const Sentence& s) { return s.snapshots.empty(); });
}

std::size_t Report::Content::stored_bytes() const {
    std::size_t sum = 0;
    for (const Sentence& sentence : sentences)
        for (const Snapshot& snapshot : sentence.snapshots) sum += snapshot.bytes.size();
    return sum;
}

}  // namespace weft::viz
