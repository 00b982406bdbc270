// The GGUF format: "GGUF", a u32 version, the u64 numbers of tensors and of metadata entries, the entries
// (key, u32 type, value), for each tensor its name, sizes, u32 type and u64 offset, then the values, aligned.
#include "io/gguf.h"

#include <algorithm>
#include <bit>
#include <span>
#include <unordered_set>

#include "io/values.h"
#include "weft/base/utf8.h"
#include "weft/tensor/packed_matrix.h"

namespace weft::io {

namespace {

namespace fs = std::filesystem;

// By ggml_type. Those without a name are no longer in use.
constexpr const char* tensor_types[] = {
    "F32",    "F16",   "Q4_0",  "Q4_1",   "",      "",      "Q5_0",    "Q5_1",   "Q8_0",    "Q8_1",
    "Q2_K",   "Q3_K",  "Q4_K",  "Q5_K",   "Q6_K",  "Q8_K",  "IQ2_XXS", "IQ2_XS", "IQ3_XXS", "IQ1_S",
    "IQ4_NL", "IQ3_S", "IQ2_S", "IQ4_XS", "I8",    "I16",   "I32",     "I64",    "F64",     "IQ1_M",
    "BF16",   "",      "",      "",       "TQ1_0", "TQ2_0", "",        "",       "",        "MXFP4"};

constexpr BlockFormat formats[] = {BlockFormat::Q8_0, BlockFormat::Q4_0, BlockFormat::Q4_1, BlockFormat::Q5_0,
                                   BlockFormat::Q5_1, BlockFormat::Q4_K, BlockFormat::Q5_K, BlockFormat::Q6_K};

// What the file says of one tensor.
struct GgufEntry {
    std::string name;
    Shape shape = {};
    const TypeName* dense = nullptr;      // the type of plain values, or null:
    const BlockFormat* packed = nullptr;  // the format of blocks
    std::uint64_t begin = 0, bytes = 0;   // of the values; begin counts as the file does until they are located
};

class GgufReader {
public:
    explicit GgufReader(const fs::path& path) : file_(path) {}

    Gguf read(const std::function<void(const Gguf&, std::int64_t)>& before_values) {
        if (file_.left() < 24)
            refuse("it has " + std::to_string(file_.left()) +
                   " bytes, and a GGUF file begins with 24 for its version and two counts");
        if (file_.take<std::uint32_t>() != 0x46554747)
            refuse("it is not a GGUF file: it does not begin with \"GGUF\"");
        check_version(file_.take<std::uint32_t>());
        const auto tensors = file_.take<std::uint64_t>(), keys = file_.take<std::uint64_t>();
        file_.check_count(keys, 14, "entries of metadata");  // a key of one byte, and a value of one
        Gguf result;
        result.metadata = file_.take_metadata(keys);
        file_.check_count(tensors, 25, "tensors");  // a name of one byte, and no sizes
        std::vector<GgufEntry> entries = take_entries(tensors);
        locate(entries, result.metadata.integer("general.alignment", 32));
        if (before_values) {
            std::uint64_t bytes = 0;
            for (const GgufEntry& entry : entries) {
                result.tensors.emplace_back(entry.name, ones({}).expand(entry.shape));
                bytes += entry.bytes;
            }
            before_values(result, static_cast<std::int64_t>(bytes));
            result.tensors.clear();
        }
        for (const GgufEntry& entry : entries) result.tensors.emplace_back(entry.name, values_of(entry));
        return result;
    }

private:
    GgufParts file_;

    [[noreturn]] void refuse(const std::string& reason) const { file_.refuse(reason); }

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
        const std::size_t width = entry.dense ? itemsize(entry.dense->dtype) : 1;
        if (std::ranges::any_of(entry.shape, [](std::int64_t size) { return size < 0; }) ||
            !bytes_of(entry.shape, width, entry.bytes))
            refuse("its dimensions overflow");
        if (entry.packed) set_blocks(entry);
        return entry;
    }

    void set_type(GgufEntry& entry, std::uint32_t type) const {
        const std::string name = type < std::size(tensor_types) ? tensor_types[type] : "";
        for (const TypeName& dense : type_names)
            if (name == dense.name) entry.dense = &dense;
        for (const BlockFormat& packed : formats)
            if (name == weft::name(packed)) entry.packed = &packed;
        if (!entry.dense && !entry.packed)
            refuse("its type is " + (name.empty() ? "number " + std::to_string(type) : name) +
                   "; F32, F16, BF16, F64, I64, Q8_0, Q4_0, Q4_1, Q5_0, Q5_1, Q4_K, Q5_K and Q6_K are read. "
                   "Quantize the model to one of these");
    }

    // A matrix whose rows divide into blocks.
    void set_blocks(GgufEntry& entry) const {
        const std::int64_t length = block_length(*entry.packed), bytes = block_bytes(*entry.packed);
        const std::string of = entry.shape.str() + " of " + weft::name(*entry.packed);
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

    Tensor values_of(const GgufEntry& entry) {
        if (entry.dense) return read_tensor(file_.in, entry.begin, entry.shape, entry.dense->dtype);
        return Tensor(
            PackedMatrix(*entry.packed, entry.shape[0], entry.shape[1], [&](std::span<std::byte> blocks) {
                file_.in.seek(entry.begin);
                file_.in.take(blocks.data(), blocks.size());
            }));
    }
};

}  // namespace

Gguf load_gguf(const fs::path& path,
               const std::function<void(const Gguf& header, std::int64_t bytes)>& before_values) {
    return GgufReader(path).read(before_values);
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
