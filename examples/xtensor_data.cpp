// Data from xtensor, a network trained with Weft, and its output as an xtensor expression again.
#include <weft/weft.h>
#include <weft/xtensor.h>

#include <cstdio>
#if __has_include(<xtensor/generators/xbuilder.hpp>)  // xtensor 0.26 or newer
#include <xtensor/core/xmath.hpp>
#include <xtensor/generators/xbuilder.hpp>
#else
#include <xtensor/xbuilder.hpp>
#include <xtensor/xmath.hpp>
#endif

using namespace weft;

int main() {
    const xt::xarray<float> x = xt::linspace<float>(-3, 3, 64);
    const xt::xarray<float> y = xt::sin(x);
    const Tensor inputs = from_xtensor(x).unsqueeze(1), targets = from_xtensor(y).unsqueeze(1);  // (64, 1)

    Rng rng(1);
    nn::Linear hidden(1, 32, rng), out(32, 1, rng);
    optim::Adam optimizer({hidden.weight, hidden.bias, out.weight, out.bias}, {.lr = 1e-2});
    for (int step = 0; step < 1000; ++step) {
        optimizer.zero_grad();
        mse_loss(out(tanh(hidden(inputs))), targets).backward();
        optimizer.step();
    }

    const Tensor fitted = out(tanh(hidden(inputs))).detach().squeeze(1);  // (64)
    const auto f = as_xtensor<float>(fitted);                             // the tensor's own memory
    const float error = xt::amax(xt::abs(f - y))();
    std::printf("largest error of the fit to sin x: %.3f\n", error);
    return error < 0.05F ? 0 : 1;
}
