// Checkpoints of transformers: model.safetensors, or several such files and an index of their tensors.
#include <set>

#include "weft/base/utf8.h"
#include "weft/io/input_file.h"
#include "weft/io/json.h"
#include "weft/io/safetensors.h"

namespace weft::io {

namespace {

namespace fs = std::filesystem;

// The file of each tensor, by its name.
std::map<std::string, std::string> load_index(const fs::path& index) {
    const nlohmann::json json = load_json(index);
    const auto map = json.find("weight_map");
    if (map == json.end() || !map->is_object()) refuse(index, "it has no object \"weight_map\"");
    std::map<std::string, std::string> file_of;
    for (const auto& [name, value] : map->items()) {
        if (!value.is_string())
            refuse(index, "its weight_map has tensor \"" + excerpt(name) + "\", whose file is not a string");
        const auto file = value.get<std::string>();
        if (file.empty() || file == "." || file == ".." ||
            file.find_first_of(std::string("/\\\0", 3)) != file.npos)
            refuse(index, "its weight_map has \"" + excerpt(file) + "\", which is no name of a file beside it");
        file_of[name] = file;
    }
    return file_of;
}

}  // namespace

NamedTensors load_sharded_checkpoint(const fs::path& folder,
                                     const std::function<void(std::int64_t bytes)>& before_values) {
    const fs::path single = folder / "model.safetensors", index = folder / "model.safetensors.index.json";
    std::error_code error;
    const auto announce = [&](const std::set<std::string>& files) {
        if (!before_values) return;
        std::uint64_t bytes = 0;
        for (const std::string& file : files) bytes += InputFile(folder / file).size();
        before_values(static_cast<std::int64_t>(bytes));
    };
    if (fs::exists(single, error)) {
        announce({"model.safetensors"});
        return load_safetensors(single).tensors;
    }
    if (!fs::exists(index, error))
        refuse(folder, "it has neither model.safetensors nor model.safetensors.index.json");
    const auto file_of = load_index(index);
    std::set<std::string> files, names;
    for (const auto& [name, file] : file_of) files.insert(file);
    announce(files);
    NamedTensors tensors;
    for (const std::string& file : files)
        for (auto& [name, x] : load_safetensors(folder / file).tensors) {
            const auto entry = file_of.find(name);
            if (entry == file_of.end())
                refuse(folder / file, "tensor \"" + excerpt(name) + "\" is not in the index");
            if (entry->second != file)
                refuse(folder / file, "tensor \"" + excerpt(name) + "\" should be in \"" +
                                          excerpt(entry->second) + "\", says the index");
            names.insert(name);
            tensors.emplace_back(name, std::move(x));
        }
    for (const auto& [name, file] : file_of)
        if (!names.contains(name))
            refuse(folder / file, "it lacks tensor \"" + excerpt(name) + "\", which the index says it has");
    return tensors;
}

}  // namespace weft::io
