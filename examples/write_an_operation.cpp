// An operation of one's own, its gradient checked to the second order: docs/write_an_operation.md explains it.
#include <weft/weft.h>

#include <iostream>

using namespace weft;

// softplus(x) = ln(1 + eˣ), elementwise.
Tensor softplus(const Tensor& x) {
    Tensor y;
    {
        NoGrad off;
        y = relu(x) + log(1 + exp(-abs(x)));  // the same value, and no overflow for a large x
    }
    return record("softplus", y, {x}, {x}, [](const Saved& saved, const Tensor& dy) {
        const Tensor& x = saved[0];
        return Grads{dy * sigmoid(x)};  // y = ln(1 + eˣ):  dx = dy · eˣ / (1 + eˣ)
    });
}

int main() {
    Rng rng(1);
    Tensor x = randn({3, 4}, rng, float64).requires_grad_();
    const check::Function f = [](const std::vector<Tensor>& inputs) { return softplus(inputs[0]); };

    const check::GradcheckReport first = check::gradcheck("softplus", f, {x});
    const check::GradcheckReport second = check::gradgradcheck("softplus", f, {x});
    std::cout << "gradient: largest error " << first.largest_error << " over " << first.elements
              << " elements\n"
              << "gradient of the gradient: largest error " << second.largest_error << " over "
              << second.elements << " elements\n"
              << first.message << second.message;
    return first && second ? 0 : 1;
}
