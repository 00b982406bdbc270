#include <cmath>
#include <tuple>

#include "core/common.h"
#include "core/slots.h"
#include "fast/simd.h"
#include "fast/sizes.h"

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

}  // namespace

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

namespace {

// loss () = the mean of −ln softmax(x)[target] over the rows whose target counts, 0 if there are none; returns
// their number.
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

// dx = (softmax(x) − onehot(target)) · factor, with factor = dloss / counted; 0 in ignored rows.
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

std::optional<FusedResult> cross_entropy_at_once(const Inputs& in, const ClassOptions& o) {
    const Tensor &x = in[0], &targets = in[1];
    const std::int64_t R = targets.numel();
    const Array loss = make_array({}, x.dtype()), max = make_array({R}, x.dtype()),
                log_sum = make_array({R}, x.dtype());
    const std::int64_t counted =
        cross_entropy(loss, max, log_sum, contiguous(x.array()), targets.array(), o.ignore_index);
    return FusedResult{Tensor(loss), {Tensor(max), Tensor(log_sum), integer(counted)}};
}

Grads cross_entropy_rule(const Saved& saved, const Tensor& dy, const ClassOptions& o) {
    const Tensor &x = saved[0], &targets = saved[1];
    const Array dx = make_array(x.shape(), x.dtype());
    cross_entropy_backward(dx, contiguous(x.array()), saved[2].array(), saved[3].array(), targets.array(),
                           o.ignore_index, dy.item() / std::max(saved[4].item(), 1.0));
    return Grads{Tensor(dx), Tensor()};
}

}  // namespace
}  // namespace weft::kernels::fast

namespace weft {
constinit const Kernel<ClassOptions> cross_entropy_kernel{kernels::fast::cross_entropy_at_once,
                                                          kernels::fast::cross_entropy_rule};
}  // namespace weft
