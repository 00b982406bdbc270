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

}  // namespace weft
