// A network that solves a differential equation (Raissi et al., "Physics-informed neural networks", 2019, §2):
// a damped spring, u'' + 2δu' + ω²u = 0 with u(0) = 1 and u'(0) = 0. The loss has u' and u'', which are
// gradients of the network with respect to its input, and is itself differentiated. N points in time.
#include <weft/weft.h>

#include <cmath>
#include <cstdio>

using namespace weft;

namespace {

// ∂(Σy)/∂t in the graph: of each element, because u at a time depends on that time alone.
Tensor slope(const Tensor& y, const Tensor& t) { return grad({sum(y)}, {t}, {}, {.create_graph = true})[0]; }

}  // namespace

int main() {
    constexpr double delta = 1, omega = 6;
    Rng rng(1);
    const nn::Sequential net{nn::Linear(1, 32, rng), tanh, nn::Linear(32, 32, rng), tanh,
                             nn::Linear(32, 1, rng)};
    const auto u = [&](const Tensor& t) { return net(4 * t - 2); };  // (N, 1) → (N, 1)
    const Tensor t = linspace(0, 1, 40).unsqueeze(1).requires_grad_(), start = zeros({1, 1}).requires_grad_();

    optim::Adam optimizer(net, {.lr = 5e-3});
    for (int step = 0; step <= 3000; ++step) {
        optimizer.set_lr(optim::cosine_lr(step, {.lr = 5e-3, .min_lr = 1e-4, .steps = 3000}));
        const Tensor at_start = u(start), y = u(t), dy = slope(y, t), ddy = slope(dy, t);  // (N, 1)
        const Tensor residual = ddy + 2 * delta * dy + omega * omega * y;
        const Tensor loss = (at_start - 1).pow(2).sum() + 0.1 * slope(at_start, start).pow(2).sum() +
                            1e-3 * residual.pow(2).mean();
        optimizer.zero_grad();
        loss.backward();
        optimizer.step();
        if (step % 1000 == 0) std::printf("step %4d  loss %.5f\n", step, loss.item());
    }
    // u = e^(−δt) (cos wt + δ/w · sin wt), w = √(ω² − δ²)
    const double w = std::sqrt(omega * omega - delta * delta);
    const NoGrad off;
    const Tensor exact = exp(-delta * t) * (cos(w * t) + delta / w * sin(w * t));
    const double error = (u(t) - exact).abs().max().item();
    std::printf("the largest distance from the solution: %.4f\n", error);
    return error < 0.05 ? 0 : 1;
}
