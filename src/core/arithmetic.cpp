// Arithmetic of two tensors that broadcast. An element that was repeated has a gradient from each of its
// repetitions, and their sum is its own: that is sum_to, in every rule here. A rule leaves out what an operand
// outside the graph would get (needs_input_grad), which halves the work where one of two is a constant.
#include "weft/core/arithmetic.h"

#include <cmath>
#include <functional>

#include "core/common.h"
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

// Functions of one element. Each is its formula, then its gradient rule, which quotes the formula. A formula
// takes x as an xtensor expression, so one text is compiled for float and double, and for one element and a
// vector of them. What the rule needs is the fourth argument of `record` and comes back as `saved`: a rule that
// captured y instead would own the node that owns the rule, and neither would ever be freed.

Tensor exp(const Tensor& x) {
    const Op op("exp");
    check_floating(x);
    const Tensor y = empty(x.shape(), x.dtype());
    kernels::exp(y.array(), x.array());
    // y = eˣ:  dx = dy·y
    return record_symmetric(y, {x}, {y},
                            [](const Saved& saved, const Tensor& dy) { return Grads{dy * saved[0]}; });
}

Tensor log(const Tensor& x) {
    const Op op("log");
    check_floating(x);
    const Tensor y = empty(x.shape(), x.dtype());
    kernels::log(y.array(), x.array());
    // y = ln x:  dx = dy/x
    return record_symmetric(y, {x}, {x},
                            [](const Saved& saved, const Tensor& dy) { return Grads{dy / saved[0]}; });
}

Tensor sqrt(const Tensor& x) {
    const Op op("sqrt");
    Tensor y = elementwise(x, by_element([](const auto& x) { return xt::sqrt(x); }));
    // y = √x:  dx = dy/(2y)
    return record_symmetric(y, {x}, {y},
                            [](const Saved& saved, const Tensor& dy) { return Grads{dy / (2 * saved[0])}; });
}

Tensor tanh(const Tensor& x) {
    const Op op("tanh");
    Tensor y = elementwise(x, [](const auto& x) { return xt::tanh(x); });
    // y = tanh x:  dx = dy·(1 − y²)
    return record_symmetric(y, {x}, {y}, [](const Saved& saved, const Tensor& dy) {
        const Tensor& y = saved[0];
        return Grads{dy * (1 - y * y)};
    });
}

Tensor sigmoid(const Tensor& x) {
    const Op op("sigmoid");
    check_floating(x);
    const Tensor y = empty(x.shape(), x.dtype());
    kernels::sigmoid(y.array(), x.array());
    // y = σ(x):  dx = dy·y·(1 − y)
    return record_symmetric(y, {x}, {y}, [](const Saved& saved, const Tensor& dy) {
        const Tensor& y = saved[0];
        return Grads{dy * (y * (1 - y))};
    });
}

Tensor relu(const Tensor& x) {
    const Op op("relu");
    Tensor y = elementwise(x, [](const auto& x) {
        using T = Value<decltype(x)>;
        return xt::where(x <= T(0), T(0), x);
    });
    // y = max(x, 0):  dx = dy where y > 0, else 0
    return record_symmetric(y, {x}, {y}, [](const Saved& saved, const Tensor& dy) {
        return Grads{masked_fill(dy, saved[0] <= 0, 0)};
    });
}

Tensor abs(const Tensor& x) {
    const Op op("abs");
    if (x.dtype() == int64) return where(x < 0, -x, x);
    Tensor y = elementwise(x, [](const auto& x) { return xt::abs(x); });
    // y = |x|:  dx = dy·sign(x)
    return record_symmetric(y, {x}, {x},
                            [](const Saved& saved, const Tensor& dy) { return Grads{dy * sign(saved[0])}; });
}

Tensor sign(const Tensor& x) {
    const Op op("sign");
    Tensor y = elementwise(x, [](const auto& x) {
        using T = Value<decltype(x)>;
        return xt::where(x > T(0), T(1), xt::where(x < T(0), T(-1), xt::abs(x) * T(0)));  // NaN stays NaN
    });
    return record_symmetric(y, {x}, {}, [](const Saved&, const Tensor& dy) { return Grads{zeros_like(dy)}; });
}

