// Products over pairs of which some do not see each other: the weight of such a pair is 0, yet 0 · NaN is not.
// These take the place of a plain product where something is not finite. Where all is finite their bits are
// those of the plain product.
#pragma once

#include <cmath>
#include <vector>

#include "core/kernels/gemm.h"

namespace weft::kernels {

// What stands in for x in the product: its own sign, so that infinities added afterwards meet nothing that
// would make NaN of them.
template <class T>
T finite_or_one(T x) {
    return std::isfinite(x) ? x : std::copysign(T(1), x);
}

// c (m, n) += alpha · Σ_j a_ij b_jc over the b_jc that are not finite and the pairs with is_visible(i, j). a is
// (m, k), b (k, n).
template <class T, class IsVisible>
void add_not_finite(std::int64_t m, std::int64_t n, std::int64_t k, T alpha, Matrix<const T> a,
                    Matrix<const T> b, Matrix<T> c, const IsVisible& is_visible) {
    for (std::int64_t j = 0; j < k; ++j)
        for (std::int64_t column = 0; column < n; ++column) {
            const T x = b.data[j * b.row + column * b.column];
            if (std::isfinite(x)) continue;
            for (std::int64_t i = 0; i < m; ++i)
                if (is_visible(i, j))
                    c.data[i * c.row + column * c.column] += alpha * a.data[i * a.row + j * a.column] * x;
        }
}

// c = alpha · a b + beta · c over the pairs with is_visible(i, j); elsewhere a_ij must be 0. b's and c's column
// strides are 1.
template <class T, class IsVisible>
void masked_gemm(std::int64_t m, std::int64_t n, std::int64_t k, T alpha, Matrix<const T> a, Matrix<const T> b,
                 T beta, Matrix<T> c, const IsVisible& is_visible) {
    std::vector<T> finite(static_cast<std::size_t>(k * n));
    for (std::int64_t j = 0; j < k; ++j)
        for (std::int64_t column = 0; column < n; ++column)
            finite[static_cast<std::size_t>(j * n + column)] = finite_or_one(b.data[j * b.row + column]);
    gemm<T>(m, n, k, alpha, a, {finite.data(), n, 1}, beta, c);
    add_not_finite(m, n, k, alpha, a, b, c, is_visible);
}

// The matrix of a product y = a b that holds one number for each pair.
enum class Pairs { in_a, in_b, in_y };

// out (B, H, m, n) = a (B, H, m, k) · b (B, H, k, n), a and b is_matrix and `pairs` one of them: what stands at
// its pairs with `blocked` (of its shape, bool) counts as 0, and meets nothing of the other.
void masked_matmul(const Array& out, const Array& a, const Array& b, const Array& blocked, Pairs pairs);

}  // namespace weft::kernels
