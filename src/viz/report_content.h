// What a report holds: series that stay bounded, and the weights of attention as bytes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "weft/viz/report.h"

namespace weft::viz {

inline constexpr const char* report_format = "weft report 1";
inline constexpr std::int64_t last_step = std::int64_t{1} << 53;  // the page's JavaScript is exact up to here

// A number at each of many steps. When there are `most` bins, neighbours become one: each bin but the last then
// holds `size` values.
struct Series {
    static constexpr std::size_t most = 2048;  // even, so that the bins pair up
    std::int64_t size = 1, last = 0;           // values in a bin, and in the last
    std::int64_t end = -1;                     // the last step
    std::vector<std::int64_t> steps;           // the first of each bin
    std::vector<double> mean, low, high;

    void add(std::int64_t step, double value);
    void cut(std::int64_t step);
};

// The norms of the rows' gradients at each of many steps; a bin holds their root mean square. Not finite: NaN.
struct GradientColumns {
    static constexpr float absent = -1;
    std::vector<std::string> rows;
    std::int64_t size = 1, last = 0, end = -1;
    std::vector<std::int64_t> steps;
    std::vector<float> norms;  // column by column

    std::size_t most() const;  // columns
    void add(std::int64_t step, const std::vector<float>& column);
    void cut(std::int64_t step);
};

// Which of many steps are kept: those whose ordinal is a multiple of `stride`, and the last.
struct Timeline {
    struct Entry {
        std::int64_t step = 0, ordinal = 0;
    };
    std::int64_t stride = 1;
    std::vector<Entry> kept;

    bool has(std::int64_t step) const;
    void add(std::int64_t step);  // nothing where it is the last already
    void coarsen();               // twice the stride
    void cut(std::int64_t step);
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
    bool causal = false;  // keys after the query have no weight, and are left out
    std::string bytes;    // layer by layer, head by head, query by query
};

// How many weights a head has over T tokens.
inline std::size_t pairs(std::size_t T, bool causal) { return causal ? T * (T + 1) / 2 : T * T; }

struct Sentence {
    std::vector<std::string> tokens;
    std::vector<std::int64_t> heads;  // of each layer
    std::vector<Snapshot> snapshots;

    std::size_t bytes(bool causal) const;  // of a snapshot
};

struct Report::Content {
    static constexpr std::size_t most_samples = 24, sample_bytes = 4000;
    std::string title;
    std::size_t attention_bytes = 0;
    std::vector<std::pair<std::string, std::string>> settings;
    Series training, validation, learning_rate;
    GradientColumns gradients;
    std::vector<ParameterRow> parameters;
    Timeline sampled, attended;
    std::vector<Sample> samples;
    std::vector<Sentence> sentences;

    void forget_thinned();  // samples and snapshots of steps that the timelines have let go
    std::size_t stored_bytes() const;
};

// The content as the page's JSON and back: reads what it wrote, refuses all else with an IoError that begins
// with `where`.
struct ReportFile {
    static std::string json(const Report::Content& content);
    static Report::Content content(const std::string& json, const std::string& where);
};

// What stands before and after the JSON; made of the files in src/viz/report when Weft is built.
extern const std::string_view page_before_data, page_after_data;

std::string base64(std::string_view bytes);                   // RFC 4648, §4
bool from_base64(std::string_view text, std::string& bytes);  // false when it is none

}  // namespace weft::viz
