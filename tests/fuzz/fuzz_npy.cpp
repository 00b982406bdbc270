#include "fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    return fuzz::run_with_length(fuzz::npy, data, size, 8, 2, '\n');
}
