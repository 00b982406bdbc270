// NumPy's .npy format (numpy/lib/format.py, "Format Version 1.0" to "3.0"): six bytes of magic, two of version,
// the header's length, the header as a Python dictionary, the values. Also for the members of an .npz.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "weft/core/tensor.h"

namespace weft::io {

// The bytes of one .npy, in a file or a member of an archive.
struct ByteSource {
    std::string what;                                // its name in messages
    std::uint64_t left = 0;                          // the number of bytes that are not read
    std::function<void(void*, std::uint64_t)> read;  // reads the next ones

    [[noreturn]] void refuse(const std::string& reason) const;  // IoError "cannot read what: reason"
    void take(void* to, std::uint64_t bytes);
};

struct NpyHeader {
    std::string descr;  // "<f4": byte order, kind, bytes of one value
    bool fortran_order = false;
    Shape shape;
};
// Parses the dictionary. Refuses what numpy.save does not write.
NpyHeader parse_npy_header(const std::string& text, const ByteSource& source);

// Magic, version, length and header for row-major values.
std::string npy_header(const Tensor& x);

// The bytes in memory of the tensor that the header describes.
std::uint64_t npy_tensor_bytes(ByteSource& source);

// The rest of a source as one tensor. Nothing is allocated before the sizes are compared with what is left.
Tensor read_npy(ByteSource& source);

}  // namespace weft::io
