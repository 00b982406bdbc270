// The content of a report: series of bounded size, and the weights of attention as bytes.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weft/base/text.h"
#include "weft/io/json.h"
#include "weft/report/report.h"

namespace weft::report {

inline constexpr const char* report_format = "weft report 2";
inline constexpr const char* first_format = "weft report 1";      // has no facts, run or compared runs
inline constexpr std::int64_t last_step = std::int64_t{1} << 53;  // JavaScript's numbers are exact up to here

// A value at each of many steps. When there are `max_bins` bins (an even number), every two neighbours become
// one. Each bin except the last holds `size` values.
template <class Value>
struct Bins {
    std::int64_t size = 1, last = 0;  // values in a bin, and in the last
    std::int64_t end = -1;            // the last step
    std::vector<std::int64_t> steps;  // the first of each bin
    std::vector<Value> values;

    void add(std::int64_t step, const Value& value, std::size_t max_bins);
    void truncate(std::int64_t step);
};

// A bin of numbers.
struct Spread {
    double mean = 0, low = 0, high = 0;
};
struct Series : Bins<Spread> {
    static constexpr std::size_t max_bins = 2048;
    void add(std::int64_t step, double value) { Bins::add(step, {value, value, value}, max_bins); }
};

// The gradient norm of each row; a bin holds the root mean square. A norm that is not finite is NaN.
struct GradientColumns : Bins<std::vector<float>> {
    static constexpr float absent = -1;
    std::vector<std::string> rows;
    std::size_t max_bins() const;
    void add(std::int64_t step, const std::vector<float>& norms) { Bins::add(step, norms, max_bins()); }
};

// A bounded selection of steps: those whose ordinal is a multiple of `stride`, and the last.
struct Timeline {
    struct Entry {
        std::int64_t step = 0, ordinal = 0;
    };
    std::int64_t stride = 1;
    std::vector<Entry> kept;

    std::int64_t last() const { return kept.empty() ? -1 : kept.back().step; }
    bool has(std::int64_t step) const;
    void add(std::int64_t step);  // does nothing if it is the last already
    void coarsen();               // doubles the stride
    void truncate(std::int64_t step);
};

struct ParameterRow {
    std::string name;
    std::vector<std::int64_t> shape;
    std::int64_t count = 0;
    double norm = 0, first_norm = 0;
};

struct Sample {
    std::int64_t step = 0;
    std::string prompt, text;
};

struct Snapshot {
    std::int64_t step = 0;
    bool causal = false;  // every key after the query has weight 0 and is not stored
    std::string bytes;    // layer by layer, head by head, query by query
};

// The number of weights that a head has over T tokens.
inline std::size_t num_weights(std::size_t T, bool causal) { return causal ? T * (T + 1) / 2 : T * T; }

struct Sentence {
    std::vector<std::string> tokens;
    std::vector<std::int64_t> heads;  // number of heads of each layer
    std::vector<Snapshot> snapshots;
};

struct PackedTensor {
    std::string name;
    std::vector<std::int64_t> shape;
    bool half = true;    // IEEE halves, or else float32
    std::string values;  // little-endian
};
struct PackedModel {
    lm::DecoderConfig config;
    std::string vocabulary;
    std::int64_t parameters = 0, max_parameters = 0;
    std::vector<PackedTensor> tensors;  // none if there are more parameters than max_parameters
};
PackedModel pack(const lm::LanguageModel& model, const text::Characters& tokenizer,
                 std::int64_t max_parameters);
PageModel unpack(const PackedModel& model);
using Pairs = std::vector<std::pair<std::string, std::string>>;

// The losses of another run.
struct ComparedRun {
    std::string name;
    Pairs settings;
    Series training, validation;
};

struct Report::Content {
    static constexpr std::size_t max_samples = 24, sample_bytes = 4000, max_compared = 8;
    std::string title;
    std::int64_t attention_bytes = 0;
    Pairs settings, facts;
    ReportRun run;
    std::vector<ComparedRun> compared;
    Series training, validation, learning_rate;
    GradientColumns gradients;
    std::vector<ParameterRow> parameters;
    Timeline sampled, attended;
    std::vector<Sample> samples;
    std::vector<Sentence> sentences;
    std::optional<PackedModel> model;

