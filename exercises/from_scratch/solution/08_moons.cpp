// Step 8: the two moons of step 3 again, with tensors: all points go through the net at once.
#include "08_nn.h"

struct Net : Module {
    Linear hidden, second, out;
    explicit Net(Random& random)
        : hidden(register_module("hidden", Linear(2, 16, random))),
          second(register_module("second", Linear(16, 16, random))),
          out(register_module("out", Linear(16, 2, random))) {}
    Tensor operator()(const Tensor& x) const {  // (N, 2)
        const Tensor h = tanh(hidden(x));       // (N, 16)
        return out(tanh(second(h)));            // (N, 2): a logit for each moon
    }
};

int main() {
    Random random(2);
    const std::vector<Point> points = two_moons(200, random);
    std::vector<double> xs;
    std::vector<Index> moons;
    for (const Point& p : points) {
        xs.insert(xs.end(), {p.x, p.y});
        moons.push_back(p.moon);
    }
    const Tensor x = Array({200, 2}, xs);

    const Net net(random);
    Adam adam(net.parameters, 0.01);
    for (int step = 0; step <= 200; ++step) {
        const Tensor loss = cross_entropy(net(x), moons);  // ()
        adam.zero_grad();
        backward(loss);
        if (step % 40 == 0) std::printf("step %3d  loss %.3f\n", step, loss.item());
        adam.step();
    }
}
