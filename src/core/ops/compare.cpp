#include <cmath>

#include "core/kernels/elementwise.h"
#include "core/ops/common.h"

namespace weft {
namespace {

using kernels::Compare;
using kernels::Logic;

Tensor compare(const char* operation, Compare op, const Tensor& a, const Tensor& b) {
    check_same_dtype(operation, a, b);
    const Shape shape = broadcast_shapes(a.shape(), b.shape(), operation);
    Array y = make_array(shape, boolean);
    kernels::compare(op, y, broadcast_view(a.array(), shape), broadcast_view(b.array(), shape));
    return Tensor(std::move(y));
}

// The same with a plain number. An integer is compared with the next whole number on the side that decides
// (x < 2.5 where x < 3); where int64 has none, every integer compares as 0 does.
Tensor compare(const char* operation, Compare op, const Tensor& a, double b) {
    if (is_floating(a.dtype())) return compare(operation, op, a, scalar_like(a, b));
    const bool up = op == Compare::less || op == Compare::greater_equal;
    const double whole = up ? std::ceil(b) : std::floor(b);
    const bool decides = whole >= -0x1p63 && whole < 0x1p63 &&
                         (whole == b || (op != Compare::equal && op != Compare::not_equal));
    if (decides) return compare(operation, op, a.to(int64), full({}, whole, int64));
    return full(a.shape(), all(compare(operation, op, zeros({}, float64), full({}, b, float64))), boolean);
}

Tensor logic(const char* operation, Logic op, const Tensor& a, const Tensor& b) {
    check_dtype(operation, "the left operand", a, boolean);
    check_dtype(operation, "the right operand", b, boolean);
    const Shape shape = broadcast_shapes(a.shape(), b.shape(), operation);
    Array y = make_array(shape, boolean);
    kernels::logic(op, y, broadcast_view(a.array(), shape), broadcast_view(b.array(), shape));
    return Tensor(std::move(y));
}

}  // namespace

Tensor operator==(const Tensor& a, const Tensor& b) { return compare("==", Compare::equal, a, b); }
Tensor operator!=(const Tensor& a, const Tensor& b) { return compare("!=", Compare::not_equal, a, b); }
Tensor operator<(const Tensor& a, const Tensor& b) { return compare("<", Compare::less, a, b); }
Tensor operator<=(const Tensor& a, const Tensor& b) { return compare("<=", Compare::less_equal, a, b); }
Tensor operator>(const Tensor& a, const Tensor& b) { return compare(">", Compare::greater, a, b); }
Tensor operator>=(const Tensor& a, const Tensor& b) { return compare(">=", Compare::greater_equal, a, b); }
Tensor operator==(const Tensor& a, double b) { return compare("==", Compare::equal, a, b); }
Tensor operator!=(const Tensor& a, double b) { return compare("!=", Compare::not_equal, a, b); }
Tensor operator<(const Tensor& a, double b) { return compare("<", Compare::less, a, b); }
Tensor operator<=(const Tensor& a, double b) { return compare("<=", Compare::less_equal, a, b); }
Tensor operator>(const Tensor& a, double b) { return compare(">", Compare::greater, a, b); }
Tensor operator>=(const Tensor& a, double b) { return compare(">=", Compare::greater_equal, a, b); }

Tensor operator||(const Tensor& a, const Tensor& b) { return logic("||", Logic::either, a, b); }
Tensor operator&&(const Tensor& a, const Tensor& b) { return logic("&&", Logic::both, a, b); }
Tensor operator!(const Tensor& a) { return logic("!", Logic::differ, a, full({}, 1, boolean)); }

Tensor isfinite(const Tensor& x) {
    if (!is_floating(x.dtype())) return ones(x.shape(), boolean);
    Array y = make_array(x.shape(), boolean);
    kernels::isfinite(y, x.array());
    return Tensor(std::move(y));
}

bool all(const Tensor& x) {
    check_dtype("all", "x", x, boolean);
    return kernels::all(x.array());
}

bool any(const Tensor& x) {
    check_dtype("any", "x", x, boolean);
    return !kernels::all((!x).array());
}

}  // namespace weft
