#include <limits>

#include "core/kernels/elementwise.h"
#include "core/kernels/normalize.h"
#include "core/ops/common.h"

namespace weft {
namespace {

Tensor layer_norm_reference(const Tensor& x, const Tensor& weight, const Tensor& bias, double eps) {
    const Tensor rest = centred(x, -1).rest;
    Tensor y = rest / sqrt(mean(rest * rest, -1, keepdim) + eps);
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
    if (composed_mode()) return layer_norm_reference(x, weight, bias, eps);

    Shape rows = x.shape();
    rows.erase(rows.rank() - 1);
    Array y = make_array(x.shape(), x.dtype()), mean = make_array({rows.numel(), 2}, x.dtype()),
          rstd = make_array(rows, x.dtype());
    kernels::layer_norm(y, mean, rstd, kernels::contiguous(x.array()), row_or(weight, 1, x), row_or(bias, 0, x),
                        eps);
    return record("layer_norm", Tensor(std::move(y)), {x, weight, bias},
                  {x, weight, bias, Tensor(std::move(mean)), Tensor(std::move(rstd))},
                  [eps](const Saved& saved, const Tensor& dy) {
                      const Tensor &x = saved[0], &weight = saved[1], &bias = saved[2];
                      if (is_grad_enabled())
                          return grads_of_reference([&] { return layer_norm_reference(x, weight, bias, eps); },
                                                    {x, weight, bias}, dy);
                      Array dx = make_array(x.shape(), x.dtype()), dweight, dbias;
                      if (saved.needs_input_grad(1)) dweight = make_array({x.size(-1)}, x.dtype());
                      if (saved.needs_input_grad(2)) dbias = make_array({x.size(-1)}, x.dtype());
                      kernels::layer_norm_backward(dx, dweight, dbias, kernels::contiguous(dy.array()),
                                                   kernels::contiguous(x.array()), saved[3].array(),
                                                   saved[4].array(), row_or(weight, 1, x));
                      return Grads{Tensor(dx), dweight.storage ? Tensor(dweight) : Tensor(),
                                   dbias.storage ? Tensor(dbias) : Tensor()};
                  });
}

// Composed of small operations, so it needs no gradient rule.
Tensor rms_norm(const Tensor& x, const Tensor& weight, std::optional<double> eps) {
    const double added = eps.value_or(x.dtype() == float32 ? std::numeric_limits<float>::epsilon()
                                                           : std::numeric_limits<double>::epsilon());
    check_norm("rms_norm", x, weight, {}, added);
    const Tensor y = x / sqrt(mean(x * x, -1, keepdim) + added);
    return weight.defined() ? y * weight : y;
}

}  // namespace weft
