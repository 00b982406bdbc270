#include "io/gguf.h"

#include <algorithm>
#include <bit>
#include <cstdio>
#include <span>
#include <type_traits>
#include <unordered_set>

#include "io/npy.h"
#include "weft/base/text.h"

namespace weft::io {

namespace {

// gguf_metadata_value_type, and the fewest bytes that a value takes.
enum ValueType : std::uint32_t { u8, i8, u16, i16, u32, i32, f32, flag, string, array, u64, i64, f64 };
constexpr std::uint64_t value_bytes[] = {1, 1, 2, 2, 4, 4, 4, 1, 8, 12, 8, 8, 8};

}  // namespace

void GgufParts::check_count(std::uint64_t count, std::uint64_t bytes, const char* of) const {
    if (count > left() / bytes)
        refuse("it claims " + std::to_string(count) + " " + of + ", and " + std::to_string(left()) +
               " bytes follow");
}

void GgufParts::take(void* to, std::uint64_t bytes) {
    if (bytes > left())
        refuse("it takes " + std::to_string(bytes) + " more bytes, and " + std::to_string(left()) +
               " follow; the file is cut short or damaged");
    in.take(to, bytes);
    at_ += bytes;
}

std::string GgufParts::take_string() {
    const auto size = take<std::uint64_t>();
    check_count(size, 1, "bytes of a string");
    std::string text(size, '\0');
    take(text.data(), size);
    return text;
}

std::string GgufParts::take_name() {
    std::string name = take_string();
    if (name.empty()) refuse("its name is empty");
    if (!is_utf8(name)) refuse("its name \"" + excerpt(name) + "\" is not UTF-8");
    return name;
}

GgufMetadata GgufParts::take_metadata(std::uint64_t entries) {
    std::map<std::string, GgufValue> values;
    for (std::uint64_t i = 0; i < entries; ++i) {
        part = "key " + std::to_string(i) + " of its metadata: ";
        std::string key = take_name();
        part = "key \"" + excerpt(key) + "\": ";
        if (values.contains(key)) refuse("it is there twice");
        values.emplace(std::move(key), take_value());
    }
    part.clear();
    return GgufMetadata(path_, std::move(values));
}

GgufValue GgufParts::take_value() {
    auto type = take<std::uint32_t>();
    const bool in_array = type == array;
    if (in_array) type = take<std::uint32_t>();
    if (type == array) refuse("it is an array of arrays, and only arrays of plain values are read");
    if (type > f64) refuse("its type is " + std::to_string(type) + "; types 0 to 12 are read");
    if (type == f32 || type == f64) return value_of<double>(type, in_array);
    if (type == flag) return value_of<bool>(type, in_array);
    if (type == string) return value_of<std::string>(type, in_array);
    return value_of<std::int64_t>(type, in_array);
}

template <class T>
GgufValue GgufParts::value_of(std::uint32_t type, bool in_array) {
    if (!in_array) return element<T>(type);
    const auto count = take<std::uint64_t>();
    check_count(count, value_bytes[type], "elements");
    std::vector<T> values;
    values.reserve(count);
    for (std::uint64_t i = 0; i < count; ++i) values.push_back(element<T>(type));
    return values;
}

template <class T>
T GgufParts::element(std::uint32_t type) {
    if constexpr (std::is_same_v<T, std::string>) {
        return take_string();
    } else if constexpr (std::is_same_v<T, bool>) {
        const auto byte = take<std::byte>();
        if (!all_valid_bools({&byte, 1})) refuse("it holds a bool that is neither 0 nor 1");
        return byte == std::byte{1};
    } else if constexpr (std::is_same_v<T, double>) {
        return type == f32 ? static_cast<double>(take<float>()) : take<double>();
    } else {
        switch (type) {
            case u8:
                return take<std::uint8_t>();
            case i8:
                return take<std::int8_t>();
            case u16:
                return take<std::uint16_t>();
            case i16:
                return take<std::int16_t>();
            case u32:
                return take<std::uint32_t>();
            case i32:
                return take<std::int32_t>();
            default:
                break;
        }
        const auto value = take<std::int64_t>();
        if (type == u64 && value < 0)
            refuse("it holds " + std::to_string(static_cast<std::uint64_t>(value)) +
                   "; integers are read up to 9223372036854775807");
        return value;
    }
}

template <class T>
const T& GgufMetadata::get(const std::string& key) const {
    static constexpr const char* kinds[] = {"an integer",
                                            "a number",
                                            "a bool",
                                            "a string",
                                            "an array of integers",
                                            "an array of numbers",
                                            "an array of bools",
                                            "an array of strings"};
    const auto found = values_.find(key);
    if (found == values_.end()) io::refuse(file_, "its metadata has no \"" + excerpt(key) + "\"");
    if (const T* value = std::get_if<T>(&found->second)) return *value;
    io::refuse(file_, "its metadata has \"" + excerpt(key) + "\" as " + kinds[found->second.index()] +
                          ", and needs it as " + kinds[GgufValue(T()).index()]);
}

std::int64_t GgufMetadata::integer(const std::string& key, std::optional<std::int64_t> otherwise) const {
    return otherwise && !has(key) ? *otherwise : get<std::int64_t>(key);
}
double GgufMetadata::number(const std::string& key, std::optional<double> otherwise) const {
    if (otherwise && !has(key)) return *otherwise;
    const auto found = values_.find(key);
    const bool is_integer = found != values_.end() && std::holds_alternative<std::int64_t>(found->second);
    return is_integer ? static_cast<double>(get<std::int64_t>(key)) : get<double>(key);
}
bool GgufMetadata::boolean(const std::string& key, std::optional<bool> otherwise) const {
    return otherwise && !has(key) ? *otherwise : get<bool>(key);
}
const std::string& GgufMetadata::text(const std::string& key) const { return get<std::string>(key); }
const std::vector<std::int64_t>& GgufMetadata::integers(const std::string& key) const {
    return get<std::vector<std::int64_t>>(key);
}
const std::vector<double>& GgufMetadata::numbers(const std::string& key) const {
    return get<std::vector<double>>(key);
}
const std::vector<std::string>& GgufMetadata::strings(const std::string& key) const {
    return get<std::vector<std::string>>(key);
}

// The GGUF format: "GGUF", a u32 version, the u64 numbers of tensors and of metadata entries, the entries
// (key, u32 type, value), for each tensor its name, sizes, u32 type and u64 offset, then the values, aligned.

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
