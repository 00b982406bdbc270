// The GGUF format: "GGUF", a u32 version, the u64 numbers of tensors and of metadata entries, the entries
// (key, u32 type, value), for each tensor its name, sizes, u32 type and u64 offset, then the values, aligned.
#include "io/gguf.h"

#include <algorithm>
#include <bit>
#include <cstdio>
#include <span>
#include <unordered_set>

#include "io/values.h"
#include "weft/base/utf8.h"

namespace weft::io {

namespace {

namespace fs = std::filesystem;

// By ggml_type. Those without a name are no longer in use.
constexpr const char* tensor_types[] = {
    "F32",    "F16",   "Q4_0",  "Q4_1",   "",      "",      "Q5_0",    "Q5_1",   "Q8_0",    "Q8_1",
    "Q2_K",   "Q3_K",  "Q4_K",  "Q5_K",   "Q6_K",  "Q8_K",  "IQ2_XXS", "IQ2_XS", "IQ3_XXS", "IQ1_S",
    "IQ4_NL", "IQ3_S", "IQ2_S", "IQ4_XS", "I8",    "I16",   "I32",     "I64",    "F64",     "IQ1_M",
    "BF16",   "",      "",      "",       "TQ1_0", "TQ2_0", "",        "",       "",        "MXFP4"};

constexpr DType formats[] = {DType::Q8_0, DType::Q4_0, DType::Q4_1, DType::Q5_0,
                             DType::Q5_1, DType::Q4_K, DType::Q5_K, DType::Q6_K};

// What the file says of one tensor.
struct GgufEntry {
    std::string name;
    Shape shape = {};
    DType dtype = float32;
    std::uint64_t begin = 0, bytes = 0;  // of the values; begin counts as the file does until they are located
};

// One file, which may be one of several that a model is split into.
class GgufReader {
public:
    explicit GgufReader(const fs::path& path) : file_(path) {
        if (file_.left() < 24)
            refuse("it has " + std::to_string(file_.left()) +
                   " bytes, and a GGUF file begins with 24 for its version and two counts");
        if (file_.take<std::uint32_t>() != 0x46554747)
            refuse("it is not a GGUF file: it does not begin with \"GGUF\"");
        check_version(file_.take<std::uint32_t>());
        const auto tensors = file_.take<std::uint64_t>(), keys = file_.take<std::uint64_t>();
        file_.check_count(keys, 14, "entries of metadata");  // a key of one byte, and a value of one
        metadata = file_.take_metadata(keys);
        file_.check_count(tensors, 25, "tensors");  // a name of one byte, and no sizes
        entries = take_entries(tensors);
        locate(entries, metadata.integer("general.alignment", 32));
        parts = metadata.integer("split.count", 1), number = metadata.integer("split.no", 0) + 1;
        if (parts < 1 || parts > 99999 || number < 1 || number > parts)
            refuse("it is part " + std::to_string(number) + " of " + std::to_string(parts));
    }

    GgufMetadata metadata;
    std::vector<GgufEntry> entries;
    std::int64_t parts = 1, number = 1;  // of the files of a model, and of this one, from 1

    [[noreturn]] void refuse(const std::string& reason) const { file_.refuse(reason); }

    Tensor values_of(const GgufEntry& entry) {
        return read_tensor(file_.in, entry.begin, entry.shape, entry.dtype);
    }

private:
    GgufParts file_;

    void check_version(std::uint32_t version) const {
        if (version == 0x02000000 || version == 0x03000000)
            refuse("it is big-endian; convert it with Python's gguf: gguf-convert-endian FILE little");
        if (version != 2 && version != 3)
            refuse("its version is " + std::to_string(version) + "; 2 and 3 are read");
    }

    std::vector<GgufEntry> take_entries(std::uint64_t count) {
        std::vector<GgufEntry> entries;
        std::unordered_set<std::string> names;
        for (std::uint64_t i = 0; i < count; ++i) {
            file_.part = "tensor " + std::to_string(i) + ": ";
            std::string name = file_.take_name();
            begin(name);
            if (!names.insert(name).second) refuse("it is there twice");
            entries.push_back(take_entry(std::move(name)));
        }
        file_.part.clear();
        return entries;
    }

    void begin(const std::string& name) { file_.part = "tensor \"" + excerpt(name) + "\": "; }

    GgufEntry take_entry(std::string name) {
        GgufEntry entry{.name = std::move(name)};
        const auto rank = file_.take<std::uint32_t>();
        if (rank > 4) refuse("it has " + std::to_string(rank) + " dimensions, and GGUF allows 4");
        std::int64_t sizes[4] = {};
        file_.take(sizes, rank * sizeof *sizes);
        std::reverse(sizes, sizes + rank);  // the file has the innermost first
        entry.shape = Shape(std::span<const std::int64_t>(sizes, rank));
        set_type(entry, file_.take<std::uint32_t>());
        entry.begin = file_.take<std::uint64_t>();
        const std::size_t width = is_quantized(entry.dtype) ? 1 : itemsize(entry.dtype);
        if (std::ranges::any_of(entry.shape, [](std::int64_t size) { return size < 0; }) ||
            !bytes_of(entry.shape, width, entry.bytes))
            refuse("its dimensions overflow");
        if (is_quantized(entry.dtype)) set_blocks(entry);
        return entry;
    }

    void set_type(GgufEntry& entry, std::uint32_t type) const {
        const std::string name = type < std::size(tensor_types) ? tensor_types[type] : "";
        for (const TypeName& dense : type_names)
            if (name == dense.name) return (void)(entry.dtype = dense.dtype);
        for (const DType blocks : formats)
            if (name == weft::name(blocks)) return (void)(entry.dtype = blocks);
        refuse("its type is " + (name.empty() ? "number " + std::to_string(type) : name) +
               "; F32, F16, BF16, F64, I64, Q8_0, Q4_0, Q4_1, Q5_0, Q5_1, Q4_K, Q5_K and Q6_K are read. "
               "Quantize the model to one of these");
    }

