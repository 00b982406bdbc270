// The part of the ZIP format (PKWARE, "APPNOTE.TXT", 6.3.10) that NumPy uses: stored and deflated members, on
// one disk, not encrypted.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "io/npy.h"
#include "weft/io/files.h"

namespace weft::io {

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

}  // namespace weft::io
