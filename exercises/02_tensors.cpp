// Exercise of chapter 2: shapes, strides and positions in memory, by hand.
//
//     make exercise N=2
//
// Write each function in place of its blank. Shape and Strides are lists of numbers: shape.rank() of them,
// shape[axis] one of them; Strides::filled(rank, 1) is a list of `rank` ones.
#include "exercise.h"

// The strides of a contiguous tensor of this shape: the last axis takes steps of 1, and each axis before it
// steps over all that the axes after it hold: strides[k] = shape[k + 1] · shape[k + 2] · …
//     (2, 3, 4) → (12, 4, 1)
Strides strides_of(const Shape& shape) { return blank("the product of all sizes after each axis"); }

// Where the element at `index` lies in storage: offset + Σ index[k] · strides[k].
//     index (1, 2), strides (3, 1), offset 0 → 5
std::int64_t position_of(const Shape& index, const Strides& strides, std::int64_t offset) {
    return blank("the offset and, for each axis, index times stride");
}

// Whether a tensor of this shape and these strides lies row by row without gaps. An axis of size 1 is never
// stepped along, so its stride may be anything.
//     (3, 2), (2, 1) → true        (3, 2), (1, 3) → false        (1, 2), (99, 1) → true
bool is_contiguous(const Shape& shape, const Strides& strides) {
    return blank("compare with the strides of a contiguous tensor, but not along axes of size 1");
}
