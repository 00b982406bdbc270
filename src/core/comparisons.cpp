#include "weft/core/comparisons.h"

#include <cmath>
#include <functional>

#include "core/common.h"
#include "core/elementwise.h"
#include "core/kernels.h"

namespace weft {

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
