#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <new>
#include <set>

#include "models/io/zip.h"
#include "weft/core/text.h"
#include "weft/models/io.h"

namespace weft::io {

namespace {

constexpr std::uint64_t end_size = 22, end_size_64 = 56, locator_size = 20, entry_size = 46, local_size = 30;
constexpr std::uint64_t max_expansion_per_byte = 1032;  // 258 bytes in two bits (zlib, "Technical Details")
constexpr unsigned encrypted = 1, utf8 = 1 << 11;

// A record of little-endian fields.
class Record {
public:
    explicit Record(std::string bytes) : bytes_(std::move(bytes)) {}
    std::uint64_t number(std::size_t at, std::size_t width) const {
        std::uint64_t value = 0;
        std::memcpy(&value, bytes_.data() + at, width);
        return value;
    }
    bool is(const char* signature) const { return bytes_.compare(0, 4, signature, 4) == 0; }
    std::string text(std::size_t at, std::size_t length) const { return bytes_.substr(at, length); }
    std::size_t size() const { return bytes_.size(); }

private:
    std::string bytes_;
};

Record record_at(InputFile& file, std::uint64_t at, std::uint64_t bytes) {
    if (at > file.size() || bytes > file.size() - at) file.refuse("it is truncated, or not an .npz archive");
    std::string text(bytes, '\0');
    file.seek(at);
    file.take(text.data(), bytes);
    return Record(text);
}

struct Directory {
    std::uint64_t begin = 0, size = 0, members = 0;
};

// The record at the end of the file locates the directory; archives above 4 GiB have another one before it.
Directory find_directory(InputFile& file) {
    constexpr std::uint64_t max_comment = 65535;
    const std::uint64_t tail = std::min(file.size(), end_size + max_comment);
    const Record last = record_at(file, file.size() - tail, tail);
    std::uint64_t at = file.size();
    for (std::uint64_t back = end_size; back <= tail && at == file.size(); ++back) {
        const auto begin = static_cast<std::size_t>(tail - back);
        if (last.text(begin, 4) == "PK\5\6" && last.number(begin + 20, 2) == back - end_size)
            at = file.size() - back;
    }
    if (at == file.size())
        file.refuse("it is truncated, or not an .npz archive: it has no directory at its end");

    const Record end = record_at(file, at, end_size);
    Directory directory{end.number(16, 4), end.number(12, 4), end.number(10, 2)};
    bool single_disk = end.number(4, 2) == 0 && end.number(6, 2) == 0 && end.number(8, 2) == directory.members;
    if (at >= locator_size && record_at(file, at - locator_size, locator_size).is("PK\6\7")) {
        at = record_at(file, at - locator_size, locator_size).number(8, 8);
        const Record end_64 = record_at(file, at, end_size_64);
        if (!end_64.is("PK\6\6")) file.refuse("its ZIP64 directory record is not where its locator says");
        directory = {end_64.number(48, 8), end_64.number(40, 8), end_64.number(32, 8)};
        single_disk =
            end_64.number(16, 4) == 0 && end_64.number(20, 4) == 0 && end_64.number(24, 8) == directory.members;
    }
    if (!single_disk) file.refuse("it is part of an archive on several disks");
    if (directory.begin > at || directory.size != at - directory.begin)
        file.refuse("its directory of " + std::to_string(directory.size) +
                    " bytes does not end where it should");
    if (directory.members > directory.size / entry_size)
        file.refuse("its directory cannot hold the " + std::to_string(directory.members) +
                    " members that it claims");
    return directory;
}

[[noreturn]] void refuse(const InputFile& file, const ZipMember& member, const std::string& reason) {
    file.refuse("member \"" + text::excerpt(member.name) + "\" " + reason);
}

// Sizes and offsets above 32 bits are in an extra field, in this order, each only if it is needed.
void read_zip64_fields(InputFile& file, const Record& extra, ZipMember& member) {
    for (std::size_t at = 0; at + 4 <= extra.size();) {
        const std::uint64_t id = extra.number(at, 2), bytes = extra.number(at + 2, 2);
        at += 4;
        if (bytes > extra.size() - at) break;
        std::size_t next = at;
        for (std::uint64_t* field : {&member.size, &member.packed, &member.begin}) {
            if (id != 1 || *field != 0xFFFFFFFF) continue;
            if (next + 8 > at + bytes) refuse(file, member, "lacks its size");
            *field = extra.number(next, 8);
            next += 8;
        }
        at += bytes;
    }
}

// The member at this offset of the directory; its `begin` is that of its local header.
ZipMember member_at(InputFile& file, const Record& directory, std::size_t& at) {
    const auto left = directory.size() - at;
    if (left < entry_size || directory.text(at, 4) != "PK\1\2") file.refuse("its directory is damaged");
    const auto number = [&](std::size_t field, std::size_t width) {
        return directory.number(at + field, width);
    };
    const std::size_t name = number(28, 2), extra = number(30, 2), comment = number(32, 2);
    if (name + extra + comment > left - entry_size) file.refuse("its directory is truncated");
    ZipMember member;
    member.name = directory.text(at + entry_size, name);
    const std::uint64_t flags = number(8, 2), method = number(10, 2);
    if ((flags & encrypted) != 0) refuse(file, member, "is encrypted");
    if (method != 0 && method != 8)
        refuse(file, member,
               "is compressed by method " + std::to_string(method) +
                   "; only stored and deflated members can be read");
    const bool ascii = std::all_of(member.name.begin(), member.name.end(),
                                   [](char c) { return static_cast<unsigned char>(c) < 0x80; });
    if (!text::is_utf8(member.name) || (!ascii && (flags & utf8) == 0))
        refuse(file, member, "has a name that is not UTF-8");
    if (member.name.find('\0') != std::string::npos) refuse(file, member, "has a name with a zero byte");
    member.deflated = method == 8;
    member.crc = static_cast<std::uint32_t>(number(16, 4));
    member.packed = number(20, 4);
    member.size = number(24, 4);
    member.begin = number(42, 4);
    read_zip64_fields(file, Record(directory.text(at + entry_size + name, extra)), member);
    if (!member.deflated && member.packed != member.size)
        refuse(file, member, "is stored, with two different sizes");
    if (member.size / max_expansion_per_byte > member.packed)
        refuse(file, member,
               "claims " + std::to_string(member.size) + " bytes, more than its " +
                   std::to_string(member.packed) + " can expand to");
    at += entry_size + name + extra + comment;
    return member;
}

// Reads a member from its beginning to its end.
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

