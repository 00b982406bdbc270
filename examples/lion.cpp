// A custom optimiser: Lion (Chen et al., "Symbolic discovery of optimization algorithms", 2023, algorithm 2),
// which moves every parameter by the sign of an average of its gradients, compared with AdamW on the same
// curve.
#include <weft/weft.h>

#include <cstdio>

using namespace weft;

namespace {

// c = β₁m + (1 − β₁)g;  p ← p − lr·(sign c + weight_decay·p);  m ← β₂m + (1 − β₂)g
struct LionOptions {
    double lr = 1e-4, beta1 = 0.9, beta2 = 0.99, weight_decay = 0;
};
std::vector<const char*> moment_names(const LionOptions&) { return {"exp_avg"}; }
void check(const LionOptions& options) { optim::check_rate(options.lr, "lr"); }
void update(const optim::Update& u, const LionOptions& options) {
    Tensor& m = u.moments[0];
    const Tensor direction = sign(m * options.beta1 + u.gradient * (1 - options.beta1));
    u.parameter.mul_(1 - options.lr * options.weight_decay).add_(direction, -options.lr);
    m.mul_(options.beta2).add_(u.gradient, 1 - options.beta2);
}
using Lion = optim::Optimizer<LionOptions>;

// The loss of a small network on y = sin 3x after 400 steps.
template <class Optimizer, class Options>
double trained(const Options& options) {
    Rng rng(1);
    const Tensor x = (arange(0, 64, 1, float32) / 32 - 1).reshape({64, 1}), y = sin(3 * x);  // (N, 1)
    nn::Linear hidden(1, 32, rng), out(32, 1, rng);
    Optimizer optimizer({hidden.weight, hidden.bias, out.weight, out.bias}, options);
    double last = 0;
    for (int step = 0; step < 400; ++step) {
        optimizer.zero_grad();
        const Tensor loss = mse_loss(out(tanh(hidden(x))), y);
        loss.backward();
        optimizer.step();
        last = loss.item();
    }
    return last;
}

}  // namespace

int main() {
    const double lion = trained<Lion>(LionOptions{.lr = 3e-3});
    const double adamw = trained<optim::AdamW>(optim::AdamWOptions{.lr = 1e-2});
    std::printf("loss after 400 steps: Lion %.4f, AdamW %.4f\n", lion, adamw);
    return lion < 0.05 && adamw < 0.05 ? 0 : 1;
}
