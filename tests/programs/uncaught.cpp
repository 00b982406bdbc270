// A program with a fault, which docs/debugging.md looks for: the second layer reads 3 features, and gets 4.
#include <weft/weft.h>

#include <iostream>

using namespace weft;

struct Net : nn::Module {
    nn::Linear first = register_module("first", nn::Linear(8, 4));
    nn::Linear second = register_module("second", nn::Linear(3, 2));
    Net() : Module("Net") {}

    Tensor operator()(const Tensor& x) const {
        const Tensor hidden = relu(first(x));  // (B, 4)
        return second(hidden);
    }
};

double training_step(const Net& net, const Tensor& x) {
    const Tensor loss = mean(net(x));
    loss.backward();
    return loss.item();
}

// A vector of zeros has a length of 0, where the square root is infinitely steep.
void not_finite() {
    const nn::Linear layer(3, 2, default_rng(), false);
    const Tensor y = layer(zeros({4, 3}));      // (4, 2)
    const Tensor length = sqrt(sum(y * y, 1));  // (4,)
    mean(length).backward();
    std::cout << check::gradient_flow(layer).str() << std::endl;
    check::check_finite(layer.weight.grad(), "weight's gradient");
}

int main(int argc, char**) {
    if (argc > 1) not_finite();
    const Net net;
    const Tensor x = arange(16).to(float32).reshape({2, 8}), nothing;
    const Tensor columns = x.T();         // (8, 2)
    const Shape shape = columns.shape();  // (8, 2)
    return training_step(net, x) < 0 || shape.empty() || nothing.defined();
}
