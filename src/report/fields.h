// Fields of the page's two JSONs, by which each is written and read.
#pragma once

#include <algorithm>
#include <bit>
#include <cstring>
#include <optional>

#include "report/content.h"
#include "weft/base/utf8.h"
#include "weft/io/json.h"

namespace weft::report {

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
