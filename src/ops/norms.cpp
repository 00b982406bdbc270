#include "weft/ops/norms.h"

#include <limits>

#include "autograd/node.h"
#include "kernels/interface.h"
#include "ops/common.h"

namespace weft {

namespace {

// x / √(mean x² + eps) over the last axis; a row whose squares overflow is first divided by its largest
// element, on which the quotient does not depend.
Tensor over_root_mean_square(const Tensor& x, double eps) {
    const Tensor squares = mean(x * x, -1, keepdim);
    const Tensor overflows = isinf(squares.detach());
    if (!any(overflows)) return x / sqrt(squares + eps);
    const Tensor largest = max(abs(x.detach()), -1, keepdim).values;
    const Tensor unit = masked_fill(largest, !overflows || isinf(largest), 1), scaled = x / unit;
    return scaled / sqrt(mean(scaled * scaled, -1, keepdim) + eps / (unit * unit));
}

Tensor layer_norm_reference(const Tensor& x, const Tensor& weight, const Tensor& bias, double eps) {
    Tensor y = over_root_mean_square(centred(x, -1).rest, eps);
    if (weight.defined()) y = y * weight;
    return bias.defined() ? y + bias : y;
}

void check_row(const char* operation, const char* what, const Tensor& x, const Tensor& row) {
    if (!row.defined()) return;
    check_same_dtype(operation, x, row);
    if (row.shape() != Shape{x.size(-1)})
        throw ShapeError(operation, ": x ", x.shape(), ", ", what, " ", row.shape(), ": the ", what,
                         " must be (", x.size(-1), ",), the size of the last axis");
}

void check_norm(const char* operation, const Tensor& x, const Tensor& weight, const Tensor& bias, double eps) {
    check_floating(operation, x);
    if (x.rank() == 0) throw ShapeError(operation, ": a scalar has no axis to normalise; x must be (…, C)");
    if (!(eps > 0))
        throw ValueError(operation, ": eps = ", eps, "; it must be above 0, or a constant row divides by 0");
    check_row(operation, "weight", x, weight);
    check_row(operation, "bias", x, bias);
}

// weight or bias (C,); `value` everywhere if it is undefined.
Array row_or(const Tensor& row, double value, const Tensor& x) {
    return row.defined() ? kernels::contiguous(row.array()) : full({x.size(-1)}, value, x.dtype()).array();
}

}  // namespace

Tensor layer_norm(const Tensor& x, const Tensor& weight, const Tensor& bias, double eps) {
    check_norm("layer_norm", x, weight, bias, eps);
    return fused(
        "layer_norm", {x, weight, bias},
        [eps](const std::vector<Tensor>& in) { return layer_norm_reference(in[0], in[1], in[2], eps); },
        [&] {
            Shape rows = x.shape();
            rows.erase(rows.rank() - 1);
            const Array y = make_array(x.shape(), x.dtype()), mean = make_array({rows.numel(), 2}, x.dtype()),
                        rstd = make_array(rows, x.dtype());
            kernels::active().layer_norm(y, mean, rstd, kernels::contiguous(x.array()), row_or(weight, 1, x),
                                         row_or(bias, 0, x), eps);
            return FusedResult{Tensor(y), {Tensor(mean), Tensor(rstd)}};
        },
        [](const Saved& saved, const Tensor& dy) {
            const Tensor &x = saved[0], &weight = saved[1];
            const Array dx = make_array(x.shape(), x.dtype()),
                        dweight = saved.needs_input_grad(1) ? make_array({x.size(-1)}, x.dtype()) : Array(),
                        dbias = saved.needs_input_grad(2) ? make_array({x.size(-1)}, x.dtype()) : Array();
            kernels::active().layer_norm_backward(dx, dweight, dbias, kernels::contiguous(dy.array()),
                                                  kernels::contiguous(x.array()), saved[3].array(),
                                                  saved[4].array(), row_or(weight, 1, x));
            return Grads{Tensor(dx), dweight.storage ? Tensor(dweight) : Tensor(),
                         dbias.storage ? Tensor(dbias) : Tensor()};
        });
}

// Its gradient is that of its reference.
Tensor rms_norm(const Tensor& x, const Tensor& weight, std::optional<double> eps) {
    const double added = eps.value_or(x.dtype() == float32 ? std::numeric_limits<float>::epsilon()
                                                           : std::numeric_limits<double>::epsilon());
    check_norm("rms_norm", x, weight, {}, added);
    return fused(
        "rms_norm", {x, weight},
        [added](const std::vector<Tensor>& in) {
            const Tensor y = over_root_mean_square(in[0], added);
            return in[1].defined() ? y * in[1] : y;
        },
        [&] {
            const Array y = make_array(x.shape(), x.dtype());
            kernels::active().rms_norm(y, kernels::contiguous(x.array()), row_or(weight, 1, x), added);
            return FusedResult{Tensor(y)};
        });
}

Tensor batch_norm(const Tensor& x, const BatchNormStats& running, const Tensor& weight, const Tensor& bias,
                  const BatchNormOptions& options) {
    check_floating("batch_norm", x);
    if (x.rank() < 2) throw ShapeError("batch_norm: a tensor of shape ", x.shape(), "; it must be (N, C, …)");
    const std::int64_t C = x.size(1);
    for (const Tensor& t : {running.mean, running.var, weight, bias}) {
        if (!t.defined()) continue;
        check_same_dtype("batch_norm", x, t);
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
    if (collects)
        for (const Tensor& t : {running.mean, running.var}) check_in_place("batch_norm", t);
    Tensor means, rest, spread;  // the means, x without them, and the variance
    const std::int64_t n = C == 0 ? 0 : x.numel() / C;
    if (options.training) {
        std::vector<int> axes{0};
        for (int axis = 2; axis < x.rank(); ++axis) axes.push_back(axis);
        if (n < 2)
            throw ValueError("batch_norm: ", n, " value in each channel of ", x.shape(),
                             "; training needs at least 2");
        const Centred c = centred(x, axes);
        means = c.mean, rest = c.rest;
        spread = mean(rest * rest, axes, keepdim);
    } else {
        rest = x - channels(running.mean), spread = channels(running.var);
    }
    Tensor y = rest / sqrt(spread + options.eps);
    if (weight.defined()) y = y * channels(weight);
    if (bias.defined()) y = y + channels(bias);
    if (collects) {
        const NoGrad off;
        const double m = options.momentum, unbiased = static_cast<double>(n) / static_cast<double>(n - 1);
        Tensor(running.mean).mul_(1 - m).add_(means.reshape({C}), m);
        Tensor(running.var).mul_(1 - m).add_(spread.reshape({C}), m * unbiased);
    }
    return y;
}

}  // namespace weft
