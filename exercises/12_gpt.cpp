// Exercise of chapter 12: a transformer block from its parts, and two numbers to know before training.
//
//     make exercise N=12
//
// Write each function in place of its blank. B batch, T tokens, C = d_model, F = 4C.
#include <cmath>

#include "exercise.h"

struct BlockWeights {
    Tensor norm1, norm2;  // (C,): the layer norms' weights; they have no bias
    Tensor W_in, W_out;   // (F, C) and (C, F): the MLP's, without bias
};

// The pre-norm block: h = x + attention(LN₁(x)), then h + W_out gelu(W_in LN₂(h)), GELU in its tanh form.
//     x (B, T, C) → (B, T, C).  layer_norm(x, weight), linear(x, W) and gelu(x, Gelu::tanh) are in
//     weft/core/ops.h;
// attention is a function like any other here, (B, T, C) → (B, T, C).
Tensor pre_norm_block(const Tensor& x, const BlockWeights& w,
                      const std::function<Tensor(const Tensor&)>& attention) {
    return blank("x + attention of the normalised x, then the same with the MLP");
}

// The number of parameters of a GPT with biases everywhere and a tied head.
//     V = 50257, block_size = 1024, L = 12, C = 768 → 124439808
std::int64_t num_parameters(std::int64_t vocab_size, std::int64_t block_size, std::int64_t layers,
                            std::int64_t d_model) {
    return blank("the two tables, all blocks, and the last norm");
}

// What cross-entropy gives, in float64, for a model that finds all V tokens equally likely, as
// {loss, perplexity}: perplexity = e to the loss.
//     V = 50257 → {10.8249, 50257}
std::pair<double, double> first_loss(std::int64_t vocab_size) {
    return blank("minus the logarithm of one token's probability, and e to that");
}
