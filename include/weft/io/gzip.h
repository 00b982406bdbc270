// Internal: Files that gzip packed.
#pragma once

#include <filesystem>
#include <string>

namespace weft::io {

// The bytes of a file, unpacked if gzip packed them: then they begin with 1F 8B. `path` is for messages.
// IoError if they are damaged or cut short, go on after their end, or unpack to far more than a text does.
std::string unpacked(std::string bytes, const std::filesystem::path& path);

}  // namespace weft::io
