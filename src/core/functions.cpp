// Functions of one element. Each is its formula, then its gradient rule, which quotes the formula. A formula
// takes x as an xtensor expression, so one text is compiled for float and double, and for one element and a
// vector of them. What the rule needs is the fourth argument of `record` and comes back as `saved`: a rule that
// captured y instead would own the node that owns the rule, and neither would ever be freed.
#include "weft/core/functions.h"

#include <cmath>
#include <numbers>

#include "core/common.h"
#include "core/elementwise.h"
#include "core/kernels.h"
#include "core/run.h"

namespace weft {

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

}  // namespace weft
