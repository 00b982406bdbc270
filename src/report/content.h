// The content of a report: series of bounded size, and the weights of attention as bytes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

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

}  // namespace weft::report
