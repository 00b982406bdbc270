// A program with a fault, which docs/debugging.md looks for: the second layer reads 3 features, and gets 4.
#include <weft/weft.h>

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

int main() {
    const Net net;
    const Tensor x = arange(16).to(float32).reshape({2, 8}), nothing;
    const Tensor columns = x.T();         // (8, 2)
    const Shape shape = columns.shape();  // (8, 2)
    return training_step(net, x) < 0 || shape.empty() || nothing.defined();
}
