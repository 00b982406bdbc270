#include "wrong_rules.h"

using namespace weft;

namespace {

// y = f(x), recorded as the library's `name`, with another rule.
Tensor recorded(const char* name, const Tensor& x, Tensor (*f)(const Tensor&), Vjp rule) {
    Tensor y;
    {
        const NoGrad off;
        y = f(x).clone();
    }
    return record(name, y, {x}, {x, y}, std::move(rule));
}

Tensor tanh_without_square(const Tensor& x) {
    return recorded("tanh", x, tanh,
                    [](const Saved& saved, const Tensor& dy) { return Grads{dy * (1 - saved[1])}; });
}

Tensor softmax_without_sum(const Tensor& x) {
    return recorded(
        "softmax", x, [](const Tensor& x) { return softmax(x, -1); },
        [](const Saved& saved, const Tensor& dy) {
            const Tensor& y = saved[1];
            return Grads{y * (dy - y * dy)};
        });
}

Tensor transposed_the_wrong_way(const Tensor& x) {
    return recorded(
        "reshape", x,
        [](const Tensor& x) {
            return x.reshape({x.size(1), x.size(0)});
        },
        [](const Saved&, const Tensor& dy) { return Grads{dy.T()}; });
}

Tensor sum_divided(const Tensor& x) {
    return recorded(
        "sum", x, [](const Tensor& x) { return sum(x); },
        [](const Saved& saved, const Tensor& dy) {
            const Tensor& x = saved[0];
            return Grads{(dy / static_cast<double>(x.numel())).expand(x.shape())};
        });
}

// The numbers are right, but the gradient does not know that it depends on x.
Tensor exp_of_a_constant(const Tensor& x) {
    return recorded("exp", x, exp,
                    [](const Saved& saved, const Tensor& dy) { return Grads{dy * saved[1].detach()}; });
}

// Right to first order; the cosine in its rule lost a sign in its own.
Tensor cos_without_sign(const Tensor& x) {
    return recorded("cos", x, cos,
                    [](const Saved& saved, const Tensor& dy) { return Grads{dy * sin(saved[0])}; });
}
Tensor sin_by_wrong_cos(const Tensor& x) {
    return recorded("sin", x, sin, [](const Saved& saved, const Tensor& dy) {
        return Grads{dy * cos_without_sign(saved[0])};
    });
}

}  // namespace

std::vector<WrongRule> wrong_rules() {
    using enum Gradient;
    return {
        {{"tanh without the square", "tanh", twice, [](In x) { return tanh_without_square(x[0]); }}, 1},
        {{"softmax without its sum", "softmax.last", twice, [](In x) { return softmax_without_sum(x[0]); }}, 1},
        {{"reshape undone by a transpose", "mul.same", twice,
          [](In x) { return transposed_the_wrong_way(x[0] * x[1]); }},
         1},
        {{"sum divided by the number of elements", "sum.all", twice, [](In x) { return sum_divided(x[0]); }},
         1},
        {{"exp with its result as a constant", "exp", twice, [](In x) { return exp_of_a_constant(x[0]); }}, 1},
        {{"sin by a cosine that lost a sign", "sin", twice, [](In x) { return sin_by_wrong_cos(x[0]); }}, 2},
    };
}
