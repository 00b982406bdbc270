#include <algorithm>
#include <cstring>
#include <set>

#include "models/io/zip.h"
#include "weft/core/text.h"
#include "weft/models/io.h"

namespace weft::io {

namespace {

constexpr std::uint64_t end_size = 22, end_size_64 = 56, locator_size = 20, entry_size = 46, local_size = 30;
constexpr std::uint64_t max_expansion_per_byte =
    1032;  // deflate's best: 258 bytes in two bits (zlib, "Technical Details")
constexpr unsigned encrypted = 1, utf8 = 1 << 11;

// Fields of a record, little-endian.
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
    if (at > file.size() || bytes > file.size() - at) file.refuse("it is cut, or no .npz archive");
    std::string text(bytes, '\0');
    file.seek(at);
    file.take(text.data(), bytes);
    return Record(text);
}

struct Directory {
    std::uint64_t begin = 0, size = 0, members = 0;
};

// The record at the file's end says where the directory is; archives above 4 GiB have another one before it.
Directory find_directory(InputFile& file) {
    constexpr std::uint64_t max_comment = 65535;
    const std::uint64_t tail = std::min(file.size(), end_size + max_comment);
    const Record last = record_at(file, file.size() - tail, tail);
    std::uint64_t at = file.size();
    for (std::uint64_t back = end_size; back <= tail && at == file.size(); ++back) {
        const auto place = static_cast<std::size_t>(tail - back);
        if (last.text(place, 4) == "PK\5\6" && last.number(place + 20, 2) == back - end_size)
            at = file.size() - back;
    }
    if (at == file.size()) file.refuse("it is cut, or no .npz archive: it has no directory at its end");

    const Record end = record_at(file, at, end_size);
    Directory directory{end.number(16, 4), end.number(12, 4), end.number(10, 2)};
    bool single_disk = end.number(4, 2) == 0 && end.number(6, 2) == 0 && end.number(8, 2) == directory.members;
    if (at >= locator_size && record_at(file, at - locator_size, locator_size).is("PK\6\7")) {
        at = record_at(file, at - locator_size, locator_size).number(8, 8);
        const Record end_64 = record_at(file, at, end_size_64);
        if (!end_64.is("PK\6\6")) file.refuse("its directory's place is not where it says");
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

// Sizes and places above 32 bits stand in an extra field, in this order, each only where it is needed.
void read_zip64_fields(InputFile& file, const Record& extra, ZipMember& member) {
    for (std::size_t at = 0; at + 4 <= extra.size();) {
        const std::uint64_t id = extra.number(at, 2), bytes = extra.number(at + 2, 2);
        at += 4;
        if (bytes > extra.size() - at) break;
        std::size_t next = at;
        for (std::uint64_t* field : {&member.size, &member.packed, &member.begin}) {
            if (id != 1 || *field != 0xFFFFFFFF) continue;
            if (next + 8 > at + bytes)
                file.refuse("member \"" + text::excerpt(member.name) + "\" lacks its size");
            *field = extra.number(next, 8);
            next += 8;
        }
        at += bytes;
    }
}

// The member at this place of the directory, whose `begin` is that of its local header yet.
ZipMember member_at(InputFile& file, const Record& directory, std::size_t& at) {
    const auto left = directory.size() - at;
    if (left < entry_size || directory.text(at, 4) != "PK\1\2") file.refuse("its directory is damaged");
    const auto number = [&](std::size_t place, std::size_t width) {
        return directory.number(at + place, width);
    };
    const std::size_t name = number(28, 2), extra = number(30, 2), comment = number(32, 2);
    if (name + extra + comment > left - entry_size) file.refuse("its directory is cut");
    ZipMember member;
    member.name = directory.text(at + entry_size, name);
    const auto refuse = [&](const std::string& reason) {
        file.refuse("member \"" + text::excerpt(member.name) + "\" " + reason);
    };
    const std::uint64_t flags = number(8, 2), method = number(10, 2);
    if ((flags & encrypted) != 0) refuse("is encrypted");
    if (method != 0 && method != 8)
        refuse("is packed by method " + std::to_string(method) + "; stored and deflated ones are read");
    const bool ascii = std::all_of(member.name.begin(), member.name.end(),
                                   [](char c) { return static_cast<unsigned char>(c) < 0x80; });
    if (!text::is_utf8(member.name) || (!ascii && (flags & utf8) == 0)) refuse("has a name that is not UTF-8");
    if (member.name.find('\0') != std::string::npos) refuse("has a name with a zero byte");
    member.deflated = method == 8;
    member.crc = static_cast<std::uint32_t>(number(16, 4));
    member.packed = number(20, 4);
    member.size = number(24, 4);
    member.begin = number(42, 4);
    read_zip64_fields(file, Record(directory.text(at + entry_size + name, extra)), member);
    if (!member.deflated && member.packed != member.size) refuse("is stored, with two different sizes");
    if (member.size / max_expansion_per_byte > member.packed)
        refuse("claims " + std::to_string(member.size) + " bytes, more than its " +
               std::to_string(member.packed) + " can stand for");
    at += entry_size + name + extra + comment;
    return member;
}

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
    if (at != directory.size()) file.refuse("its directory has more in it than its members");

    // What the directory says has to agree with what stands before each member.
    std::vector<std::pair<std::uint64_t, std::uint64_t>> taken;
    for (ZipMember& member : members) {
        const auto refuse = [&](const std::string& reason) {
            file.refuse("member \"" + text::excerpt(member.name) + "\" " + reason);
        };
        const std::uint64_t header = member.begin;
        if (header > where.begin || where.begin - header < local_size) refuse("begins past its place");
        const Record local = record_at(file, header, local_size);
        if (!local.is("PK\3\4")) refuse("does not begin where the directory says");
        member.begin += local_size + local.number(26, 2) + local.number(28, 2);
        if (member.begin > where.begin || member.packed > where.begin - member.begin)
            refuse("reaches past its place");
        if (local.number(8, 2) != (member.deflated ? 8U : 0U) || local.number(26, 2) != member.name.size() ||
            record_at(file, header + local_size, member.name.size()).text(0, member.name.size()) != member.name)
            refuse("is another than the directory says");
        taken.emplace_back(header, member.begin + member.packed);
    }
    std::sort(taken.begin(), taken.end());
    for (std::size_t i = 1; i < taken.size(); ++i)
        if (taken[i].first < taken[i - 1].second) file.refuse("two of its members overlap");
    return members;
}

}  // namespace weft::io
