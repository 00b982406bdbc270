// Products in which some pairs (query, key) are masked. The weight of a masked pair is 0, but 0 · NaN is NaN,
// so these replace the plain product if something is not finite. If all is finite they have the bits of the
// plain product.
#pragma once

#include <cmath>
#include <vector>

#include "core/kernels.h"
#include "fast/gemm.h"

namespace weft::kernels::fast {

// What replaces x in the plain product. It has x's sign, so an infinity that is added afterwards does not meet
// one of the other sign.
template <class E>
E finite_or_one(E x) {
    const auto value = computed(x);
    return std::isfinite(value) ? x : E(std::copysign(1.F, value));
}

// c (m, n) += alpha · Σ_j a_ij b_jc, with a (m, k) and b (k, n), over the b_jc that are not finite and the
// pairs with is_visible(i, j).
template <class T, class E, class IsVisible>
void add_not_finite(std::int64_t m, std::int64_t n, std::int64_t k, T alpha, Matrix<const E> a,
                    Matrix<const E> b, Matrix<T> c, const IsVisible& is_visible) {
    for (std::int64_t j = 0; j < k; ++j)
        for (std::int64_t column = 0; column < n; ++column) {
            const T x = computed(b.data[j * b.row + column * b.column]);
            if (std::isfinite(x)) continue;
            for (std::int64_t i = 0; i < m; ++i)
                if (is_visible(i, j))
                    c.data[i * c.row + column * c.column] +=
                        alpha * computed(a.data[i * a.row + j * a.column]) * x;
        }
}

// c = alpha · a b + beta · c over the pairs with is_visible(i, j); elsewhere a_ij must be 0. The column strides
// of b and c are 1.
template <class T, class E, class IsVisible>
void masked_gemm(std::int64_t m, std::int64_t n, std::int64_t k, T alpha, Matrix<const E> a, Matrix<const E> b,
                 T beta, Matrix<T> c, const IsVisible& is_visible) {
    std::vector<E> finite(static_cast<std::size_t>(k * n));
    for (std::int64_t j = 0; j < k; ++j)
        for (std::int64_t column = 0; column < n; ++column)
            finite[static_cast<std::size_t>(j * n + column)] = finite_or_one(b.data[j * b.row + column]);
    gemm<T, E>(m, n, k, alpha, a, {finite.data(), n, 1}, beta, c);
    add_not_finite(m, n, k, alpha, a, b, c, is_visible);
}

// masked_matmul of core/kernels.h.
void masked_matmul(const Array& out, const Array& a, const Array& b, const Array& blocked, Pairs pairs);

}  // namespace weft::kernels::fast
