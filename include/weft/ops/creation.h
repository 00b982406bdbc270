// Tensors of other patterns, and of memory that is not theirs.
#pragma once

#include <cstdint>
#include <functional>

#include "weft/core/tensor.h"

namespace weft {

Tensor eye(std::int64_t n, DType dtype = float32);                  // (n, n), ones on the diagonal
Tensor eye(std::int64_t n, std::int64_t m, DType dtype = float32);  // (n, m), likewise
Tensor full_like(const Tensor& x, double value);                    // `value`, with x's shape and type
// (steps,): evenly spaced from start to end, both included. ValueError if steps < 0.
Tensor linspace(double start, double end, std::int64_t steps, DType dtype = float32);
// The tensor of these strides, in elements, over memory that something else owns: nothing is copied, and a
// write on either side is seen on the other, but version() notices only Weft's. The last tensor of this memory
// calls `deleter` with `data` when it is gone, on its thread; without one, keep the memory for as long. Nothing
// recycles it. A bool is a byte of 0 or 1.
//
//     std::vector<float> theirs = {1, 2, 3, 4, 5, 6};
//     const Tensor x = from_blob(theirs.data(), {2, 3});          // [[1, 2, 3], [4, 5, 6]]
//     const Tensor y = from_blob(theirs.data(), {3, 2}, {1, 3});  // its transpose, of the same memory
//     Tensor z = from_blob(theirs.data(), {6}, {1}, [&](void*) { released = true; });
//     z.mul_(10);
//     z = Tensor();  // calls the deleter
//
// ValueError, and the deleter is not called, if the address is null (except of no elements) or no multiple of
// itemsize(dtype), if a stride is negative, and if strides other than 0 put two elements at one address;
// ShapeError unless there is one for each axis. Strides of 0 make it an expanded tensor, which cannot be
// written to.
Tensor from_blob(void* data, const Shape& shape, const Strides& strides,
                 std::function<void(void*)> deleter = {}, DType dtype = float32);
// The same, row-major and without a deleter.
Tensor from_blob(void* data, const Shape& shape, DType dtype = float32);

}  // namespace weft
