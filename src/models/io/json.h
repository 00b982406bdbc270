// JSON that others wrote: one reader for every file that holds some.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace weft::io {

// The one object that is the whole of a text, in time that is linear in it but for the search among the names
// of an object. IoError, which begins with `what` ("cannot read path: it"), when it is no JSON to its last
// byte, has a zero byte, begins with a byte-order mark, holds something other than an object or a number that
// is too large for a double, is nested deeper than 64, or has a name twice in an object.
nlohmann::json parse_json(std::string_view text, const std::string& what);

}  // namespace weft::io
