#include <array>
#include <fstream>

#include "io/atomic_file.h"
#include "weft/io.h"

namespace weft::io {

std::string load_text(const std::filesystem::path& path) {
    std::error_code unreadable;
    const auto status = std::filesystem::status(path, unreadable);
    if (!std::filesystem::exists(status)) throw IoError("cannot read " + path.string() + ": no such file");
    if (std::filesystem::is_directory(status))
        throw IoError("cannot read " + path.string() + ": it is a directory");
    std::ifstream in(path, std::ios::binary);
    if (!in) throw IoError("cannot read " + path.string() + ": it cannot be opened; may you read it?");
    std::string text;
    std::array<char, 65536> buffer;
    while (in.read(buffer.data(), buffer.size()), in.gcount() > 0)
        text.append(buffer.data(), static_cast<std::size_t>(in.gcount()));
    if (in.bad())
        throw IoError("cannot read " + path.string() + ": reading failed after " + std::to_string(text.size()) +
                      " bytes");
    return text;
}

void save_text(const std::filesystem::path& path, const std::string& text) {
    AtomicFile file(path);
    file.write(text.data(), text.size());
    file.commit();
}

}  // namespace weft::io
