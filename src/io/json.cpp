#include "weft/io/json.h"

#include <vector>

#include "weft/base/text.h"
#include "weft/io/files.h"
#include "weft/io/safetensors.h"

namespace weft::io {

namespace {

using nlohmann::json;

// Takes the parser's events. nlohmann's own builders keep the last of equal names or take quadratic time.
class Builder {
public:
    explicit Builder(const std::string& what) : what_(what) {}
    json take() { return std::move(root_); }

    bool null() { return put(nullptr); }
    bool boolean(bool value) { return put(value); }
    bool number_integer(std::int64_t value) { return put(value); }
    bool number_unsigned(std::uint64_t value) { return put(value); }
    bool number_float(double value, const std::string&) { return put(value); }
    bool string(std::string& value) { return put(std::move(value)); }
    bool binary(json::binary_t&) { return false; }  // not in JSON
    bool start_object(std::size_t) { return open(json::object()); }
    bool start_array(std::size_t) { return open(json::array()); }
    bool end_object() { return open_.pop_back(), true; }
    bool end_array() { return open_.pop_back(), true; }
    bool key(std::string& name) {
        const auto [entry, is_new] = open_.back()->get_ref<json::object_t&>().try_emplace(std::move(name));
        if (!is_new) throw IoError(what_, " has \"", excerpt(entry->first), "\" twice");
        value_ = &entry->second;
        return true;
    }
    bool parse_error(std::size_t position, const std::string& token, const json::exception& error) {
        if (error.id == 406) throw IoError(what_, " holds a number that is too large: ", excerpt(token));
        throw IoError(what_, " is not valid JSON at byte ", position, ": \"", excerpt(token), "\"");
    }

private:
    const std::string& what_;
    json root_;
    std::vector<json*> open_;  // the arrays and objects around the next value
    json* value_ = nullptr;    // value of the last name

    json* insert(json value) {
        if (open_.empty()) return &(root_ = std::move(value));
        if (open_.back()->is_array()) return &open_.back()->emplace_back(std::move(value));
        return &(*value_ = std::move(value));
    }
    bool put(json value) { return insert(std::move(value)), true; }
    bool open(json value) {
        if (open_.size() == 64) throw IoError(what_, " is nested too deeply, in more than 64 levels");
        return open_.push_back(insert(std::move(value))), true;
    }
};

}  // namespace

json parse_json(std::string_view text, const std::string& what) {
    if (text.starts_with("\xFF\xFE") || text.starts_with("\xFE\xFF"))
        throw IoError(what, " is UTF-16; convert it to UTF-8: iconv -f UTF-16 -t UTF-8");
    // The parser would stop at a zero byte and skip a byte-order mark.
    if (const std::size_t zero = text.find('\0'); zero != text.npos)
        throw IoError(what, " is not valid JSON at byte ", zero + 1, ": a zero byte");
    if (text.starts_with("\xEF\xBB\xBF")) throw IoError(what, " begins with a byte-order mark");
    Builder builder(what);
    json::sax_parse(text, &builder);
    json value = builder.take();
    if (!value.is_object()) throw IoError(what, " is not a JSON object");
    return value;
}

json load_json(const std::filesystem::path& path) {
    const std::string text = load_text(path);
    const std::size_t mark = text.starts_with("\xEF\xBB\xBF") ? 3 : 0;
    return parse_json(std::string_view(text).substr(mark), "cannot read " + display_path(path) + ": it");
}

}  // namespace weft::io
