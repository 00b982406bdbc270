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
Strides strides_of(const Shape& shape) {
    Strides strides = Strides::filled(shape.rank(), 1);
    for (int axis = shape.rank() - 2; axis >= 0; --axis) strides[axis] = strides[axis + 1] * shape[axis + 1];
    return strides;
}

// Where the element at `index` lies in storage: offset + Σ index[k] · strides[k].
//     index (1, 2), strides (3, 1), offset 0 → 5
std::int64_t position_of(const Shape& index, const Strides& strides, std::int64_t offset) {
    std::int64_t position = offset;
    for (int axis = 0; axis < index.rank(); ++axis) position += index[axis] * strides[axis];
    return position;
}

// Whether a tensor of this shape and these strides lies row by row without gaps. An axis of size 1 is never
// stepped along, so its stride may be anything.
//     (3, 2), (2, 1) → true        (3, 2), (1, 3) → false        (1, 2), (99, 1) → true
bool is_contiguous(const Shape& shape, const Strides& strides) {
    const Strides expected = strides_of(shape);
    for (int axis = 0; axis < shape.rank(); ++axis)
        if (shape[axis] != 1 && strides[axis] != expected[axis]) return false;
    return true;
}
