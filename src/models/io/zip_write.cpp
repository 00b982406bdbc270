#include <zlib.h>

#include <memory>
#include <new>

#include "models/io/zip.h"
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

std::string deflated(const std::vector<ZipWriter::Part>& parts) {
    z_stream stream{};
    if (deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY) != Z_OK)
        throw std::bad_alloc();
    const std::unique_ptr<z_stream, int (*)(z_stream*)> ending(&stream, deflateEnd);
    std::string packed;
    std::vector<Bytef> buffer(1 << 16);
    const auto run = [&](int flush) {
        do {
            stream.next_out = buffer.data();
            stream.avail_out = static_cast<uInt>(buffer.size());
            deflate(&stream, flush);
            packed.append(reinterpret_cast<const char*>(buffer.data()), buffer.size() - stream.avail_out);
        } while (stream.avail_out == 0);
    };
    for (const ZipWriter::Part& part : parts) {  // each below 4 GiB
        stream.next_in = static_cast<Bytef*>(const_cast<void*>(part.data));
        stream.avail_in = static_cast<uInt>(part.bytes);
        run(Z_NO_FLUSH);
    }
    run(Z_FINISH);
    return packed;
}

}  // namespace

void ZipWriter::write(const void* data, std::uint64_t bytes) {
    file_.write(data, bytes);
    written_ += bytes;
}

void ZipWriter::add(const std::string& name, const std::vector<Part>& parts, bool deflate) {
    std::uint64_t size = 0;
    uLong crc = crc32_z(0, nullptr, 0);
    for (const Part& part : parts) size += part.bytes;
    if (written_ + directory_.size() + size > largest || members_ == max_members || name.size() > 0xFFFF)
        throw ValueError("save_npz: with \"", name, "\" the archive would reach 4 GiB or 65535 members; ",
                         "save_safetensors has no such limit");
    for (const Part& part : parts) crc = crc32_z(crc, static_cast<const Bytef*>(part.data), part.bytes);
    const std::string packed = deflate ? deflated(parts) : "";
    const std::uint64_t packed_size = deflate ? packed.size() : size, begin = written_;

    Fields common;  // of the local header and of the directory: 2.0, UTF-8, method, 1 January 1980, sizes
    common(20, 2)(1 << 11, 2)(deflate ? 8 : 0, 2)(0, 2)(33, 2)(crc, 4)(packed_size, 4)(size, 4)(name.size(), 2)(
        0, 2);
    const std::string local = "PK\3\4" + common.bytes + name;
    write(local.data(), local.size());
    if (deflate)
        write(packed.data(), packed.size());
    else
        for (const Part& part : parts) write(part.data, part.bytes);
    const std::string made_by = Fields()(3 << 8 | 20, 2).bytes;  // Unix, 2.0
    directory_ += "PK\1\2" + made_by + common.bytes +
                  Fields()(0, 2)(0, 2)(0, 2)(std::uint64_t{0100644} << 16, 4)(begin, 4).bytes + name;
    ++members_;
}

void ZipWriter::finish() {
    const std::uint64_t begin = written_;
    if (begin + directory_.size() > largest)
        throw ValueError("save_npz: the archive would reach 4 GiB; save_safetensors has no such limit");
    const std::string end =
        "PK\5\6" + Fields()(0, 2)(0, 2)(members_, 2)(members_, 2)(directory_.size(), 4)(begin, 4)(0, 2).bytes;
    write(directory_.data(), directory_.size());
    write(end.data(), end.size());
}

}  // namespace weft::io
