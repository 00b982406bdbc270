#include "core/kernels/gemm.h"

#include <climits>
#include <string>

#include "core/kernels/blas/blas.h"
#include "core/kernels/elementwise.h"
#include "core/kernels/parallel.h"
#include "core/kernels/rows.h"

namespace weft::kernels {
namespace {

// The leading dimension of x (rows, columns): the stride from line to line, but at least a line's length, as
// BLAS demands.
template <class T>
int leading(const Matrix<T>& x, std::int64_t rows, std::int64_t columns, bool transposed) {
    const std::int64_t lines = transposed ? columns : rows, length = transposed ? rows : columns;
    const std::int64_t stride = lines == 1 ? 1 : transposed ? x.column : x.row;
    if (stride > INT_MAX)
        throw ShapeError("matmul: rows that lie ", stride, " elements apart are more than BLAS can count (",
                         INT_MAX, "); make the matrix contiguous() first");
    return static_cast<int>(std::max<std::int64_t>({1, stride, length}));
}

void count(std::int64_t products) {
    if (multiply_adds != nullptr) [[unlikely]]
        multiply_adds->fetch_add(products, std::memory_order_relaxed);
}

}  // namespace

template <class T>
void gemm(std::int64_t m, std::int64_t n, std::int64_t k, T alpha, Matrix<const T> a, Matrix<const T> b, T beta,
          Matrix<T> c) {
    if (m == 0 || n == 0) return;
    if (k == 0) {
        for (std::int64_t i = 0; i < m; ++i)
            for (std::int64_t j = 0; j < n; ++j)
                c.data[i * c.row + j] = beta == 0 ? T(0) : beta * c.data[i * c.row + j];
        return;
    }
    count(m * n * k);
    const bool ta = a.column != 1 && k != 1, tb = b.column != 1 && n != 1;
    blas_gemm(ta, tb, static_cast<int>(m), static_cast<int>(n), static_cast<int>(k), alpha, a.data,
              leading(a, m, k, ta), b.data, leading(b, k, n, tb), beta, c.data, leading(c, m, n, false));
}

namespace {

// c (n,) = alpha · W a + beta · c, where W (n, k) is stored by rows: one pass over W, which BLAS would copy
// first.
template <class T>
void dot_rows(std::int64_t n, std::int64_t k, T alpha, const T* a, const T* w, std::int64_t w_row, T beta,
              T* c) {
    count(n * k);
    parallel_for(n, k, dot_grain, [&](std::int64_t j) {
        const T dot = static_cast<T>(row_sum_of<T>(
            k, [](auto p, auto q) { return p * q; }, a, w + j * w_row));
        c[j] = alpha * dot + (beta == 0 ? T(0) : beta * c[j]);
    });
}

}  // namespace

template <class T>
void gemm_parallel(std::int64_t m, std::int64_t n, std::int64_t k, T alpha, Matrix<const T> a,
                   Matrix<const T> b, T beta, Matrix<T> c) {
    if (m == 1 && b.row == 1 && a.column == 1)
        return dot_rows(n, k, alpha, a.data, b.data, b.column, beta, c.data);
    // Cut along the longer side of c. BLAS copies the whole other side for each block, so there are only as
    // many as the threads need.
    const std::int64_t work = m * n * std::max<std::int64_t>(k, 1), longer = std::max(m, n);
    const std::int64_t blocks = work < two_blocks ? 1 : work < four_blocks ? 2 : work < eight_blocks ? 4 : 8;
    const std::int64_t step =
        (longer + blocks * block_multiple - 1) / (blocks * block_multiple) * block_multiple;
    parallel_blocks(longer, step, [&](std::int64_t begin, std::int64_t end) {
        if (m >= n)
            gemm<T>(end - begin, n, k, alpha, {a.data + begin * a.row, a.row, a.column}, b, beta,
                    {c.data + begin * c.row, c.row, c.column});
        else
            gemm<T>(m, end - begin, k, alpha, a, {b.data + begin * b.column, b.row, b.column}, beta,
                    {c.data + begin, c.row, c.column});
    });
}

template void gemm(std::int64_t, std::int64_t, std::int64_t, float, Matrix<const float>, Matrix<const float>,
                   float, Matrix<float>);
template void gemm(std::int64_t, std::int64_t, std::int64_t, double, Matrix<const double>, Matrix<const double>,
                   double, Matrix<double>);
template void gemm_parallel(std::int64_t, std::int64_t, std::int64_t, float, Matrix<const float>,
                            Matrix<const float>, float, Matrix<float>);
template void gemm_parallel(std::int64_t, std::int64_t, std::int64_t, double, Matrix<const double>,
                            Matrix<const double>, double, Matrix<double>);

bool is_matrix(const Array& x) {
    const int r = x.rank();
    const std::int64_t rows = x.shape[r - 2], columns = x.shape[r - 1], row = x.strides[r - 2],
                       column = x.strides[r - 1];
    const auto fits_blas = [](std::int64_t stride, std::int64_t length) {
        return stride >= length && stride <= INT_MAX;
    };
    const bool by_rows = (column == 1 || columns == 1) && (fits_blas(row, columns) || rows == 1);
    const bool by_columns = (row == 1 || rows == 1) && (fits_blas(column, rows) || columns == 1);
    return by_rows || by_columns;
}

Array gemm_layout(const Array& x) { return is_matrix(x) ? x : contiguous(x); }

void matmul(const Array& out, const Array& a, const Array& b) {
    const int r = out.rank();
    const std::int64_t m = out.shape[r - 2], n = out.shape[r - 1], k = a.shape[r - 1];
    if (out.numel() == 0) return;
    const std::int64_t batches = out.numel() / (m * n);
    visit_floating(out.dtype, [&]<class T>(T) {
        auto at = [&](const Array& x, std::int64_t batch) {
            const T* data = x.data<T>();
            for (int axis = r - 3; axis >= 0; --axis) {
                data += batch % out.shape[axis] * x.strides[axis];
                batch /= out.shape[axis];
            }
            // An axis of size 1 may have any stride; 1 lets gemm_parallel recognise rows.
            const std::int64_t rows = x.shape[r - 2], columns = x.shape[r - 1];
            Matrix<const T> matrix{data, x.strides[r - 2], x.strides[r - 1]};
            if (columns == 1 && matrix.row != 1) matrix.column = 1;
            if (rows == 1 && matrix.column != 1) matrix.row = 1;
            return matrix;
        };
        T* c = out.data<T>();
        if (batches == 1) return gemm_parallel<T>(m, n, k, T(1), at(a, 0), at(b, 0), T(0), {c, n, 1});
        parallel_for(batches, m * n * k, batch_grain, [&](std::int64_t i) {
            gemm<T>(m, n, k, T(1), at(a, i), at(b, i), T(0), {c + i * m * n, n, 1});
        });
    });
}

void check_gemm_sizes(const char* operation, std::int64_t m, std::int64_t n, std::int64_t k) {
    for (std::int64_t size : {m, n, k})
        if (size > INT_MAX)
            throw ShapeError(operation, ": a size of ", size, " in (", m, ", ", k, ") @ (", k, ", ", n,
                             ") is more than BLAS can count (", INT_MAX, "); cut the product into slices");
}

}  // namespace weft::kernels
