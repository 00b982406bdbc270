// A stranger's program: trains one attention layer with only the installed headers and libraries.
#include WEFT_HEADER

#include <cstdio>

int main() {
    using namespace weft;
    Rng rng(1);
    nn::CausalMultiHeadAttention attention(16, 2, rng);
    Tensor x = randn({2, 8, 16}, rng);       // (B, T, C)
    Tensor target = randn({2, 8, 16}, rng);  // (B, T, C)
    optim::AdamW optimizer(attention.parameters(), {.lr = 1e-2});
    double first = 0, last = 0;
    for (int step = 0; step < 50; ++step) {
        attention.zero_grad();
        Tensor loss = mse_loss(attention(x), target);
        loss.backward();
        optimizer.step();
        last = loss.item();
        if (step == 0) first = last;
    }
    std::printf("loss %.4f -> %.4f\n", first, last);
    return last < first && check::gradient_flow(attention).passed() ? 0 : 1;
}
