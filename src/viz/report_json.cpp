// A report's content as JSON inside a page, and back. Numbers of many steps are base64 of little-endian values,
// which says NaN and keeps every bit.
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>

#include "viz/report_content.h"
#include "viz/text.h"

namespace weft::viz {
namespace {

static_assert(std::endian::native == std::endian::little, "the page reads little-endian values");

using Json = nlohmann::ordered_json;
constexpr const char* format = "weft report 1";

template <class T>
std::string numbers(const std::vector<T>& values) {
    return base64({reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)});
}

std::string bytes_of(const Json& text) {
    std::string bytes;
    if (!from_base64(text.get_ref<const std::string&>(), bytes)) throw IoError("base64 that is none");
    return bytes;
}

template <class T>
std::vector<T> numbers_of(const Json& text, std::size_t count) {
    const std::string bytes = bytes_of(text);
    if (bytes.size() != count * sizeof(T))
        throw IoError(std::to_string(bytes.size()) + " bytes where " + std::to_string(count) +
                      " numbers should be");
    std::vector<T> values(count);
    if (count > 0) std::memcpy(values.data(), bytes.data(), bytes.size());
    return values;
}

// A number that JSON may not know.
Json maybe(double value) { return std::isfinite(value) ? Json(value) : Json(); }
double number_of(const Json& value) {
    return value.is_null() ? std::numeric_limits<double>::quiet_NaN() : value.get<double>();
}

Json json_of(const Series& s) {
    Json json = {
        {"size", s.size}, {"last", s.last}, {"end", s.end}, {"steps", s.steps}, {"mean", numbers(s.mean)}};
    if (s.size > 1) json["low"] = numbers(s.low), json["high"] = numbers(s.high);
    return json;
}

Series series_of(const Json& json) {
    Series s{json.at("size"), json.at("last"), json.at("end"), json.at("steps"), {}, {}, {}};
    s.low = s.high = s.mean = numbers_of<double>(json.at("mean"), s.steps.size());
    if (s.size > 1) {
        s.low = numbers_of<double>(json.at("low"), s.steps.size());
        s.high = numbers_of<double>(json.at("high"), s.steps.size());
    }
    return s;
}

Json json_of(const GradientColumns& g) {
    return {{"rows", g.rows}, {"size", g.size},   {"last", g.last},
            {"end", g.end},   {"steps", g.steps}, {"norms", numbers(g.norms)}};
}

GradientColumns gradients_of(const Json& json) {
    GradientColumns g{json.at("rows"), json.at("size"), json.at("last"), json.at("end"), json.at("steps"), {}};
    g.norms = numbers_of<float>(json.at("norms"), g.steps.size() * g.rows.size());
    return g;
}

Json json_of(const Timeline& t) {
    Json kept = Json::array();
    for (const auto& [step, ordinal] : t.kept) kept.push_back({step, ordinal});
    return {{"stride", t.stride}, {"kept", kept}};
}

Timeline timeline_of(const Json& json) {
    Timeline t{json.at("stride"), {}};
    if (t.stride < 1) throw IoError("a stride below 1");
    for (const Json& entry : json.at("kept")) t.kept.push_back({entry.at(0), entry.at(1)});
    return t;
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

Sentence sentence_of(const Json& json) {
    Sentence s;
    for (const Json& token : json.at("bytes")) s.tokens.push_back(bytes_of(token));
    for (const Json& heads : json.at("heads")) s.heads.push_back(heads);
    for (const Json& snapshot : json.at("snapshots")) {
        s.snapshots.push_back({snapshot.at("step"), snapshot.at("causal"), bytes_of(snapshot.at("weights"))});
        if (s.snapshots.back().bytes.size() != s.bytes(s.snapshots.back().causal))
            throw IoError("weights of another size than the sentence");
    }
    if (s.snapshots.empty()) throw IoError("a sentence without weights");
    return s;
}

}  // namespace

std::string ReportFile::json(const Report::Content& c) {
    Json json = {{"format", format}, {"title", c.title}, {"settings", c.settings}};
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

Report::Content ReportFile::content(const std::string& text, const std::string& where) {
    Report::Content c;
    try {
        const Json json = Json::parse(text);
        if (json.at("format") != format)
            throw IoError("its format is " + json.at("format").dump() + ", not \"" + format + "\"");
        c.title = json.at("title");
        c.attention_bytes = json.at("attention_bytes");
        for (const Json& pair : json.at("settings")) c.settings.emplace_back(pair.at(0), pair.at(1));
        c.training = series_of(json.at("loss").at("training"));
        c.validation = series_of(json.at("loss").at("validation"));
        c.learning_rate = series_of(json.at("loss").at("learning_rate"));
        c.gradients = gradients_of(json.at("gradients"));
        for (const Json& row : json.at("parameters"))
            c.parameters.push_back({row.at("name"), row.at("shape"), row.at("count"), number_of(row.at("norm")),
                                    number_of(row.at("first_norm"))});
        c.sampled = timeline_of(json.at("sampled"));
        for (const Json& s : json.at("samples"))
            c.samples.push_back({s.at("step"), s.at("prompt"), s.at("text")});
        c.attended = timeline_of(json.at("attended"));
        for (const Json& s : json.at("sentences")) c.sentences.push_back(sentence_of(s));
    } catch (const Json::exception& error) {
        throw IoError(where + error.what());
    } catch (const IoError& error) {
        throw IoError(where + error.what());
    }
    return c;
}

}  // namespace weft::viz
