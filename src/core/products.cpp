#include "weft/core/products.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "core/common.h"
#include "core/run.h"

namespace weft {

namespace {

// a (…, m, k) @ b (…, k, n), both of rank ≥ 2 and with equal inner sizes.
Tensor product(const Tensor& a, const Tensor& b) {
    const std::int64_t m = a.size(-2), k = a.size(-1), n = b.size(-1);
    if (a.rank() > 2 && b.rank() == 2 && a.numel() > 0) {  // one large product instead of many small ones
        Shape shape = a.shape();
        shape[-1] = n;
        return product(a.reshape({-1, k}), b).reshape(shape);
    }
    const Op op("matmul");
    kernels::check_gemm_sizes("matmul", m, n, k);
    Shape batch_a = a.shape(), batch_b = b.shape();
    for (Shape* s : {&batch_a, &batch_b}) s->erase(-1), s->erase(-1);
    Shape batch;
    try {
        batch = broadcast_shapes(batch_a, batch_b);
    } catch (const ShapeError& error) {
        const std::string_view what = error.what();
        throw ShapeError("matmul: ", a.shape(), " @ ", b.shape(), ": leading axes",
                         what.substr(what.find(": ")));
    }
    const auto matrices = [&](std::int64_t rows, std::int64_t columns) {
        Shape shape = batch;
        shape.push_back(rows);
        shape.push_back(columns);
        return shape;
    };
    Array y = make_array(matrices(m, n), a.dtype());
    kernels::matmul(y, broadcast_view(a.array(), matrices(m, k)), broadcast_view(b.array(), matrices(k, n)));
    // y = a b:  da = dy bᵀ,  db = aᵀ dy
    return record(
        Tensor(std::move(y)), {a, b}, {a, b},
        [](const Saved& saved, const Tensor& dy) {
            const Tensor &a = saved[0], &b = saved[1];
            return Grads{
                saved.needs_input_grad(0) ? sum_to(product(dy, b.transpose(-2, -1)), a.shape()) : Tensor(),
                saved.needs_input_grad(1) ? sum_to(product(a.transpose(-2, -1), dy), b.shape()) : Tensor()};
        },
        [](const Saved& saved, const Grads& dx) { return product_rule(product, saved, dx); });
}

}  // namespace

Tensor matmul(const Tensor& a, const Tensor& b) {
    const Op op("matmul", Op::of_others);
    if (!are_one_type(a, b) && is_floating_point(a.dtype()) && is_floating_point(b.dtype()))
        return in_one_type(a, b, [](const Tensor& x, const Tensor& y) { return matmul(x, y); });
    check_same_dtype(a, b);
    check_floating(a);
    const auto shapes = [&] { return a.shape().str() + " @ " + b.shape().str(); };
    if (a.rank() == 0 || b.rank() == 0)
        throw ShapeError("matmul: a scalar has no rows or columns: ", shapes(), "; use * to scale");
    const std::int64_t k = b.rank() == 1 ? b.size(0) : b.size(-2);
    if (a.size(-1) != k)
        throw ShapeError(
            "matmul: inner dimensions differ: ", shapes(), ": ", a.size(-1), " against ", k,
            "; the last axis of the left and the last but one of the right must be equal (transpose one?)");
    const Tensor y = product(a.rank() == 1 ? a.unsqueeze(0) : a, b.rank() == 1 ? b.unsqueeze(1) : b);
    if (a.rank() == 1 && b.rank() == 1) return y.reshape({});
    return a.rank() == 1 ? y.squeeze(-2) : b.rank() == 1 ? y.squeeze(-1) : y;
}

namespace {

// x Wᵀ + b, of W in x's type
Tensor small_linear(const Inputs& in, const LinearOptions&) {
    const Tensor y = matmul(in[0], in[1].to(in[0].dtype()).T());
    return in[2].defined() ? y + in[2] : y;
}

}  // namespace

Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias) {
    const Op op("linear", Op::of_others);
    check_floating(x);
    if (!only_stores(weight.dtype()))
        check_same_dtype(x, weight);
    else if (x.dtype() != float32)
        throw DTypeError("linear: a weight in half or in blocks is computed in float32, and x is ",
                         name(x.dtype()), "; convert x with to(float32), or the weight with to()");
    const auto sizes = [&] { return "x " + x.shape().str() + ", weight " + weight.shape().str(); };
    if (x.rank() < 1 || weight.rank() != 2 || x.size(-1) != weight.size(1))
        throw ShapeError("linear: ", sizes(), ": x must be (…, in) and weight (out, in), with the same in");
    if (bias.defined()) check_same_dtype(x, bias);
    const std::int64_t in = weight.size(1), out = weight.size(0);
    if (bias.defined() && bias.shape() != Shape{out})
        throw ShapeError("linear: ", sizes(), ", bias ", bias.shape(), ": the bias must be (", out, ",)");
    Shape shape = x.shape();
    shape[-1] = out;
    const std::int64_t rows = in == 0 ? shape.numel() / std::max<std::int64_t>(out, 1) : x.numel() / in;
    kernels::check_gemm_sizes("linear", rows, out, in);
    return run("linear", {x, weight, bias}, LinearOptions{shape, rows}, small_linear, linear_kernel);
}

}  // namespace weft
