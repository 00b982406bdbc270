// Series of bounded size, base64, and JSON in a script element.
#include <algorithm>
#include <cmath>

#include "report/content.h"
#include "weft/base/numbers.h"

namespace weft::report {
namespace {

constexpr std::string_view letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

// The mean and the extremes of n and m values. (n + m) / m is exact, because m is 1 or n.
void join(Spread& a, std::int64_t n, const Spread& b, std::int64_t m) {
    a.mean += (b.mean - a.mean) / static_cast<double>((n + m) / m);
    a.low = std::min(a.low, b.low), a.high = std::max(a.high, b.high);
}

// The root mean square of n and m values. If a parameter has no gradient in one part, the other part's counts.
void join(std::vector<float>& a, std::int64_t n, const std::vector<float>& b, std::int64_t m) {
    const auto nn = static_cast<double>(n), mm = static_cast<double>(m);
    for (std::size_t r = 0; r < a.size(); ++r) {
        if (b[r] == GradientColumns::absent) continue;
        const double x = a[r], y = b[r];
        a[r] = a[r] == GradientColumns::absent
                   ? b[r]
                   : static_cast<float>(std::sqrt((nn * x * x + mm * y * y) / (nn + mm)));
    }
}

}  // namespace

template <class Value>
void Bins<Value>::add(std::int64_t step, const Value& value, std::size_t max_bins) {
    end = step;
    if (!steps.empty() && last < size) return join(values.back(), last++, value, 1);
    if (steps.size() == max_bins) {
        for (std::size_t i = 0; i < max_bins / 2; ++i) {
            join(values[2 * i], size, values[2 * i + 1], size);
            std::swap(values[i], values[2 * i]), std::swap(steps[i], steps[2 * i]);
        }
        steps.resize(max_bins / 2), values.resize(max_bins / 2);
        size *= 2;
    }
    steps.push_back(step), values.push_back(value);
    last = 1;
}

template <class Value>
void Bins<Value>::truncate(std::int64_t step) {
    std::size_t kept = 0;  // a bin with values on both sides of `step` is dropped
    for (; kept < steps.size(); ++kept) {
        const std::int64_t next = kept + 1 < steps.size() ? steps[kept + 1] : end + 1;
        if (steps[kept] >= step || (size > 1 && next > step)) break;
    }
    if (kept == steps.size()) return;
    end = kept == 0 ? -1 : size == 1 ? steps[kept - 1] : steps[kept] - 1;
    steps.resize(kept), values.resize(kept);
    last = kept > 0 ? size : 0;
}

template struct Bins<Spread>;
template struct Bins<std::vector<float>>;

std::size_t GradientColumns::max_bins() const {
    const std::size_t wanted = 120'000 / std::max<std::size_t>(1, rows.size());
    return std::clamp<std::size_t>(wanted / 2 * 2, 32, 256);
}

bool Timeline::has(std::int64_t step) const { return std::ranges::binary_search(kept, step, {}, &Entry::step); }

void Timeline::add(std::int64_t step) {
    if (last() == step) return;
    const std::int64_t ordinal = kept.empty() ? 0 : kept.back().ordinal + 1;
    if (!kept.empty() && kept.back().ordinal % stride != 0) kept.pop_back();
    kept.push_back({step, ordinal});
}

void Timeline::coarsen() {
    stride *= 2;
    const std::int64_t last = kept.empty() ? 0 : kept.back().ordinal;
    std::erase_if(kept, [&](const Entry& e) { return e.ordinal % stride != 0 && e.ordinal != last; });
}

void Timeline::truncate(std::int64_t step) {
    std::erase_if(kept, [&](const Entry& e) { return e.step >= step; });
}

void Report::Content::drop_thinned() {
    std::erase_if(samples, [&](const Sample& s) { return !sampled.has(s.step); });
    for (Sentence& sentence : sentences)
        std::erase_if(sentence.snapshots, [&](const Snapshot& s) { return !attended.has(s.step); });
    std::erase_if(sentences, [](const Sentence& s) { return s.snapshots.empty(); });
}

std::int64_t Report::Content::stored_bytes() const {
    std::size_t sum = 0;
    for (const Sentence& sentence : sentences)
        for (const Snapshot& snapshot : sentence.snapshots) sum += snapshot.bytes.size();
    return static_cast<std::int64_t>(sum);
}

std::string base64(std::string_view bytes) {
    std::string text;
    text.reserve((bytes.size() + 2) / 3 * 4);
    for (std::size_t at = 0; at < bytes.size(); at += 3) {
        std::uint32_t group = 0;  // three bytes
        for (std::size_t i = 0; i < 3; ++i)
            group = group << 8 | (at + i < bytes.size() ? static_cast<unsigned char>(bytes[at + i]) : 0u);
        for (std::size_t i = 0; i < 4; ++i)
            text += at + i <= bytes.size() ? letters[group >> (18 - 6 * i) & 63] : '=';
    }
    return text;
}

bool from_base64(std::string_view text, std::string& bytes) {
    bytes.clear();
    if (text.size() % 4 != 0) return false;
    const std::size_t padding = text.ends_with("==") ? 2 : text.ends_with('=') ? 1 : 0;
    bytes.reserve(text.size() / 4 * 3);
    std::uint32_t group = 0;
    for (std::size_t at = 0; at < text.size(); ++at) {
        const std::size_t value = at < text.size() - padding ? letters.find(text[at]) : 0;
        if (value == std::string_view::npos) return false;
        group = group << 6 | static_cast<std::uint32_t>(value);
        for (std::size_t i = 0; i < 3 && at % 4 == 3; ++i)
            bytes += static_cast<char>(group >> (16 - 8 * i) & 255);
    }
    bytes.resize(bytes.size() - padding);
    return true;
}

std::string script_text(const std::string& json) {
    std::string safe;
    for (const char letter : json)
        if (letter == '<' || letter == '>' || letter == '&')
            safe += "\\u00" + to_chars(int{letter}, 16);
        else
            safe += letter;
    return safe;
}

}  // namespace weft::report
