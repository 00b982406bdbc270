// Exercise of chapter 16: weights in GPT-2's layout, one merge of byte pairs, and how fast a model can write.
//
//     make exercise N=16
//
// Write each function in place of its blank. C = d_model, L layers, T tokens.
#include <map>

#include "exercise.h"

struct Projections {
    Tensor W_q, W_k, W_v, W_out;  // (C, C) each, as linear(x, W) takes them: x Wᵀ
};

// The weights of one attention layer, from GPT-2's: c_attn (C, 3C) holds those of q, k and v side by side, in
// this order, and c_proj (C, C) those of the output. GPT-2's layers compute x W.
//     linear(x, result.W_q) is the first C columns of matmul(x, c_attn); slice and T are in weft/core/tensor.h.
Projections attention_weights(const Tensor& c_attn, const Tensor& c_proj) {
    return blank("three blocks of c_attn and c_proj, each turned to (out, in)");
}

// One step of learning byte pairs, on one word: the two neighbours that stand together most often (of equals,
// those that stand together first) become one symbol wherever they stand, from the left; no symbol is used
// twice. A word of fewer than two symbols stays as it is.
//     {"l", "o", "l", "o", "w"} → {"lo", "lo", "w"};  {"a", "a", "a"} → {"aa", "a"}
std::vector<std::string> merge_step(const std::vector<std::string>& symbols) {
    return blank("count the pairs of neighbours, find the most frequent, join it from the left");
}

struct Sizes {
    std::int64_t parameters, layers, d_model;
};

// The most tokens that a model can write in a second, where memory gives `bytes_per_second` and nothing else
// takes time. For each token it reads all its parameters, and the key and the value (C numbers each) of each of
// the T earlier tokens in each layer; all of them take `bytes_per_number`.
//     {124439808, 12, 768}, T = 0, 4, 30e9 → 60.27
double most_tokens_per_second(const Sizes& model, std::int64_t T, double bytes_per_number,
                              double bytes_per_second) {
    return blank("bytes per second, divided by the bytes that one token has to read");
}
