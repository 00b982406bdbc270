// Matrix products: each runs on one BLAS thread, and Weft's own team shares out their blocks.
#pragma once

#include <cstdint>

#include "core/array/array.h"

namespace weft::kernels {

constexpr std::int64_t dot_grain = 1 << 16, batch_grain = 1 << 18;  // multiply-adds of one task
// A product of at least so many multiply-adds is cut into two, four or eight blocks, whose sides are multiples
// of block_multiple.
constexpr std::int64_t two_blocks = 1 << 21, four_blocks = 1 << 27, eight_blocks = std::int64_t{1} << 34;
constexpr std::int64_t block_multiple = 16;

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

// The same on all threads, cut into blocks of c that depend on the sizes alone.
template <class T>
void gemm_parallel(std::int64_t m, std::int64_t n, std::int64_t k, T alpha, Matrix<const T> a,
                   Matrix<const T> b, T beta, Matrix<T> c);

// Whether gemm can read the last two axes in place.
bool is_matrix(const Array& x);
// x itself if it is_matrix, else a contiguous copy.
Array gemm_layout(const Array& x);

// out (…, m, n) = a (…, m, k) · b (…, k, n). The leading axes are equal (broadcast_view), is_matrix holds for a
// and b, and out is contiguous.
void matmul(const Array& out, const Array& a, const Array& b);

// ShapeError for a size that BLAS's 32-bit integers cannot hold.
void check_gemm_sizes(const char* operation, std::int64_t m, std::int64_t n, std::int64_t k);

}  // namespace weft::kernels
