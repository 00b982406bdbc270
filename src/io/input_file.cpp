#include "weft/io/input_file.h"

#include <array>
#include <cstdio>
#include <memory>
#include <string_view>

#include "weft/base/utf8.h"
#include "weft/io/files.h"
#include "weft/io/safetensors.h"

namespace weft::io {

namespace fs = std::filesystem;

namespace {

// IoError if the file is missing, a directory or was not opened.
void check_open(const fs::path& path, bool open) {
    std::error_code error;
    const auto status = fs::status(path, error);
    if (status.type() == fs::file_type::none) refuse(path, "it cannot be opened: " + error.message());
    if (!fs::exists(status)) refuse(path, "no such file");
    if (fs::is_directory(status)) refuse(path, "it is a directory");
    if (!open) refuse(path, "it cannot be opened; check its permissions");
}

// IoError if a file begins as a pointer does that Git LFS leaves in its place.
void check_content(const fs::path& path, std::string_view beginning) {
    if (beginning.starts_with("version https://git-lfs.github.com/spec/"))
        refuse(path, "it is a Git LFS pointer, not the file itself; fetch that with git lfs pull");
}

}  // namespace

std::string display_path(const fs::path& path) { return excerpt(path.string(), 1000); }

void refuse(const fs::path& path, const std::string& reason) {
    throw IoError("cannot read ", display_path(path), ": ", reason);
}

std::string load_text(const fs::path& path) {
    // Not a stream: where reading fails, libc++'s ends as if the file did.
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> in(std::fopen(path.c_str(), "rb"), &std::fclose);
    check_open(path, in != nullptr);
    std::string text;
    std::array<char, 65536> buffer;
    while (const std::size_t read = std::fread(buffer.data(), 1, buffer.size(), in.get()))
        text.append(buffer.data(), read);
    if (std::ferror(in.get()) != 0)
        refuse(path, "reading failed after " + std::to_string(text.size()) + " bytes");
    check_content(path, text);
    return text;
}

InputFile::InputFile(const fs::path& path) : path_(path), in_(path, std::ios::binary) {
    check_open(path, in_.is_open());
    const auto end = in_.seekg(0, std::ios::end).tellg();
    if (end < 0) refuse("it is not a file with a size");
    size_ = static_cast<std::uint64_t>(end);
    seek(0);
    if (size_ < 100 || size_ > 1000) return;  // a pointer has some 130 bytes
    std::string beginning(40, '\0');
    take(beginning.data(), beginning.size());
    check_content(path, beginning);
    seek(0);
}

void InputFile::seek(std::uint64_t at) { in_.seekg(static_cast<std::streamoff>(at)); }

void InputFile::take(void* to, std::uint64_t bytes) {
    in_.read(static_cast<char*>(to), static_cast<std::streamsize>(bytes));
    if (!in_) refuse("it ends too early; is it still being written?");
}

void InputFile::refuse(const std::string& reason) const { io::refuse(path_, reason); }

}  // namespace weft::io
