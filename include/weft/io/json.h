// Internal: The reader of JSON from files, for users of nlohmann::json: weft/io.h does not include it.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace weft::io {

// The JSON object that a text consists of, in linear time except for the lookup of names. IoError, beginning
// with `what` ("cannot read PATH: it"), for: text that is not JSON up to its last byte, a zero byte, a
// byte-order mark, a value other than an object, a number too large for a double, more than 64 levels, or a
// name that is repeated in an object.
nlohmann::json parse_json(std::string_view text, const std::string& what);

// The object in a file, which may begin with a byte-order mark; otherwise refuses what parse_json refuses.
nlohmann::json load_json(const std::filesystem::path& path);

}  // namespace weft::io
