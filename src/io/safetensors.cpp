// The safetensors format: a u64 header length (little-endian), a JSON header
// {"name": {"dtype", "shape", "data_offsets"}, "__metadata__": {…}}, then the values.
#include "weft/io/safetensors.h"

#include <algorithm>
#include <cstring>
#include <set>
#include <string_view>
#include <unordered_set>

#include "io/npy.h"
#include "weft/base/text.h"
#include "weft/io/files.h"
#include "weft/io/json.h"

namespace weft::io {

namespace {

using nlohmann::json;
namespace fs = std::filesystem;

constexpr std::uint64_t max_header_size = 100'000'000;  // that of the reference implementation
constexpr const char* metadata_key = "__metadata__";

// The header's entry of one tensor.
struct Entry {
    std::string name;
    DType dtype = float32;
    Shape shape = {};
    std::uint64_t begin = 0, end = 0;
};

// Reads one file.
class Reader {
public:
    explicit Reader(const fs::path& path)
        : in_(path), what_("cannot read " + display_path(path) + ": its header") {}

    SafeTensors read() {
        const json header = parse_header();
        SafeTensors result;
        std::vector<Entry> entries;
        for (const auto& [name, value] : header.items()) {
            if (name == metadata_key)
                result.metadata = metadata_of(value);
            else
                entries.push_back(entry_of(name, value));
        }
        std::ranges::stable_sort(entries, {}, [](const Entry& e) { return std::pair(e.begin, e.end); });
        check_cover(entries);
        for (const Entry& entry : entries) result.tensors.emplace_back(entry.name, values_of(entry));
        return result;
    }

private:
    InputFile in_;
    std::string what_;  // the header's name in messages
    std::uint64_t header_size_ = 0;

    [[noreturn]] void refuse(const std::string& reason) const { in_.refuse(reason); }
    [[noreturn]] void refuse(const std::string& name, const std::string& reason) const {
        refuse("tensor \"" + excerpt(name) + "\": " + reason);
    }

    std::uint64_t data_size() const { return in_.size() - 8 - header_size_; }

    json parse_header() {
        if (in_.size() < 8)
            refuse("it has " + std::to_string(in_.size()) +
                   " bytes, and a safetensors file begins with 8 for its header's length");
        in_.take(&header_size_, 8);
        char first[8];
        std::memcpy(first, &header_size_, 8);
        const std::string_view begin(first, 8);
        if (begin.starts_with("PK\3\4") || begin.starts_with("\x80\2\x8a\n"))
            refuse(
                "it is a file of torch.save or another archive, not of safetensors; convert it in Python: "
                "safetensors.torch.save_file(torch.load(\"model.pt\"), \"model.safetensors\")");
        if (header_size_ > max_header_size)
            refuse("it is not a safetensors file, or is damaged: its header claims " +
                   std::to_string(header_size_) + " bytes; at most 100000000 are read");
        if (header_size_ > in_.size() - 8)
            refuse("its header claims " + std::to_string(header_size_) + " bytes, and " +
                   std::to_string(in_.size() - 8) + " follow");
        std::string text(header_size_, '\0');
        in_.take(text.data(), header_size_);
        if (!text.starts_with('{')) refuse("its header does not begin with \"{\", as the format's does");
        return parse_json(text, what_);
    }

    Metadata metadata_of(const json& value) const {
        if (!value.is_object()) refuse("its __metadata__ is not an object");
        Metadata metadata;
        for (const auto& [key, entry] : value.items()) {
            if (!entry.is_string())
                refuse("its __metadata__ holds \"" + excerpt(key) + "\", which is not a string");
            metadata[key] = entry.get<std::string>();
        }
        return metadata;
    }

