// The plain loops: what each primitive means, in the order of kernels.h.
#include <cmath>
#include <functional>

#include "core/formula.h"
#include "weft/core/random.h"

namespace weft::kernels {

void fill(const Array& out, double value) {
    visit_any(out.dtype, [&]<class T>(T) {
        const T v = static_cast<T>(value);  // bool: whether it is not 0
        for_runs_of<T>([v](std::int64_t n, T* y) { std::fill(y, y + n, v); }, out);
    });
}

void copy(const Array& out, const Array& x) {
    visit_any(out.dtype, [&]<class To>(To) {
        visit_any(x.dtype, [&]<class From>(From) {
            for_runs_of<To, From>(
                [](std::int64_t n, To* y, const From* a) {
                    for (std::int64_t i = 0; i < n; ++i) y[i] = static_cast<To>(a[i]);
                },
                out, x);
        });
    });
}

namespace {

// out_i = f(i) over a contiguous array.
template <class T, class F>
void generate(const Array& out, const F& f) {
    T* y = out.data<T>();
    for_items(out.numel(), 1, 1 << 14,
              [&](std::int64_t i) { y[i] = static_cast<T>(f(static_cast<std::uint64_t>(i))); });
}

}  // namespace

void fill_range(const Array& out, double start, double step) {
    visit_floating(out.dtype, [&]<class T>(T) {
        generate<T>(out, [=](std::uint64_t i) { return start + step * static_cast<double>(i); });
    });
}

void fill_integers(const Array& out, std::int64_t start, std::int64_t step) {
    const auto first = static_cast<std::uint64_t>(start), by = static_cast<std::uint64_t>(step);
    generate<std::uint64_t>(out, [=](std::uint64_t i) { return first + by * i; });
}

void fill_uniform(const Array& out, std::uint64_t seed, std::uint64_t first) {
    visit_floating(out.dtype, [&]<class T>(T) {
        generate<T>(out, [=](std::uint64_t i) {  // rounded to float, it must not reach 1
            const T u = static_cast<T>(uniform_at(seed, first + i));
            return u < T(1) ? u : std::nextafter(T(1), T(0));
        });
    });
}

void fill_normal(const Array& out, std::uint64_t seed, std::uint64_t first) {
    visit_floating(out.dtype, [&]<class T>(T) {
        generate<T>(out, [=](std::uint64_t i) { return normal_at(seed, first + i); });
    });
}

void fill_randint(const Array& out, std::uint64_t seed, std::uint64_t first, std::int64_t low,
                  std::int64_t high) {
    generate<std::int64_t>(out, [=](std::uint64_t i) { return randint_at(seed, first + i, low, high); });
}

void add(const Array& out, const Array& a, const Array& b) {
    visit_wrapping(out.dtype, [&]<class T>(T) { apply<T, T, T>(std::plus<>(), out, a, b); });
}

void axpy(const Array& out, double alpha, const Array& x) {
    visit_wrapping(out.dtype, [&]<class T>(T) {
        const T f = number<T>(alpha);
        apply<T, T, T>([f](const auto& y, const auto& x) { return y + f * x; }, out, out, x);
    });
}

void multiply(const Array& out, const Array& a, const Array& b) {
    visit_wrapping(out.dtype, [&]<class T>(T) { apply<T, T, T>(std::multiplies<>(), out, a, b); });
}

void scale(const Array& out, const Array& x, double factor) {
    visit_wrapping(out.dtype, [&]<class T>(T) {
        const T f = number<T>(factor);
        apply<T, T>([f](const auto& x) { return f * x; }, out, x);
    });
}

void where(const Array& out, const Array& condition, const Array& a, const Array& b) {
    visit_any(out.dtype, [&]<class T>(T) {
        for_runs_of<T, bool, T, T>(
            [](std::int64_t n, T* y, const bool* c, const T* p, const T* q) {
                // Bytes, and both values read: otherwise the compiler makes branches instead of vectors.
                const auto* chosen = reinterpret_cast<const unsigned char*>(c);
                for (std::int64_t i = 0; i < n; ++i) {
                    const T yes = p[i], no = q[i];
                    y[i] = chosen[i] != 0 ? yes : no;
                }
            },
            out, condition, a, b);
    });
}

// One element after the other.

namespace reference {
namespace {

// out_i = f(x_i).
template <class F>
void each(const F& f, const Array& out, const Array& x) {
    visit_floating(out.dtype, [&]<class T>(T) {
        for (std::int64_t i = 0; i < out.numel(); ++i) element<T>(out, i) = f(element<T>(x, i));
    });
}

void exp(const Array& out, const Array& x) {
    each([](auto x) { return std::exp(x); }, out, x);
}

void log(const Array& out, const Array& x) {
    each([](auto x) { return std::log(x); }, out, x);
}

void sigmoid(const Array& out, const Array& x) {
    each(
        []<class T>(T x) {
            const T e = std::exp(-std::abs(x));  // never overflows
            return (x >= 0 ? T(1) : e) / (1 + e);
        },
        out, x);
}

void fill_dropout(const Array& out, const Dropout& dropout) {
    visit_floating(out.dtype, [&]<class T>(T) {
        for (std::int64_t i = 0; i < out.numel(); ++i)
            out.data<T>()[i] = static_cast<T>(dropout_factor(dropout, static_cast<std::uint64_t>(i)));
    });
}

void for_runs(const Array& out, std::initializer_list<const Array*> in, RunBody body, const void* context) {
    const auto address = [](const Array& x, std::int64_t i) {
        return static_cast<std::byte*>(x.storage->data) +
               (x.offset + offset_of(x, i)) * static_cast<std::int64_t>(itemsize(x.dtype));
    };
    for (std::int64_t i = 0; i < out.numel(); ++i) {
        const void* x[3];
        for (std::size_t k = 0; k < in.size(); ++k) x[k] = address(*in.begin()[k], i);
        body(context, 1, address(out, i), x);
    }
}

}  // namespace
}  // namespace reference

constinit decltype(kernels::exp) exp{reference::exp, installed.exp};
constinit decltype(kernels::log) log{reference::log, installed.log};
constinit decltype(kernels::sigmoid) sigmoid{reference::sigmoid, installed.sigmoid};
constinit decltype(kernels::fill_dropout) fill_dropout{reference::fill_dropout, installed.fill_dropout};
constinit decltype(kernels::for_runs) for_runs{reference::for_runs, installed.for_runs};

// Matrix products: three loops.

namespace reference {
namespace {

// c (m, n) = Σ_p a (m, k) · b (k, n), in double.
template <class T>
void product(const Array& c, const Array& a, const Array& b) {
    const std::int64_t m = c.shape[0], n = c.shape[1], k = a.shape[1];
    count_multiply_adds(m * n * k);
    for (std::int64_t i = 0; i < m; ++i)
        for (std::int64_t j = 0; j < n; ++j) {
            double total = 0;
            for (std::int64_t p = 0; p < k; ++p) total += value<T>(a, i, p) * value<T>(b, p, j);
            at<T>(c, i, j) = static_cast<T>(total);
        }
}

// Matrix `index` of x (…, rows, columns).
Array matrix(const Array& x, std::int64_t index) {
    const int r = x.rank();
    std::int64_t offset = x.offset;
    for (int axis = r - 3; axis >= 0; index /= x.shape[axis--])
        offset += index % x.shape[axis] * x.strides[axis];
    return view_of(x, {x.shape[r - 2], x.shape[r - 1]}, {x.strides[r - 2], x.strides[r - 1]}, offset);
}

void matmul(const Array& out, const Array& a, const Array& b) {
    const std::int64_t matrices = out.numel() == 0 ? 0 : out.numel() / (out.shape[-2] * out.shape[-1]);
    visit_floating(out.dtype, [&]<class T>(T) {
        for (std::int64_t i = 0; i < matrices; ++i) product<T>(matrix(out, i), matrix(a, i), matrix(b, i));
    });
}

void masked_matmul(const Array& out, const Array& a, const Array& b, const Array& blocked, Pairs pairs) {
    const std::int64_t k = a.shape[3];
    visit_floating(out.dtype, [&]<class T>(T) {
        for (std::int64_t s = 0; s < out.shape[0]; ++s)
            for (std::int64_t h = 0; h < out.shape[1]; ++h)
                for (std::int64_t i = 0; i < out.shape[2]; ++i)
                    for (std::int64_t j = 0; j < out.shape[3]; ++j) {
                        double total = 0;
                        for (std::int64_t p = 0; p < k; ++p)
                            if (pairs == Pairs::in_a ? !at<bool>(blocked, s, h, i, p)
                                                     : !at<bool>(blocked, s, h, p, j))
                                total += value<T>(a, s, h, i, p) * value<T>(b, s, h, p, j);
                        at<T>(out, s, h, i, j) = static_cast<T>(total);
                    }
    });
}

}  // namespace
}  // namespace reference

constinit decltype(kernels::matmul) matmul{reference::matmul, installed.matmul};
constinit decltype(kernels::masked_matmul) masked_matmul{reference::masked_matmul, installed.masked_matmul};

// Sums.

namespace reference {
namespace {

Array sum(const Array& x, const std::vector<bool>& reduced) {
    Shape shape = x.shape;
    for (int axis = 0; axis < x.rank(); ++axis)
        if (reduced[static_cast<std::size_t>(axis)]) shape[axis] = 1;
    Array y = make_array(shape, x.dtype);
    const Array target = broadcast_view(y, x.shape);  // a stride of 0 where elements are added up
    visit_wrapping(x.dtype, [&]<class T>(T) {
        std::vector<Wide<T>> totals(static_cast<std::size_t>(y.numel()));
        for (std::int64_t i = 0; i < x.numel(); ++i)
            totals[static_cast<std::size_t>(&element<T>(target, i) - y.data<T>())] += element<T>(x, i);
        for (std::int64_t i = 0; i < y.numel(); ++i)
            y.data<T>()[i] = static_cast<T>(totals[static_cast<std::size_t>(i)]);
    });
    return y;
}

}  // namespace
}  // namespace reference

constinit decltype(kernels::sum) sum{reference::sum, installed.sum};

// Softmax, row by row.

namespace reference {
namespace {

// max and ln Σ e^(x − max) of row r; a row of −inf has −inf and 0.
struct LogSum {
    double max = -INFINITY, log_sum = 0;
};
template <class T>
LogSum log_sum_exp(const Array& x, std::int64_t r) {
    LogSum l;
    for (std::int64_t j = 0; j < x.shape[1]; ++j)  // NaN stays
        if (at<T>(x, r, j) != at<T>(x, r, j) || value<T>(x, r, j) > l.max) l.max = value<T>(x, r, j);
    if (l.max == -INFINITY) return l;
    double total = 0;
    for (std::int64_t j = 0; j < x.shape[1]; ++j) total += std::exp(value<T>(x, r, j) - l.max);
    l.log_sum = std::log(total);
    return l;
}

// y_rj = f(x_rj, the two of row r).
template <class F>
void each_row(const Array& out, const Array& in, const F& f) {
    const Array x = rows_of(in), y = rows_of(out);
    visit_floating(x.dtype, [&]<class T>(T) {
        for (std::int64_t r = 0; r < x.shape[0]; ++r) {
            const LogSum l = log_sum_exp<T>(x, r);
            for (std::int64_t j = 0; j < x.shape[1]; ++j)
                at<T>(y, r, j) = static_cast<T>(f(value<T>(x, r, j), l));
        }
    });
}

void softmax(const Array& y, const Array& x) {
    each_row(y, x, [](double v, LogSum l) { return l.max == -INFINITY ? 0 : std::exp(v - l.max - l.log_sum); });
}

void log_softmax(const Array& y, const Array& x) {
    each_row(y, x, [](double v, LogSum l) { return l.max == -INFINITY ? l.max : v - l.max - l.log_sum; });
}

}  // namespace
}  // namespace reference

constinit decltype(kernels::softmax) softmax{reference::softmax, installed.softmax};
constinit decltype(kernels::log_softmax) log_softmax{reference::log_softmax, installed.log_softmax};

// What reads and writes by index.

namespace reference {
namespace {

// f(place in `small` (outer, n, inner), place in `big` (outer, V, inner)) for each element of `small`, where
// index i of its axis is indices_i of big's.
template <class F>
void for_slices(const Shape& big, int axis, const Array& indices, const F& f) {
    const Layout l(big, axis, axis + 1);
    const std::int64_t n = indices.numel();
    for (std::int64_t o = 0; o < l.outer; ++o)
        for (std::int64_t i = 0; i < n; ++i)
            for (std::int64_t j = 0; j < l.inner; ++j)
                f((o * n + i) * l.inner + j, (o * l.n + indices.data<std::int64_t>()[i]) * l.inner + j);
}

void index_select(const Array& out, const Array& x, int axis, const Array& indices) {
    visit_any(x.dtype, [&]<class T>(T) {
        for_slices(x.shape, axis, indices,
                   [&](std::int64_t i, std::int64_t at) { out.data<T>()[i] = x.data<T>()[at]; });
    });
}

void index_add(const Array& out, int axis, const Array& indices, const Array& source) {
    visit_wrapping(out.dtype, [&]<class T>(T) {
        for_slices(out.shape, axis, indices,
                   [&](std::int64_t i, std::int64_t at) { out.data<T>()[at] += source.data<T>()[i]; });
    });
}

// The position in `big` of element i of `small`, whose place along the axis an index says.
std::int64_t position(const Array& small, std::int64_t i, const Array& big, int axis, std::int64_t index) {
    std::int64_t offset = index * big.strides[axis];
    for (int a = small.rank() - 1; a >= 0; i /= small.shape[a--])
        if (a != axis) offset += i % small.shape[a] * big.strides[a];
    return offset;
}

void gather(const Array& out, const Array& x, int axis, const Array& index) {
    visit_any(x.dtype, [&]<class T>(T) {
        for (std::int64_t i = 0; i < index.numel(); ++i)
            out.data<T>()[i] = x.data<T>()[position(index, i, x, axis, index.data<std::int64_t>()[i])];
    });
}

void scatter_add(const Array& out, int axis, const Array& index, const Array& source) {
    visit_wrapping(out.dtype, [&]<class T>(T) {
        for (std::int64_t i = 0; i < index.numel(); ++i)
            out.data<T>()[position(index, i, out, axis, index.data<std::int64_t>()[i])] += source.data<T>()[i];
    });
}

}  // namespace
}  // namespace reference

constinit decltype(kernels::index_select) index_select{reference::index_select, installed.index_select};
constinit decltype(kernels::index_add) index_add{reference::index_add, installed.index_add};
constinit decltype(kernels::gather) gather{reference::gather, installed.gather};
constinit decltype(kernels::scatter_add) scatter_add{reference::scatter_add, installed.scatter_add};

}  // namespace weft::kernels
