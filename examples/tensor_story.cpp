// From X to Y: every tensor of causal attention, with its shape and where its values are stored.
// d_model 12, 3 heads: d_k = 12 / 3 = 4.
#include <weft/weft.h>

int main() {
    using namespace weft;
    Rng rng(1);
    const nn::CausalMultiHeadAttention attention(12, 3, rng, {.max_seq_len = 8});
    const Tensor x = randn({1, 3, 12}, rng);  // (B, T, C)
    viz::tensor_story(attention, x, {.values_up_to = 36}).print();
    return 0;
}
