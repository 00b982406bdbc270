// The plain loops of extremes, and of running sums and products, along an axis.
#include "core/formula.h"
#include "ops/common.h"

namespace weft::kernels {
namespace reference {
namespace {

MinMax min_max(const Array& x, int axis, bool largest) {
    Shape shape = x.shape;
    shape[axis] = 1;
    MinMax result{make_array(shape, x.dtype), make_array(shape, int64)};
    visit_numeric(x.dtype, [&]<class T>(T) {
        for (std::int64_t i = 0; i < result.values.numel(); ++i) {
            const T* row = &element<T>(view_of(x, shape, x.strides, x.offset), i);
            std::int64_t best = 0;
            for (std::int64_t j = 1; j < x.shape[axis]; ++j) {
                const T v = row[j * x.strides[axis]], b = row[best * x.strides[axis]];
                const bool is_better = largest ? v > b : v < b, is_first_nan = v != v && b == b;
                if (is_better || is_first_nan) best = j;
            }
            result.values.data<T>()[i] = row[best * x.strides[axis]];
            result.indices.data<std::int64_t>()[i] = best;
        }
    });
    return result;
}

// Element i of the row that starts at `start`, in a contiguous array.
template <class T>
T& along(const Array& x, const Layout& l, std::int64_t start, std::int64_t i) {
    return x.data<T>()[start + i * l.inner];
}

void cumsum(const Array& out, const Array& x, int axis, bool reverse) {
    const Array dense = contiguous(x);
    const Layout l(x.shape, axis, axis + 1);
    for_lines(out, l, [&]<class T>(std::int64_t start, T) {
        std::conditional_t<std::is_floating_point_v<T>, long double, T> total = 0;
        for (std::int64_t step = 0; step < l.n; ++step) {
            const std::int64_t i = reverse ? l.n - 1 - step : step;
            total += along<T>(dense, l, start, i);
            along<T>(out, l, start, i) = static_cast<T>(total);
        }
    });
}

// Σ over i ≥ j of dy_i times the product of the factors up to i but x_j: n² multiplications for a row of n.
void cumprod_backward(const Array& dx, const Array& x, const Array& dy, int axis) {
    const Array factors = contiguous(x), slopes = contiguous(dy);
    const Layout l(x.shape, axis, axis + 1);
    for_lines(dx, l, [&]<class T>(std::int64_t start, T) {
        for (std::int64_t j = 0; j < l.n; ++j) {
            long double total = 0, others = 1;
            for (std::int64_t i = 0; i < l.n; ++i) {
                if (i != j) others *= along<T>(factors, l, start, i);
                const long double slope = along<T>(slopes, l, start, i);
                if (i >= j && slope != 0) total += slope * others;  // where it is 0, others may be infinite
            }
            along<T>(dx, l, start, j) = static_cast<T>(total);
        }
    });
}

}  // namespace
}  // namespace reference

using namespace reference;

void cumprod(const Array& out, const Array& x, int axis) {
    const Array dense = contiguous(x);
    const Layout l(x.shape, axis, axis + 1);
    for_lines(out, l, [&]<class T>(std::int64_t start, T) {
        Wide<T> product = 1;
        for (std::int64_t i = 0; i < l.n; ++i) {
            product *= along<T>(dense, l, start, i);
            along<T>(out, l, start, i) = static_cast<T>(product);
        }
    });
}

void linear_scan(const Array& out, const Array& a, const Array& b, int axis, bool reverse) {
    const Array links = contiguous(a), terms = contiguous(b);
    const Layout l(b.shape, axis, axis + 1);
    for_lines(out, l, [&]<class T>(std::int64_t start, T) {
        const std::int64_t links_start = start - start / (l.n * l.inner) * l.inner;  // n − 1 of them in a row
        Wide<T> y = 0;
        for (std::int64_t step = 0; step < l.n; ++step) {
            const std::int64_t i = reverse ? l.n - 1 - step : step;
            if (step > 0) y *= along<T>(links, l, links_start, reverse ? i : i - 1);
            y += along<T>(terms, l, start, i);
            along<T>(out, l, start, i) = static_cast<T>(y);
        }
    });
}

constinit decltype(kernels::min_max) min_max{reference::min_max, installed_in_ops.min_max};
constinit decltype(kernels::cumsum) cumsum{reference::cumsum, installed_in_ops.cumsum};
constinit decltype(kernels::cumprod_backward) cumprod_backward{reference::cumprod_backward,
                                                               installed_in_ops.cumprod_backward};

}  // namespace weft::kernels
