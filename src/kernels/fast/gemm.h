// Matrix products: each runs on one BLAS thread, and Weft's own team shares out their blocks.
#pragma once

#include <cstdint>

#include "tensor/array.h"

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
// that is beta · c. beta = 0 overwrites c, whatever it held.
template <class T>
void gemm(std::int64_t m, std::int64_t n, std::int64_t k, T alpha, Matrix<const T> a, Matrix<const T> b, T beta,
          Matrix<T> c);

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

// matmul of kernels/interface.h.
void matmul(const Array& out, const Array& a, const Array& b);

}  // namespace weft::kernels::fast
