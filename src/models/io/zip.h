// The part of the ZIP format that NumPy's archives are made of (PKWARE, "APPNOTE.TXT", 6.3.10): members that
// are stored or deflated, on one disk, not encrypted.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/io/atomic_file.h"
#include "models/io/input_file.h"
#include "models/io/npy.h"

namespace weft::io {

struct ZipMember {
    std::string name;                    // UTF-8
    std::uint64_t packed = 0, size = 0;  // bytes in the file, and of what they stand for
    std::uint64_t begin = 0;             // of the packed bytes
    std::uint32_t crc = 0;
    bool deflated = false;
};

// The members in the order of the archive's directory. Refused: an archive that is cut, has bytes before or
// behind it, or several disks; members that are encrypted, packed otherwise, reach past the file, overlap,
// share a name, or claim more bytes than theirs can stand for.
std::vector<ZipMember> zip_members(InputFile& file);

// Reads a member's bytes, and refuses those that are damaged when the last one has been read.
ByteSource open_member(InputFile& file, const ZipMember& member, const std::string& path);

// Writes an archive member by member; the same bytes for the same members.
class ZipWriter {
public:
    explicit ZipWriter(AtomicFile& file) : file_(file) {}
    // `parts` one after another are the member's bytes. ValueError when the archive would reach 4 GiB or 65535
    // members, beyond which the format is another one.
    struct Part {
        const void* data;
        std::uint64_t bytes;
    };
    void add(const std::string& name, const std::vector<Part>& parts, bool deflate);
    void finish();  // the directory

private:
    AtomicFile& file_;
    std::string directory_;
    std::uint64_t written_ = 0, members_ = 0;
    void write(const void* data, std::uint64_t bytes);
};

}  // namespace weft::io
