// New tensors. ValueError if a size is negative or if their product overflows; DTypeError unless the type
// holds the numbers, as for full({2}, 0.5, int64).
#pragma once

#include <concepts>
#include <cstdint>
#include <vector>

#include "weft/core/tensor.h"

namespace weft {

//     Rng rng(1);
//     const Tensor a = zeros({2, 3});                // [[0, 0, 0], [0, 0, 0]]
//     const Tensor b = randn({2, 3}, rng, float64);  // (2, 3), float64
//     const Tensor c = arange(0, 1, 0.25);           // [0, 0.25, 0.5, 0.75]
//     const Tensor d = tensor({{1.0, 2}, {3, 4}});   // [[1, 2], [3, 4]]
//     const Tensor ids = tensor({4, 0, 7}, int64);   // [4, 0, 7], int64
Tensor zeros(const Shape& shape, DType dtype = float32);               // every element 0
Tensor ones(const Shape& shape, DType dtype = float32);                // every element 1
Tensor full(const Shape& shape, double value, DType dtype = float32);  // every element `value`
Tensor empty(const Shape& shape, DType dtype = float32);               // uninitialised
template <std::integral A, std::integral B, class... More>
Tensor empty(A, B, More...) = delete;  // write empty({2, 3})
template <std::integral A, std::integral B, is_number Value>
Tensor full(A, B, Value) = delete;  // write full({2, 3}, 0.5)
// With the sizes one by one: zeros(2, 3) is zeros({2, 3}).
template <std::integral... Sizes>
Tensor zeros(Sizes... sizes) requires(sizeof...(Sizes) > 1) {
    return zeros(Shape{static_cast<std::int64_t>(sizes)...});
}
template <std::integral A, std::integral B, class... More>
Tensor zeros(A, B, More&&...) requires(!all_integral<More...>) = delete;  // write zeros({2, 3}, float64)
// The same of ones.
template <std::integral... Sizes>
Tensor ones(Sizes... sizes) requires(sizeof...(Sizes) > 1) {
    return ones(Shape{static_cast<std::int64_t>(sizes)...});
}
template <std::integral A, std::integral B, class... More>
Tensor ones(A, B, More&&...) requires(!all_integral<More...>) = delete;  // write ones({2, 3}, float64)
Tensor zeros_like(const Tensor& x);                                      // 0, with x's shape and type
// 1, with x's shape and type.
//
//     Tensor x = empty({2, 3});
//     x.copy_(ones_like(x));  // x is [[1, 1, 1], [1, 1, 1]]
Tensor ones_like(const Tensor& x);
// (⌈(end − start) / step⌉,): start, start + step, … before end. ValueError if step is 0, points away from
// end, or is too small to count the steps; DTypeError for bool, bfloat16 and float16.
Tensor arange(double start, double end, double step = 1, DType dtype = float32);
Tensor arange(std::int64_t end);                                // int64: 0 … end − 1
Tensor arange(double end, DType dtype) = delete;                // write arange(0, 10, 1, float64)
Tensor arange(double start, double end, DType dtype) = delete;  // write arange(0, 10, 1, float64)

// A tensor of the vector's type, from values in row-major order. ShapeError unless they fill the shape.
Tensor from_vector(const std::vector<float>& values, const Shape& shape);
Tensor from_vector(const std::vector<double>& values, const Shape& shape);
Tensor from_vector(const std::vector<std::int64_t>& values, const Shape& shape);
Tensor from_vector(const std::vector<bool>& values, const Shape& shape);
Tensor from_vector(const std::vector<BFloat16>& values, const Shape& shape);
Tensor from_vector(const std::vector<Float16>& values, const Shape& shape);

}  // namespace weft
