// NumPy's .npy format (numpy/lib/format.py, "Format Version 1.0" to "3.0"): six bytes of magic, two of version,
// the header's length, the header as a Python dictionary, the values. Also for the members of an .npz.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weft/core/creation.h"
#include "weft/core/tensor.h"
#include "weft/io/files.h"
#include "weft/packed/packed.h"

namespace weft::io {

// The bytes of one .npy, in a file or a member of an archive.
struct ByteSource {
    std::string what;                                // its name in messages
    std::uint64_t left = 0;                          // the number of bytes that are not read
    std::function<void(void*, std::uint64_t)> read;  // reads the next ones

    [[noreturn]] void refuse(const std::string& reason) const;  // IoError "cannot read what: reason"
    void take(void* to, std::uint64_t bytes);
};

struct NpyHeader {
    std::string descr;  // "<f4": byte order, kind, bytes of one value
    bool fortran_order = false;
    Shape shape;
};
// Parses the dictionary. Refuses what numpy.save does not write.
NpyHeader parse_npy_header(const std::string& text, const ByteSource& source);

// Magic, version, length and header for row-major values.
std::string npy_header(const Tensor& x);

// The bytes in memory of the tensor that the header describes.
std::uint64_t npy_tensor_bytes(ByteSource& source);

// The rest of a source as one tensor. Nothing is allocated before the sizes are compared with what is left.
Tensor read_npy(ByteSource& source);

// The part of the ZIP format (PKWARE, "APPNOTE.TXT", 6.3.10) that NumPy uses: stored and deflated members, on
// one disk, not encrypted.

struct ZipMember {
    std::string name;                    // UTF-8
    std::uint64_t packed = 0, size = 0;  // bytes in the file, and uncompressed
    std::uint64_t begin = 0;             // where the packed bytes begin
    std::uint32_t crc = 0;
    bool deflated = false;
};

// The members in the order of the archive's directory. Refuses an archive that is truncated, has bytes before
// or after it, or spans several disks; members that are encrypted, compressed by another method, reach past the
// file, overlap, share a name, or claim more bytes than theirs can expand to.
std::vector<ZipMember> zip_members(InputFile& file);

// A member's bytes; reading the last one verifies the checksum.
ByteSource open_member(InputFile& file, const ZipMember& member, const std::string& path);

// Writes an archive; the same members give the same bytes.
class ZipWriter {
public:
    explicit ZipWriter(AtomicFile& file) : file_(file) {}
    // A member's bytes are its parts, concatenated.
    using Parts = std::vector<std::string_view>;
    // ValueError if the archive would reach 4 GiB or 65535 members, the limits of the format without ZIP64.
    void add(const std::string& name, const Parts& parts, bool deflate);
    void finish();  // the directory

private:
    AtomicFile& file_;
    std::string directory_;
    std::uint64_t written_ = 0, members_ = 0;
    void write(std::string_view bytes);
};

// What the readers of files share: what is asked of values before they become tensors, and how they do.

static_assert(std::endian::native == std::endian::little, "the values of the file formats are little-endian");

// The types of values by the names that safetensors and GGUF give them.
struct TypeName {
    const char* name;
    DType dtype;
};
inline constexpr TypeName type_names[] = {{"F64", float64}, {"I64", int64},     {"F32", float32},
                                          {"F16", float16}, {"BF16", bfloat16}, {"BOOL", boolean}};

// bytes = ∏ sizes · width. False if the product of the sizes that are not 0, times the 8 bytes of the widest
// type, overflows 63 bits, which no tensor may.
inline bool bytes_of(const Shape& shape, std::size_t width, std::uint64_t& bytes) {
    std::int64_t widest = 8, numel = 1;
    bool fits = true;
    for (const std::int64_t size : shape) {
        if (size != 0) fits &= !__builtin_mul_overflow(widest, size, &widest);
        numel = fits ? numel * size : 0;
    }
    bytes = static_cast<std::uint64_t>(numel) * width;
    return fits;
}

// Whether each byte is 0 or 1.
inline bool all_valid_bools(std::span<const std::byte> bytes) {
    return std::ranges::all_of(bytes, [](std::byte b) { return b <= std::byte{1}; });
}

// The tensor whose values begin at this byte of the file, in row-major order. The caller has compared its size
// with the file's.
inline Tensor read_tensor(InputFile& file, std::uint64_t begin, const Shape& shape, DType dtype) {
    const Tensor x = empty(shape, dtype);
    if (x.numel() == 0) return x;
    file.seek(begin);
    file.take(bytes_at(x), byte_count(x));
    return x;
}

}  // namespace weft::io
