// Running sums and products along an axis.
#include "core/element.h"

namespace weft::kernels {
namespace reference {
namespace {

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

constinit decltype(kernels::cumsum) cumsum{reference::cumsum, installed.cumsum};
constinit decltype(kernels::cumprod_backward) cumprod_backward{reference::cumprod_backward,
                                                               installed.cumprod_backward};

}  // namespace weft::kernels