namespace {

template <class F>
Tensor compare(const Tensor& a, const Tensor& b, const F& f) {
    if (!are_one_type(a, b))
        return in_one_type(a, b, [&](const Tensor& x, const Tensor& y) { return compare(x, y, f); });
    return visit_computed(a.dtype(), [&]<class T>(T) { return formula<bool, T, T>(boolean, f, a, b); });
}

// The same with a plain number. Integers are compared with the number rounded so that the answer is the same
// (x < 2.5 exactly if x < 3); a number beyond int64 compares with every integer as with 0. From 2⁵³ on the
// number may be an integer that C++ has rounded, which matters only beside an element that rounds to it too.
Tensor compare(const Tensor& a, double b, Tensor (*with)(const Tensor&, const Tensor&),
               double (*round)(double) = nullptr) {
    if (is_floating_point(a.dtype())) return with(a, scalar_beside(a, b));
    if (std::abs(b) >= 0x1p53 && std::abs(b) <= 0x1p63 && any(a.to(float64) == full({}, b, float64)))
        throw DTypeError(
            Op::name(), ": ", b,
            " is a double, which from 2^53 on may be a rounded integer, and an element rounds to it; write "
            "tensor(n) for the number n");
    const double rounded = round ? round(b) : b;
    if (rounded >= -0x1p63 && rounded < 0x1p63 && rounded == std::trunc(rounded))
        return with(a.to(int64), integer(static_cast<std::int64_t>(rounded)));
    return full(a.shape(), all(with(zeros({}, float64), full({}, b, float64))), boolean);
}

template <class F>
Tensor logic(const Tensor& a, const Tensor& b, const F& f) {
    check_dtype("the left operand", a, boolean);
    check_dtype("the right operand", b, boolean);
    return formula<bool, bool, bool>(boolean, f, a, b);
}

}  // namespace

Tensor operator==(const Tensor& a, const Tensor& b) {
    const Op op("==");
    return compare(a, b, [](const auto& a, const auto& b) { return xt::equal(a, b); });
}
Tensor operator!=(const Tensor& a, const Tensor& b) {
    const Op op("!=");
    return compare(a, b, [](const auto& a, const auto& b) { return xt::not_equal(a, b); });
}
Tensor operator<(const Tensor& a, const Tensor& b) {
    const Op op("<");
    return compare(a, b, std::less<>());
}
Tensor operator<=(const Tensor& a, const Tensor& b) {
    const Op op("<=");
    return compare(a, b, std::less_equal<>());
}
Tensor operator>(const Tensor& a, const Tensor& b) {
    const Op op(">");
    return compare(a, b, std::greater<>());
}
Tensor operator>=(const Tensor& a, const Tensor& b) {
    const Op op(">=");
    return compare(a, b, std::greater_equal<>());
}
Tensor operator==(const Tensor& a, double b) {
    const Op op("==");
    return compare(a, b, operator==);
}
Tensor operator!=(const Tensor& a, double b) {
    const Op op("!=");
    return compare(a, b, operator!=);
}
Tensor operator<(const Tensor& a, double b) {
    const Op op("<");
    return compare(a, b, operator<, std::ceil);
}
Tensor operator<=(const Tensor& a, double b) {
    const Op op("<=");
    return compare(a, b, operator<=, std::floor);
}
Tensor operator>(const Tensor& a, double b) {
    const Op op(">");
    return compare(a, b, operator>, std::floor);
}
Tensor operator>=(const Tensor& a, double b) {
    const Op op(">=");
    return compare(a, b, operator>=, std::ceil);
}

Tensor operator||(const Tensor& a, const Tensor& b) {
    const Op op("||");
    return logic(a, b, std::logical_or<>());
}
Tensor operator&&(const Tensor& a, const Tensor& b) {
    const Op op("&&");
    return logic(a, b, std::logical_and<>());
}
Tensor operator!(const Tensor& a) {
    const Op op("!");
    return logic(a, a, [](const auto& a, const auto&) { return !a; });
}

Tensor isfinite(const Tensor& x) {
    const Op op("isfinite");
    if (!is_floating_point(x.dtype())) return ones(x.shape(), boolean);
    return visit_floating(computed_in(x.dtype()), [&]<class T>(T) {
        return formula<bool, T>(
            boolean, [](const auto& x) { return xt::isfinite(x); }, widened(x));
    });
}

bool all(const Tensor& x) {
    const Op op("all", Op::of_others);
    check_dtype("x", x, boolean);
    return kernels::all(x.array());
}

bool any(const Tensor& x) {
    const Op op("any", Op::of_others);
    check_dtype("x", x, boolean);
    return !kernels::all((!x).array());
}

}  // namespace weft
