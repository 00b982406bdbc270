// The keys of a config.json: each is read, listed as harmless, or refused by its name.
#pragma once

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "weft/base/error_list.h"
#include "weft/base/utf8.h"
#include "weft/io/json.h"

namespace weft::lm {

using nlohmann::json;

inline std::string shown(const json& value) { return excerpt(value.dump()); }

// An object whose keys are taken one by one; what is wrong is collected in `errors`.
class ConfigReader {
public:
    // `path` is put before its keys in messages: "rope_parameters.".
    ConfigReader(const json& object, ErrorList& errors, std::string path = "")
        : object_(object), errors_(errors), path_(std::move(path)) {}

    // The value of a key, null if there is none; it then counts as read.
    const json& take(const std::string& name) {
        taken_.insert(name);
        static const json none;
        const auto found = object_.find(name);
        return found == object_.end() ? none : *found;
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
        if (value.is_number() && value.get<double>() > 0) return value.get<double>();
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
        wrong(path_ + name + " is " + shown(value) + ", and Decoder computes " + list);
        return otherwise;
    }
    bool has(const std::string& name) const { return object_.contains(name) && !object_[name].is_null(); }
    // An object within, or one without keys.
    ConfigReader within(const std::string& name) {
        const json& value = take(name);
        static const json none = json::object();
        if (!value.is_null() && !value.is_object())
            wrong(path_ + name + " is " + shown(value) + ", not an object");
        return {value.is_object() ? value : none, errors_, path_ + name + "."};
    }
    void ignore(const std::vector<std::string>& names) { taken_.insert(names.begin(), names.end()); }
    // Refuses what was neither taken nor ignored, unless it is null.
    void finish() {
        for (const auto& [name, value] : object_.items())
            if (!taken_.contains(name) && !value.is_null())
                wrong(path_ + excerpt(name) + " is " + shown(value) + ", and Decoder does not know this key");
    }
    void wrong(const std::string& what) { errors_.add(what); }

private:
    const json& object_;
    ErrorList& errors_;
    std::string path_;
    std::set<std::string> taken_;
};

}  // namespace weft::lm
