// Exercises of chapter 2: shapes, strides and positions in memory, by hand.
//
//     make exercise N=2          tries what you wrote; make hint N=2 helps
//
// Replace each blank(). The tasks are numbered as on the page. Shape and Strides are lists of numbers: x.rank()
// of them, x[axis] one of them; Strides::filled(rank, 1) is a list of `rank` ones.
#include "exercise.h"

// 1. Predict. The strides of this tensor. Write them as {…, …, …}, and only then run it.
inline Strides strides_after_permute() { return zeros({2, 3, 4}).permute({2, 0, 1}).strides(); }
Strides prediction_of_strides() { return blank(); }

// 2. Predict. Does the reshaped tensor share its memory with x? Write true or false.
inline bool shares_after_reshape() {
    const Tensor x = zeros({2, 3});
    return x.T().reshape({6}).shares_storage(x);
}
bool prediction_of_sharing() { return blank(); }

// 3. Mend. An image whose three colours lie side by side for each pixel becomes three images, one for each
// colour: pixels (height, width, 3) → (3, height, width). The shape is right.
Tensor planes(const Tensor& pixels) { return pixels.reshape({3, pixels.size(0), pixels.size(1)}); }

// 4. Write. The strides of a contiguous tensor of this shape.
//     (2, 3, 4) → (12, 4, 1)
Strides strides_of(const Shape& shape) { return blank(); }

// 5. Write. The position in storage of the element at `index`, for a tensor with these strides and this offset.
//     index (1, 2), strides (3, 1), offset 0 → 5
std::int64_t position_of(const Shape& index, const Strides& strides, std::int64_t offset) { return blank(); }

// 6. Write. Whether a tensor of this shape and these strides is contiguous: its elements lie row by row,
// without gaps. Beware of axes of size 1.
//     (3, 2), (2, 1) → true        (3, 2), (1, 3) → false
bool is_contiguous(const Shape& shape, const Strides& strides) { return blank(); }

// 7. Paper. x is a contiguous tensor (4, 6), and y = x.slice(0, 1, 3).slice(1, 2, 5).T(), where slice(axis,
// start, end) takes the indices start … end − 1. Enter the offset of y, its two strides, and the position in
// storage of its element (2, 1).
std::vector<double> view_on_paper() { return blank(); }
