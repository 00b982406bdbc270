// One harness: FUZZ_READER, fed by libFuzzer (https://llvm.org/docs/LibFuzzer.html). A Broken promise ends it
// like a crash, and so does every exception but weft::Error.
#include <cstdint>

#include "readers.h"
#include "training_readers.h"

// A file whose first bytes give the length of its header is tried as it is, and with the length that is right:
// chance would not find it. FUZZ_LENGTH: where the length stands, in how many bytes (0: nowhere), and the
// header's last character.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    constexpr int length[] = {FUZZ_LENGTH};
    constexpr std::size_t at = length[0], width = length[1];
    std::string bytes(reinterpret_cast<const char*>(data), size);
    fuzz::FUZZ_READER(bytes);
    const std::size_t end = bytes.rfind(static_cast<char>(length[2]));
    if (width == 0 || end == std::string::npos || end < at + width) return 0;
    for (std::size_t i = 0; i < width; ++i)
        bytes[at + i] = static_cast<char>((end + 1 - at - width) >> (8 * i));
    fuzz::FUZZ_READER(bytes);
    return 0;
}
