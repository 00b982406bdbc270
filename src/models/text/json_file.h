// JSON in files that others wrote.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>

namespace weft::text {

// The object in a file, which may begin with a byte-order mark. IoError, naming the path, when it is missing,
// is not JSON, holds something other than an object, is nested deeper than 64, or has one name twice in an
// object.
nlohmann::json load_json(const std::filesystem::path& path);

}  // namespace weft::text
