// Softmax and cross-entropy, row by row.
#include <cmath>

#include "kernels/reference/element.h"

namespace weft::kernels::reference {
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

std::int64_t cross_entropy(const Array& loss, const Array& max, const Array& log_sum, const Array& in,
                           const Array& targets, std::int64_t ignore_index) {
    const Array x = rows_of(in);
    std::int64_t counted = 0;
    visit_floating(x.dtype, [&]<class T>(T) {
        double total = 0;
        for (std::int64_t r = 0; r < targets.numel(); ++r) {
            const std::int64_t target = at<std::int64_t>(targets, r);
            const LogSum l = target == ignore_index ? LogSum{0, 0} : log_sum_exp<T>(x, r);
            at<T>(max, r) = static_cast<T>(l.max);
            at<T>(log_sum, r) = static_cast<T>(l.log_sum);
            if (target == ignore_index) continue;
            total += l.log_sum + (l.max - value<T>(x, r, target));  // −ln softmax(x)[target]
            ++counted;
        }
        at<T>(loss) = static_cast<T>(counted == 0 ? 0 : total / static_cast<double>(counted));
    });
    return counted;
}

void cross_entropy_backward(const Array& dx, const Array& in, const Array& max, const Array& log_sum,
                            const Array& targets, std::int64_t ignore_index, double factor) {
    const Array x = rows_of(in), d = rows_of(dx);
    visit_floating(x.dtype, [&]<class T>(T) {
        for (std::int64_t r = 0; r < targets.numel(); ++r)
            for (std::int64_t j = 0; j < x.shape[1]; ++j) {
                const std::int64_t target = at<std::int64_t>(targets, r);
                const double p = std::exp(value<T>(x, r, j) - value<T>(max, r) - value<T>(log_sum, r));
                at<T>(d, r, j) =
                    static_cast<T>(target == ignore_index ? 0 : (p - (j == target ? 1 : 0)) * factor);
            }
    });
}

}  // namespace

extern const Rows rows_table{softmax, log_softmax, cross_entropy, cross_entropy_backward};

}  // namespace weft::kernels::reference
