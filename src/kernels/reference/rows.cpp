// Softmax and cross-entropy, row by row.
#include <algorithm>
#include <cmath>

#include "kernels/reference/element.h"

namespace weft::kernels::reference {
namespace {

// max and ln Σ e^(x − max) of a row; a row of −inf has −inf and 0.
struct LogSum {
    double max, log_sum;
};
template <class T>
LogSum log_sum_exp(std::int64_t C, const T* row) {
    double max = -INFINITY, total = 0;
    for (std::int64_t j = 0; j < C; ++j)  // NaN stays
        if (!(static_cast<double>(row[j]) <= max)) max = static_cast<double>(row[j]);
    if (max == -INFINITY) return {max, 0};
    for (std::int64_t j = 0; j < C; ++j) total += std::exp(static_cast<double>(row[j]) - max);
    return {max, std::log(total)};
}

// f(r, C, row) for every row of x.
template <class T, class F>
void for_rows(const Array& x, const F& f) {
    const std::int64_t C = x.shape.back(), R = C == 0 ? 0 : x.numel() / C;
    for (std::int64_t r = 0; r < R; ++r) f(r, C, x.data<T>() + r * C);
}

void softmax(const Array& y, const Array& x) {
    visit_floating(x.dtype, [&]<class T>(T) {
        for_rows<T>(x, [&](std::int64_t r, std::int64_t C, const T* row) {
            const LogSum l = log_sum_exp(C, row);
            for (std::int64_t j = 0; j < C; ++j)
                y.data<T>()[r * C + j] =
                    l.max == -INFINITY
                        ? T(0)
                        : static_cast<T>(std::exp(static_cast<double>(row[j]) - l.max - l.log_sum));
        });
    });
}

void log_softmax(const Array& y, const Array& x) {
    visit_floating(x.dtype, [&]<class T>(T) {
        for_rows<T>(x, [&](std::int64_t r, std::int64_t C, const T* row) {
            const LogSum l = log_sum_exp(C, row);
            for (std::int64_t j = 0; j < C; ++j)
                y.data<T>()[r * C + j] = static_cast<T>(
                    l.max == -INFINITY ? l.max : static_cast<double>(row[j]) - l.max - l.log_sum);
        });
    });
}

std::int64_t cross_entropy(const Array& loss, const Array& max, const Array& log_sum, const Array& x,
                           const Array& targets, std::int64_t ignore_index) {
    std::int64_t counted = 0;
    visit_floating(x.dtype, [&]<class T>(T) {
        double total = 0;
        for_rows<T>(x, [&](std::int64_t r, std::int64_t C, const T* row) {
            const std::int64_t target = targets.data<std::int64_t>()[r];
            const LogSum l = target == ignore_index ? LogSum{0, 0} : log_sum_exp(C, row);
            max.data<T>()[r] = static_cast<T>(l.max);
            log_sum.data<T>()[r] = static_cast<T>(l.log_sum);
            if (target == ignore_index) return;
            total += l.log_sum + (l.max - static_cast<double>(row[target]));  // −ln softmax(x)[target]
            ++counted;
        });
        *loss.data<T>() = static_cast<T>(counted == 0 ? 0 : total / static_cast<double>(counted));
    });
    return counted;
}

void cross_entropy_backward(const Array& dx, const Array& x, const Array& max, const Array& log_sum,
                            const Array& targets, std::int64_t ignore_index, double factor) {
    visit_floating(x.dtype, [&]<class T>(T) {
        for_rows<T>(x, [&](std::int64_t r, std::int64_t C, const T* row) {
            const std::int64_t target = targets.data<std::int64_t>()[r];
            const double m = static_cast<double>(max.data<T>()[r]),
                         s = static_cast<double>(log_sum.data<T>()[r]);
            for (std::int64_t j = 0; j < C; ++j) {
                const double p = std::exp(static_cast<double>(row[j]) - m - s);
                dx.data<T>()[r * C + j] =
                    target == ignore_index ? T(0) : static_cast<T>((p - (j == target ? 1 : 0)) * factor);
            }
        });
    });
}

}  // namespace

extern const Rows rows_table{softmax, log_softmax, cross_entropy, cross_entropy_backward};

}  // namespace weft::kernels::reference
