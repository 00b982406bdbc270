// Matrix products: each runs on one BLAS thread, and Weft's own team shares out their blocks.
#pragma once

#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "core/kernels.h"
#include "packed/formats.h"
#include "weft/base/half.h"

namespace weft::kernels::fast {

// A matrix in memory: element (i, j) at data[i · row + j · column]. One of the strides is 1; that of an axis of
// size 1 may be anything.
template <class T>
struct Matrix {
    T* data;
    std::int64_t row, column;
    operator Matrix<const T>() const { return {data, row, column}; }
    Matrix transposed() const { return {data, column, row}; }
};

// c (m, n) = alpha · a (m, k) · b (k, n) + beta · c, on the calling thread; c's column stride is 1. With k = 0
// that is beta · c. beta = 0 overwrites c, whatever it held. The elements of the operands, E, are T, or
// BFloat16 where T is float; then beta is 0, or beta and alpha are 1.
template <class T, class E>
void gemm(std::int64_t m, std::int64_t n, std::int64_t k, T alpha, Matrix<const E> a, Matrix<const E> b, T beta,
          Matrix<T> c);

// The number that an operand's element is.
template <class E>
auto computed(E x) {
    if constexpr (std::is_same_v<E, BFloat16>)
        return static_cast<float>(x);
    else
        return x;
}

// f(T, E) of a product whose operands have this type.
template <class F>
void visit_product(DType operands, const F& f) {
    if (operands == bfloat16) return f(float(), BFloat16());
    visit_floating(operands, [&]<class T>(T zero) { f(zero, zero); });
}

// Whether the last two axes are stored by rows or by columns, which a product reads in place.
bool is_matrix(const Array& x);
// What a product reads of x (…, rows, columns), for which is_matrix holds: x itself or a contiguous copy, or in
// another operand_type a copy that is rounded, with its axes in x's order in memory. What x repeats along a
// leading axis is copied once.
Array operand(const Array& x);
// What attention reads of x: x itself, or a contiguous copy that is rounded.
Array dense_operand(const Array& x);

// Matrix `index` of x (…, rows, columns), for which is_matrix holds. An axis of size 1 may have any stride;
// here it is 1 where that tells gemm how the other is stored.
template <class T>
Matrix<T> matrix_of(const Array& x, std::int64_t index = 0) {
    const int r = x.rank();
    T* data = x.data<T>();
    for (int axis = r - 3; axis >= 0; --axis) {
        data += index % x.shape[axis] * x.strides[axis];
        index /= x.shape[axis];
    }
    Matrix<T> matrix{data, x.strides[r - 2], x.strides[r - 1]};
    if (x.shape[r - 1] == 1 && matrix.row != 1) matrix.column = 1;
    if (x.shape[r - 2] == 1 && matrix.column != 1) matrix.row = 1;
    return matrix;
}

// c ← a b, or c + a b: c (m, n) with rows of consecutive elements, a (m, k) and b (k, n) for which is_matrix
// holds.
struct Product {
    Array c, a, b;
    bool adds = false;
};
void products(std::span<const Product> independent);

// y (R, n) = x (R, k) Wᵀ, or y + x Wᵀ, and dx (R, k) = dy (R, n) W. Of W, what is read is widened to float32;
// where x or dy is bfloat16, it is rounded to that as well. The others are contiguous, float32.
void packed_linear(const Array& y, const Array& x, const CompactMatrix& w, bool adds);
void packed_linear_backward(const Array& dx, const Array& dy, const CompactMatrix& w);
// The first for at most few_rows rows, which meet the weights in registers.
void few_rows_linear(const Array& y, const Array& x, const CompactMatrix& w, bool adds);

// matmul of core/kernels.h.
void matmul(const Array& out, const Array& a, const Array& b);

// Products in which some pairs (query, key) are masked. The weight of a masked pair is 0, but 0 · NaN is NaN,
// so these replace the plain product if something is not finite. If all is finite they have the bits of the
// plain product.

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
