// Series of bounded size, base64, and JSON in a script element.
#include "report/content.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "weft/base/text.h"
#include "weft/viz/attention_map.h"

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

// A report's content as the JSON of its page, and back. The page may have been changed by hand, so reading
// checks everything that later calls rely on.

namespace {

// Bins start at ascending steps and hold `size` values each, the last one `last` values up to the step `end`.
template <class Value>
void bins(Fields f, Bins<Value>& b, std::size_t max_bins) {
    f.whole("size", b.size, 1);
    f.whole("last", b.last, 0, b.size);
    f.whole("end", b.end, -1);
    f.whole("steps", b.steps);
    const auto too_close = [&](std::int64_t step, std::int64_t next) { return next - step < b.size; };
    // The length of the last bin, in steps.
    const std::int64_t length = b.steps.empty() ? 0 : b.end - b.steps.back() + 1;
    const bool ends = b.steps.empty() ? b.last == 0 && b.end == -1
                                      : b.last > 0 && length >= b.last && (b.size > 1 || length == 1);
    if (!ends || b.steps.size() > max_bins || std::ranges::adjacent_find(b.steps, too_close) != b.steps.end())
        refuse("steps that do not fit their bins");
    b.values.resize(b.steps.size());
}

void series(Fields f, Series& s) {
    bins(f, s, Series::max_bins);
    const auto column = [&](const char* name, double Spread::*member) {
        std::vector<double> numbers;
        for (const Spread& value : s.values) numbers.push_back(value.*member);
        f.of(name).packed(numbers, s.steps.size());
        for (std::size_t i = 0; i < numbers.size(); ++i) s.values[i].*member = numbers[i];
    };
    column("mean", &Spread::mean);
    if (s.size > 1)
        column("low", &Spread::low), column("high", &Spread::high);
    else
        for (Spread& value : s.values) value.low = value.high = value.mean;
}

void gradients(Fields f, GradientColumns& g) {
    f.plain("rows", g.rows);
    bins(f, g, g.max_bins());
    std::vector<float> norms;  // column by column
    for (const std::vector<float>& column : g.values) norms.insert(norms.end(), column.begin(), column.end());
    f.of("norms").packed(norms, g.steps.size() * g.rows.size());
    for (const float norm : norms)
        if (norm < 0 && norm != GradientColumns::absent) refuse("a norm below 0");
    const float* next = norms.data();
    for (std::vector<float>& column : g.values) {
        column.assign(next, next + g.rows.size());
        next += g.rows.size();
    }
}

void timeline(Fields f, Timeline& t) {
    f.whole("stride", t.stride, 1);
    f.of("kept").list(t.kept, [](Fields entry, Timeline::Entry& e) {
        entry.whole(0u, e.step);
        entry.whole(1u, e.ordinal);
    });
    for (std::size_t i = 0; i < t.kept.size(); ++i) {
        const Timeline::Entry &next = t.kept[i], &before = t.kept[i > 0 ? i - 1 : 0];
        const bool after = i == 0 || (next.step > before.step && next.ordinal > before.ordinal &&
                                      before.ordinal % t.stride == 0);
        if (!after || next.ordinal > next.step) refuse("steps that do not fit their stride");
    }
}

void sentence(Fields f, Sentence& s) {
    if (!f.reading) {  // written for the page
        std::string all;
        for (const std::string& token : s.tokens) all += token;
        f.json["text"] = all, f.json["tokens"] = Json::array();
        for (const std::string& token : s.tokens) f.json["tokens"].push_back(viz::visible(token));
    }
    // A token may be part of a character, which JSON cannot represent, so its bytes are stored too.
    f.of("bytes").list(s.tokens, [](Fields item, std::string& token) { item.base64(token); });
    f.whole("heads", s.heads, 1, INT32_MAX);
    f.of("snapshots").list(s.snapshots, [](Fields item, Snapshot& snapshot) {
        item.whole("step", snapshot.step);
        item.plain("causal", snapshot.causal);
        item.of("weights").base64(snapshot.bytes);
    });
}

void check(const Sentence& s, const Timeline& attended) {
    if (s.snapshots.empty()) refuse("a sentence without weights");
    const std::size_t heads = std::accumulate(s.heads.begin(), s.heads.end(), std::size_t{0});
    std::int64_t before = -1;
    for (const Snapshot& snapshot : s.snapshots) {
        const std::size_t of_head = num_weights(s.tokens.size(), snapshot.causal);
        if (heads == 0 || of_head == 0 || snapshot.bytes.size() % of_head != 0 ||
            snapshot.bytes.size() / of_head != heads)
            refuse("the number of weights does not fit the sentence");
        if (!attended.has(snapshot.step) || snapshot.step <= before)
            refuse("weights of a step that is not listed");
        before = snapshot.step;
    }
}

void losses(Fields f, auto& run) {
    series(f.of("loss").of("training"), run.training);
    series(f.of("loss").of("validation"), run.validation);
}

void norm(Fields f, double& value) {
    if (!f.reading)
        f.json = value;  // written as null if it is not finite
    else if (!f.json.is_null() && !f.json.is_number())
        refuse("it has " + excerpt(f.json.dump()) + " instead of a number");
    else
        value = f.json.is_null() ? std::numeric_limits<double>::quiet_NaN() : f.json.get<double>();
}

void run(Fields f, ReportRun& r) {
    f.whole("steps", r.steps);
    f.whole("tokens", r.tokens);
    f.whole("saved", r.saved);
    f.plain("seconds", r.seconds);
    f.plain("next", r.next);
    if (std::min(r.seconds, r.next) < 0 || std::max(r.seconds, r.next) > static_cast<double>(last_step))
        refuse("a time that is not in 0 … 2^53");
}

void content(Fields f, auto& c) {
    f.plain("title", c.title);
    f.plain("settings", c.settings);
    losses(f, c);
    series(f.of("loss").of("learning_rate"), c.learning_rate);
    gradients(f.of("gradients"), c.gradients);
    f.of("parameters").list(c.parameters, [](Fields item, ParameterRow& row) {
        item.plain("name", row.name);
        item.whole("shape", row.shape);
        item.whole("count", row.count, 0, INT64_MAX);
        norm(item.of("norm"), row.norm);
        norm(item.of("first_norm"), row.first_norm);
    });
    timeline(f.of("sampled"), c.sampled);
    f.of("samples").list(c.samples, [](Fields item, Sample& sample) {
        item.whole("step", sample.step);
        item.plain("prompt", sample.prompt);
        item.plain("text", sample.text);
    });
    f.whole("attention_bytes", c.attention_bytes);
    timeline(f.of("attended"), c.attended);
    f.of("sentences").list(c.sentences, sentence);
    if (f.has("facts")) f.plain("facts", c.facts);
    if (f.has("run")) run(f.of("run"), c.run);
    if (f.has("compared"))
        f.of("compared").list(c.compared, [](Fields item, ComparedRun& other) {
            item.plain("name", other.name);
            item.plain("settings", other.settings);
            losses(item, other);
        });
}

void check(const auto& c) {
    if (c.compared.size() > c.max_compared) refuse("too many runs to compare");
    if (c.sampled.kept.size() > c.max_samples) refuse("too many samples");
    for (const Sample& sample : c.samples)
        if (!c.sampled.has(sample.step)) refuse("a sample of a step that is not listed");
    for (const Sentence& s : c.sentences) check(s, c.attended);
    if (c.stored_bytes() > c.attention_bytes) refuse("more weights than its attention_bytes allows");
}

}  // namespace

std::string ReportFile::json(Report::Content& c) {
    Json json = {{"format", report_format}};
    report::content({json, /*reading=*/false}, c);
    json["has_model"] = c.model.has_value();
    return script_text(json.dump(-1, ' ', true, Json::error_handler_t::replace));
}

Report::Content ReportFile::content(const std::string& text, const std::string& where) {
    return read_json(text, where, "its data", [](Json& json) {
        if (json.at("format") != report_format && json.at("format") != first_format)
            refuse("its format is " + excerpt(json.at("format").dump()) + ", not \"" + report_format + "\"");
        Report::Content c;
        report::content({json, /*reading=*/true}, c);
        check(c);
        return c;
    });
}

}  // namespace weft::report
