#include "io/npy.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <optional>
#include <set>
#include <vector>

#include "weft/base/text.h"
#include "weft/core/creation.h"
#include "weft/io/files.h"
#include "weft/io/npy.h"
#include "weft/io/safetensors.h"
#include "weft/packed/packed.h"

namespace weft::io {

namespace {

// Parses {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }.
class HeaderReader {
public:
    HeaderReader(const std::string& text, const ByteSource& source) : text_(text), source_(source) {}

    NpyHeader read() {
        std::optional<std::string> descr;
        std::optional<bool> fortran_order;
        std::optional<Shape> shape;
        expect('{');
        while (!accept('}')) {
            const std::string key = quoted();
            expect(':');
            if (key == "descr" && !descr)
                descr = quoted();
            else if (key == "fortran_order" && !fortran_order)
                fortran_order = parse_bool();
            else if (key == "shape" && !shape)
                shape = sizes();
            else
                refuse("has \"" + excerpt(key) + "\" twice, or should not have it");
            if (!accept(',')) {
                expect('}');
                break;
            }
        }
        skip_space();
        if (at_ != text_.size()) refuse("continues after its dictionary");
        if (!descr || !fortran_order || !shape) refuse("must have descr, fortran_order and shape");
        return {*descr, *fortran_order, *shape};
    }

private:
    const std::string& text_;
    const ByteSource& source_;
    std::size_t at_ = 0;