    Entry entry_of(const std::string& name, const json& value) const {
        if (!value.is_object() || value.size() != 3 || !value.contains("dtype") || !value.contains("shape") ||
            !value.contains("data_offsets"))
            refuse(name, "its entry must have dtype, shape and data_offsets, and nothing else");
        const json &dtype = value["dtype"], &shape = value["shape"], &offsets = value["data_offsets"];
        const auto* type = std::ranges::find_if(type_names, [&](const TypeName& t) { return dtype == t.name; });
        if (type == std::end(type_names))
            refuse(name,
                   "its type is " + excerpt(dtype.dump()) + "; F32, F64, F16, BF16, I64 and BOOL are read");
        Entry entry{.name = name, .dtype = type->dtype};

        const auto is_count = [](const json& n) {
            return n.is_number_unsigned() && n.get<std::uint64_t>() <= INT64_MAX;
        };
        if (!shape.is_array() || shape.size() > Shape::max_rank || !std::ranges::all_of(shape, is_count))
            refuse(name, "its shape " + excerpt(shape.dump()) + " is not a list of at most 8 sizes");
        for (const json& size : shape) entry.shape.push_back(size.get<std::int64_t>());
        const std::string shown = excerpt(offsets.dump());
        if (!offsets.is_array() || offsets.size() != 2 || !std::ranges::all_of(offsets, is_count))
            refuse(name, "its data_offsets " + shown + " are not a begin and an end");
        entry.begin = offsets[0].get<std::uint64_t>();
        entry.end = offsets[1].get<std::uint64_t>();

        if (entry.end < entry.begin) refuse(name, "its data_offsets " + shown + " end before they begin");
        if (entry.end > data_size())
            refuse(name, "its data_offsets " + shown + " reach past the file's " + std::to_string(data_size()) +
                             " bytes of values");
        std::uint64_t bytes = 0;
        if (!bytes_of(entry.shape, itemsize(entry.dtype), bytes))
            refuse(name, "its shape " + entry.shape.str() + " overflows");
        if (bytes != entry.end - entry.begin)
            refuse(name, "its shape " + entry.shape.str() + " of " + type->name + " takes " +
                             std::to_string(bytes) + " bytes, and its data_offsets give " +
                             std::to_string(entry.end - entry.begin));
        return entry;
    }

    // Every byte of the values belongs to exactly one tensor. `entries` are sorted by begin.
    void check_cover(const std::vector<Entry>& entries) const {
        std::uint64_t next = 0;
        for (const Entry& entry : entries) {
            if (entry.begin < next) refuse(entry.name, "its values overlap those of another tensor");
            if (entry.begin > next)
                refuse(entry.name,
                       "a hole of " + std::to_string(entry.begin - next) + " bytes stands before its values");
            next = entry.end;
        }
        if (next != data_size()) refuse(std::to_string(data_size() - next) + " bytes follow its last tensor");
    }

    Tensor values_of(const Entry& entry) {
        const Tensor x = read_tensor(in_, 8 + header_size_ + entry.begin, entry.shape, entry.dtype);
        if (entry.dtype == boolean && !all_valid_bools(std::as_bytes(std::span(raw_values(x)))))
            refuse(entry.name, "it holds a byte that is neither 0 nor 1");
        return x;
    }
};

}  // namespace

void save_safetensors(const fs::path& path, const NamedTensors& tensors, const Metadata& metadata) {
    for (const auto& [name, x] : tensors)
        if (is_quantized(x.dtype()))
            throw DTypeError("save_safetensors: ", name, " is in blocks of ", weft::name(x.dtype()),
                             ", which such a file does not hold; convert it with to(float32)");
    NamedTensors sorted = tensors;
    std::ranges::stable_sort(sorted, std::greater(), [](const auto& e) { return itemsize(e.second.dtype()); });
    nlohmann::ordered_json header = nlohmann::ordered_json::object();
    if (!metadata.empty()) header[metadata_key] = metadata;
    // An ordered object looks a name up by going through all of them, so names are compared in a set, and
    // entries are appended to the list below the object.
    auto& entries = header.get_ref<nlohmann::ordered_json::object_t&>();
    std::unordered_set<std::string_view> names{metadata_key};
    std::uint64_t begin = 0;
    for (const auto& [name, x] : sorted) {
        if (!names.insert(name).second)
            throw ValueError("save_safetensors: the name \"", name, "\" is taken; every tensor needs its own");
        const std::uint64_t end = begin + byte_count(x);
        entries.emplace_back(
            name,
            nlohmann::ordered_json{{"dtype", std::ranges::find(type_names, x.dtype(), &TypeName::dtype)->name},
                                   {"shape", std::vector<std::int64_t>(x.shape().begin(), x.shape().end())},
                                   {"data_offsets", {begin, end}}});
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
    file.write({reinterpret_cast<const char*>(&length), 8});
    file.write(text);
    for (const auto& [name, x] : sorted) {
        const Tensor values = x.detach().contiguous();
        file.write(raw_values(values));
    }
    file.commit();
}

SafeTensors load_safetensors(const fs::path& path) { return Reader(path).read(); }

bool SafeTensors::has(const std::string& name) const {
    return std::ranges::find(tensors, name, &NamedTensors::value_type::first) != tensors.end();
}

const Tensor& SafeTensors::at(const std::string& name) const {
    const auto found = std::ranges::find(tensors, name, &NamedTensors::value_type::first);
    if (found != tensors.end()) return found->second;
    throw IndexError("safetensors: there is no tensor \"", name, "\" among ", tensors.size());
}

const std::string& SafeTensors::meta(const std::string& key) const {
    const auto found = metadata.find(key);
    if (found == metadata.end()) throw IndexError("safetensors: there is no metadata \"", key, "\"");
    return found->second;
}

// Checkpoints of transformers: model.safetensors, or several such files and an index of their tensors.

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
