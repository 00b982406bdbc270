#include "core/kernels/elementwise.h"
#include "core/ops/common.h"

namespace weft {
namespace {

using kernels::Binary;

void check_arithmetic(const char* operation, Binary op, const Tensor& x) {
    if (x.dtype() == boolean)
        throw DTypeError(std::string(operation) +
                         ": bool has no arithmetic; use && || !, or convert with to()");
    if (op == Binary::divide || op == Binary::power) check_floating(operation, x);
}

// A plain number as an operand beside x.
Tensor beside(const Tensor& x, const char* operation, Binary op, double number) {
    check_arithmetic(operation, op, x);
    return scalar_like(x, number, operation);
}

// The values of a ∘ b, broadcast.
Tensor compute(const char* operation, Binary op, const Tensor& a, const Tensor& b) {
    check_same_dtype(operation, a, b);
    check_arithmetic(operation, op, a);
    const Shape shape = broadcast_shapes(a.shape(), b.shape(), operation);
    Array y = make_array(shape, a.dtype());
    kernels::binary(op, y, broadcast_view(a.array(), shape), broadcast_view(b.array(), shape));
    return Tensor(std::move(y));
}

// y = a where a is `better`, b where b is, and half of the gradient to each where they are equal.
Tensor better_of(const char* operation, Binary op, Tensor (*better)(const Tensor&, const Tensor&),
                 const Tensor& a, const Tensor& b) {
    return record(operation, compute(operation, op, a, b), {a, b}, {a, b},
                  [better](const Saved& saved, const Tensor& dy) {
                      const Tensor &a = saved[0], &b = saved[1];
                      const Tensor half = (a == b).to(dy.dtype()) * 0.5;
                      return Grads{back_to(dy * (better(a, b).to(dy.dtype()) + half), a.shape()),
                                   back_to(dy * (better(b, a).to(dy.dtype()) + half), b.shape())};
                  });
}

}  // namespace

Tensor operator+(const Tensor& a, const Tensor& b) {
    Tensor y = compute("add", Binary::add, a, b);
    // y = a + b:  da = dy,  db = dy
    return record("add", y, {a, b}, {}, [sa = a.shape(), sb = b.shape()](const Saved&, const Tensor& dy) {
        return Grads{back_to(dy, sa), back_to(dy, sb)};
    });
}

Tensor operator-(const Tensor& a, const Tensor& b) {
    Tensor y = compute("subtract", Binary::subtract, a, b);
    // y = a − b:  da = dy,  db = −dy
    return record("subtract", y, {a, b}, {},
                  [sa = a.shape(), sb = b.shape()](const Saved& saved, const Tensor& dy) {
                      return Grads{back_to(dy, sa), saved.needs(1) ? back_to(-dy, sb) : Tensor()};
                  });
}

Tensor operator*(const Tensor& a, const Tensor& b) {
    Tensor y = compute("multiply", Binary::multiply, a, b);
    // y = a·b:  da = dy·b,  db = dy·a
    return record("multiply", y, {a, b}, {a, b}, [](const Saved& saved, const Tensor& dy) {
        const Tensor &a = saved[0], &b = saved[1];
        return Grads{saved.needs(0) ? back_to(dy * b, a.shape()) : Tensor(),
                     saved.needs(1) ? back_to(dy * a, b.shape()) : Tensor()};
    });
}

Tensor operator/(const Tensor& a, const Tensor& b) {
    Tensor y = compute("divide", Binary::divide, a, b);
    // y = a/b:  da = dy/b,  db = −dy·y/b
    return record("divide", y, {a, b}, {y, b}, [sa = a.shape()](const Saved& saved, const Tensor& dy) {
        const Tensor &y = saved[0], &b = saved[1];
        const Tensor da = dy / b;
        return Grads{back_to(da, sa), saved.needs(1) ? back_to(-(da * y), b.shape()) : Tensor()};
    });
}

Tensor operator-(const Tensor& x) {
    if (x.dtype() == boolean) throw DTypeError("negative: bool has no arithmetic; use !");
    Array y = make_array(x.shape(), x.dtype());
    kernels::unary(kernels::Unary::negate, y, x.array());
    return record("negative", Tensor(std::move(y)), {x}, {},
                  [](const Saved&, const Tensor& dy) { return Grads{-dy}; });
}

Tensor operator+(const Tensor& a, double b) { return a + beside(a, "add", Binary::add, b); }
Tensor operator-(const Tensor& a, double b) { return a - beside(a, "subtract", Binary::subtract, b); }
Tensor operator*(const Tensor& a, double b) { return a * beside(a, "multiply", Binary::multiply, b); }
Tensor operator/(const Tensor& a, double b) { return a / beside(a, "divide", Binary::divide, b); }
Tensor operator+(double a, const Tensor& b) { return beside(b, "add", Binary::add, a) + b; }
Tensor operator-(double a, const Tensor& b) { return beside(b, "subtract", Binary::subtract, a) - b; }
Tensor operator*(double a, const Tensor& b) { return beside(b, "multiply", Binary::multiply, a) * b; }
Tensor operator/(double a, const Tensor& b) { return beside(b, "divide", Binary::divide, a) / b; }

Tensor pow(const Tensor& x, double p) {
    Tensor y = compute("pow", Binary::power, x, beside(x, "pow", Binary::power, p));
    // y = xᵖ:  dx = dy·p·xᵖ⁻¹, which is 0 for p = 0 also at x = 0
    return record("pow", y, {x}, {x}, [p](const Saved& saved, const Tensor& dy) {
        const Tensor& x = saved[0];
        return Grads{p == 0 ? zeros_like(x) : dy * (p * pow(x, p - 1))};
    });
}

Tensor pow(const Tensor& x, const Tensor& p) {
    Tensor y = compute("pow", Binary::power, x, p);
    // y = xᵖ:  dx = dy·p·xᵖ⁻¹,  dp = dy·y·ln x, where 0·ln 0 is taken as 0
    return record("pow", y, {x, p}, {x, p, y}, [](const Saved& saved, const Tensor& dy) {
        const Tensor &x = saved[0], &p = saved[1], &y = saved[2];
        Grads grads(2);
        if (saved.needs(0)) {
            // 0·0⁻¹ is 0 here; elsewhere the slope at p = 0 is 0 too, but has a derivative by p.
            const Tensor undecided = broadcast_to(x == 0 && p == 0, y.shape());
            const Tensor slope = masked_fill(p * pow(x, p - 1.0), undecided, 0);
            grads[0] = back_to(dy * slope, x.shape());
        }
        if (saved.needs(1)) {
            const Tensor vanishes = broadcast_to(x == 0 && p >= 0, y.shape());
            grads[1] = back_to(dy * masked_fill(y * log(x), vanishes, 0), p.shape());
        }
        return grads;
    });
}

Tensor maximum(const Tensor& a, const Tensor& b) {
    return better_of("maximum", Binary::maximum, operator>, a, b);
}
Tensor minimum(const Tensor& a, const Tensor& b) {
    return better_of("minimum", Binary::minimum, operator<, a, b);
}

Tensor where(const Tensor& condition, const Tensor& a, const Tensor& b) {
    check_dtype("where", "the condition", condition, boolean);
    check_same_dtype("where", a, b);
    const Shape shape =
        broadcast_shapes(condition.shape(), broadcast_shapes(a.shape(), b.shape(), "where"), "where");
    Array y = make_array(shape, a.dtype());
    kernels::where(y, broadcast_view(condition.array(), shape), broadcast_view(a.array(), shape),
                   broadcast_view(b.array(), shape));
    // y = c ? a : b:  da = c ? dy : 0,  db = c ? 0 : dy
    return record("where", Tensor(std::move(y)), {a, b}, {condition},
                  [sa = a.shape(), sb = b.shape()](const Saved& saved, const Tensor& dy) {
                      const Tensor zero = scalar_like(dy, 0);
                      return Grads{saved.needs(0) ? back_to(where(saved[0], dy, zero), sa) : Tensor(),
                                   saved.needs(1) ? back_to(where(saved[0], zero, dy), sb) : Tensor()};
                  });
}

Tensor masked_fill(const Tensor& x, const Tensor& mask, double value) {
    check_dtype("masked_fill", "the mask", mask, boolean);
    if (broadcast_shapes(x.shape(), mask.shape(), "masked_fill") != x.shape())
        throw ShapeError("masked_fill: a mask of shape " + mask.shape().str() + " does not broadcast to x, " +
                         x.shape().str() + "; only the mask is stretched");
    return where(mask, scalar_like(x, value, "masked_fill"), x);
}

}  // namespace weft
