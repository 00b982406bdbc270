#include "io/npy.h"

#include <zlib.h>
#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <new>
#include <set>

#include "weft/base/text.h"
#include "weft/core/error.h"
#include "weft/core/record.h"
#include "weft/io/files.h"

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

namespace {

constexpr std::uint64_t end_size = 22, end_size_64 = 56, locator_size = 20, entry_size = 46, local_size = 30;
constexpr std::uint64_t max_expansion_per_byte = 1032;  // 258 bytes in two bits (zlib, "Technical Details")
constexpr unsigned encrypted = 1, utf8 = 1 << 11;

// A field of a record: little-endian, like this machine.
std::uint64_t number(std::string_view record, std::size_t at, std::size_t width) {
    std::uint64_t value = 0;
    std::memcpy(&value, record.data() + at, width);
    return value;
}

std::string record_at(InputFile& file, std::uint64_t at, std::uint64_t bytes) {
    if (at > file.size() || bytes > file.size() - at) file.refuse("it is truncated, or not an .npz archive");
    std::string record(bytes, '\0');
    file.seek(at);
    file.take(record.data(), bytes);
    return record;
}

struct Directory {
    std::uint64_t begin = 0, size = 0, members = 0;
};

// The record at the end of the file locates the directory; archives above 4 GiB have another one before it.
Directory find_directory(InputFile& file) {
    constexpr std::uint64_t max_comment = 65535;
    const std::uint64_t tail_size = std::min(file.size(), end_size + max_comment);
    const std::string tail = record_at(file, file.size() - tail_size, tail_size);
    std::size_t begin = tail.size() < end_size ? tail.npos : tail.rfind("PK\5\6", tail.size() - end_size);
    while (begin != tail.npos && number(tail, begin + 20, 2) != tail.size() - begin - end_size)  // its comment
        begin = begin == 0 ? tail.npos : tail.rfind("PK\5\6", begin - 1);
    if (begin == tail.npos)
        file.refuse("it is truncated, or not an .npz archive: it has no directory at its end");

    std::uint64_t at = file.size() - tail_size + begin;
    const std::string end = tail.substr(begin, end_size);
    Directory directory{number(end, 16, 4), number(end, 12, 4), number(end, 10, 2)};
    bool single_disk = number(end, 4, 4) == 0 && number(end, 8, 2) == directory.members;
    const std::string locator = at < locator_size ? "" : record_at(file, at - locator_size, locator_size);
    if (locator.starts_with("PK\6\7")) {
        at = number(locator, 8, 8);
        const std::string end_64 = record_at(file, at, end_size_64);
        if (!end_64.starts_with("PK\6\6"))
            file.refuse("its ZIP64 directory record is not where its locator says");
        directory = {number(end_64, 48, 8), number(end_64, 40, 8), number(end_64, 32, 8)};
        single_disk = number(end_64, 16, 8) == 0 && number(end_64, 24, 8) == directory.members;
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
    file.refuse("member \"" + excerpt(member.name) + "\" " + reason);
}

// Sizes and offsets above 32 bits are in an extra field, in this order, each only if it is needed.
void read_zip64_fields(InputFile& file, std::string_view extra, ZipMember& member) {
    while (extra.size() >= 4) {
        const std::uint64_t id = number(extra, 0, 2), bytes = number(extra, 2, 2);
        extra.remove_prefix(4);
        if (bytes > extra.size()) break;
        std::size_t next = 0;
        for (std::uint64_t* field : {&member.size, &member.packed, &member.begin}) {
            if (id != 1 || *field != 0xFFFFFFFF) continue;
            if (next + 8 > bytes) refuse(file, member, "lacks its size");
            *field = number(extra, next, 8);
            next += 8;
        }
        extra.remove_prefix(bytes);
    }
}

// Takes the first member off the directory; its `begin` is that of its local header.
ZipMember take_member(InputFile& file, std::string_view& directory) {
    if (directory.size() < entry_size || !directory.starts_with("PK\1\2"))
        file.refuse("its directory is damaged");
    const std::size_t name = number(directory, 28, 2), extra = number(directory, 30, 2),
                      comment = number(directory, 32, 2);
    if (name + extra + comment > directory.size() - entry_size) file.refuse("its directory is truncated");
    ZipMember member;
    member.name = directory.substr(entry_size, name);
    const std::uint64_t flags = number(directory, 8, 2), method = number(directory, 10, 2);
    if ((flags & encrypted) != 0) refuse(file, member, "is encrypted");
    if (method != 0 && method != 8)
        refuse(file, member,
               "is compressed by method " + std::to_string(method) +
                   "; only stored and deflated members can be read");
    const bool ascii = std::none_of(member.name.begin(), member.name.end(), [](char c) { return c & 0x80; });
    if (!is_utf8(member.name) || (!ascii && (flags & utf8) == 0))
        refuse(file, member, "has a name that is not UTF-8");
    if (member.name.find('\0') != std::string::npos) refuse(file, member, "has a name with a zero byte");
    member.deflated = method == 8;
    member.crc = static_cast<std::uint32_t>(number(directory, 16, 4));
    member.packed = number(directory, 20, 4);
    member.size = number(directory, 24, 4);
    member.begin = number(directory, 42, 4);
    read_zip64_fields(file, directory.substr(entry_size + name, extra), member);
    if (!member.deflated && member.packed != member.size)
        refuse(file, member, "is stored, with two different sizes");
    if (member.size / max_expansion_per_byte > member.packed)
        refuse(file, member,
               "claims " + std::to_string(member.size) + " bytes, more than its " +
                   std::to_string(member.packed) + " can expand to");
    directory.remove_prefix(entry_size + name + extra + comment);
    return member;
}

// Moves `begin` from the member's local header, which has to agree with the directory, to its bytes.
void skip_local_header(InputFile& file, std::uint64_t directory, ZipMember& member) {
    if (member.begin > directory || directory - member.begin < local_size)
        refuse(file, member, "begins inside or after the directory");
    const std::string local = record_at(file, member.begin, local_size);
    if (!local.starts_with("PK\3\4")) refuse(file, member, "does not begin where the directory says");
    const std::uint64_t name_begin = member.begin + local_size, name_size = number(local, 26, 2);
    member.begin = name_begin + name_size + number(local, 28, 2);
    if (member.begin > directory || member.packed > directory - member.begin)
        refuse(file, member, "reaches into the directory");
    if (number(local, 8, 2) != (member.deflated ? 8U : 0U) ||
        record_at(file, name_begin, name_size) != member.name)
        refuse(file, member, "does not match the directory");
}

// Reads a member from its beginning to its end.
class MemberReader {
public:
    MemberReader(InputFile& file, const ZipMember& member, std::string what)
        : file_(file), member_(member), what_(std::move(what)), packed_left_(member.packed) {
        if (member_.deflated && inflateInit2(&stream_, -MAX_WBITS) != Z_OK) throw std::bad_alloc();
        file_.seek(member_.begin);
    }
    ~MemberReader() { inflateEnd(&stream_); }  // without effect on a stored member
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
    std::array<Bytef, 1 << 16> buffer_;

    [[noreturn]] void refuse(const std::string& reason) const {
        throw IoError("cannot read ", what_, ": ", reason);
    }

    void inflate_to(Bytef* target, std::uint64_t bytes) {
        while (bytes > 0) {
            if (stream_.avail_in == 0) {
                stream_.next_in = buffer_.data();
                stream_.avail_in = static_cast<uInt>(std::min<std::uint64_t>(packed_left_, buffer_.size()));
                file_.take(buffer_.data(), stream_.avail_in);
                packed_left_ -= stream_.avail_in;
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
    const std::string directory = record_at(file, where.begin, where.size);
    std::string_view rest = directory;
    std::vector<ZipMember> members;
    std::set<std::string> names;
    std::vector<std::pair<std::uint64_t, std::uint64_t>> taken;
    for (std::uint64_t i = 0; i < where.members; ++i) {
        ZipMember member = take_member(file, rest);
        if (!names.insert(member.name).second)
            file.refuse("it has two members \"" + excerpt(member.name) + "\"");
        const std::uint64_t header = member.begin;
        skip_local_header(file, where.begin, member);
        taken.emplace_back(header, member.begin + member.packed);
        members.push_back(std::move(member));
    }
    if (!rest.empty()) file.refuse("its directory continues after its last member");
    std::sort(taken.begin(), taken.end());
    for (std::size_t i = 1; i < taken.size(); ++i)
        if (taken[i].first < taken[i - 1].second) file.refuse("two of its members overlap");
    return members;
}

ByteSource open_member(InputFile& file, const ZipMember& member, const std::string& path) {
    const std::string what = path + ": member \"" + excerpt(member.name) + "\"";
    const auto reader = std::make_shared<MemberReader>(file, member, what);
    return {what, member.size, [reader](void* to, std::uint64_t bytes) { reader->read(to, bytes); }};
}

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
