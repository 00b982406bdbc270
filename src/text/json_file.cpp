#include "text/json_file.h"

#include <set>

#include "weft/error.h"
#include "weft/io.h"

namespace weft::text {

using nlohmann::json;

json load_json(const std::filesystem::path& path) {
    const auto refuse = [&](const std::string& reason) {
        throw IoError("cannot read " + path.string() + ": " + reason);
    };
    std::vector<std::set<std::string>>
        names;  // of the objects that are open; the parser itself keeps the last of equals
    const auto watch = [&](int depth, json::parse_event_t event, json& parsed) {
        if (depth > 64) refuse("it is nested too deeply");
        if (event == json::parse_event_t::object_start) names.emplace_back();
        if (event == json::parse_event_t::object_end) names.pop_back();
        if (event == json::parse_event_t::key && !names.back().insert(parsed.get<std::string>()).second)
            refuse("it has " + parsed.dump() + " twice");
        return true;
    };
    json value;
    try {
        value = json::parse(io::load_text(path), watch);
    } catch (const json::exception& error) {
        refuse(std::string("it is not valid JSON: ") + error.what());
    }
    if (!value.is_object()) refuse("it has to hold one JSON object");
    return value;
}

}  // namespace weft::text
