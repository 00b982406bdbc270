#include "fuzz.h"
#include "training_readers.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    return fuzz::run_with_length(fuzz::checkpoint, data, size, 0, 8, '}');
}
