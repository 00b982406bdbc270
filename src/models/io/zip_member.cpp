#include <zlib.h>

#include <algorithm>
#include <memory>
#include <new>

#include "models/io/zip.h"
#include "weft/core/text.h"
#include "weft/models/io.h"

namespace weft::io {

namespace {

// A member that is read from its beginning to its end.
class MemberReader {
public:
    MemberReader(InputFile& file, const ZipMember& member, std::string what)
        : file_(file), member_(member), what_(std::move(what)), packed_left_(member.packed) {
        if (member_.deflated && inflateInit2(&stream_, -MAX_WBITS) != Z_OK) throw std::bad_alloc();
        file_.seek(member_.begin);
    }
    ~MemberReader() {
        if (member_.deflated) inflateEnd(&stream_);
    }
    MemberReader(const MemberReader&) = delete;
    MemberReader& operator=(const MemberReader&) = delete;

    void read(void* to, std::uint64_t bytes) {
        if (member_.deflated)
            inflate_to(static_cast<Bytef*>(to), bytes);
        else
            file_.take(to, bytes);
        crc_ = crc32_z(crc_, static_cast<const Bytef*>(to), bytes);
        done_ += bytes;
        if (done_ == member_.size && crc_ != member_.crc) refuse("its checksum is wrong: it is damaged");
    }

private:
    InputFile& file_;
    const ZipMember& member_;
    std::string what_;
    std::uint64_t packed_left_, done_ = 0;
    uLong crc_ = crc32_z(0, nullptr, 0);
    z_stream stream_{};
    std::vector<Bytef> buffer_ = std::vector<Bytef>(1 << 16);

    [[noreturn]] void refuse(const std::string& reason) const {
        throw IoError("cannot read ", what_, ": ", reason);
    }

    void inflate_to(Bytef* to, std::uint64_t bytes) {
        while (bytes > 0) {
            if (stream_.avail_in == 0) {
                const std::uint64_t next = std::min<std::uint64_t>(packed_left_, buffer_.size());
                file_.take(buffer_.data(), next);
                packed_left_ -= next;
                stream_.next_in = buffer_.data();
                stream_.avail_in = static_cast<uInt>(next);
            }
            const auto wanted = static_cast<uInt>(std::min<std::uint64_t>(bytes, 1U << 30));
            stream_.next_out = to;
            stream_.avail_out = wanted;
            const int result = inflate(&stream_, Z_NO_FLUSH);
            const uInt got = wanted - stream_.avail_out;
            to += got;
            bytes -= got;
            if (bytes > 0 && (result != Z_OK || (got == 0 && packed_left_ == 0 && stream_.avail_in == 0)))
                refuse("its deflated bytes are damaged");
        }
    }
};

}  // namespace

ByteSource open_member(InputFile& file, const ZipMember& member, const std::string& path) {
    const std::string what = path + ": member \"" + text::excerpt(member.name) + "\"";
    const auto reader = std::make_shared<MemberReader>(file, member, what);
    return {what, member.size, [reader](void* to, std::uint64_t bytes) { reader->read(to, bytes); }};
}

}  // namespace weft::io