    void drop_thinned();  // removes samples and snapshots of steps that are no longer in the timelines
    std::int64_t stored_bytes() const;
};

// The content as the JSON of the page, and back. IoError, beginning with `where`, for what json() never writes.
struct ReportFile {
    static std::string json(Report::Content& content);
    static Report::Content content(const std::string& json, const std::string& where);
    // The same for the model, whose JSON is at the end of the page.
    static std::string model_json(Report::Content& content);
    static std::optional<PackedModel> model(const std::string& json, const std::string& where);
};

// The page before, between and after its two JSONs, which the build makes from the files in src/viz/report.
extern const std::string_view page_before_data, page_before_model, page_after_model;

// ASCII JSON with <, > and & escaped, so that nothing ends the script element or starts a comment.
std::string script_text(const std::string& json);

std::string base64(std::string_view bytes);                   // RFC 4648, §4
bool from_base64(std::string_view text, std::string& bytes);  // false if it is not base64

// Fields of the page's two JSONs, by which each is written and read.

static_assert(std::endian::native == std::endian::little, "the page reads little-endian values");

using Json = nlohmann::ordered_json;

// The caller prepends the name of the file.
[[noreturn]] inline void refuse(const std::string& reason) { throw IoError(reason); }

// Refuses a number, or a list with one, that is not whole or not in low … high.
inline void check_whole(const Json& value, std::int64_t low, std::int64_t high) {
    if (value.is_array()) {
        for (const Json& item : value) check_whole(item, low, high);
        return;
    }
    const bool is_whole = value.is_number_integer() && (!value.is_number_unsigned() ||
                                                        value.get<std::uint64_t>() <= std::uint64_t{INT64_MAX});
    if (!is_whole || value.get<std::int64_t>() < low || value.get<std::int64_t>() > high)
        refuse("it has " + excerpt(value.dump()) + " instead of a whole number in " + std::to_string(low) +
               " … " + std::to_string(high));
}

inline void check_size(const std::string& bytes, std::size_t count, std::size_t width) {
    if (bytes.size() != count * width)
        refuse(std::to_string(bytes.size()) + " bytes instead of " + std::to_string(count) + " numbers");
}

// A value of the JSON that is written, or read and checked, by the same calls, so the content is listed once.
struct Fields {
    Json& json;
    bool reading;

    bool has(const char* name) const { return !reading || json.contains(name); }
    Fields of(auto key) const { return {reading ? json.at(key) : json[key], reading}; }
    void plain(auto& value) const {  // converted by the JSON library
        if (reading)
            json.get_to(value);
        else
            json = value;
    }
    void plain(auto key, auto& value) const { of(key).plain(value); }
    void whole(auto key, auto& numbers, std::int64_t low = 0, std::int64_t high = last_step) const {
        if (reading) check_whole(json.at(key), low, high);
        plain(key, numbers);
    }
    // An enumerator, by its place among these names.
    template <class E, std::size_t n>
    void word(const char* key, E& value, const char* const (&names)[n]) const {
        std::string name = names[reading ? 0 : static_cast<std::size_t>(value)];
        plain(key, name);
        const auto found = std::ranges::find(names, name);
        if (found == std::end(names))
            refuse("it has \"" + excerpt(name) + "\" as " + key + ", which is none of the options");
        value = static_cast<E>(found - std::begin(names));
    }
    // null in place of nothing, else what `describe(fields, value)` describes.
    template <class T, class Describe>
    void optional(const char* key, std::optional<T>& value, const Describe& describe) const {
        const Fields f = of(key);
        if (reading ? f.json.is_null() : !value) return value.reset();
        describe(f, value ? *value : value.emplace());
    }
    void optional(const char* key, std::optional<double>& value) const {
        optional(key, value, [](Fields f, double& number) { f.plain(number); });
    }
    void base64(std::string& bytes) const {
        if (!reading)
            json = report::base64(bytes);
        else if (!from_base64(json.get_ref<const std::string&>(), bytes))
            refuse("invalid base64");
    }
    // Many numbers as base64 of their little-endian bytes, which preserves every bit, NaN included.
    template <class T>
    void packed(std::vector<T>& values, std::size_t count) const {
        std::string bytes;
        if (!reading) bytes.assign(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
        base64(bytes);
        check_size(bytes, count, sizeof(T));
        values.resize(count);
        if (count > 0) std::memcpy(values.data(), bytes.data(), bytes.size());
    }
    // A list whose items are described by `describe(fields, item)`.
    template <class T, class Describe>
    void list(std::vector<T>& items, const Describe& describe) const {
        const std::size_t count = reading ? json.size() : items.size();
        if (!reading) json = Json(count, Json());
        for (std::size_t i = 0; i < count; ++i) {
            if (reading) items.emplace_back();
            describe(Fields{json.at(i), reading}, items[i]);
        }
    }
};

// What `read` makes of the JSON; messages begin with `where` and, if it is no JSON, with `what`.
template <class Read>
auto read_json(const std::string& text, const std::string& where, const char* what, const Read& read) {
    Json json = io::parse_json(text, where + what);
    try {
        return read(json);
    } catch (const Json::exception& error) {
        throw IoError(where, excerpt(error.what(), 200));
    } catch (const Error& error) {
        throw IoError(where, error.what());
    }
}

}  // namespace weft::report
