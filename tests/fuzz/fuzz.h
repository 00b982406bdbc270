// One harness: a reader, fed by libFuzzer (https://llvm.org/docs/LibFuzzer.html). A Broken promise ends it like
// a crash, and so does every exception but weft::Error.
#pragma once

#include <cstdint>

#include "readers.h"

namespace fuzz {

using Read = std::string (*)(const std::string& bytes);

inline int run(Read read, const std::uint8_t* data, std::size_t size) {
    read({reinterpret_cast<const char*>(data), size});
    return 0;
}

// A file whose first bytes give the length of its header is tried as it is, and with the length that is right:
// chance would not find it.
inline int run_with_length(Read read, const std::uint8_t* data, std::size_t size, std::size_t at,
                           std::size_t width, char last) {
    std::string bytes(reinterpret_cast<const char*>(data), size);
    read(bytes);
    const std::size_t end = bytes.rfind(last);
    if (end == std::string::npos || end < at + width) return 0;
    for (std::size_t i = 0; i < width; ++i)
        bytes[at + i] = static_cast<char>((end + 1 - at - width) >> (8 * i));
    read(bytes);
    return 0;
}

}  // namespace fuzz