    // A matrix whose rows divide into blocks.
    void set_blocks(GgufEntry& entry) const {
        const auto [format, length, bytes] = blocks_of(entry.dtype);
        const std::string of = entry.shape.str() + " of " + format;
        if (entry.shape.rank() != 2)
            refuse("its shape is " + of + ", and blocks are read in matrices alone; store it as F16 or BF16");
        if (entry.shape[1] % length != 0)
            refuse("its shape is " + of + ", whose rows do not divide into blocks of " +
                   std::to_string(length));
        entry.bytes = entry.bytes / static_cast<std::uint64_t>(length) * static_cast<std::uint64_t>(bytes);
    }

    // Makes `begin` count from the file's first byte, and checks that every byte after the entries belongs to
    // one tensor or is padding.
    void locate(std::vector<GgufEntry>& entries, std::int64_t alignment) {
        if (alignment < 1 || !std::has_single_bit(static_cast<std::uint64_t>(alignment)))
            refuse("its general.alignment is " + std::to_string(alignment) + ", which is no power of two");
        const auto step = static_cast<std::uint64_t>(alignment);
        std::uint64_t next = file_.at();
        const std::uint64_t first = (next + step - 1) / step * step, end = file_.in.size();
        std::vector<GgufEntry*> sorted;
        for (GgufEntry& entry : entries) sorted.push_back(&entry);
        std::ranges::stable_sort(sorted, {}, [](const GgufEntry* e) { return std::pair(e->begin, e->bytes); });
        for (GgufEntry* entry : sorted) {
            begin(entry->name);
            const std::string at = std::to_string(entry->begin);
            if (entry->begin % step != 0)
                refuse("its values begin at " + at + ", which is no multiple of the alignment, " +
                       std::to_string(step));
            if (first > end || entry->begin > end - first || entry->bytes > end - first - entry->begin)
                refuse("its " + std::to_string(entry->bytes) + " bytes at " + at +
                       " reach past the file's end; it is cut short or damaged");
            entry->begin += first;
            if (entry->begin < next) refuse("its values overlap those of another tensor");
            if (entry->begin - next >= step)
                refuse("a hole of " + std::to_string(entry->begin - next) + " bytes stands before its values");
            next = entry->begin + entry->bytes;
        }
        file_.part.clear();
        if (end - next >= step) refuse(std::to_string(end - next) + " bytes follow its last tensor");
    }
};

// "-00001-of-00003.gguf", with which the name of a part ends.
std::string ending(std::int64_t number, std::int64_t parts) {
    char text[32];
    std::snprintf(text, sizeof text, "-%05d-of-%05d.gguf", static_cast<int>(number), static_cast<int>(parts));
    return text;
}

// The file, and the others that its model is split into.
std::vector<GgufReader> readers_of(const fs::path& path) {
    std::vector<GgufReader> all;
    all.emplace_back(path);
    const std::int64_t parts = all[0].parts;
    const std::string name = path.filename().string(), first = ending(1, parts);
    if (parts > 1 && (all[0].number != 1 || !name.ends_with(first)))
        all[0].refuse("it is part " + std::to_string(all[0].number) + " of " + std::to_string(parts) +
                      "; give the first, whose name ends with " + first);
    std::unordered_set<std::string> names;
    for (std::int64_t i = 1; i <= parts; ++i) {
        if (i > 1)
            all.emplace_back(path.parent_path() /
                             (name.substr(0, name.size() - first.size()) + ending(i, parts)));
        const GgufReader& part = all.back();
        if (part.number != i || part.parts != parts)
            part.refuse("it is part " + std::to_string(part.number) + " of " + std::to_string(part.parts) +
                        ", and its name says otherwise; fetch it again");
        for (const GgufEntry& entry : part.entries)
            if (!names.insert(entry.name).second)
                part.refuse("tensor \"" + excerpt(entry.name) + "\": another part has it, too");
    }
    const auto count = static_cast<std::int64_t>(names.size());
    if (const std::int64_t claimed = all[0].metadata.integer("split.tensors.count", count); claimed != count)
        all[0].refuse("its parts have " + std::to_string(count) + " tensors, and it says " +
                      std::to_string(claimed) + "; fetch them again");
    return all;
}

}  // namespace

Gguf load_gguf(const fs::path& path,
               const std::function<void(const Gguf& header, std::int64_t bytes)>& before_values) {
    std::vector<GgufReader> files = readers_of(path);
    Gguf result;
    result.metadata = std::move(files[0].metadata);
    if (before_values) {
        std::uint64_t bytes = 0;
        for (const GgufReader& file : files)
            for (const GgufEntry& entry : file.entries) {
                result.tensors.emplace_back(entry.name, ones({}).expand(entry.shape));
                bytes += entry.bytes;
            }
        before_values(result, static_cast<std::int64_t>(bytes));
        result.tensors.clear();
    }
    for (GgufReader& file : files)
        for (const GgufEntry& entry : file.entries)
            result.tensors.emplace_back(entry.name, file.values_of(entry));
    return result;
}

bool Gguf::has(const std::string& name) const {
    return std::ranges::find(tensors, name, &NamedTensors::value_type::first) != tensors.end();
}

const Tensor& Gguf::at(const std::string& name) const {
    const auto found = std::ranges::find(tensors, name, &NamedTensors::value_type::first);
    if (found != tensors.end()) return found->second;
    throw IndexError("gguf: there is no tensor \"", name, "\" among ", tensors.size());
}

}  // namespace weft::io
