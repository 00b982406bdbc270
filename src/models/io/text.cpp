#include <array>

#include "models/io/atomic_file.h"
#include "models/io/input_file.h"
#include "weft/models/io.h"

namespace weft::io {

std::string load_text(const std::filesystem::path& path) {
    std::ifstream in = open_to_read(path);
    std::string text;
    std::array<char, 65536> buffer;
    while (in.read(buffer.data(), buffer.size()), in.gcount() > 0)
        text.append(buffer.data(), static_cast<std::size_t>(in.gcount()));
    if (in.bad()) refuse(path, "reading failed after " + std::to_string(text.size()) + " bytes");
    return text;
}

void save_text(const std::filesystem::path& path, const std::string& text) {
    AtomicFile file(path);
    file.write(text.data(), text.size());
    file.commit();
}

}  // namespace weft::io
