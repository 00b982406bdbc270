// Whole files of text.
#pragma once

#include <filesystem>
#include <string>

namespace weft::io {

// The bytes of a file; IoError if it is missing, a directory, unreadable or a Git LFS pointer.
//
//     io::save_text(path, "one\ntwo\n");
//     const std::string text = io::load_text(path);  // "one\ntwo\n"
std::string load_text(const std::filesystem::path& path);
// Writes the bytes; IoError if it cannot.
void save_text(const std::filesystem::path& path, const std::string& text);

}  // namespace weft::io
