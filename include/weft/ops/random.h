// Random draws. Each takes the next positions of its generator, so draw in statements of their own: in one
// expression, as in randn({2}) - randn({2}), the compiler chooses which comes first. (In braces they run from
// left to right.)
#pragma once

#include <concepts>
#include <cstdint>

#include "weft/core/tensor.h"

namespace weft {

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
