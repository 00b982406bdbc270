// The parts of a GGUF file that stand before its values: numbers, strings and metadata, one after the other.
#pragma once

#include "weft/io/files.h"
#include "weft/io/gguf.h"

namespace weft::io {

// Reads one part after the other. What is refused names the file, and the part if it is set.
class GgufParts {
public:
    explicit GgufParts(const std::filesystem::path& path) : in(path), path_(path) {}

    InputFile in;
    std::string part;  // "tensor \"x\": "

    [[noreturn]] void refuse(const std::string& reason) const { in.refuse(part + reason); }
    std::uint64_t at() const { return at_; }  // the next byte
    std::uint64_t left() const { return in.size() - at_; }
    void check_count(std::uint64_t count, std::uint64_t bytes, const char* of) const;  // of so many bytes each

    void take(void* to, std::uint64_t bytes);
    template <class T>
    T take() {
        T value;
        take(&value, sizeof value);
        return value;
    }
    std::string take_string();
    std::string take_name();  // neither empty nor other than UTF-8
    GgufMetadata take_metadata(std::uint64_t entries);

private:
    std::filesystem::path path_;
    std::uint64_t at_ = 0;

    GgufValue take_value();
    template <class T>
    GgufValue value_of(std::uint32_t type, bool in_array);
    template <class T>
    T element(std::uint32_t type);
};

}  // namespace weft::io
