#include <limits>
#include <numbers>

#include "core/formula.h"
#include "fast/simd.h"

namespace weft::kernels::fast {
namespace {

// xsimd's eˣ is inf a little before the type's end, and 0 where the result is denormal; there it is (e^(x/2))².
template <class T>
xsimd::batch<T> exp_of(const xsimd::batch<T>& x) {
    using B = xsimd::batch<T>;
    constexpr bool narrow = std::is_same_v<T, float>;
    const B e = xsimd::exp(x);
    const auto near_end = x < B(narrow ? T(-87) : T(-708)) || x > B(narrow ? T(88) : T(709));
    if (!xsimd::any(near_end)) return e;
    const B root = xsimd::exp(x * B(T(0.5)));
    return xsimd::select(near_end, root * root, e);
}

}  // namespace

void exp(const Array& out, const Array& x) {
    visit_floating(x.dtype, [&]<class T>(T) {
        const auto f = [](const xsimd::batch<T>& x) { return exp_of<T>(x); };
        for_runs_of<T, T>([&](std::int64_t n, T* y, const T* p) { simd_run(f, n, y, p); }, out, x);
    });
}

void sigmoid(const Array& out, const Array& x) {
    visit_floating(x.dtype, [&]<class T>(T) {
        using B = xsimd::batch<T>;
        const auto f = [](const B& x) {
            const B e = exp_of<T>(-xsimd::abs(x));  // never overflows
            return xsimd::select(x >= B(T(0)), B(T(1)), e) / (B(T(1)) + e);
        };
        for_runs_of<T, T>([&](std::int64_t n, T* y, const T* p) { simd_run(f, n, y, p); }, out, x);
    });
}

// xsimd's logarithm takes a denormal float64 for a larger number, so it gets x·2⁵⁴.
void log(const Array& out, const Array& x) {
    visit_floating(x.dtype, [&]<class T>(T) {
        using B = xsimd::batch<T>;
        const auto f = [](const B& x) {
            const B y = xsimd::log(x);
            const auto small = x < B(std::numeric_limits<T>::min());
            if (std::is_same_v<T, float> || !xsimd::any(small)) return y;
            return xsimd::select(small, xsimd::log(x * B(T(0x1p54))) - B(T(54 * std::numbers::ln2)), y);
        };
        for_runs_of<T, T>([&](std::int64_t n, T* y, const T* p) { simd_run(f, n, y, p); }, out, x);
    });
}

}  // namespace weft::kernels::fast
