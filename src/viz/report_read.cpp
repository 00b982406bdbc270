// A report's content from the JSON of its page, which anybody may have changed: whatever the report counts on
// when it goes on is checked here.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "models/io/json.h"
#include "viz/report_content.h"
#include "weft/core/text.h"
#include "weft/models/io.h"

namespace weft::viz {
namespace {

using Json = nlohmann::json;

// A reason, before which the file is named.
[[noreturn]] void refuse(const std::string& reason) { throw IoError(reason); }

std::int64_t whole(const Json& value, std::int64_t low = 0, std::int64_t high = last_step) {
    const bool is_whole = value.is_number_integer() && (!value.is_number_unsigned() ||
                                                        value.get<std::uint64_t>() <= std::uint64_t{INT64_MAX});
    if (!is_whole || value.get<std::int64_t>() < low || value.get<std::int64_t>() > high)
        refuse("it has " + text::excerpt(value.dump()) + " where a whole number in " + std::to_string(low) +
               " … " + std::to_string(high) + " should be");
    return value.get<std::int64_t>();
}

std::vector<std::int64_t> wholes(const Json& list) {
    std::vector<std::int64_t> numbers;
    for (const Json& value : list) numbers.push_back(whole(value));
    return numbers;
}

double number_or_nan(const Json& value) {
    if (value.is_null()) return std::numeric_limits<double>::quiet_NaN();
    if (!value.is_number()) refuse("it has " + text::excerpt(value.dump()) + " where a number should be");
    return value.get<double>();
}

std::string bytes_of(const Json& text) {
    std::string bytes;
    if (!from_base64(text.get_ref<const std::string&>(), bytes)) refuse("base64 that is none");
    return bytes;
}

template <class T>
std::vector<T> numbers_of(const Json& text, std::size_t count) {
    const std::string bytes = bytes_of(text);
    if (bytes.size() != count * sizeof(T))
        refuse(std::to_string(bytes.size()) + " bytes where " + std::to_string(count) + " numbers should be");
    std::vector<T> values(count);
    if (count > 0) std::memcpy(values.data(), bytes.data(), bytes.size());
    return values;
}

// Series and GradientColumns: bins that begin at ascending steps and hold `size` values each, the last one
// `last` of them up to the step `end`.
template <class Bins>
void read_bins(const Json& json, Bins& bins, std::size_t most) {
    bins.size = whole(json.at("size"), 1);
    bins.last = whole(json.at("last"), 0, bins.size);
    bins.end = whole(json.at("end"), -1);
    bins.steps = wholes(json.at("steps"));
    const auto& steps = bins.steps;
    bool good = steps.size() <= most;
    for (std::size_t i = 1; i < steps.size(); ++i) good = good && steps[i] - steps[i - 1] >= bins.size;
    if (steps.empty())
        good = good && bins.last == 0 && bins.end == -1;
    else
        good = good && bins.last > 0 && bins.end - steps.back() >= bins.last - 1 &&
               (bins.size > 1 || bins.end == steps.back());
    if (!good) refuse("steps that do not fit their bins");
}

Series series_of(const Json& json) {
    Series s;
    read_bins(json, s, Series::most);
    s.low = s.high = s.mean = numbers_of<double>(json.at("mean"), s.steps.size());
    if (s.size > 1) {
        s.low = numbers_of<double>(json.at("low"), s.steps.size());
        s.high = numbers_of<double>(json.at("high"), s.steps.size());
    }
    return s;
}

GradientColumns gradients_of(const Json& json) {
    GradientColumns g;
    for (const auto& row : json.at("rows")) g.rows.push_back(row.get<std::string>());
    read_bins(json, g, g.most());
    g.norms = numbers_of<float>(json.at("norms"), g.steps.size() * g.rows.size());
    for (const float norm : g.norms)
        if (norm < 0 && norm != GradientColumns::absent) refuse("a norm below 0");
    return g;
}

Timeline timeline_of(const Json& json) {
    Timeline t{whole(json.at("stride"), 1), {}};
    for (const auto& entry : json.at("kept")) {
        const Timeline::Entry next{whole(entry.at(0)), whole(entry.at(1))};
        const bool after =
            t.kept.empty() || (next.step > t.kept.back().step && next.ordinal > t.kept.back().ordinal &&
                               t.kept.back().ordinal % t.stride == 0);
        if (!after || next.ordinal > next.step) refuse("steps that do not fit their stride");
        t.kept.push_back(next);
    }
    return t;
}

Sentence sentence_of(const Json& json, const Timeline& attended) {
    Sentence s;
    for (const auto& token : json.at("bytes")) s.tokens.push_back(bytes_of(token));
    std::size_t heads = 0;
    for (const auto& of_layer : json.at("heads")) {
        s.heads.push_back(whole(of_layer, 1, INT32_MAX));
        heads += static_cast<std::size_t>(s.heads.back());
    }
    for (const auto& saved : json.at("snapshots")) {
        Snapshot next{whole(saved.at("step")), saved.at("causal").get<bool>(), bytes_of(saved.at("weights"))};
        const std::size_t of_head = pairs(s.tokens.size(), next.causal);
        if (heads == 0 || of_head == 0 || next.bytes.size() % of_head != 0 ||
            next.bytes.size() / of_head != heads)
            refuse("weights of another size than the sentence");
        if (!attended.has(next.step) || (!s.snapshots.empty() && next.step <= s.snapshots.back().step))
            refuse("weights of a step that has none");
        s.snapshots.push_back(std::move(next));
    }
    if (s.snapshots.empty()) refuse("a sentence without weights");
    return s;
}

}  // namespace

Report::Content ReportFile::content(const std::string& text, const std::string& where) {
    Report::Content c;
    const Json json = io::parse_json(text, where + "its data");
    try {
        if (json.at("format") != report_format)
            refuse("its format is " + text::excerpt(json.at("format").dump()) + ", not \"" + report_format +
                   "\"");
        c.title = json.at("title").get<std::string>();
        c.attention_bytes = static_cast<std::size_t>(whole(json.at("attention_bytes")));
        for (const auto& pair : json.at("settings"))
            c.settings.emplace_back(pair.at(0).get<std::string>(), pair.at(1).get<std::string>());
        c.training = series_of(json.at("loss").at("training"));
        c.validation = series_of(json.at("loss").at("validation"));
        c.learning_rate = series_of(json.at("loss").at("learning_rate"));
        c.gradients = gradients_of(json.at("gradients"));
        for (const auto& row : json.at("parameters"))
            c.parameters.push_back({row.at("name").get<std::string>(), wholes(row.at("shape")),
                                    whole(row.at("count"), 0, INT64_MAX), number_or_nan(row.at("norm")),
                                    number_or_nan(row.at("first_norm"))});
        c.sampled = timeline_of(json.at("sampled"));
        if (c.sampled.kept.size() > Report::Content::most_samples) refuse("more samples than a report keeps");
        for (const auto& s : json.at("samples")) {
            c.samples.push_back(
                {whole(s.at("step")), s.at("prompt").get<std::string>(), s.at("text").get<std::string>()});
            if (!c.sampled.has(c.samples.back().step)) refuse("a sample of a step that has none");
        }
        c.attended = timeline_of(json.at("attended"));
        for (const auto& s : json.at("sentences")) c.sentences.push_back(sentence_of(s, c.attended));
        if (c.stored_bytes() > c.attention_bytes) refuse("more weights than its attention_bytes allow");
    } catch (const Json::exception& error) {
        throw IoError(where + text::excerpt(error.what(), 200));
    } catch (const IoError& error) {
        throw IoError(where + error.what());
    }
    return c;
}

}  // namespace weft::viz
