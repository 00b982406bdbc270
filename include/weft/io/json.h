// Internal: The reader of JSON from files, for users of nlohmann::json: weft/io.h does not include it.
#pragma once

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "weft/base/text.h"
#include "weft/io/gguf.h"

namespace weft::io {

// The JSON object that a text consists of, in linear time except for the lookup of names. IoError, beginning
// with `what` ("cannot read PATH: it"), for: text that is not JSON up to its last byte, a zero byte, a
// byte-order mark, a value other than an object, a number too large for a double, more than 64 levels, or a
// name that is repeated in an object.
nlohmann::json parse_json(std::string_view text, const std::string& what);

// The object in a file, which may begin with a byte-order mark; otherwise refuses what parse_json refuses.
nlohmann::json load_json(const std::filesystem::path& path);

// Internal: The keys of a file that describes a model or a tokenizer, as JSON: each is read, listed as
// harmless, or refused by its name. For users of nlohmann::json: weft/io.h does not include it.

// An object whose keys are taken one by one; what is wrong is collected in `errors`.
class KeyReader {
public:
    using json = nlohmann::json;

    // `reader` is who reads, and `path` is put before the keys, in messages: "Decoder", "rope_parameters.".
    // Keys that `passed` names, with the path before them, count as absent.
    KeyReader(const json& object, ErrorList& errors, std::string reader, std::vector<std::string> passed = {},
              std::string path = "")
        : object_(object),
          errors_(errors),
          reader_(std::move(reader)),
          passed_(std::move(passed)),
          path_(std::move(path)) {}

    // The value of a key, null if there is none; it then counts as read.
    const json& take(const std::string& name) {
        taken_.insert(name);
        return find(name);
    }
    // A whole number in 1 … largest, or `otherwise` if there is none and that is given.
    std::int64_t size(const std::string& name, std::int64_t largest,
                      std::optional<std::int64_t> otherwise = {}) {
        const json& value = take(name);
        if (value.is_null() && otherwise) return *otherwise;
        if (value.is_null()) return wrong(path_ + name + " is missing"), 1;
        const bool is_small = value.is_number_integer() && value <= largest;
        if (is_small && value >= 1) return value.get<std::int64_t>();
        wrong(path_ + name + " is " + shown(value) + ", not a whole number in 1 … " + std::to_string(largest));
        return otherwise.value_or(1);
    }
    double number(const std::string& name, std::optional<double> otherwise = {}) {  // above 0
        const json& value = take(name);
        if (value.is_null() && otherwise) return *otherwise;
        if (value.is_number() && value > 0 && std::isfinite(value.get<double>())) return value.get<double>();
        if (value.is_null())
            wrong(path_ + name + " is missing");
        else
            wrong(path_ + name + " is " + shown(value) + ", not a number above 0");
        return otherwise.value_or(1);
    }
    std::optional<double> optional_number(const std::string& name) {
        return has(name) ? std::optional(number(name)) : (taken_.insert(name), std::nullopt);
    }
    bool flag(const std::string& name, bool otherwise) {
        const json& value = take(name);
        if (value.is_boolean()) return value.get<bool>();
        if (!value.is_null()) wrong(path_ + name + " is " + shown(value) + ", neither true nor false");
        return otherwise;
    }
    // One of the allowed values, as its place among them; `otherwise` if there is none.
    std::size_t choice(const std::string& name, const std::vector<json>& allowed, std::size_t otherwise) {
        const json& value = take(name);
        const auto found = std::ranges::find(allowed, value);
        if (value.is_null() || found != allowed.end())
            return value.is_null() ? otherwise : static_cast<std::size_t>(found - allowed.begin());
        std::string list;
        for (const json& one : allowed) list += (list.empty() ? "" : ", ") + one.dump();
        wrong(path_ + name + " is " + shown(value) + ", and " + reader_ + " computes " + list);
        return otherwise;
    }
    bool has(const std::string& name) const { return !find(name).is_null(); }
    // Whether the key is there with the value null.
    bool is_null(const std::string& name) const { return object_.contains(name) && object_[name].is_null(); }
    // An object within, or one without keys.
    KeyReader within(const std::string& name) {
        const json& value = take(name);
        static const json none = json::object();
        if (!value.is_null() && !value.is_object())
            wrong(path_ + name + " is " + shown(value) + ", not an object");
        return {value.is_object() ? value : none, errors_, reader_, passed_, path_ + name + "."};
    }
    void ignore(const std::vector<std::string>& names) { taken_.insert(names.begin(), names.end()); }
    // Refuses what was neither taken nor ignored, unless it is null.
    void finish() {
        for (const auto& [name, value] : object_.items())
            if (!taken_.contains(name) && has(name))
                wrong(path_ + excerpt(name) + " is " + shown(value) + ", and " + reader_ +
                      " does not know this key; ignore_keys passes over it, at your own risk");
    }
    void wrong(const std::string& what) { errors_.add(what); }
    static std::string shown(const json& value) {  // which may hold text that is not UTF-8
        return excerpt(value.dump(-1, ' ', false, json::error_handler_t::replace));
    }

private:
    const json& object_;
    ErrorList& errors_;
    std::string reader_;
    std::vector<std::string> passed_;
    std::string path_;
    std::set<std::string> taken_;

    const json& find(const std::string& name) const {
        static const json none;
        const auto found = object_.find(name);
        const bool is_passed = std::ranges::find(passed_, path_ + name) != passed_.end();
        return found == object_.end() || is_passed ? none : *found;
    }
};

// The keys of a GGUF file that begin with the prefix, without it. An array of more than 10,000 elements, such
// as that of the tokens, becomes a text that says so.
inline nlohmann::json keys_of(const GgufMetadata& metadata, const std::string& prefix) {
    nlohmann::json object = nlohmann::json::object();
    const auto json_of = []<class T>(const T& x) {
        if constexpr (requires { x.begin(); } && !std::is_same_v<T, std::string>)
            if (x.size() > 10'000) return nlohmann::json("an array of " + std::to_string(x.size()));
        return nlohmann::json(x);
    };
    for (const auto& [key, value] : metadata.values())
        if (key.starts_with(prefix)) object[key.substr(prefix.size())] = std::visit(json_of, value);
    return object;
}

}  // namespace weft::io
