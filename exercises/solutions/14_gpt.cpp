// Exercises of chapter 14: the transformer block, its embeddings, and numbers to know before training.
//
//     make exercise N=14          tries what you wrote; make hint N=14 helps
//
// Our solutions. The tasks are numbered as on the page. B batch, T tokens, C = d_model, F = 4C, V vocabulary.
#include <cmath>

#include "exercise.h"

// 1. Predict. The loss of a new GPT with a vocabulary of 65 characters on random text, to one decimal.
inline double first_loss() {
    Rng rng(12);
    const lm::GPT model({.vocab_size = 65, .block_size = 16, .num_layers = 2, .num_heads = 2, .d_model = 32},
                        rng);
    const NoGrad off;
    const Tensor ids = randint(0, 65, {8, 16}, rng), next = randint(0, 65, {8, 16}, rng);  // (B, T)
    return cross_entropy(model(ids), next).item();
}
double prediction_of_first_loss() { return 4.2; }

// 2. Predict. How many more parameters would this GPT have if its head were not tied to the token embedding?
inline double more_without_tying() {
    Rng rng(12);
    const lm::GPT model({.vocab_size = 65, .block_size = 16, .num_layers = 2, .num_heads = 2, .d_model = 32},
                        rng);
    return static_cast<double>(model.head.weight.numel());
}
double prediction_without_tying() { return 2080; }

// 3. Mend. What goes into the first block: ids int64 (B, T), tokens (V, C), positions (block_size, C) →
// (B, T, C). No id here is as large as block_size. A model that uses this trains, but cannot tell in which
// order the tokens come.
Tensor embed(const Tensor& tokens, const Tensor& positions, const Tensor& ids) {
    return embedding(tokens, ids) + embedding(positions, arange(ids.size(1)));
}

struct BlockWeights {
    Tensor norm1, norm2;  // (C,): the layer norms' weights; they have no bias
    Tensor W_in, W_out;   // (F, C) and (C, F): the MLP's, without bias
};

// 4. Write. The pre-norm block, with GELU in its tanh form: x (B, T, C) → (B, T, C). `attention` is a function
// like any other, (B, T, C) → (B, T, C). Use layer_norm(x, weight), linear(x, W) and gelu(x, Gelu::tanh).
Tensor pre_norm_block(const Tensor& x, const BlockWeights& w,
                      const std::function<Tensor(const Tensor&)>& attention) {
    const Tensor h = x + attention(layer_norm(x, w.norm1));  // (B, T, C)
    return h + linear(gelu(linear(layer_norm(h, w.norm2), w.W_in), Gelu::tanh), w.W_out);
}

// 5. Write. The number of parameters of a GPT with biases in all linear layers and norms of its blocks and in
// the last norm, learned positions, and a head that is tied to the token embedding and has no bias.
//     V = 50257, block_size = 1024, 12 layers, C = 768 → 124439808
std::int64_t num_parameters(std::int64_t vocab_size, std::int64_t block_size, std::int64_t layers,
                            std::int64_t d_model) {
    const std::int64_t C = d_model;
    const std::int64_t block = 12 * C * C + 13 * C;
    return vocab_size * C + block_size * C + layers * block + 2 * C;
}

// 6. Paper. The stream that enters the first of 12 blocks has variance 1, and each block adds two parts to it,
// each independent of the rest and with variance 1. Enter the stream's standard deviation after the last block;
// then its variance there if each part was divided by √24 before it was added, as GPT-2 does with its initial
// values.
std::vector<double> stream_on_paper() { return {5, 2}; }
