// Arithmetic of two tensors that broadcast. An element that was repeated has a gradient from each of its
// repetitions, and their sum is its own: that is sum_to, in every rule here. A rule leaves out what an operand
// outside the graph would get (needs_input_grad), which halves the work where one of two is a constant.
#include "weft/core/arithmetic.h"

#include <functional>

#include "core/common.h"
#include "core/elementwise.h"
#include "core/kernels.h"

namespace weft {

namespace {

// A plain number as the other operand of x: a tensor of shape () and of x's type, outside the graph.
Tensor scalar_operand(const Tensor& x, double number) {
    check_arithmetic(x);
    return scalar_beside(x, number);
}

// The sum of a gradient over what the operand of y was repeated along; nothing where it was not.
class SumTo {
public:
    SumTo(const Tensor& operand, const Tensor& y)
        : shape_(operand.shape() == y.shape() ? nullptr : std::make_shared<const Shape>(operand.shape())) {}
    Tensor operator()(const Tensor& dy) const { return shape_ ? sum_to(dy, *shape_) : dy; }

private:
    std::shared_ptr<const Shape> shape_;
};

}  // namespace

Tensor operator+(const Tensor& a, const Tensor& b) {
    const Op op("add");
    Tensor y = arithmetic(a, b, std::plus<>());
    // y = a + b:  da = dy,  db = dy
    return record_symmetric(y, {a, b}, {},
                            [to_a = SumTo(a, y), to_b = SumTo(b, y)](const Saved&, const Tensor& dy) {
                                return Grads{to_a(dy), to_b(dy)};
                            });
}

Tensor operator-(const Tensor& a, const Tensor& b) {
    const Op op("subtract");
    Tensor y = arithmetic(a, b, std::minus<>());
    // y = a − b:  da = dy,  db = −dy
    return record_symmetric(y, {a, b}, {},
                            [to_a = SumTo(a, y), to_b = SumTo(b, y)](const Saved& saved, const Tensor& dy) {
                                return Grads{to_a(dy), saved.needs_input_grad(1) ? to_b(-dy) : Tensor()};
                            });
}

Tensor operator*(const Tensor& a, const Tensor& b) {
    const Op op("multiply");
    Tensor y = arithmetic(a, b, std::multiplies<>());
    std::vector<Tensor> factors;  // a for the gradient of b, then b for that of a
    if (may_need_gradient(b)) factors.push_back(a);
    if (may_need_gradient(a)) factors.push_back(b);
    // y = a·b:  da = dy·b,  db = dy·a
    return record_symmetric(y, {a, b}, factors,
                            [last = factors.size() - 1, to_a = SumTo(a, y), to_b = SumTo(b, y)](
                                const Saved& saved, const Tensor& dy) {
                                return Grads{saved.needs_input_grad(0) ? to_a(dy * saved[last]) : Tensor(),
                                             saved.needs_input_grad(1) ? to_b(dy * saved[0]) : Tensor()};
                            });
}

Tensor operator/(const Tensor& a, const Tensor& b) {
    const Op op("divide");
    Tensor y = elementwise(a, b, by_element(std::divides<>()));
    std::vector<Tensor> kept;  // y for the gradient of b, and b
    if (may_need_gradient(b)) kept.push_back(y);
    kept.push_back(b);
    // y = a/b:  da = dy/b,  db = −dy·y/b
    return record_symmetric(
        y, {a, b}, kept,
        [last = kept.size() - 1, to_a = SumTo(a, y), to_b = SumTo(b, y)](const Saved& saved, const Tensor& dy) {
            const Tensor da = dy / saved[last];
            return Grads{to_a(da), saved.needs_input_grad(1) ? to_b(-(da * saved[0])) : Tensor()};
        });
}

Tensor operator-(const Tensor& x) {
    const Op op("negative");
    if (x.dtype() == boolean) throw DTypeError("negative: bool has no arithmetic; use !");
    const DType type = computed_in(x.dtype());
    Tensor y =
        visit_wrapping(type, [&]<class T>(T) { return formula<T, T>(type, std::negate<>(), widened(x)); });
    return record_symmetric(y, {x}, {}, [](const Saved&, const Tensor& dy) { return Grads{-dy}; });
}

Tensor operator+(const Tensor& a, double b) {
    const Op op("add", Op::of_others);
    return a + scalar_operand(a, b);
}
Tensor operator-(const Tensor& a, double b) {
    const Op op("subtract", Op::of_others);
    return a - scalar_operand(a, b);
}
Tensor operator*(const Tensor& a, double b) {
    const Op op("multiply", Op::of_others);
    return a * scalar_operand(a, b);
}
Tensor operator/(const Tensor& a, double b) {
    const Op op("divide", Op::of_others);
    return a / scalar_operand(a, b);
}
Tensor operator+(double a, const Tensor& b) {
    const Op op("add", Op::of_others);
    return scalar_operand(b, a) + b;
}
Tensor operator-(double a, const Tensor& b) {
    const Op op("subtract", Op::of_others);
    return scalar_operand(b, a) - b;
}
Tensor operator*(double a, const Tensor& b) {
    const Op op("multiply", Op::of_others);
    return scalar_operand(b, a) * b;
}
Tensor operator/(double a, const Tensor& b) {
    const Op op("divide", Op::of_others);
    return scalar_operand(b, a) / b;
}

namespace {

// xᵖ of whole numbers, which wraps as multiplication does.
std::int64_t whole_power(std::int64_t x, std::int64_t p) {
    std::uint64_t y = 1, square = static_cast<std::uint64_t>(x);
    for (; p > 0; p >>= 1, square *= square)
        if (p & 1) y *= square;
    return static_cast<std::int64_t>(y);
}

// By element: xsimd's pow is wrong at 0 and at infinity.
Tensor power(const Tensor& x, const Tensor& p) {
    if (x.dtype() == int64 && p.dtype() == int64) {
        if (any(p < 0))
            throw ValueError(
                "pow: int64 has no fractions for a negative exponent; convert the base with to(float64)");
        return formula<std::int64_t, std::int64_t, std::int64_t>(
            int64, by_element([](const auto& x, const auto& p) {
                return xt::make_lambda_xfunction(whole_power, x, p);
            }),
            x, p);
    }
    return elementwise(x, p, by_element([](const auto& x, const auto& p) { return xt::pow(x, p); }));
}

}  // namespace

Tensor pow(const Tensor& x, double p) {
    const Op op("pow");
    Tensor y = power(x, scalar_operand(x, p));
    // y = xᵖ:  dx = dy·p·xᵖ⁻¹, which is 0 for p = 0 even at x = 0
    return record_symmetric(y, {x}, {x}, [p](const Saved& saved, const Tensor& dy) {
        const Tensor& x = saved[0];
        return Grads{p == 0 ? zeros_like(x) : dy * (p * pow(x, p - 1))};
    });
}

Tensor pow(const Tensor& x, const Tensor& p) {
    const Op op("pow");
    if (!are_one_type(x, p))
        return in_one_type(x, p, [](const Tensor& x, const Tensor& p) { return pow(x, p); });
    Tensor y = power(x, p);
    // y = xᵖ:  dx = dy·p·xᵖ⁻¹,  dp = dy·y·ln x, where 0·ln 0 is taken as 0
    return record_symmetric(y, {x, p}, {x, p, y}, [](const Saved& saved, const Tensor& dy) {
        const Tensor &x = saved[0], &p = saved[1], &y = saved[2];
        Grads grads(2);
        if (saved.needs_input_grad(0)) {
            // At p = 0 the slope is 0. It is filled in only where x⁻¹ leaves the type (x = 0, NaN, or too small
            // to have a reciprocal): elsewhere it has a derivative with respect to p. There x is 1 before the
            // power, too, whose infinite slope would make the next derivative 0·∞.
            const Tensor outside = p == 0 && !isfinite(1 / x.detach());
            const Tensor base = masked_fill(broadcast_to(x, y.shape()), outside, 1);
            const Tensor slope = masked_fill(p * pow(base, p - 1.0), outside, 0);
            grads[0] = sum_to(dy * slope, x.shape());
        }
        if (saved.needs_input_grad(1)) {
            // The 1 is put in before the logarithm: 0 afterwards would leave an infinite slope in between,
            // and the derivative of this would be 0·∞.
            const Tensor vanishes = broadcast_to(x == 0 && p >= 0, y.shape());
            const Tensor base = masked_fill(broadcast_to(x, y.shape()), vanishes, 1);
            grads[1] = sum_to(dy * (y * log(base)), p.shape());
        }
        return grads;
    });
}

namespace {

// y = better(a, b) ? a : b; where an operand is NaN, so is y. Where a and b are equal, each gets half of dy;
// beside NaN, where neither is the better, each gets all of it, as in PyTorch.
template <class Better>
Tensor choice(const Tensor& a, const Tensor& b, const Better& better) {
    if (!are_one_type(a, b))
        return in_one_type(a, b, [&](const Tensor& x, const Tensor& y) { return choice(x, y, better); });
    if (a.dtype() == int64) return where(better(a, b), a, b);
    Tensor y = elementwise(
        a, b, [&](const auto& a, const auto& b) { return xt::where(better(a, b) || xt::isnan(a), a, b); });
    return record_symmetric(y, {a, b}, {a, b}, [better](const Saved& saved, const Tensor& dy) {
        const Tensor &a = saved[0], &b = saved[1];
        const Tensor shared = where(a == b, dy * 0.5, dy);
        return Grads{sum_to(masked_fill(shared, better(b, a), 0), a.shape()),
                     sum_to(masked_fill(shared, better(a, b), 0), b.shape())};
    });
}

}  // namespace

Tensor maximum(const Tensor& a, const Tensor& b) {
    const Op op("maximum");
    return choice(a, b, std::greater<>());
}
Tensor minimum(const Tensor& a, const Tensor& b) {
    const Op op("minimum");
    return choice(a, b, std::less<>());
}

Tensor where(const Tensor& condition, const Tensor& a, const Tensor& b) {
    const Op op("where");
    check_dtype("the condition", condition, boolean);
    if (a.dtype() != b.dtype())
        return in_one_type(a, b, [&](const Tensor& x, const Tensor& y) { return where(condition, x, y); });
    const Shape of_values = broadcast_shapes(a.shape(), b.shape());
    const Tensor y = empty(broadcast_shapes(condition.shape(), of_values), a.dtype());
    const auto as_y = [&](const Tensor& x) { return broadcast_view(x.array(), y.shape()); };
    kernels::where(y.array(), as_y(condition), as_y(a), as_y(b));
    // y = c ? a : b:  da = c ? dy : 0,  db = c ? 0 : dy
    return record_symmetric(
        y, {a, b}, {condition}, [sa = a.shape(), sb = b.shape()](const Saved& saved, const Tensor& dy) {
            const Tensor zero = scalar_like(dy, 0);
            return Grads{saved.needs_input_grad(0) ? sum_to(where(saved[0], dy, zero), sa) : Tensor(),
                         saved.needs_input_grad(1) ? sum_to(where(saved[0], zero, dy), sb) : Tensor()};
        });
}

Tensor masked_fill(const Tensor& x, const Tensor& mask, double value) {
    const Op op("masked_fill", Op::of_others);
    check_dtype("the mask", mask, boolean);
    if (broadcast_shapes(x.shape(), mask.shape()) != x.shape())
        throw ShapeError("masked_fill: a mask of shape ", mask.shape(), " does not broadcast to x, ", x.shape(),
                         "; only the mask is stretched");
    return where(mask, scalar_like(x, value), x);
}

Tensor where(const Tensor& condition, double a, const Tensor& b) {
    const Op op("where", Op::of_others);
    return where(condition, scalar_like(b, a), b);
}
Tensor where(const Tensor& condition, const Tensor& a, double b) {
    const Op op("where", Op::of_others);
    return where(condition, a, scalar_like(a, b));
}
Tensor where(const Tensor& condition, double a, double b) { return where(condition, a, full({}, b)); }
Tensor maximum(const Tensor& a, double b) {
    const Op op("maximum", Op::of_others);
    return maximum(a, scalar_beside(a, b));
}
Tensor minimum(const Tensor& a, double b) {
    const Op op("minimum", Op::of_others);
    return minimum(a, scalar_beside(a, b));
}

}  // namespace weft
