// Matrix products: each runs on one BLAS thread, and Weft's own team shares out their blocks.
#pragma once

#include <cstdint>
#include <span>

#include "tensor/array.h"

namespace weft::kernels {

constexpr std::int64_t dot_grain = 1 << 16, batch_grain = 1 << 18;  // multiply-adds of one task
constexpr std::int64_t least_parallel = 1 << 21;  // multiply-adds of products that several threads share
constexpr std::int64_t least_block = 3 << 20;     // multiply-adds of one block of a product
constexpr std::int64_t most_blocks = 64, block_multiple = 16;  // the sides are multiples, except the last
constexpr std::int64_t largest_part = 1 << 18;  // elements of c where the sum may be cut, which takes memory
// What twice as many blocks are worth, over their number and as a share of the product. More for products of
// medium size (GPT-2's layers with 256 tokens): measured, it costs two threads nothing there.
constexpr double gain_of_tasks = 0.4, gain_of_medium = 0.75;
constexpr std::int64_t medium_product = 1 << 27, large_product = 1 << 30;  // multiply-adds

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

// The arguments of gemm.
template <class T>
struct Product {
    std::int64_t m, n, k;
    T alpha;
    Matrix<const T> a, b;
    T beta;
    Matrix<T> c;
};

// Independent products on all threads. They are cut into blocks of c, and where k is large also of the sum,
// whose parts are added in order. The borders depend on the sizes, the layouts and the number of products
// alone.
template <class T>
void gemm_parallel(std::span<const Product<T>> products);

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