    [[noreturn]] void refuse(const std::string& reason) const {
        source_.refuse("its header " + reason + ": " + excerpt(text_, 200));
    }
    char next() const { return at_ < text_.size() ? text_[at_] : '\0'; }
    void skip_space() {
        while (next() == ' ' || next() == '\n') ++at_;
    }
    bool accept(char c) {
        skip_space();
        if (next() != c) return false;
        ++at_;
        return true;
    }
    void expect(char c) {
        if (!accept(c)) refuse("should have '" + std::string(1, c) + "' at position " + std::to_string(at_));
    }
    std::string quoted() {
        skip_space();
        const char quote = next();
        if (quote == '[') refuse("describes structured values; only plain numbers can be read");
        if (quote != '\'' && quote != '"') refuse("should have a string at position " + std::to_string(at_));
        const auto end = text_.find(quote, ++at_);
        if (end == std::string::npos) refuse("has an unterminated string");
        const std::string inside = text_.substr(at_, end - at_);
        at_ = end + 1;
        return inside;
    }
    bool parse_bool() {
        skip_space();
        if (text_.compare(at_, 4, "True") == 0) return at_ += 4, true;
        if (text_.compare(at_, 5, "False") == 0) return at_ += 5, false;
        refuse("should have True or False at position " + std::to_string(at_));
    }
    Shape sizes() {
        Shape shape;
        expect('(');
        while (!accept(')')) {
            std::int64_t size = 0;
            const std::size_t begin = at_;
            skip_space();
            const char* digits = text_.data() + at_;
            const auto [end, error] = std::from_chars(digits, text_.data() + text_.size(), size);
            if (error != std::errc() || *digits == '-' || (*digits == '0' && end != digits + 1))
                refuse("should have a size at position " + std::to_string(begin));
            at_ = static_cast<std::size_t>(end - text_.data());
            if (shape.rank() == Shape::max_rank) refuse("has more than 8 axes");
            shape.push_back(size);
            if (!accept(',')) {
                expect(')');
                if (shape.rank() == 1)
                    refuse("has a number as its shape; with one axis a shape is written (3,)");
                break;
            }
        }
        return shape;
    }
};

}  // namespace

NpyHeader parse_npy_header(const std::string& text, const ByteSource& source) {
    return HeaderReader(text, source).read();
}

namespace {

constexpr std::uint64_t largest_header = 1'000'000;

// A type in a file, and the tensor's type that holds all its values.
struct FileType {
    const char* name;  // kind and bytes of one value
    std::size_t bytes;
    DType dtype;
    void (*convert)(const std::byte* source, std::byte* target);  // one value; null if the bytes are the same
};

template <class T>
void widen(const std::byte* source, std::byte* target) {
    T value;
    std::memcpy(&value, source, sizeof value);
    const std::int64_t wide = value;
    std::memcpy(target, &wide, sizeof wide);
}

constexpr FileType file_types[] = {
    {"f4", 4, float32, nullptr},
    {"f8", 8, float64, nullptr},
    {"i8", 8, int64, nullptr},
    {"b1", 1, boolean, nullptr},
    {"f2", 2, float16, nullptr},
    {"i1", 1, int64, widen<std::int8_t>},
    {"i2", 2, int64, widen<std::int16_t>},
    {"i4", 4, int64, widen<std::int32_t>},
    {"u1", 1, int64, widen<std::uint8_t>},
    {"u2", 2, int64, widen<std::uint16_t>},
    {"u4", 4, int64, widen<std::uint32_t>},
};

// The type of values described as "<f4".
FileType type_of(const std::string& descr, const ByteSource& source) {
    for (const FileType& type : file_types)
        for (const char order : {'<', '>', '|'})
            if (descr == order + std::string(type.name) && (order != '|' || type.bytes == 1)) return type;
    source.refuse("its type is '" + excerpt(descr) +
                  "'; bool, float16, float32, float64, int8 to int64 and uint8 to uint32 are read");
}

// The length of the header: two bytes in version 1, four in 2 and 3.
std::uint64_t take_header_length(ByteSource& source) {
    unsigned char start[8];
    if (source.left < 10)
        source.refuse("it has " + std::to_string(source.left) +
                      " bytes, and an .npy file begins with 10 before its header");
    source.take(start, 8);
    if (std::memcmp(start, "\x93NUMPY", 6) != 0) source.refuse("it does not begin like an .npy file");
    if (start[6] < 1 || start[6] > 3 || start[7] != 0)
        source.refuse("its version is " + std::to_string(start[6]) + "." + std::to_string(start[7]) +
                      "; 1.0, 2.0 and 3.0 are read");
    std::uint64_t length = 0;  // little-endian, like this machine
    const std::uint64_t width = start[6] == 1 ? 2 : 4;
    source.take(&length, width);
    return length;
}

// The header; its shape and type must take exactly the bytes that are left.
NpyHeader take_header(ByteSource& source) {
    const std::uint64_t length = take_header_length(source);
    if (length > largest_header || length > source.left)
        source.refuse("its header claims " + std::to_string(length) + " bytes, and " +
                      std::to_string(source.left) + " follow; at most 1000000 are read");
    std::string text(length, '\0');
    source.take(text.data(), length);
    NpyHeader header = parse_npy_header(text, source);
    std::uint64_t bytes = 0;
    if (!bytes_of(header.shape, type_of(header.descr, source).bytes, bytes))
        source.refuse("its shape " + header.shape.str() + " overflows");
    if (bytes != source.left)
        source.refuse("its shape " + header.shape.str() + " of '" + header.descr + "' takes " +
                      std::to_string(bytes) + " bytes, and " + std::to_string(source.left) + " follow");
    return header;
}

}  // namespace

void ByteSource::refuse(const std::string& reason) const { throw IoError("cannot read ", what, ": ", reason); }

void ByteSource::take(void* to, std::uint64_t bytes) {
    if (bytes > left) refuse("it ends " + std::to_string(bytes - left) + " bytes too early");
    read(to, bytes);
    left -= bytes;
}

std::uint64_t npy_tensor_bytes(ByteSource& source) {
    const NpyHeader header = take_header(source);
    const FileType type = type_of(header.descr, source);
    return source.left / type.bytes * itemsize(type.dtype);
}

Tensor read_npy(ByteSource& source) {
    const NpyHeader header = take_header(source);
    const FileType type = type_of(header.descr, source);
    const std::uint64_t bytes = source.left;
    if (bytes == 0) return empty(header.shape, type.dtype);
    Shape stored = header.shape;  // column-major is row-major with the axes reversed
    if (header.fortran_order) std::reverse(stored.begin(), stored.end());
    const Tensor x = empty(stored, type.dtype);
    std::byte* values = bytes_at(x);
    std::vector<std::byte> raw(type.convert != nullptr ? bytes : 0);
    std::byte* read = raw.empty() ? values : raw.data();
    source.take(read, bytes);
    if (header.descr[0] == '>')
        for (std::uint64_t i = 0; i < bytes; i += type.bytes) std::reverse(read + i, read + i + type.bytes);
    if (type.convert != nullptr)
        for (std::uint64_t i = 0; i * type.bytes < bytes; ++i)
            type.convert(read + i * type.bytes, values + i * itemsize(type.dtype));
    if (type.dtype == boolean && !all_valid_bools({values, bytes}))
        source.refuse("it holds a byte that is neither 0 nor 1");
    if (!header.fortran_order || x.rank() < 2) return x;
    Shape axes;
    for (int axis = x.rank() - 1; axis >= 0; --axis) axes.push_back(axis);
    return x.permute(axes).contiguous();
}

std::string npy_header(const Tensor& x) {
    std::string sizes;
    for (const std::int64_t size : x.shape()) sizes += std::to_string(size) + ", ";
    if (x.rank() == 1) sizes.pop_back();               // "(3,)"
    if (x.rank() > 1) sizes.resize(sizes.size() - 2);  // "(3, 4)"
    const auto* type =
        std::ranges::find_if(file_types, [&](const FileType& t) { return !t.convert && t.dtype == x.dtype(); });
    if (type == std::end(file_types))
        throw DTypeError("npy: NumPy's files have no ", name(x.dtype()), "; convert it with to(float32)");
    std::string header = std::string("{'descr': '") + (type->bytes == 1 ? "|" : "<") + type->name +
                         "', 'fortran_order': False, 'shape': (" + sizes + "), }";
    constexpr std::size_t before = 10;                                         // magic, version and length
    header.resize((before + header.size() + 64) / 64 * 64 - before - 1, ' ');  // aligns the values to 64 bytes
    header += '\n';
    const auto length = static_cast<unsigned>(header.size());
    return std::string("\x93NUMPY\x01\0", 8) + static_cast<char>(length & 0xFF) +
           static_cast<char>(length >> 8) + header;
}

void save_npy(const std::filesystem::path& path, const Tensor& x) {
    const std::string header = npy_header(x);
    const Tensor values = x.detach().contiguous();
    AtomicFile file(path);
    file.write(header);
    file.write(raw_values(values));
    file.commit();
}

Tensor load_npy(const std::filesystem::path& path) {
    InputFile file(path);
    ByteSource source{display_path(path), file.size(),
                      [&](void* to, std::uint64_t bytes) { file.take(to, bytes); }};
    return read_npy(source);
}

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
