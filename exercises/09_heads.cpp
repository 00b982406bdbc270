// Exercise of chapter 9: columns of tokens as heads, the way back, how many parameters all this has, and the
// whole of attention from memory.
//
//     make exercise N=9
//
// Write each function in place of its blank. B batch, T tokens, C = d_model, H heads, d_k = C / H.
#include "exercise.h"

// x (B, T, C) → (B, H, T, d_k), or (T, C) → (H, T, d_k): head h owns columns h·d_k … (h + 1)·d_k − 1.
Tensor split_heads(const Tensor& x, std::int64_t num_heads) {
    return blank(
        "reshape the columns to (heads, d_k), then permute the heads before the tokens; ranks 3 and 2");
}

// The way back: x (B, H, T, d_k) → (B, T, C), or (H, T, d_k) → (T, C).
Tensor merge_heads(const Tensor& x) {
    return blank("permute the heads behind the tokens, then reshape (heads, d_k) to columns; ranks 4 and 3");
}

// How many numbers multi-head attention learns: W_Q and W_K are d_model × heads·d_k, W_V is d_model ×
// heads·d_v, and W_O is heads·d_v × d_model. With `bias` each of the four adds a vector as long as its
// product's rows.
std::int64_t count_parameters(std::int64_t d_model, std::int64_t num_heads, std::int64_t d_k, std::int64_t d_v,
                              bool bias) {
    return blank("the sizes of four matrices and, with bias, of four vectors");
}

// The whole of causal attention, from memory: X (B, T, D), four weights (D, D), D = num_heads · d_head. Returns
// the output (B, T, D) and the weights (B, H, T, T). Write the shape beside every tensor.
AttentionResult multi_head_causal_attention(const Tensor& X, const Tensor& W_Q, const Tensor& W_K,
                                            const Tensor& W_V, const Tensor& W_O, std::int64_t num_heads) {
    return blank(
        "project X, split into heads, scores over sqrt(d_head), the future to -1e9, softmax, times V, merge, "
        "W_O");
}
