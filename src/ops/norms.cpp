#include "weft/ops/norms.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "core/common.h"
#include "core/node.h"
#include "ops/common.h"
#include "weft/ops/reductions.h"
#include "weft/ops/shapes.h"

namespace weft {

namespace {

// What normalises x over axes, which have size 1. Rows whose squares overflow are first divided by their
// largest |x|, on which the quotient does not depend: the other members are those of x / unit.
struct Moments {
    Tensor mean, rest;    // rest = x − mean; x itself if it is not centred
    Tensor mean_squares;  // of rest
    Tensor unit;          // undefined where it is 1 for every row
};
Moments moments(const Tensor& x, const Axes& axes, bool centres) {
    const auto of = [&](const Tensor& x, const Tensor& unit) -> Moments {
        const Centred c = centres ? centred(x, axes) : Centred{{}, x};
        return {c.mean, c.rest, mean(c.rest * c.rest, axes, keepdim), unit};
    };
    const Moments plain = of(x, {});
    const Tensor overflows = !isfinite(plain.mean_squares.detach());
    if (x.numel() == 0 || !any(overflows)) return plain;
    Tensor largest = abs(x.detach());
    for (const int axis : axes.axes) largest = max(largest, axis, keepdim).values;
    const Tensor unit = masked_fill(largest, !overflows || !isfinite(largest), 1);
    return of(x / unit, unit);
}

Tensor normalised(const Moments& m, double eps) {
    return m.rest / sqrt(m.unit.defined() ? m.mean_squares + eps / (m.unit * m.unit) : m.mean_squares + eps);
}

// eps, but no less than the smallest normal number of x's type, which would round it to 0.
double at_least_normal(double eps, const Tensor& x) {
    return std::max(eps, x.dtype() == float32 ? double{std::numeric_limits<float>::min()}
                                              : std::numeric_limits<double>::min());
}

Tensor small_layer_norm(const Inputs& in, const NormOptions& o) {
    Tensor y = normalised(moments(in[0], -1, true), o.eps);
    if (in[1].defined()) y = y * in[1];
    return in[2].defined() ? y + in[2] : y;
}

Tensor small_rms_norm(const Inputs& in, const NormOptions& o) {
    const Tensor y = normalised(moments(in[0], -1, false), o.eps);
    return in[1].defined() ? y * in[1] : y;
}

void check_row(const char* what, const Tensor& x, const Tensor& row) {
    if (!row.defined()) return;
    check_same_dtype(x, row);
    if (row.shape() != Shape{x.size(-1)})
        throw ShapeError(Op::name(), ": x ", x.shape(), ", ", what, " ", row.shape(), ": the ", what,
                         " must be (", x.size(-1), ",), the size of the last axis");
}

void check_norm(const Tensor& x, const Tensor& weight, const Tensor& bias, double eps) {
    check_floating(x);
    if (x.rank() == 0) throw ShapeError(Op::name(), ": a scalar has no axis to normalise; x must be (…, C)");
    if (!(eps > 0))
        throw ValueError(Op::name(), ": eps = ", eps, "; it must be above 0, or a constant row divides by 0");
    check_row("weight", x, weight);
    check_row("bias", x, bias);
}

// Refuses running statistics that training cannot change, or whose change would be seen by what is computed.
void check_collects(const BatchNormStats& running, const Tensor& x, const Tensor& weight, const Tensor& bias) {
    const std::pair<const char*, const Tensor&> all[] = {{"the running mean", running.mean},
                                                         {"the running variance", running.var},
                                                         {"x", x},
                                                         {"the weight", weight},
                                                         {"the bias", bias}};
    for (int i = 0; i < 2; ++i) {
        check_in_place("batch_norm", all[i].second);
        for (int j = i + 1; j < 5; ++j)
            if (all[j].second.defined() && may_share_memory(all[i].second.array(), all[j].second.array()))
                throw ValueError("batch_norm: ", all[i].first, " shares memory with ", all[j].first,
                                 ", and training changes it in place; clone() one of them");
    }
}

}  // namespace

Tensor layer_norm(const Tensor& x, const Tensor& weight, const Tensor& bias, double eps) {
    const Op op("layer_norm", Op::of_others);
    check_norm(x, weight, bias, eps);
    return run("layer_norm", {x, weight, bias}, NormOptions{at_least_normal(eps, x)}, small_layer_norm,
               layer_norm_kernel);
}

Tensor rms_norm(const Tensor& x, const Tensor& weight, std::optional<double> eps) {
    const Op op("rms_norm", Op::of_others);
    const double wanted = eps.value_or(x.dtype() == float32 ? std::numeric_limits<float>::epsilon()
                                                            : std::numeric_limits<double>::epsilon());
    check_norm(x, weight, {}, wanted);
    return run("rms_norm", {x, weight}, NormOptions{at_least_normal(wanted, x)}, small_rms_norm,
               rms_norm_kernel);
}

Tensor batch_norm(const Tensor& x, const BatchNormStats& running, const Tensor& weight, const Tensor& bias,
                  const BatchNormOptions& options) {
    const Op op("batch_norm", Op::of_others);
    check_floating(x);
    if (x.rank() < 2) throw ShapeError("batch_norm: a tensor of shape ", x.shape(), "; it must be (N, C, …)");
    const std::int64_t C = x.size(1);
    for (const Tensor& t : {running.mean, running.var, weight, bias}) {
        if (!t.defined()) continue;
        check_same_dtype(x, t);
        if (t.shape() != Shape{C})
            throw ShapeError("batch_norm: statistics, weight and bias must be (", C, ",), not ", t.shape());
    }
    if (!(options.eps > 0)) throw ValueError("batch_norm: eps = ", options.eps, "; it must be above 0");
    const bool has_running = running.mean.defined() && running.var.defined();
    if (!options.training && !has_running)
        throw ValueError("batch_norm: evaluation needs the running mean and variance; pass them, or train");
    Shape wide = Shape::filled(x.rank(), 1);
    wide[1] = C;
    const auto channels = [&](const Tensor& t) { return t.reshape(wide); };
    const bool collects = options.training && has_running;
    if (collects) check_collects(running, x, weight, bias);
    const std::int64_t n = C == 0 ? 0 : x.numel() / C;
    if (options.training && n < 2)
        throw ValueError("batch_norm: ", n, " value in each channel of ", x.shape(),
                         "; training needs at least 2");
    std::vector<int> axes{0};
    for (int axis = 2; axis < x.rank(); ++axis) axes.push_back(axis);
    const Moments of_x = options.training ? moments(x, axes, true)
                                          : Moments{{}, x - channels(running.mean), channels(running.var), {}};
    Tensor y = normalised(of_x, at_least_normal(options.eps, x));
    if (weight.defined()) y = y * channels(weight);
    if (bias.defined()) y = y + channels(bias);
    if (collects) {
        const NoGrad off;
        const double m = options.momentum, unbiased = static_cast<double>(n) / static_cast<double>(n - 1);
        const bool scales = of_x.unit.defined();  // a share of a variance may be finite where it is not
        Tensor means = of_x.mean, shares = of_x.mean_squares;
        if (scales) means = means * of_x.unit, shares = shares * (m * unbiased) * of_x.unit * of_x.unit;
        Tensor(running.mean).mul_(1 - m).add_(means.reshape({C}), m);
        Tensor(running.var).mul_(1 - m).add_(shares.reshape({C}), scales ? 1 : m * unbiased);
    }
    return y;
}

// T tokens, d the width of a head, r the columns that are rotated.

namespace {

Tensor turned(const Inputs& in, const RotaryPairs& kind) {
    const Tensor &x = in[0], &c = in[1], &s = in[2];
    const std::int64_t half = c.size(-1), d = x.size(-1);
    const bool is_whole = d == 2 * half;
    const Tensor turned = is_whole ? x : x.slice(-1, 0, 2 * half);  // (…, T, r)
    const auto joined = [&](const Tensor& y) { return is_whole ? y : cat({y, x.slice(-1, 2 * half, d)}, -1); };
    if (kind == RotaryPairs::halves) {
        const Tensor a = turned.slice(-1, 0, half), b = turned.slice(-1, half, 2 * half);  // (…, T, r/2)
        return joined(cat({a * c - b * s, a * s + b * c}, -1));                            // (…, T, d)
    }
    Shape in_pairs = turned.shape();
    in_pairs[-1] = half;
    in_pairs.push_back(2);
    const Tensor pairs = turned.reshape(in_pairs);                                     // (…, T, r/2, 2)
    const Tensor a = pairs.select(-1, 0), b = pairs.select(-1, 1);                     // (…, T, r/2)
    return joined(stack({a * c - b * s, a * s + b * c}, -1).reshape(turned.shape()));  // (…, T, d)
}

}  // namespace

Tensor rotary(const Tensor& x, const RotaryTable& table) {
    const Op op("rotary", Op::of_others);
    check_computes(x.dtype());
    const int rank = x.rank();
    if (table.cos.rank() != 2 || table.sin.shape() != table.cos.shape())
        throw ShapeError("rotary: a table of cosines ", table.cos.shape(), " and sines ", table.sin.shape(),
                         "; both must be (T, r/2)");
    const std::int64_t half = table.cos.size(-1), d = rank > 0 ? x.size(-1) : 0;
    if (rank < 2 || rank >= Shape::max_rank || d < 2 * half || x.size(-2) != table.cos.size(0))
        throw ShapeError("rotary: takes (…, ", table.cos.size(0), ", d) with d at least ", 2 * half, ", not ",
                         x.shape());
    if (!takes_gradient(x.dtype()) || table.cos.dtype() != x.dtype() || table.sin.dtype() != x.dtype())
        throw DTypeError("rotary: x is ", name(x.dtype()), ", cosines ", name(table.cos.dtype()), ", sines ",
                         name(table.sin.dtype()), "; all must be float32, or all float64");
    return run("rotary", {x, table.cos, table.sin}, table.pairs, turned, rotary_kernel);
}

}  // namespace weft
