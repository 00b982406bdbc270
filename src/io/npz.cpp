#include <nlohmann/json.hpp>
#include <set>

#include "io/raw.h"
#include "io/zip.h"
#include "weft/io.h"

namespace weft::io {

namespace {

const std::string extension = ".npy";

void check_names(const NamedTensors& tensors) {
    std::set<std::string> names;
    for (const auto& [name, x] : tensors) {
        if (!names.insert(name).second)
            throw ValueError("save_npz: the name \"" + name + "\" is taken; every tensor needs its own");
        if (name.find('\0') != std::string::npos)
            throw ValueError("save_npz: a name holds a zero byte, at which other readers would cut it");
        try {
            (void)nlohmann::json(name).dump();
        } catch (const nlohmann::json::type_error&) {
            throw ValueError("save_npz: a name is not UTF-8; convert it first");
        }
        (void)x.shape();  // refuses an undefined one
    }
}

}  // namespace

void save_npz(const std::filesystem::path& path, const NamedTensors& tensors, bool compressed) {
    check_names(tensors);
    AtomicFile file(path);
    ZipWriter zip(file);
    for (const auto& [name, x] : tensors) {
        const std::string header = npy_header(x);
        const Tensor values = x.detach().contiguous();
        std::vector<ZipWriter::Part> parts{{header.data(), header.size()}};
        if (values.numel() > 0) parts.push_back({bytes_at(values), byte_count(values)});
        zip.add(name + extension, parts, compressed);
    }
    zip.finish();
    file.commit();
}

NamedTensors load_npz(const std::filesystem::path& path) {
    InFile file(path);
    NamedTensors tensors;
    for (const ZipMember& member : zip_members(file)) {
        if (!member.name.ends_with(extension))
            file.refuse("member \"" + member.name + "\" is no array: its name does not end in .npy");
        ByteSource source = open_member(file, member, path.string());
        tensors.emplace_back(member.name.substr(0, member.name.size() - extension.size()), read_npy(source));
    }
    return tensors;
}

}  // namespace weft::io
