// Matrix products: each runs on one BLAS thread, and Weft's own team shares out their blocks.
#pragma once

#include <cstdint>
#include <span>

#include "packed/packed.h"
#include "weft/core/half.h"

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

}  // namespace weft::kernels::fast
