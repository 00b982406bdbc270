// Exclusive or: no straight line separates its four cases, but a layer of eight hidden units does.
#include <weft/weft.h>

#include <cstdio>

int main() {
    using namespace weft;
    Tensor x = tensor({{0.0, 0}, {0, 1}, {1, 0}, {1, 1}});  // (4, 2)
    Tensor y = tensor({{0.0}, {1}, {1}, {0}});              // (4, 1)

    Rng rng(1);
    nn::Sequential net{nn::Linear(2, 8, rng), tanh, nn::Linear(8, 1, rng), sigmoid};
    optim::Adam optimizer(net, {.lr = 0.05});
    for (int step = 0; step < 500; ++step) {
        optimizer.zero_grad();
        Tensor loss = mse_loss(net(x), y);
        loss.backward();
        optimizer.step();
        if (step % 100 == 0) std::printf("step %3d  loss %.6f\n", step, loss.item());
    }
    Tensor answer = net(x);  // (4, 1)
    bool right = true;
    for (std::int64_t i = 0; i < 4; ++i) {
        const double wanted = y.at({i, 0}), found = answer.at({i, 0});
        std::printf("%.0f xor %.0f = %.3f\n", x.at({i, 0}), x.at({i, 1}), found);
        right = right && (found > 0.5) == (wanted > 0.5);
    }
    return right ? 0 : 1;
}
