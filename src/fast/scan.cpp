#include <cmath>
#include <vector>

#include "core/element.h"

namespace weft::kernels::fast {
namespace {

using reference::for_lines, reference::Wide;

// value · 2^exponent, so that a product of many factors neither overflows nor underflows.
struct Scaled {
    double value;
    std::int64_t exponent = 0;
};

Scaled in_range(Scaled x) {
    const double size = std::abs(x.value);
    if ((size > 0x1p-500 && size < 0x1p500) || size == 0 || !std::isfinite(size)) return x;
    int shift = 0;
    const double value = std::frexp(x.value, &shift);
    return {value, x.exponent + shift};
}

double times_power_of_two(double x, std::int64_t exponent) {
    return exponent == 0 ? x : std::ldexp(x, static_cast<int>(std::clamp<std::int64_t>(exponent, -5000, 5000)));
}

Scaled operator*(Scaled a, Scaled b) { return in_range({a.value * b.value, a.exponent + b.exponent}); }

Scaled operator+(Scaled a, Scaled b) {
    if (a.value == 0) return b;
    if (b.value == 0) return a;
    const std::int64_t exponent = std::max(a.exponent, b.exponent);
    return in_range({times_power_of_two(a.value, a.exponent - exponent) +
                         times_power_of_two(b.value, b.exponent - exponent),
                     exponent});
}

}  // namespace

void cumsum(const Array& out, const Array& x, int axis, bool reverse) {
    const Array dense = contiguous(x);
    const Layout l(x.shape, axis, axis + 1);
    for_lines(out, l, [&]<class T>(std::int64_t start, T) {
        const T* from = dense.data<T>();
        T* to = out.data<T>();
        // float64 sums what each addition rounds off beside the total (Knuth, "The art of computer
        // programming", volume 2, §4.2.2, theorem B).
        Wide<T> total = 0, rounded_off = 0;
        for (std::int64_t i = 0; i < l.n; ++i) {
            const std::int64_t at = start + (reverse ? l.n - 1 - i : i) * l.inner;
            const Wide<T> before = total, v = from[at];
            total += v;
            if constexpr (std::is_same_v<T, double>) {
                const double added = total - before;
                rounded_off += (before - (total - added)) + (v - added);
                to[at] = std::isfinite(total) ? total + rounded_off : total;
            } else {
                to[at] = static_cast<T>(total);
            }
        }
    });
}

void cumprod_backward(const Array& dx, const Array& x, const Array& dy, int axis) {
    const Array factors = contiguous(x), slopes = contiguous(dy);
    const Layout l(x.shape, axis, axis + 1);
    for_lines(dx, l, [&]<class T>(std::int64_t start, T) {
        const auto at = [&](std::int64_t i) { return start + i * l.inner; };
        const auto factor = [&](std::int64_t i) {
            return in_range({static_cast<double>(factors.data<T>()[at(i)])});
        };
        std::vector<Scaled> before(static_cast<std::size_t>(l.n), Scaled{1});  // Π_{k < j} x_k
        for (std::int64_t j = 1; j < l.n; ++j)
            before[static_cast<std::size_t>(j)] = before[static_cast<std::size_t>(j - 1)] * factor(j - 1);
        Scaled after{0};  // Σ_{i ≥ j} dy_i · Π_{j < k ≤ i} x_k
        for (std::int64_t j = l.n - 1; j >= 0; --j) {
            const Scaled slope = in_range({static_cast<double>(slopes.data<T>()[at(j)])});
            after = j == l.n - 1 ? slope : slope + factor(j + 1) * after;
            const Scaled d = before[static_cast<std::size_t>(j)] * after;
            dx.data<T>()[at(j)] = static_cast<T>(times_power_of_two(d.value, d.exponent));
        }
    });
}

}  // namespace weft::kernels::fast
