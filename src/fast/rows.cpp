#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>
#include <vector>

#include "core/common.h"
#include "core/run.h"
#include "fast/simd.h"
#include "ops/common.h"

namespace weft::kernels::fast {
namespace {

// Calls f(r, C, row) for every row of x, of C elements.
template <class F>
void for_rows(const Array& x, const F& f) {
    const std::int64_t C = x.shape.back(), R = C == 0 ? 0 : x.numel() / C;
    visit_floating(x.dtype, [&]<class T>(T) {
        for_items(R, C, row_grain, [&](std::int64_t r) { f(r, C, x.data<T>() + r * C); });
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

namespace weft::kernels::fast {

namespace {

// A row's mean, rounded and what the rounding left, and 1/√(var + eps).
template <class T>
struct Moments {
    T mean, rest, rstd;
};

// Half of a − b, which is finite if a and b are.
double half_difference(double a, double b) { return a / 2 - b / 2; }

// 1/√(mean (x − mean)² + eps), squared in double beside the largest, so that no finite row overflows.
template <class T>
double careful_rstd(const T* row, std::int64_t C, double mean, double eps) {
    double largest = 0, squares = 0;
    for (std::int64_t i = 0; i < C; ++i) largest = std::max(largest, std::abs(half_difference(row[i], mean)));
    const double unit = largest > 0 ? largest : 1;
    for (std::int64_t i = 0; i < C; ++i) {
        const double v = half_difference(row[i], mean) / unit;
        squares += v * v;
    }
    return 0.5 / std::hypot(unit * std::sqrt(squares * (1 / static_cast<double>(C))), std::sqrt(eps) / 2);
}

// The mean in double, so that a constant row leaves no rest.
template <class T>
Moments<T> careful_moments(const T* row, std::int64_t C, double eps) {
    const double per = 1 / static_cast<double>(C);
    double first = 0, second = 0;
    for (std::int64_t i = 0; i < C; ++i) first += static_cast<double>(row[i]) * per;
    for (std::int64_t i = 0; i < C; ++i) second += half_difference(row[i], first) * (2 * per);
    const double mean = first + second;
    const bool is_constant = std::all_of(row, row + C, [&](T x) { return static_cast<double>(x) == mean; });
    const T rounded = static_cast<T>(mean);
    return {rounded, is_constant ? T(0) : static_cast<T>(first - static_cast<double>(rounded) + second),
            static_cast<T>(careful_rstd(row, C, mean, eps))};
}

template <class T>
Moments<T> moments(const T* row, std::int64_t C, double eps) {
    using Batch = xsimd::batch<T>;
    const double per = 1 / static_cast<double>(C);
    const T mean = static_cast<T>(row_sum(C, row) * per);
    const auto square = [m = Batch(mean)](auto v) { return (v - m) * (v - m); };
    const double var = row_sum_of<T>(square, C, row) * per, size = static_cast<double>(mean) / 64;
    // Beside a large mean its own rounding shows.
    if (!(var >= size * size && std::isfinite(var))) return careful_moments(row, C, eps);
    return {mean, T(0), static_cast<T>(1 / std::sqrt(var + eps))};
}

// A row of which (x − mean − rest) · rstd is to be computed. Where a difference, or its product with a
// gradient, could overflow, x is a copy that has been normalised.
template <class T>
class Row {
    std::vector<T> copy_;

public:
    const T* x;
    xsimd::batch<T> mean, rest, rstd;

    Row(const T* row, std::int64_t C, Moments<T> of) : x(row) {
        const T unit = std::ldexp(T(1), -3 * std::numeric_limits<T>::max_exponent / 4);
        if (of.rstd < unit) {
            for (std::int64_t i = 0; i < C; ++i)
                copy_.push_back((row[i] * unit - of.mean * unit - of.rest * unit) * (of.rstd / unit));
            x = copy_.data(), of = {0, 0, 1};
        }
        mean = of.mean, rest = of.rest, rstd = of.rstd;
    }
};

void layer_norm(const Array& y, const Array& mean, const Array& rstd, const Array& x, const Array& weight,
                const Array& bias, double eps) {
    const std::int64_t C = x.shape.back(), R = rstd.numel();
    visit_floating(x.dtype, [&]<class T>(T) {
        for_items(R, C, row_grain, [&](std::int64_t r) {
            const T* row = x.data<T>() + r * C;
            const Moments<T> found = moments(row, C, eps);
            const Row<T> in(row, C, found);
            simd_run([m = in.mean, rest = in.rest, s = in.rstd](auto v, auto w,
                                                                auto b) { return (v - m - rest) * s * w + b; },
                     C, y.data<T>() + r * C, in.x, weight.data<T>(), bias.data<T>());
            mean.data<T>()[2 * r] = found.mean;
            mean.data<T>()[2 * r + 1] = found.rest;
            rstd.data<T>()[r] = found.rstd;
        });
    });
}

void layer_norm_backward(const Array& dx, const Array& dweight, const Array& dbias, const Array& dy,
                         const Array& x, const Array& mean, const Array& rstd, const Array& weight) {
    const std::int64_t C = x.shape.back(), R = rstd.numel(), groups = (R + norm_group - 1) / norm_group;
    const double per = 1 / static_cast<double>(C);
    visit_floating(x.dtype, [&]<class T>(T) {
        using Batch = xsimd::batch<T>;
        const T* w = weight.data<T>();
        std::vector<T> parts(static_cast<std::size_t>(2 * groups * C));  // dweight and dbias of each group
        for_items(groups, norm_group * C, row_grain, [&](std::int64_t g) {
            T* dw = parts.data() + 2 * g * C;
            T* db = dw + C;
            for (std::int64_t r = g * norm_group; r < std::min(R, (g + 1) * norm_group); ++r) {
                const T* dyr = dy.data<T>() + r * C;
                const Moments<T> found{mean.data<T>()[2 * r], mean.data<T>()[2 * r + 1], rstd.data<T>()[r]};
                const Row<T> in(x.data<T>() + r * C, C, found);
                const Batch m = in.mean, rest = in.rest, s = in.rstd, true_s(found.rstd);
                // x̂ = (x − mean)·rstd, g = dy·weight:  dx = rstd·(g − mean(g) − x̂·mean(g·x̂))
                const double sum_g = row_sum_of<T>([](auto d, auto p) { return d * p; }, C, dyr, w);
                const double sum_gx = row_sum_of<T>(
                    [=](auto d, auto p, auto v) { return d * p * (v - m - rest) * s; }, C, dyr, w, in.x);
                const Batch a(static_cast<T>(sum_g * per)), b(static_cast<T>(sum_gx * per));
                simd_run([=](auto d, auto p, auto v) { return true_s * (d * p - a - (v - m - rest) * s * b); },
                         C, dx.data<T>() + r * C, dyr, w, in.x);
                if (dweight.storage)
                    simd_run([=](auto sum, auto d, auto v) { return sum + d * (v - m - rest) * s; }, C, dw, dw,
                             dyr, in.x);
                if (dbias.storage) simd_run([](auto sum, auto d) { return sum + d; }, C, db, db, dyr);
            }
        });
        const auto add_groups = [&](const Array& out, std::int64_t which) {
            T* y = out.data<T>();
            parallel_blocks(C, row_grain / std::max<std::int64_t>(groups, 1) + 16,
                            [&](std::int64_t begin, std::int64_t end) {
                                std::fill(y + begin, y + end, T(0));
                                for (std::int64_t g = 0; g < groups; ++g) {
                                    const T* part = parts.data() + (2 * g + which) * C;
                                    for (std::int64_t j = begin; j < end; ++j) y[j] += part[j];
                                }
                            });
        };
        if (dweight.storage) add_groups(dweight, 0);
        if (dbias.storage) add_groups(dbias, 1);
    });
}

void rms_norm(const Array& y, const Array& x, const Array& weight, double eps) {
    const std::int64_t C = x.shape.back(), R = C == 0 ? 0 : x.numel() / C;
    visit_floating(x.dtype, [&]<class T>(T) {
        for_items(R, C, row_grain, [&](std::int64_t r) {
            const T* row = x.data<T>() + r * C;
            const double squares = row_sum_of<T>([](auto v) { return v * v; }, C, row);
            double rstd = 1 / std::sqrt(squares / static_cast<double>(C) + eps);
            if (std::isinf(squares) && std::all_of(row, row + C, [](T v) { return std::isfinite(v); }))
                rstd = careful_rstd(row, C, 0, eps);
            const xsimd::batch<T> s(static_cast<T>(rstd));
            simd_run([=](auto v, auto w) { return v * s * w; }, C, y.data<T>() + r * C, row, weight.data<T>());
        });
    });
}

// weight or bias (C,); `value` everywhere if it is undefined.
Array row_or(const Tensor& row, double value, const Tensor& x) {
    return row.defined() ? contiguous(row.array()) : full({x.size(-1)}, value, x.dtype()).array();
}

std::optional<FusedResult> layer_norm_at_once(const Inputs& in, const NormOptions& o) {
    const Tensor& x = in[0];
    Shape rows = x.shape();
    rows.erase(rows.rank() - 1);
    const Array y = make_array(x.shape(), x.dtype()), mean = make_array({rows.numel(), 2}, x.dtype()),
                rstd = make_array(rows, x.dtype());
    layer_norm(y, mean, rstd, contiguous(x.array()), row_or(in[1], 1, x), row_or(in[2], 0, x), o.eps);
    return FusedResult{Tensor(y), {Tensor(mean), Tensor(rstd)}};
}

Grads layer_norm_rule(const Saved& saved, const Tensor& dy, const NormOptions&) {
    const Tensor& x = saved[0];
    const Array dx = make_array(x.shape(), x.dtype()),
                dweight = saved.needs_input_grad(1) ? make_array({x.size(-1)}, x.dtype()) : Array(),
                dbias = saved.needs_input_grad(2) ? make_array({x.size(-1)}, x.dtype()) : Array();
    layer_norm_backward(dx, dweight, dbias, contiguous(dy.array()), contiguous(x.array()), saved[3].array(),
                        saved[4].array(), row_or(saved[1], 1, x));
    return Grads{Tensor(dx), dweight.storage ? Tensor(dweight) : Tensor(),
                 dbias.storage ? Tensor(dbias) : Tensor()};
}

std::optional<FusedResult> rms_norm_at_once(const Inputs& in, const NormOptions& o) {
    const Tensor& x = in[0];
    const Array y = make_array(x.shape(), x.dtype());
    rms_norm(y, contiguous(x.array()), row_or(in[1], 1, x), o.eps);
    return FusedResult{Tensor(y)};
}

}  // namespace
}  // namespace weft::kernels::fast

namespace weft {
constinit const Kernel<NormOptions> layer_norm_kernel{kernels::fast::layer_norm_at_once,
                                                      kernels::fast::layer_norm_rule};
constinit const Kernel<NormOptions> rms_norm_kernel{
    kernels::fast::rms_norm_at_once};  // the definition's gradient
}  // namespace weft

namespace weft::kernels::fast {

// Rotary positions, a row after the other, in place.

namespace {

// The pairs of x (…, T, d) turned at once by angles with these cosines and sines (T, r/2), contiguous.
Tensor turned(const Tensor& x, const Tensor& cos, const Tensor& sin, RotaryPairs kind) {
    const Tensor y = x.clone();
    if (y.numel() == 0) return y;
    const std::int64_t d = x.size(-1), half = cos.size(-1), rows = x.numel() / d;
    const std::int64_t step = kind == RotaryPairs::halves ? 1 : 2, gap = kind == RotaryPairs::halves ? half : 1;
    const auto turn = [&]<class T>(T* data) {
        parallel_blocks(rows, std::max<std::int64_t>(1, row_grain / d),
                        [&](std::int64_t begin, std::int64_t end) {
                            for (std::int64_t row = begin; row < end; ++row) {
                                const std::int64_t at = row % cos.size(0) * half;
                                const T *c = cos.data<T>() + at, *s = sin.data<T>() + at;
                                T *a = data + row * d, *b = a + gap;
                                for (std::int64_t i = 0; i < half; ++i, a += step, b += step) {
                                    const T was = *a;
                                    *a = was * c[i] - *b * s[i];
                                    *b = was * s[i] + *b * c[i];
                                }
                            }
                        });
    };
    y.dtype() == float32 ? turn(y.data<float>()) : turn(y.data<double>());
    return y;
}

// Angles that take gradients need the definition's.
std::optional<FusedResult> rotary_at_once(const Inputs& in, const RotaryPairs& pairs) {
    if (in[1].requires_grad() || in[2].requires_grad()) return {};
    return FusedResult{turned(in[0], in[1].contiguous(), in[2].contiguous(), pairs)};
}

Grads rotary_rule(const Saved& saved, const Tensor& dy, const RotaryPairs& pairs) {  // turned back
    return Grads{turned(dy, saved[1].contiguous(), -saved[2], pairs), {}, {}};
}

}  // namespace
}  // namespace weft::kernels::fast

namespace weft {
constinit const Kernel<RotaryPairs> rotary_kernel{kernels::fast::rotary_at_once, kernels::fast::rotary_rule};
}  // namespace weft
