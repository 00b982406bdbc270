// Diffusion (Ho et al., "Denoising diffusion probabilistic models", 2020, algorithms 1 and 2) of points in the
// plane: noise becomes points on a circle, in 40 small steps that a network has learned. N points.
#include <weft/weft.h>

#include <cmath>
#include <cstdio>

using namespace weft;

int main() {
    constexpr std::int64_t steps = 40;
    Rng rng(1);
    const Tensor beta = linspace(1e-3, 0.2, steps), kept = cumprod(1 - beta, 0);  // (steps,)
    // The noise in x (N, 2) at time t (N,): the network reads x and the time as six waves.
    const nn::Sequential net{nn::Linear(8, 128, rng), silu, nn::Linear(128, 128, rng), silu,
                             nn::Linear(128, 2, rng)};
    const auto noise_in = [&](const Tensor& x, const Tensor& t) {
        const Tensor angle = t.to(float32).unsqueeze(1) * (1.0 / steps) * tensor({2.0, 8, 20});  // (N, 3)
        return net(cat({x, sin(angle), cos(angle)}, 1));                                         // (N, 2)
    };

    optim::Adam optimizer(net, {.lr = 3e-3});
    for (int step = 0; step <= 2000; ++step) {
        optimizer.set_lr(optim::cosine_lr(step, {.lr = 3e-3, .steps = 2000}));
        const Tensor angle = 6.283185307179586 * rand({256}, rng);
        const Tensor points = stack({cos(angle), sin(angle)}, 1), noise = randn({256, 2}, rng);  // (N, 2)
        const Tensor t = randint(0, steps, {256}, rng), share = kept[t].unsqueeze(1);            // (N, 1)
        const Tensor loss = mse_loss(noise_in(sqrt(share) * points + sqrt(1 - share) * noise, t), noise);
        optimizer.zero_grad();
        loss.backward();
        optimizer.step();
        if (step % 1000 == 0) std::printf("step %4d  loss %.4f\n", step, loss.item());
    }
    const NoGrad off;
    Tensor x = randn({500, 2}, rng);
    const auto distance = [&] { return (norm(x, 2, 1) - 1).abs().mean().item(); };
    const double before = distance();
    for (std::int64_t t = steps - 1; t >= 0; --t) {
        const double b = beta[t].item(), all = kept[t].item();
        x = (x - b / std::sqrt(1 - all) * noise_in(x, full({500}, double(t), int64))) / std::sqrt(1 - b);
        if (t > 0) x = x + std::sqrt(b * (1 - kept[t - 1].item()) / (1 - all)) * randn({500, 2}, rng);
    }
    std::printf("mean distance from the circle: %.2f as noise, %.3f at the end\n", before, distance());
    return distance() < before / 4 ? 0 : 1;
}
