#include "fast/gemm.h"

#include <climits>
#include <cmath>
#include <memory>
#include <numeric>
#include <span>
#include <vector>

#include "fast/blas/blas.h"
#include "fast/simd.h"

namespace weft::kernels::fast {
namespace {

// x in bfloat16, copied in the order of its memory: the axes with the largest strides first.
Array in_bfloat16(const Array& x) {
    std::vector<int> axes(static_cast<std::size_t>(x.rank()));
    std::iota(axes.begin(), axes.end(), 0);
    std::stable_sort(axes.begin(), axes.end(), [&](int a, int b) { return x.strides[a] > x.strides[b]; });
    Array ordered = x;
    for (int i = 0; i < x.rank(); ++i) {
        ordered.shape[i] = x.shape[axes[static_cast<std::size_t>(i)]];
        ordered.strides[i] = x.strides[axes[static_cast<std::size_t>(i)]];
    }
    const Array copied = copy_of(ordered, bfloat16);
    Strides strides = x.strides;
    for (int i = 0; i < x.rank(); ++i) strides[axes[static_cast<std::size_t>(i)]] = copied.strides[i];
    return view_of(copied, x.shape, strides, 0);
}

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

template <class T>
bool is_transposed(const Matrix<T>& x, std::int64_t columns) {
    return x.column != 1 && columns != 1;
}

// The values of a matrix (rows, columns) in bfloat16 as floats, line after line.
struct Widened {
    std::unique_ptr<float[]> values;
    int length;  // of a line
    Widened(const Matrix<const BFloat16>& x, std::int64_t rows, std::int64_t columns, bool transposed)
        : length(static_cast<int>(transposed ? rows : columns)) {
        const std::int64_t lines = transposed ? columns : rows, stride = transposed ? x.column : x.row;
        values = std::make_unique_for_overwrite<float[]>(static_cast<std::size_t>(lines * length));
        for (std::int64_t line = 0; line < lines; ++line)
            for (std::int64_t i = 0; i < length; ++i)
                values[static_cast<std::size_t>(line * length + i)] =
                    static_cast<float>(x.data[line * stride + i]);
    }
};

}  // namespace

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

Array operand(const Array& x) {
    Array once = x;
    for (int axis = 0; axis < x.rank() - 2; ++axis)
        if (x.strides[axis] == 0 && x.shape[axis] > 0) once.shape[axis] = 1;
    if (operand_type(x.dtype) != x.dtype) once = in_bfloat16(once);
    return broadcast_view(is_matrix(once) ? once : contiguous(once), x.shape);
}

Array dense_operand(const Array& x) {
    const DType type = operand_type(x.dtype);
    return type == x.dtype ? x : copy_of(x, type);
}

template <class T, class E>
void gemm(std::int64_t m, std::int64_t n, std::int64_t k, T alpha, Matrix<const E> a, Matrix<const E> b, T beta,
          Matrix<T> c) {
    if (m == 0 || n == 0) return;
    if (k == 0) {
        for (std::int64_t i = 0; i < m; ++i)
            for (std::int64_t j = 0; j < n; ++j)
                c.data[i * c.row + j] = beta == 0 ? T(0) : beta * c.data[i * c.row + j];
        return;
    }
    constexpr bool is_half = !std::is_same_v<T, E>;
    count_multiply_adds(m * n * k, is_half);
    const bool ta = is_transposed(a, k), tb = is_transposed(b, n);
    const int rows = static_cast<int>(m), columns = static_cast<int>(n), inner = static_cast<int>(k),
              lda = leading(a, m, k, ta), ldb = leading(b, k, n, tb), ldc = leading(c, m, n, false);
    if constexpr (!is_half) {
        blas_gemm(ta, tb, rows, columns, inner, alpha, a.data, lda, b.data, ldb, beta, c.data, ldc);
    } else if (m >= least_half_rows && has_half_gemm() &&
               half_gemm({rows, columns, inner, ta, tb, beta != 0, lda, ldb, ldc}, a.data, b.data, c.data)) {
        for (std::int64_t i = 0; i < m && alpha != 1; ++i)  // oneDNN's own scaling is slow
            multiply_row(n, c.data + i * c.row, alpha);
    } else {
        const Widened wide_a(a, m, k, ta), wide_b(b, k, n, tb);
        blas_gemm(ta, tb, rows, columns, inner, alpha, wide_a.values.get(), wide_a.length, wide_b.values.get(),
                  wide_b.length, beta, c.data, ldc);
    }
}

template void gemm(std::int64_t, std::int64_t, std::int64_t, float, Matrix<const float>, Matrix<const float>,
                   float, Matrix<float>);
template void gemm(std::int64_t, std::int64_t, std::int64_t, double, Matrix<const double>, Matrix<const double>,
                   double, Matrix<double>);
template void gemm(std::int64_t, std::int64_t, std::int64_t, float, Matrix<const BFloat16>,
                   Matrix<const BFloat16>, float, Matrix<float>);

namespace {

// A product c = a b + beta · c with its sizes.
template <class T, class E>
struct Sized {
    std::int64_t m, n, k;
    Matrix<const E> a, b;
    T beta;
    Matrix<T> c;
};

// c (n,) = W a + beta · c, where W (n, k) is stored by rows: one pass over W, which BLAS would copy
// first.
template <class T>
void dot_rows(std::int64_t n, std::int64_t k, const T* a, const T* w, std::int64_t w_row, T beta, T* c) {
    count_multiply_adds(n * k);
    for_items(n, k, dot_grain, [&](std::int64_t j) {
        const T dot = static_cast<T>(row_sum_of<T>([](auto p, auto q) { return p * q; }, k, a, w + j * w_row));
        c[j] = dot + (beta == 0 ? T(0) : beta * c[j]);
    });
}

// Into how many parts a product is cut along m, n and k.
struct Cut {
    std::int64_t m = 1, n = 1, k = 1;
    std::int64_t blocks() const { return m * n * k; }
};

// Where part i of `parts` parts of n elements begins.
std::int64_t border(std::int64_t n, std::int64_t parts, std::int64_t i) {
    return i == parts ? n : n / block_multiple * i / parts * block_multiple;
}

// Halves the blocks where it costs least, for as long as twice as many tasks are worth it. BLAS copies the
// lines of both operands for every block, which costs as much as so many multiply-adds for each element copied,
// and every part of the sum passes over c. (Measured with OpenBLAS's kernels for AVX-512: docs/performance.md.)
template <class T, class E>
Cut cut(const Sized<T, E>& p, std::size_t products) {
    const bool ta = is_transposed(p.a, p.k), tb = is_transposed(p.b, p.n);
    // A block more along m copies b once more, a block more along n copies a. Measured: 20 for each element,
    // but 12 or 9 for b where b or a alone is transposed, and 3 for a beside a transposed b, which is how
    // linear has them.
    const double cost_m = ta == tb ? 20 : tb ? 12 : 9, cost_n = tb && !ta ? 3 : 20, cost_k = 24;
    const double copying = std::is_same_v<T, E> ? 1 : cost_of_half;
    const std::int64_t work = p.m * p.n * p.k,
                       most = std::min(most_blocks / static_cast<std::int64_t>(products), work / least_block);
    const double gain = work < medium_product || work >= large_product ? gain_of_tasks : gain_of_medium;
    Cut c;
    while (2 * c.blocks() <= most) {
        const auto cost = [copying](double each, std::int64_t size, std::int64_t parts) {
            return size < 2 * parts * block_multiple
                       ? INFINITY
                       : copying * each * static_cast<double>(parts) / static_cast<double>(size);
        };
        const double m = cost(cost_m, p.m, c.m), n = cost(cost_n, p.n, c.n),
                     k = p.m * p.n > largest_part ? INFINITY : cost(c.k == 1 ? 2 * cost_k : cost_k, p.k, c.k),
                     least = std::min({m, n, k});
        if (least > gain / static_cast<double>(2 * c.blocks())) break;
        (least == n ? c.n : least == m ? c.m : c.k) *= 2;
    }
    return c;
}

// Independent products on all threads. They are cut into blocks of c, and where k is large also of the sum,
// whose parts are added in order. The borders depend on the sizes, the layouts and the number of products
// alone.
template <class T, class E>
void gemm_parallel(std::span<const Sized<T, E>> products) {
    if (products.empty()) return;
    std::int64_t work = 0;
    for (const Sized<T, E>& p : products) work += p.m * p.n * p.k;
    if constexpr (std::is_same_v<T, E>)
        if (const Sized<T, E>& p = products[0];
            products.size() == 1 && p.m == 1 && p.b.row == 1 && p.a.column == 1)
            return dot_rows(p.n, p.k, p.a.data, p.b.data, p.b.column, p.beta, p.c.data);
    if (work < least_parallel) {
        for (const auto& [m, n, k, a, b, beta, c] : products) gemm<T, E>(m, n, k, T(1), a, b, beta, c);
        return;
    }
    struct Blocks {
        Cut cut;
        std::int64_t first;  // task
        Array parts;         // parts of the sum, except the first, which is in c: (cut.k − 1, m, n)
    };
    std::vector<Blocks> blocks;
    std::int64_t tasks = 0;
    for (const Sized<T, E>& p : products) {
        const Cut c = cut(p, products.size());
        blocks.push_back({c, tasks, c.k == 1 ? Array() : make_array({c.k - 1, p.m, p.n}, dtype_of<T>())});
        tasks += c.blocks();
    }
    parallel_blocks(tasks, 1, [&](std::int64_t task, std::int64_t) {
        std::size_t i = products.size() - 1;
        while (task < blocks[i].first) --i;
        const auto& [m, n, k, a, b, beta, c] = products[i];
        const Cut& parts = blocks[i].cut;
        task -= blocks[i].first;
        const std::int64_t column = task % parts.n, row = task / parts.n % parts.m,
                           part = task / parts.n / parts.m;
        const std::int64_t m0 = border(m, parts.m, row), n0 = border(n, parts.n, column),
                           k0 = border(k, parts.k, part);
        Matrix<T> y = c;
        if (part > 0) y = {blocks[i].parts.template data<T>() + (part - 1) * m * n, n, 1};
        gemm<T, E>(border(m, parts.m, row + 1) - m0, border(n, parts.n, column + 1) - n0,
                   border(k, parts.k, part + 1) - k0, T(1),
                   {a.data + m0 * a.row + k0 * a.column, a.row, a.column},
                   {b.data + k0 * b.row + n0 * b.column, b.row, b.column}, part == 0 ? beta : T(0),
                   {y.data + m0 * y.row + n0, y.row, y.column});
    });
    for (std::size_t i = 0; i < products.size(); ++i) {
        const Sized<T, E>& p = products[i];
        const std::int64_t parts = blocks[i].cut.k - 1;
        if (parts == 0) continue;
        const T* part = blocks[i].parts.template data<T>();
        for_items(p.m, p.n * parts, dot_grain, [&](std::int64_t row) {
            T* y = p.c.data + row * p.c.row;
            for (std::int64_t j = 0; j < parts; ++j)
                simd_run([](auto x, auto v) { return x + v; }, p.n, y, y, part + (j * p.m + row) * p.n);
        });
    }
}

}  // namespace

void matmul(const Array& out, const Array& left, const Array& right) {
    const int r = out.rank();
    const std::int64_t m = out.shape[r - 2], n = out.shape[r - 1], k = left.shape[r - 1];
    if (out.numel() == 0) return;
    const Array a = operand(left), b = operand(right);
    const std::int64_t batches = out.numel() / (m * n);
    visit_product(a.dtype, [&]<class T, class E>(T, E) {
        const auto product = [&](std::int64_t i) {
            return Sized<T, E>{
                m, n, k, matrix_of<E>(a, i), matrix_of<E>(b, i), T(0), {out.data<T>() + i * m * n, n, 1}};
        };
        if (batches == 1 || (batches < most_blocks && m * n * k >= least_block)) {
            std::vector<Sized<T, E>> products;
            for (std::int64_t i = 0; i < batches; ++i) products.push_back(product(i));
            return gemm_parallel<T, E>(products);
        }
        for_items(batches, m * n * k, batch_grain, [&](std::int64_t i) {
            const Sized<T, E> p = product(i);
            gemm<T, E>(m, n, k, T(1), p.a, p.b, T(0), p.c);
        });
    });
}

void products(std::span<const Product> independent) {
    if (independent.empty()) return;
    // A few rows with a weight that is stored by rows of W: one pass over it.
    if (const auto& [c, a, b, adds] = independent[0];
        independent.size() == 1 && a.dtype == bfloat16 && a.shape[0] <= few_rows && a.is_contiguous() &&
        c.is_contiguous() && transposed_view(b, 0, 1).is_contiguous())
        return few_rows_linear(c, a, compact(transposed_view(b, 0, 1)), adds);
    visit_product(independent[0].a.dtype, [&]<class T, class E>(T, E) {
        std::vector<Sized<T, E>> sized;
        for (const Product& p : independent)
            sized.push_back({p.c.shape[0],
                             p.c.shape[1],
                             p.a.shape[1],
                             matrix_of<E>(p.a),
                             matrix_of<E>(p.b),
                             T(p.adds),
                             {p.c.data<T>(), p.c.strides[0], 1}});
        gemm_parallel<T, E>(sized);
    });
}

namespace {

// Element (b, h, i, j) of x (B, H, m, n).
template <class T>
T& at(const Array& x, std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t j) {
    return x.data<T>()[b * x.strides[0] + h * x.strides[1] + i * x.strides[2] + j * x.strides[3]];
}

// f(x, b, h, i, j) for every element of x (B, H, m, n). The strides inside a matrix stay, because the product
// of another layout may round differently.
template <class T, class F>
Array rewritten(const Array& x, const F& f) {
    const Shape& s = x.shape;
    if (x.numel() == 0) return x;
    const std::int64_t row = x.strides[2], column = x.strides[3],
                       extent = (s[2] - 1) * row + (s[3] - 1) * column + 1;
    Array y = view_of(make_array({s[0], s[1], extent}, x.dtype), s, {s[1] * extent, extent, row, column}, 0);
    for (std::int64_t b = 0; b < s[0]; ++b)
        for (std::int64_t h = 0; h < s[1]; ++h)
            for (std::int64_t i = 0; i < s[2]; ++i)
                for (std::int64_t j = 0; j < s[3]; ++j)
                    at<T>(y, b, h, i, j) = f(at<T>(x, b, h, i, j), b, h, i, j);
    return y;
}

}  // namespace

void masked_matmul(const Array& out, const Array& left, const Array& right, const Array& blocked, Pairs pairs) {
    const Array a = operand(left), b = operand(right);
    const std::int64_t m = out.shape[2], n = out.shape[3], k = a.shape[3];
    visit_product(a.dtype, [&]<class T, class E>(T, E) {
        const Array weights = rewritten<E>(pairs == Pairs::in_a ? a : b, [&](E x, auto... where) {
            return at<bool>(blocked, where...) ? E(0) : x;
        });
        const Array finite =
            rewritten<E>(pairs == Pairs::in_a ? b : a, [](E x, auto...) { return finite_or_one(x); });
        const auto matrix = [](const Array& x, std::int64_t s, std::int64_t h) {
            return Matrix<E>{&at<E>(x, s, h, 0, 0), x.strides[2], x.strides[3]};
        };
        if (pairs == Pairs::in_a)
            matmul(out, weights, finite);
        else
            matmul(out, finite, weights);
        for (std::int64_t s = 0; s < out.shape[0]; ++s)
            for (std::int64_t h = 0; h < out.shape[1]; ++h) {
                const auto w = matrix(weights, s, h);
                const Matrix<T> y{&at<T>(out, s, h, 0, 0), out.strides[2], out.strides[3]};
                if (pairs == Pairs::in_a)
                    add_not_finite<T, E>(m, n, k, T(1), w, matrix(b, s, h), y,
                                         [&](auto i, auto j) { return !at<bool>(blocked, s, h, i, j); });
                else  // yᵀ = bᵀ aᵀ
                    add_not_finite<T, E>(n, m, k, T(1), w.transposed(), matrix(a, s, h).transposed(),
                                         y.transposed(),
                                         [&](auto j, auto i) { return !at<bool>(blocked, s, h, i, j); });
            }
    });
}

}  // namespace weft::kernels::fast
