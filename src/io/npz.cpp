#include <set>

#include "io/zip.h"
#include "weft/base/utf8.h"
#include "weft/core/raw.h"
#include "weft/io/npy.h"
#include "weft/io/npz.h"
#include "weft/io/safetensors.h"

namespace weft::io {

namespace {

const std::string extension = ".npy";

void check_names(const NamedTensors& tensors) {
    std::set<std::string> names;
    for (const auto& [name, x] : tensors) {
        if (!names.insert(name).second)
            throw ValueError("save_npz: the name \"", name, "\" is taken; every tensor needs its own");
        if (name.find('\0') != std::string::npos)
            throw ValueError(
                "save_npz: a name contains a zero byte, where other readers would end it; remove it");
        if (!is_utf8(name)) throw ValueError("save_npz: a name is not UTF-8; convert it first");
        (void)x.shape();  // throws if x is undefined
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
        zip.add(name + extension, {header, raw_values(values)}, compressed);
    }
    zip.finish();
    file.commit();
}

NamedTensors load_npz(const std::filesystem::path& path, std::uint64_t allowance) {
    constexpr std::uint64_t max_expansion = 16;  // eight times from uint8 to int64, two from deflate
    InputFile file(path);
    const std::vector<ZipMember> members = zip_members(file);
    std::uint64_t bytes = 0;
    for (const ZipMember& member : members) {
        if (!member.name.ends_with(extension))
            file.refuse("member \"" + excerpt(member.name) +
                        "\" is not an array: its name does not end in .npy");
        ByteSource source = open_member(file, member, display_path(path));
        bytes += npy_tensor_bytes(source);
    }
    if (bytes > max_expansion * file.size() && bytes - max_expansion * file.size() > allowance)
        file.refuse("its " + std::to_string(file.size()) + " bytes unpack to tensors of " +
                    std::to_string(bytes) + "; if that is intended, call load_npz with an allowance of " +
                    std::to_string(bytes - max_expansion * file.size()));
    NamedTensors tensors;
    for (const ZipMember& member : members) {
        ByteSource source = open_member(file, member, display_path(path));
        tensors.emplace_back(member.name.substr(0, member.name.size() - extension.size()), read_npy(source));
    }
    return tensors;
}

}  // namespace weft::io
