// Learning to learn (Finn et al., "Model-agnostic meta-learning", 2017, §5.1): initial values from which one
// step of gradient descent on ten points fits a sine that the network has not seen. The outer gradient goes
// through the inner step, so the inner one is recorded (create_graph). N points of one sine.
#include <weft/weft.h>

#include <cmath>
#include <cstdio>

using namespace weft;

namespace {

using Parameters = std::vector<Tensor>;

// The network as a function of its parameters: x (N, 1) → (N, 1).
Tensor network(const Parameters& p, const Tensor& x) {
    return linear(tanh(linear(tanh(linear(x, p[0], p[1])), p[2], p[3])), p[4], p[5]);
}

// What one step of gradient descent on (x, y) makes of the parameters.
Parameters adapted(Parameters p, const Tensor& x, const Tensor& y) {
    const Parameters g = grad({mse_loss(network(p, x), y)}, p, {}, {.create_graph = true});
    for (std::size_t i = 0; i < p.size(); ++i) p[i] = p[i] - 0.1 * g[i];
    return p;
}

// The loss on 20 new points of a random sine, after a step on 10 others.
Tensor loss_of_a_task(const Parameters& p, Rng& rng) {
    const Tensor amplitude = 0.1 + 4.9 * rand({}, rng), phase = 3.141592653589793 * rand({}, rng);
    const Tensor x = 10 * rand({30, 1}, rng) - 5, y = amplitude * sin(x - phase);  // (N, 1)
    return mse_loss(network(adapted(p, x.slice(0, 0, 10), y.slice(0, 0, 10)), x.slice(0, 10, 30)),
                    y.slice(0, 10, 30));
}

double mean_loss(const Parameters& p) {
    Rng rng(99);
    double sum = 0;
    for (int task = 0; task < 100; ++task) sum += loss_of_a_task(p, rng).item();
    return sum / 100;
}

}  // namespace

int main() {
    Rng rng(1);
    const nn::Sequential net{nn::Linear(1, 40, rng), tanh, nn::Linear(40, 40, rng), tanh,
                             nn::Linear(40, 1, rng)};
    const Parameters p = net.parameters();
    const double before = mean_loss(p);
    optim::Adam optimizer(net, {.lr = 2e-3});
    for (int step = 0; step < 1500; ++step) {
        Tensor loss = zeros({});
        for (int task = 0; task < 4; ++task) loss = loss + loss_of_a_task(p, rng) / 4;
        optimizer.zero_grad();
        loss.backward();
        optim::clip_grad_norm(net, 10);
        optimizer.step();
    }
    const double after = mean_loss(p);
    std::printf("loss on a new sine after one step: %.2f from random values, %.2f from learned ones\n", before,
                after);
    return after < before / 3 ? 0 : 1;
}
