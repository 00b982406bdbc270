#include <cmath>
#include <tuple>

#include "kernels/fast/simd.h"
#include "kernels/fast/sizes.h"
#include "kernels/interface.h"
#include "kernels/threads/parallel.h"

namespace weft::kernels::fast {
namespace {

// Calls f(r, C, row) for every row of x, of C elements.
template <class F>
void for_rows(const Array& x, const F& f) {
    const std::int64_t C = x.shape.back(), R = C == 0 ? 0 : x.numel() / C;
    visit_floating(x.dtype, [&]<class T>(T) {
        parallel_for(R, C, row_grain, [&](std::int64_t r) { f(r, C, x.data<T>() + r * C); });
    });
}

// max and log_sum, whose sum is ln Σ e^x of a row: as one number, the small part would be rounded away where
// logits are large. For a row of −inf they are −inf and 0.
template <class T>
std::pair<T, T> log_sum_exp(std::int64_t n, const T* x) {
    const T max = row_max(n, x);
    if (max == -INFINITY) return {std::isnan(row_sum(n, x)) ? T(NAN) : max, T(0)};
    const double sum = row_sum_of<T>([m = xsimd::batch<T>(max)](auto v) { return xsimd::exp(v - m); }, n, x);
    return {max, static_cast<T>(std::log(sum))};
}

void softmax(const Array& y, const Array& x) {
    for_rows(x, [&]<class T>(std::int64_t r, std::int64_t C, const T* row) {
        T* out = y.data<T>() + r * C;
        const T max = row_max(C, row);
        if (max == -INFINITY && !std::isnan(row_sum(C, row))) {
            std::fill(out, out + C, T(0));
            return;
        }
        simd_run([m = xsimd::batch<T>(max)](auto v) { return xsimd::exp(v - m); }, C, out, row);
        const T factor = static_cast<T>(1 / row_sum(C, out));
        simd_run([f = xsimd::batch<T>(factor)](auto v) { return v * f; }, C, out, out);
    });
}

void log_softmax(const Array& y, const Array& x) {
    for_rows(x, [&]<class T>(std::int64_t r, std::int64_t C, const T* row) {
        T* out = y.data<T>() + r * C;
        const auto [max, log_sum] = log_sum_exp(C, row);
        if (max == -INFINITY) {
            std::fill(out, out + C, max);
            return;
        }
        const xsimd::batch<T> m(max), s(log_sum);
        simd_run([=](auto v) { return v - m - s; }, C, out, row);
    });
}

std::int64_t cross_entropy(const Array& loss, const Array& max, const Array& log_sum, const Array& x,
                           const Array& targets, std::int64_t ignore_index) {
    const std::int64_t* target = targets.data<std::int64_t>();
    std::int64_t counted = 0;
    for_rows(x, [&]<class T>(std::int64_t r, std::int64_t C, const T* row) {
        std::tie(max.data<T>()[r], log_sum.data<T>()[r]) =
            target[r] == ignore_index ? std::pair<T, T>() : log_sum_exp(C, row);
    });
    visit_floating(x.dtype, [&]<class T>(T) {
        double total = 0;
        for (std::int64_t r = 0; r < targets.numel(); ++r) {
            if (target[r] == ignore_index) continue;
            const T logit = x.data<T>()[r * x.shape.back() + target[r]];
            total += static_cast<double>(log_sum.data<T>()[r]) + static_cast<double>(max.data<T>()[r] - logit);
            ++counted;
        }
        *loss.data<T>() = static_cast<T>(counted == 0 ? 0 : total / static_cast<double>(counted));
    });
    return counted;
}

void cross_entropy_backward(const Array& dx, const Array& x, const Array& max, const Array& log_sum,
                            const Array& targets, std::int64_t ignore_index, double factor) {
    const std::int64_t* target = targets.data<std::int64_t>();
    for_rows(x, [&]<class T>(std::int64_t r, std::int64_t C, const T* row) {
        T* d = dx.data<T>() + r * C;
        if (target[r] == ignore_index) {
            std::fill(d, d + C, T(0));
            return;
        }
        const xsimd::batch<T> m(max.data<T>()[r]), s(log_sum.data<T>()[r]), f(static_cast<T>(factor));
        simd_run([=](auto v) { return xsimd::exp(v - m - s) * f; }, C, d, row);
        d[target[r]] -= static_cast<T>(factor);
    });
}

}  // namespace

extern const Rows rows_table{softmax, log_softmax, cross_entropy, cross_entropy_backward};

}  // namespace weft::kernels::fast
