#include "weft/io/gzip.h"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <new>

#include "weft/io/input_file.h"

namespace weft::io {

namespace {

constexpr std::size_t times = 200, margin = 1 << 20;  // a text shrinks to a third or a tenth

struct Stream : z_stream {
    Stream() : z_stream{} {
        if (inflateInit2(this, MAX_WBITS + 16) != Z_OK) throw std::bad_alloc();  // + 16: a gzip header
    }
    ~Stream() { inflateEnd(this); }
    Stream(const Stream&) = delete;
    Stream& operator=(const Stream&) = delete;
};

}  // namespace

std::string unpacked(std::string bytes, const std::filesystem::path& path) {
    if (!bytes.starts_with("\x1F\x8B")) return bytes;
    Stream stream;
    std::array<char, 1 << 16> buffer;
    std::string text;
    std::size_t read = 0;
    for (int result = Z_OK; read < bytes.size() || result != Z_STREAM_END;) {
        if (result == Z_STREAM_END) inflateReset(&stream);  // gzip also packs one file after another
        const std::size_t piece = std::min<std::size_t>(bytes.size() - read, 1U << 30);
        stream.next_in = reinterpret_cast<Bytef*>(bytes.data() + read);
        stream.avail_in = static_cast<uInt>(piece);
        stream.next_out = reinterpret_cast<Bytef*>(buffer.data());
        stream.avail_out = static_cast<uInt>(buffer.size());
        result = inflate(&stream, Z_NO_FLUSH);
        if (result == Z_BUF_ERROR) refuse(path, "it is a gzip file that was cut short; fetch it again");
        if (result != Z_OK && result != Z_STREAM_END) refuse(path, "it is a damaged gzip file; fetch it again");
        read += piece - stream.avail_in;
        text.append(buffer.data(), buffer.size() - stream.avail_out);
        if (text.size() > times * bytes.size() + margin)
            refuse(path, "it is a gzip file that unpacks to more than " + std::to_string(times) +
                             " times its size; unpack it with gunzip first");
    }
    return text;
}

}  // namespace weft::io
