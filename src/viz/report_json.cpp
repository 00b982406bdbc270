// A report's content as JSON inside a page. Numbers of many steps are base64 of little-endian values, which
// says NaN and keeps every bit.
#include <bit>
#include <cmath>
#include <nlohmann/json.hpp>

#include "viz/report_content.h"
#include "viz/text.h"

namespace weft::viz {
namespace {

static_assert(std::endian::native == std::endian::little, "the page reads little-endian values");

using Json = nlohmann::ordered_json;

template <class T>
std::string numbers(const std::vector<T>& values) {
    return base64({reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)});
}

// A number that JSON may not know.
Json maybe(double value) { return std::isfinite(value) ? Json(value) : Json(); }

Json json_of(const Series& s) {
    Json json = {
        {"size", s.size}, {"last", s.last}, {"end", s.end}, {"steps", s.steps}, {"mean", numbers(s.mean)}};
    if (s.size > 1) json["low"] = numbers(s.low), json["high"] = numbers(s.high);
    return json;
}

Json json_of(const GradientColumns& g) {
    return {{"rows", g.rows}, {"size", g.size},   {"last", g.last},
            {"end", g.end},   {"steps", g.steps}, {"norms", numbers(g.norms)}};
}

Json json_of(const Timeline& t) {
    Json kept = Json::array();
    for (const auto& [step, ordinal] : t.kept) kept.push_back({step, ordinal});
    return {{"stride", t.stride}, {"kept", kept}};
}

Json json_of(const Sentence& s) {
    Json shown = Json::array(), snapshots = Json::array();
    for (const std::string& token : s.tokens) shown.push_back(visible(token));
    for (const auto& [step, causal, bytes] : s.snapshots)
        snapshots.push_back({{"step", step}, {"causal", causal}, {"weights", base64(bytes)}});
    // Tokens may hold parts of a character, which JSON cannot say: their bytes are kept too.
    Json raw = Json::array();
    for (const std::string& token : s.tokens) raw.push_back(base64(token));
    std::string text;
    for (const std::string& token : s.tokens) text += token;
    return {{"text", text}, {"tokens", shown}, {"bytes", raw}, {"heads", s.heads}, {"snapshots", snapshots}};
}

}  // namespace

std::string ReportFile::json(const Report::Content& c) {
    Json json = {{"format", report_format}, {"title", c.title}, {"settings", c.settings}};
    json["loss"] = {{"training", json_of(c.training)},
                    {"validation", json_of(c.validation)},
                    {"learning_rate", json_of(c.learning_rate)}};
    json["gradients"] = json_of(c.gradients);
    json["parameters"] = Json::array();
    for (const ParameterRow& row : c.parameters)
        json["parameters"].push_back({{"name", row.name},
                                      {"shape", row.shape},
                                      {"count", row.count},
                                      {"norm", maybe(row.norm)},
                                      {"first_norm", maybe(row.first_norm)}});
    json["sampled"] = json_of(c.sampled);
    json["samples"] = Json::array();
    for (const Sample& s : c.samples)
        json["samples"].push_back({{"step", s.step}, {"prompt", s.prompt}, {"text", s.text}});
    json["attention_bytes"] = c.attention_bytes;
    json["attended"] = json_of(c.attended);
    json["sentences"] = Json::array();
    for (const Sentence& s : c.sentences) json["sentences"].push_back(json_of(s));

    // All of it ASCII; <, > and & escaped too, so that nothing in it ends the script or begins a comment.
    const std::string text = json.dump(-1, ' ', true, Json::error_handler_t::replace);
    std::string safe;
    safe.reserve(text.size() + 64);
    for (const char letter : text) {
        if (letter == '<')
            safe += "\\u003c";
        else if (letter == '>')
            safe += "\\u003e";
        else if (letter == '&')
            safe += "\\u0026";
        else
            safe += letter;
    }
    return safe;
}

}  // namespace weft::viz
