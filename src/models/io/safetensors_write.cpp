#include <algorithm>
#include <nlohmann/json.hpp>

#include "models/io/atomic_file.h"
#include "models/io/safetensors.h"
#include "weft/models/io.h"

namespace weft::io {

namespace {

const char* name_in_file(DType dtype) {
    return std::find_if(std::begin(types), std::end(types), [&](const TypeName& t) { return t.dtype == dtype; })
        ->name;
}

}  // namespace

void save_safetensors(const std::filesystem::path& path, const NamedTensors& tensors,
                      const Metadata& metadata) {
    NamedTensors sorted = tensors;
    std::stable_sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) {
        return itemsize(a.second.dtype()) > itemsize(b.second.dtype());
    });
    nlohmann::ordered_json header = nlohmann::ordered_json::object();
    if (!metadata.empty()) header[metadata_key] = metadata;
    std::uint64_t begin = 0;
    for (const auto& [name, x] : sorted) {
        if (name == metadata_key || header.contains(name))
            throw ValueError("save_safetensors: the name \"", name, "\" is taken; every tensor needs its own");
        const std::uint64_t end = begin + byte_count(x);
        header[name] = {{"dtype", name_in_file(x.dtype())},
                        {"shape", std::vector<std::int64_t>(x.shape().begin(), x.shape().end())},
                        {"data_offsets", {begin, end}}};
        begin = end;
    }
    std::string text;
    try {
        text = header.dump();
    } catch (const nlohmann::json::type_error& error) {
        throw ValueError("save_safetensors: a name or a metadata entry is not UTF-8: ", error.what());
    }
    text.resize((text.size() + 7) / 8 * 8, ' ');  // the values begin at a multiple of 8

    AtomicFile file(path);
    const std::uint64_t length = text.size();
    file.write(&length, 8);
    file.write(text.data(), text.size());
    for (const auto& [name, x] : sorted) {
        const Tensor values = x.detach().contiguous();
        if (values.numel() > 0) file.write(bytes_at(values), byte_count(values));
    }
    file.commit();
}

}  // namespace weft::io
