// The example of the README: an attention layer, a loss, and every gradient.
#include <weft/weft.h>

#include <iostream>

int main() {
    using namespace weft;
    Rng rng(1);
    nn::CausalMultiHeadAttention attention(64, 4, rng);  // d_model, heads
    Tensor x = randn({2, 8, 64}, rng);                   // (B, T, C)
    Tensor target = randn({2, 8, 64}, rng);              // (B, T, C)

    Tensor loss = mse_loss(attention(x), target);
    loss.backward();
    check::gradient_flow(attention).print();

    std::cout << "loss " << loss << "\n";
    return check::gradient_flow(attention).passed() ? 0 : 1;
}
