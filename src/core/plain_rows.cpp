// Softmax, row by row.
#include <cmath>

#include "core/element.h"

namespace weft::kernels {
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

}  // namespace weft::kernels
