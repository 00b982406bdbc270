// Sizes on both sides of the constants that switch a kernel's path, and tensors of small whole numbers, of
// which every order of adding gives the same bits.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "catch.h"
#include "core/array.h"
#include "fast/simd.h"
#include "weft/core.h"

namespace sizes {

using namespace weft;

using Sizes = std::vector<std::int64_t>;

// n − 1, n and n + 1 of each.
inline Sizes neighbours(const Sizes& borders) {
    Sizes sizes;
    for (const std::int64_t n : borders)
        for (const std::int64_t size : {n - 1, n, n + 1})
            if (size > 0) sizes.push_back(size);
    std::sort(sizes.begin(), sizes.end());
    sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
    return sizes;
}

// Where SIMD vectors of any width end, alone and in the blocks of a sum.
inline Sizes vector_ends() {
    Sizes sizes{0};
    for (std::int64_t width = 2; width <= 16; width *= 2)
        for (const std::int64_t n : {width, 2 * width, kernels::fast::row_batches * width}) sizes.push_back(n);
    return sizes;
}

// −6 … 6, in an order that no stride repeats.
inline double small_integer(std::int64_t i) { return static_cast<double>((i * i + 3 * i / 2) % 13 - 6); }

inline Tensor small_integers(const Shape& shape, DType dtype) {
    std::vector<double> values(static_cast<std::size_t>(shape.numel()));
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = small_integer(static_cast<std::int64_t>(i));
    return from_vector(values, shape).to(dtype);
}

inline std::vector<double> values_of(const Tensor& x) { return x.detach().to(float64).to_vector<double>(); }

// Compared as a whole: one assertion for a tensor, with the first element that differs.
inline void check_equal(const Tensor& found, const std::vector<double>& wanted) {
    const std::vector<double> values = values_of(found);
    REQUIRE(values.size() == wanted.size());
    const auto at = std::mismatch(values.begin(), values.end(), wanted.begin()).first - values.begin();
    if (at == static_cast<std::ptrdiff_t>(values.size())) return;
    CAPTURE(at, found.shape().str(), name(found.dtype()));
    CHECK(values[static_cast<std::size_t>(at)] == wanted[static_cast<std::size_t>(at)]);
}

inline void check_close(const Tensor& found, const std::vector<double>& wanted, double tolerance) {
    const std::vector<double> values = values_of(found);
    REQUIRE(values.size() == wanted.size());
    for (std::size_t i = 0; i < values.size(); ++i)
        if (!(std::abs(values[i] - wanted[i]) <= tolerance * std::max(1.0, std::abs(wanted[i])))) {
            CAPTURE(i, found.shape().str(), name(found.dtype()));
            CHECK(values[i] == Approx(wanted[i]));
            return;
        }
}

inline const std::vector<DType> numbers{float32, float64, int64}, floats{float32, float64};

}  // namespace sizes