    void read(void* target, std::uint64_t bytes) {
        if (member_.deflated)
            inflate_to(static_cast<Bytef*>(target), bytes);
        else
            file_.take(target, bytes);
        crc_ = crc32_z(crc_, static_cast<const Bytef*>(target), bytes);
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

    void inflate_to(Bytef* target, std::uint64_t bytes) {
        while (bytes > 0) {
            if (stream_.avail_in == 0) {
                const std::uint64_t next = std::min<std::uint64_t>(packed_left_, buffer_.size());
                file_.take(buffer_.data(), next);
                packed_left_ -= next;
                stream_.next_in = buffer_.data();
                stream_.avail_in = static_cast<uInt>(next);
            }
            const auto wanted = static_cast<uInt>(std::min<std::uint64_t>(bytes, 1U << 30));
            stream_.next_out = target;
            stream_.avail_out = wanted;
            const int result = inflate(&stream_, Z_NO_FLUSH);
            const uInt got = wanted - stream_.avail_out;
            target += got;
            bytes -= got;
            if (bytes > 0 && (result != Z_OK || (got == 0 && packed_left_ == 0 && stream_.avail_in == 0)))
                refuse("its deflated bytes are damaged");
        }
    }
};

}  // namespace

std::vector<ZipMember> zip_members(InputFile& file) {
    const Directory where = find_directory(file);
    const Record directory = record_at(file, where.begin, where.size);
    std::vector<ZipMember> members;
    std::set<std::string> names;
    std::size_t at = 0;
    for (std::uint64_t i = 0; i < where.members; ++i) {
        members.push_back(member_at(file, directory, at));
        if (!names.insert(members.back().name).second)
            file.refuse("it has two members \"" + text::excerpt(members.back().name) + "\"");
    }
    if (at != directory.size()) file.refuse("its directory continues after its last member");

    // The local header before each member has to agree with the directory.
    std::vector<std::pair<std::uint64_t, std::uint64_t>> taken;
    for (ZipMember& member : members) {
        const std::uint64_t header = member.begin;
        if (header > where.begin || where.begin - header < local_size)
            refuse(file, member, "begins inside or after the directory");
        const Record local = record_at(file, header, local_size);
        if (!local.is("PK\3\4")) refuse(file, member, "does not begin where the directory says");
        member.begin += local_size + local.number(26, 2) + local.number(28, 2);
        if (member.begin > where.begin || member.packed > where.begin - member.begin)
            refuse(file, member, "reaches into the directory");
        if (local.number(8, 2) != (member.deflated ? 8U : 0U) || local.number(26, 2) != member.name.size() ||
            record_at(file, header + local_size, member.name.size()).text(0, member.name.size()) != member.name)
            refuse(file, member, "does not match the directory");
        taken.emplace_back(header, member.begin + member.packed);
    }
    std::sort(taken.begin(), taken.end());
    for (std::size_t i = 1; i < taken.size(); ++i)
        if (taken[i].first < taken[i - 1].second) file.refuse("two of its members overlap");
    return members;
}

ByteSource open_member(InputFile& file, const ZipMember& member, const std::string& path) {
    const std::string what = path + ": member \"" + text::excerpt(member.name) + "\"";
    const auto reader = std::make_shared<MemberReader>(file, member, what);
    return {what, member.size, [reader](void* to, std::uint64_t bytes) { reader->read(to, bytes); }};
}

}  // namespace weft::io
