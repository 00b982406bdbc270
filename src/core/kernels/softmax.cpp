#include <cmath>

#include "core/kernels/normalize.h"
#include "core/kernels/parallel.h"
#include "core/kernels/rows.h"

namespace weft::kernels {
namespace {

template <class F>
void for_rows(const Array& x, const F& f) {
    const std::int64_t C = x.shape.back(), R = C == 0 ? 0 : x.numel() / C;
    parallel_blocks(R, row_grain / std::max<std::int64_t>(C, 1) + 1, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t r = begin; r < end; ++r) f(r, C);
    });
}

// y = e^(x − shift), in SIMD.
template <class T>
void exp_row(std::int64_t n, T* y, const T* x, T shift) {
    simd_run(
        n, y, [s = xsimd::batch<T>(shift)](auto v) { return xsimd::exp(v - s); }, x);
}

// ln Σ e^x of a row, in two parts whose sum it is: large logits would round the small part away.
template <class T>
struct LogSumExp {
    T max, log_sum;  // −inf and 0 for a row of −inf
};

template <class T>
LogSumExp<T> log_sum_exp(std::int64_t n, const T* x) {
    const T m = row_max(n, x);
    if (m == -INFINITY) return {std::isnan(row_sum(n, x)) ? T(NAN) : m, 0};
    return {m, static_cast<T>(std::log(row_sum_of<T>(
                   n, [s = xsimd::batch<T>(m)](auto v) { return xsimd::exp(v - s); }, x)))};
}

}  // namespace

void softmax(const Array& y, const Array& x) {
    visit_floating(x.dtype, [&](auto zero) {
        using T = decltype(zero);
        for_rows(x, [&](std::int64_t r, std::int64_t C) {
            const T* row = x.data<T>() + r * C;
            T* out = y.data<T>() + r * C;
            const T m = row_max(C, row);
            if (m == -INFINITY && !std::isnan(row_sum(C, row))) {
                std::fill(out, out + C, T(0));
                return;
            }
            exp_row(C, out, row, m);
            const T factor = static_cast<T>(1 / row_sum(C, out));
            simd_run(
                C, out, [f = xsimd::batch<T>(factor)](auto v) { return v * f; }, out);
        });
    });
}

void log_softmax(const Array& y, const Array& x) {
    visit_floating(x.dtype, [&](auto zero) {
        using T = decltype(zero);
        for_rows(x, [&](std::int64_t r, std::int64_t C) {
            const T* row = x.data<T>() + r * C;
            T* out = y.data<T>() + r * C;
            const auto [max, log_sum] = log_sum_exp(C, row);
            if (max == -INFINITY)
                std::fill(out, out + C, max);
            else
                simd_run(
                    C, out,
                    [m = xsimd::batch<T>(max), s = xsimd::batch<T>(log_sum)](auto v) { return v - m - s; },
                    row);
        });
    });
}

std::int64_t cross_entropy(const Array& loss, const Array& max, const Array& log_sum, const Array& x,
                           const Array& targets, std::int64_t ignore_index) {
    const std::int64_t* target = targets.data<std::int64_t>();
    std::int64_t counted = 0;
    for (std::int64_t r = 0; r < targets.numel(); ++r) counted += target[r] != ignore_index;
    visit_floating(x.dtype, [&](auto zero) {
        using T = decltype(zero);
        T *m = max.data<T>(), *l = log_sum.data<T>();
        for_rows(x, [&](std::int64_t r, std::int64_t C) {
            const LogSumExp<T> sum =
                target[r] == ignore_index ? LogSumExp<T>{0, 0} : log_sum_exp(C, x.data<T>() + r * C);
            m[r] = sum.max, l[r] = sum.log_sum;
        });
        double total = 0;
        const std::int64_t C = x.shape.back();
        for (std::int64_t r = 0; r < targets.numel(); ++r)
            if (target[r] != ignore_index)
                total += static_cast<double>(l[r]) + static_cast<double>(m[r] - x.data<T>()[r * C + target[r]]);
        *loss.data<T>() = static_cast<T>(counted == 0 ? 0 : total / static_cast<double>(counted));
    });
    return counted;
}

void cross_entropy_backward(const Array& dx, const Array& x, const Array& max, const Array& log_sum,
                            const Array& targets, std::int64_t ignore_index, double factor) {
    const std::int64_t* target = targets.data<std::int64_t>();
    visit_floating(x.dtype, [&](auto zero) {
        using T = decltype(zero);
        for_rows(x, [&](std::int64_t r, std::int64_t C) {
            T* d = dx.data<T>() + r * C;
            if (target[r] == ignore_index) {
                std::fill(d, d + C, T(0));
                return;
            }
            using Batch = xsimd::batch<T>;
            const Batch m(max.data<T>()[r]), s(log_sum.data<T>()[r]), f(static_cast<T>(factor));
            simd_run(
                C, d, [=](auto v) { return xsimd::exp(v - m - s) * f; }, x.data<T>() + r * C);
            d[target[r]] -= static_cast<T>(factor);
        });
    });
}

}  // namespace weft::kernels
