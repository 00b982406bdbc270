#include "models/text/json_file.h"

#include "models/io/json.h"
#include "weft/models/io.h"

namespace weft::text {

nlohmann::json load_json(const std::filesystem::path& path) {
    const std::string text = io::load_text(path);
    const std::size_t mark = text.starts_with("\xEF\xBB\xBF") ? 3 : 0;
    return io::parse_json(std::string_view(text).substr(mark), "cannot read " + path.string() + ": it");
}

}  // namespace weft::text
