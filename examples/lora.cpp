// Low-rank adaptation (Hu et al., "LoRA", 2022, §4.1): a trained network stays as it is, and learns a second
// task by a product of two thin matrices beside each of its own. N points, r = 4 the rank.
#include <weft/weft.h>

#include <cstdio>

using namespace weft;

namespace {

// y = x Wᵀ + b + (x Aᵀ) Bᵀ, where W and b are frozen. B is 0 at first, so training starts from the old network.
struct LoRALinear : nn::Module {
    nn::Linear base;
    nn::Parameter A, B;  // (r, in) and (out, r)

    LoRALinear(const nn::Linear& trained, std::int64_t rank, Rng& rng)
        : Module("LoRALinear"),
          base(register_module("base", trained)),
          A(register_parameter("A", nn::normal({rank, base.weight.size(1)}, 0, 1, rng))),
          B(register_parameter("B", zeros({base.weight.size(0), rank}))) {
        for (Tensor p : base.parameters()) p.requires_grad_(false);
    }
    Tensor operator()(const Tensor& x) const { return base(x) + linear(linear(x, A), B); }
};

// The loss after training `net` on (x, y).
double trained(const nn::Sequential& net, const Tensor& x, const Tensor& y) {
    optim::Adam optimizer(net, {.lr = 5e-3});
    Tensor loss;
    for (int step = 0; step < 500; ++step) {
        loss = mse_loss(net(x), y);
        optimizer.zero_grad();
        loss.backward();
        optimizer.step();
    }
    return loss.item();
}

std::int64_t trainable(const nn::Module& net) {
    std::int64_t n = 0;
    for (const Tensor& p : net.parameters()) n += p.requires_grad() ? p.numel() : 0;
    return n;
}

}  // namespace

int main() {
    Rng rng(1);
    const Tensor x = linspace(-1, 1, 64).unsqueeze(1);           // (N, 1)
    const Tensor first = sin(3 * x), second = sin(3 * x + 1.5);  // the two tasks

    const nn::Linear in(1, 64, rng), middle(64, 64, rng), out(64, 1, rng);
    const nn::Sequential net{in, tanh, middle, tanh, out};
    const double loss = trained(net, x, first);
    const double before = mse_loss(net(x), second).item();
    std::printf("the network: %ld numbers, loss %.5f; on the second task %.3f\n", long(trainable(net)), loss,
                before);

    const nn::Sequential adapted{LoRALinear(in, 4, rng), tanh, LoRALinear(middle, 4, rng), tanh,
                                 LoRALinear(out, 4, rng)};
    const std::int64_t numbers = trainable(adapted);
    const double after = trained(adapted, x, second);
    std::printf("adapted:     %ld numbers, loss %.5f\n", long(numbers), after);
    const double still = mse_loss(net(x), first).item();
    std::printf("the network itself on its first task: %.5f\n", still);
    return after < before / 100 && still < 1e-2 ? 0 : 1;
}
