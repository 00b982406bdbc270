// NumPy's .npy format (numpy/lib/format.py, "Format Version 1.0" to "3.0"): six bytes of magic, two of version,
// the header's length, the header as a Python dictionary, the values. Used alone and for the members of an
// .npz.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "weft/core/tensor.h"

namespace weft::io {

// Where the bytes of one .npy come from: a file, or a member of an archive.
struct ByteSource {
    std::string what;                                // its name in refusals
    std::uint64_t left = 0;                          // bytes that have not been taken
    std::function<void(void*, std::uint64_t)> read;  // the next ones

    [[noreturn]] void refuse(const std::string& reason) const;  // IoError "cannot read what: reason"
    void take(void* to, std::uint64_t bytes);
};

// What the header says.
struct NpyHeader {
    std::string descr;  // "<f4": byte order, kind, bytes of one value
    bool fortran_order = false;
    Shape shape;
};
// The dictionary of a header. Refuses whatever numpy.save does not write.
NpyHeader parse_npy_header(const std::string& text, const ByteSource& source);

// Magic, version, length and header for values that follow row by row.
std::string npy_header(const Tensor& x);

// How many bytes the tensor of a source takes, which its header says.
std::uint64_t npy_tensor_bytes(ByteSource& source);

// All that is left of a source as one array. Nothing is allocated before the sizes were compared with what is
// left.
Tensor read_npy(ByteSource& source);

}  // namespace weft::io
