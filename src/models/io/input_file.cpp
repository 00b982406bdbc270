#include "models/io/input_file.h"

#include <array>

#include "weft/core/text.h"
#include "weft/models/io.h"

namespace weft::io {

namespace fs = std::filesystem;

namespace {

// The file, open at its beginning. IoError if it is missing, a directory or cannot be opened.
std::ifstream open_to_read(const fs::path& path) {
    std::error_code error;
    const auto status = fs::status(path, error);
    if (status.type() == fs::file_type::none) refuse(path, "it cannot be opened: " + error.message());
    if (!fs::exists(status)) refuse(path, "no such file");
    if (fs::is_directory(status)) refuse(path, "it is a directory");
    std::ifstream in(path, std::ios::binary);
    if (!in) refuse(path, "it cannot be opened; check its permissions");
    return in;
}

}  // namespace

std::string display_path(const fs::path& path) { return text::excerpt(path.string(), 1000); }

void refuse(const fs::path& path, const std::string& reason) {
    throw IoError("cannot read ", display_path(path), ": ", reason);
}

std::string load_text(const fs::path& path) {
    std::ifstream in = open_to_read(path);
    std::string text;
    std::array<char, 65536> buffer;
    while (in.read(buffer.data(), buffer.size()), in.gcount() > 0)
        text.append(buffer.data(), static_cast<std::size_t>(in.gcount()));
    if (in.bad()) refuse(path, "reading failed after " + std::to_string(text.size()) + " bytes");
    return text;
}

InputFile::InputFile(const fs::path& path) : path_(path), in_(open_to_read(path)) {
    const auto end = in_.seekg(0, std::ios::end).tellg();
    if (end < 0) refuse("it is not a file with a size");
    size_ = static_cast<std::uint64_t>(end);
    seek(0);
}

void InputFile::seek(std::uint64_t at) { in_.seekg(static_cast<std::streamoff>(at)); }

void InputFile::take(void* to, std::uint64_t bytes) {
    in_.read(static_cast<char*>(to), static_cast<std::streamsize>(bytes));
    if (!in_) refuse("it ends too early; is it still being written?");
}

void InputFile::refuse(const std::string& reason) const { io::refuse(path_, reason); }

}  // namespace weft::io
