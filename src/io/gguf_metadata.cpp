#include <type_traits>

#include "io/gguf.h"
#include "io/values.h"
#include "weft/base/utf8.h"

namespace weft::io {

namespace {

// gguf_metadata_value_type, and the fewest bytes that a value takes.
enum ValueType : std::uint32_t { u8, i8, u16, i16, u32, i32, f32, flag, string, array, u64, i64, f64 };
constexpr std::uint64_t value_bytes[] = {1, 1, 2, 2, 4, 4, 4, 1, 8, 12, 8, 8, 8};

}  // namespace

void GgufParts::check_count(std::uint64_t count, std::uint64_t bytes, const char* of) const {
    if (count > left() / bytes)
        refuse("it claims " + std::to_string(count) + " " + of + ", and " + std::to_string(left()) +
               " bytes follow");
}

void GgufParts::take(void* to, std::uint64_t bytes) {
    if (bytes > left())
        refuse("it takes " + std::to_string(bytes) + " more bytes, and " + std::to_string(left()) +
               " follow; the file is cut short or damaged");
    in.take(to, bytes);
    at_ += bytes;
}

std::string GgufParts::take_string() {
    const auto size = take<std::uint64_t>();
    check_count(size, 1, "bytes of a string");
    std::string text(size, '\0');
    take(text.data(), size);
    return text;
}

std::string GgufParts::take_name() {
    std::string name = take_string();
    if (name.empty()) refuse("its name is empty");
    if (!is_utf8(name)) refuse("its name \"" + excerpt(name) + "\" is not UTF-8");
    return name;
}

GgufMetadata GgufParts::take_metadata(std::uint64_t entries) {
    std::map<std::string, GgufValue> values;
    for (std::uint64_t i = 0; i < entries; ++i) {
        part = "key " + std::to_string(i) + " of its metadata: ";
        std::string key = take_name();
        part = "key \"" + excerpt(key) + "\": ";
        if (values.contains(key)) refuse("it is there twice");
        values.emplace(std::move(key), take_value());
    }
    part.clear();
    return GgufMetadata(path_, std::move(values));
}

GgufValue GgufParts::take_value() {
    auto type = take<std::uint32_t>();
    const bool in_array = type == array;
    if (in_array) type = take<std::uint32_t>();
    if (type == array) refuse("it is an array of arrays, and only arrays of plain values are read");
    if (type > f64) refuse("its type is " + std::to_string(type) + "; types 0 to 12 are read");
    if (type == f32 || type == f64) return value_of<double>(type, in_array);
    if (type == flag) return value_of<bool>(type, in_array);
    if (type == string) return value_of<std::string>(type, in_array);
    return value_of<std::int64_t>(type, in_array);
}

template <class T>
GgufValue GgufParts::value_of(std::uint32_t type, bool in_array) {
    if (!in_array) return element<T>(type);
    const auto count = take<std::uint64_t>();
    check_count(count, value_bytes[type], "elements");
    std::vector<T> values;
    values.reserve(count);
    for (std::uint64_t i = 0; i < count; ++i) values.push_back(element<T>(type));
    return values;
}

template <class T>
T GgufParts::element(std::uint32_t type) {
    if constexpr (std::is_same_v<T, std::string>) {
        return take_string();
    } else if constexpr (std::is_same_v<T, bool>) {
        const auto byte = take<std::byte>();
        if (!all_valid_bools({&byte, 1})) refuse("it holds a bool that is neither 0 nor 1");
        return byte == std::byte{1};
    } else if constexpr (std::is_same_v<T, double>) {
        return type == f32 ? static_cast<double>(take<float>()) : take<double>();
    } else {
        switch (type) {
            case u8:
                return take<std::uint8_t>();
            case i8:
                return take<std::int8_t>();
            case u16:
                return take<std::uint16_t>();
            case i16:
                return take<std::int16_t>();
            case u32:
                return take<std::uint32_t>();
            case i32:
                return take<std::int32_t>();
            default:
                break;
        }
        const auto value = take<std::int64_t>();
        if (type == u64 && value < 0)
            refuse("it holds " + std::to_string(static_cast<std::uint64_t>(value)) +
                   "; integers are read up to 9223372036854775807");
        return value;
    }
}

template <class T>
const T& GgufMetadata::get(const std::string& key) const {
    static constexpr const char* kinds[] = {"an integer",
                                            "a number",
                                            "a bool",
                                            "a string",
                                            "an array of integers",
                                            "an array of numbers",
                                            "an array of bools",
                                            "an array of strings"};
    const auto found = values_.find(key);
    if (found == values_.end()) io::refuse(file_, "its metadata has no \"" + excerpt(key) + "\"");
    if (const T* value = std::get_if<T>(&found->second)) return *value;
    io::refuse(file_, "its metadata has \"" + excerpt(key) + "\" as " + kinds[found->second.index()] +
                          ", and needs it as " + kinds[GgufValue(T()).index()]);
}

std::int64_t GgufMetadata::integer(const std::string& key, std::optional<std::int64_t> otherwise) const {
    return otherwise && !has(key) ? *otherwise : get<std::int64_t>(key);
}
double GgufMetadata::number(const std::string& key, std::optional<double> otherwise) const {
    if (otherwise && !has(key)) return *otherwise;
    const auto found = values_.find(key);
    const bool is_integer = found != values_.end() && std::holds_alternative<std::int64_t>(found->second);
    return is_integer ? static_cast<double>(get<std::int64_t>(key)) : get<double>(key);
}
bool GgufMetadata::boolean(const std::string& key, std::optional<bool> otherwise) const {
    return otherwise && !has(key) ? *otherwise : get<bool>(key);
}
const std::string& GgufMetadata::text(const std::string& key) const { return get<std::string>(key); }
const std::vector<std::int64_t>& GgufMetadata::integers(const std::string& key) const {
    return get<std::vector<std::int64_t>>(key);
}
const std::vector<double>& GgufMetadata::numbers(const std::string& key) const {
    return get<std::vector<double>>(key);
}
const std::vector<std::string>& GgufMetadata::strings(const std::string& key) const {
    return get<std::vector<std::string>>(key);
}

}  // namespace weft::io
