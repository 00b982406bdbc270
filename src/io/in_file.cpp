#include "io/in_file.h"

#include "weft/error.h"

namespace weft::io {

namespace fs = std::filesystem;

InFile::InFile(const fs::path& path) : path_(path) {
    std::error_code unreadable;
    const auto status = fs::status(path_, unreadable);
    if (!fs::exists(status)) refuse("no such file");
    if (fs::is_directory(status)) refuse("it is a directory");
    in_.open(path_, std::ios::binary | std::ios::ate);
    if (!in_) refuse("it cannot be opened; may you read it?");
    const auto end = in_.tellg();
    if (end < 0) refuse("it is no file that has a size");
    size_ = static_cast<std::uint64_t>(end);
    seek(0);
}

void InFile::seek(std::uint64_t at) { in_.seekg(static_cast<std::streamoff>(at)); }

void InFile::take(void* to, std::uint64_t bytes) {
    in_.read(static_cast<char*>(to), static_cast<std::streamsize>(bytes));
    if (!in_) refuse("it ends before it should; is it being written?");
}

void InFile::refuse(const std::string& reason) const {
    throw IoError("cannot read " + path_.string() + ": " + reason);
}

}  // namespace weft::io
