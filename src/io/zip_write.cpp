#include <zlib.h>

#include <array>
#include <memory>
#include <new>

#include "io/zip.h"
#include "weft/core/error.h"

namespace weft::io {

namespace {

// A record of little-endian fields.
struct Fields {
    std::string bytes;
    Fields& operator()(std::uint64_t value, int width) {
        for (int i = 0; i < width; ++i) bytes.push_back(static_cast<char>(value >> (8 * i) & 0xFF));
        return *this;
    }
};

constexpr std::uint64_t largest = 0xFFFFFFFE, max_members = 0xFFFE;

const Bytef* units(std::string_view bytes) { return reinterpret_cast<const Bytef*>(bytes.data()); }

std::string deflated(const ZipWriter::Parts& parts) {
    z_stream stream{};
    if (deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY) != Z_OK)
        throw std::bad_alloc();
    const std::unique_ptr<z_stream, int (*)(z_stream*)> ending(&stream, deflateEnd);
    std::string packed;
    std::array<char, 1 << 16> buffer;
    const auto run = [&](int flush) {
        do {
            stream.next_out = reinterpret_cast<Bytef*>(buffer.data());
            stream.avail_out = static_cast<uInt>(buffer.size());
            deflate(&stream, flush);
            packed.append(buffer.data(), buffer.size() - stream.avail_out);
        } while (stream.avail_out == 0);
    };
    for (const std::string_view part : parts) {  // each below 4 GiB
        stream.next_in = const_cast<Bytef*>(units(part));
        stream.avail_in = static_cast<uInt>(part.size());
        run(Z_NO_FLUSH);
    }
    run(Z_FINISH);
    return packed;
}

}  // namespace

void ZipWriter::write(std::string_view bytes) {
    file_.write(bytes);
    written_ += bytes.size();
}

void ZipWriter::add(const std::string& name, const Parts& parts, bool deflate) {
    std::uint64_t size = 0;
    uLong crc = crc32_z(0, nullptr, 0);
    for (const std::string_view part : parts) size += part.size();
    if (written_ + directory_.size() + size > largest || members_ == max_members || name.size() > 0xFFFF)
        throw ValueError("save_npz: with \"", name, "\" the archive would reach 4 GiB or 65535 members; ",
                         "save_safetensors has no such limit");
    for (const std::string_view part : parts) crc = crc32_z(crc, units(part), part.size());
    const std::string packed = deflate ? deflated(parts) : "";
    const std::uint64_t packed_size = deflate ? packed.size() : size, begin = written_;

    Fields common;  // fields of the local header and the directory: 2.0, UTF-8, method, 1 January 1980, sizes
    common(20, 2)(1 << 11, 2)(deflate ? 8 : 0, 2)(0, 2)(33, 2)(crc, 4)(packed_size, 4)(size, 4)(name.size(), 2)(
        0, 2);
    write("PK\3\4" + common.bytes + name);
    for (const std::string_view part : deflate ? Parts{packed} : parts) write(part);
    const std::string made_by = Fields()(3 << 8 | 20, 2).bytes;  // Unix, 2.0
    directory_ += "PK\1\2" + made_by + common.bytes +
                  Fields()(0, 2)(0, 2)(0, 2)(std::uint64_t{0100644} << 16, 4)(begin, 4).bytes + name;
    ++members_;
}

void ZipWriter::finish() {
    const std::uint64_t begin = written_;
    if (begin + directory_.size() > largest)
        throw ValueError("save_npz: the archive would reach 4 GiB; save_safetensors has no such limit");
    write(directory_ + "PK\5\6" +
          Fields()(0, 2)(0, 2)(members_, 2)(members_, 2)(directory_.size(), 4)(begin, 4)(0, 2).bytes);
}

}  // namespace weft::io
