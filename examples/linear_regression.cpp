// Learns the formula from Celsius to Fahrenheit, F = 1.8 C + 32, from eleven pairs of temperatures.
#include <weft/weft.h>

#include <cmath>
#include <cstdio>

int main() {
    using namespace weft;
    Tensor celsius = arange(-50, 51, 10).reshape({11, 1});  // (N, 1)
    Tensor fahrenheit = celsius * 1.8 + 32;                 // (N, 1)

    Rng rng(1);
    nn::Linear model(1, 1, rng);
    Tensor x = celsius / 50;  // inputs of size about 1, so that one learning rate suits both parameters
    optim::SGD optimizer(model, {.lr = 0.1, .momentum = 0.9});
    for (int step = 0; step < 300; ++step) {
        optimizer.zero_grad();
        Tensor loss = mse_loss(model(x), fahrenheit);
        loss.backward();
        optimizer.step();
        if (step % 50 == 0) std::printf("step %3d  loss %.6f\n", step, loss.item());
    }
    const double slope = model.weight.item() / 50, offset = model.bias.item();
    std::printf("F = %.4f C + %.4f   (the rule: F = 1.8 C + 32)\n", slope, offset);
    return std::abs(slope - 1.8) < 1e-3 && std::abs(offset - 32) < 1e-2 ? 0 : 1;
}
