// Tensors from braces, of other patterns, and of memory that is not theirs.
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <utility>
#include <vector>

#include "weft/core/creation.h"
#include "weft/core/tensor.h"

namespace weft {

// The argument of `tensor`: a number, or a list of such in braces.
//
//     const Nested rows = {{1.0, 2}, {3, 4}};
//     const Tensor x = tensor(rows, float64);  // [[1, 2], [3, 4]]
struct Nested {
    double value = 0;           // the value of a number
    std::int64_t integer = 0;   // the exact value of a whole number
    DType dtype = float32;      // boolean, int64, or float32 for a fraction; of a list, the type of its items
    std::vector<Nested> items;  // the items of a list
    bool is_list = false;       // which of the two it is
    // A fraction; 1.0 is one.
    template <std::floating_point T>
    Nested(T v) : value(v) {}
    // A whole number, or true or false.
    template <std::integral T>
    Nested(T v) : value(static_cast<double>(v)), dtype(std::same_as<T, bool> ? boolean : int64) {
        if (std::in_range<std::int64_t>(+v)) integer = static_cast<std::int64_t>(v);
    }
    // A list in braces.
    Nested(std::initializer_list<Nested> list);
    std::int64_t to_int64() const;  // the number; DTypeError unless int64 holds it
};
// A tensor from nested braces: tensor({{1.0, 2}, {3, 4}}) is (2, 2), tensor(3.0) is (). Without a type it is
// int64 if every number is a whole one, bool if every one is true or false, and otherwise float32, as in
// PyTorch. ShapeError if ragged; DTypeError for a number that the type does not hold.
Tensor tensor(const Nested& values, std::optional<DType> dtype = {});
// The same as (n,). Integers become int64; DTypeError for one that it does not hold.
template <class T>
Tensor from_vector(const std::vector<T>& values) {
    if constexpr (std::integral<T> && !std::same_as<T, bool> && !std::same_as<T, std::int64_t>) {
        std::vector<std::int64_t> own;
        own.reserve(values.size());
        for (const T v : values) own.push_back(Nested(v).to_int64());
        return from_vector(own);
    } else {
        return from_vector(values, {static_cast<std::int64_t>(values.size())});
    }
}
// from_vector(values): (n,).
template <class T>
Tensor tensor(const std::vector<T>& values) {
    return from_vector(values);
}

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

// Random draws. Each takes the next positions of its generator, so draw in statements of their own: in one
// expression, as in randn({2}) - randn({2}), the compiler chooses which comes first. (In braces they run from
// left to right.)

// Normal, mean 0, standard deviation 1; without a generator from default_rng().
Tensor randn(const Shape& shape, Rng& rng, DType dtype = float32);
inline Tensor randn(const Shape& shape, DType dtype = float32) { return randn(shape, default_rng(), dtype); }
// With the sizes one by one: randn(2, 3) is randn({2, 3}).
template <std::integral... Sizes>
Tensor randn(Sizes... sizes) requires(sizeof...(Sizes) > 1) {
    return randn(Shape{static_cast<std::int64_t>(sizes)...});
}
template <std::integral A, std::integral B, class... More>
Tensor randn(A, B, More&&...) requires(!all_integral<More...>) = delete;  // write randn({2, 3}, rng, float64)
// Uniform in [0, 1), likewise.
Tensor rand(const Shape& shape, Rng& rng, DType dtype = float32);
inline Tensor rand(const Shape& shape, DType dtype = float32) { return rand(shape, default_rng(), dtype); }
// The same of rand.
template <std::integral... Sizes>
Tensor rand(Sizes... sizes) requires(sizeof...(Sizes) > 1) {
    return rand(Shape{static_cast<std::int64_t>(sizes)...});
}
template <std::integral A, std::integral B, class... More>
Tensor rand(A, B, More&&...) requires(!all_integral<More...>) = delete;  // write rand({2, 3}, rng, float64)
// int64, low ≤ i < high; ValueError unless low < high.
Tensor randint(std::int64_t low, std::int64_t high, const Shape& shape, Rng& rng = default_rng());
// In training, each element is 0 with probability p and x / (1 − p) otherwise (inverted dropout; Srivastava
// et al., JMLR 2014). Not in training, or with p = 0, x itself. ValueError unless 0 ≤ p < 1.
Tensor dropout(const Tensor& x, double p, Rng& rng, bool training = true);
// The same from default_rng().
Tensor dropout(const Tensor& x, double p, bool training = true);
// Normal, with x's shape and type.
//
//     const Tensor noisy = x + 0.1 * randn_like(x, rng);
//     const Tensor half = rand_like(x, rng) < 0.5;  // boolean, each true with probability ½
Tensor randn_like(const Tensor& x, Rng& rng = default_rng());
Tensor rand_like(const Tensor& x, Rng& rng = default_rng());  // uniform in [0, 1), with x's shape and type
Tensor randperm(std::int64_t n, Rng& rng = default_rng());    // (n,) int64: 0 … n − 1 in random order
// weights (n,) or (rows, n) → (num_samples,) or (rows, num_samples) int64: indices drawn with probabilities in
// proportion to the weights. ValueError for weights that are negative or not finite, or too few to draw from.
Tensor multinomial(const Tensor& weights, std::int64_t num_samples, Rng& rng = default_rng(),
                   bool replacement = false);

}  // namespace weft
