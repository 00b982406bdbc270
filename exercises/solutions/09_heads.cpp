// Exercise of chapter 9: columns of tokens as heads, the way back, how many parameters all this has, and the
// whole of attention from memory.
//
//     make exercise N=9
//
// Write each function in place of its blank. B batch, T tokens, C = d_model, H heads, d_k = C / H.
#include "exercise.h"

// x (B, T, C) → (B, H, T, d_k), or (T, C) → (H, T, d_k): head h owns columns h·d_k … (h + 1)·d_k − 1.
Tensor split_heads(const Tensor& x, std::int64_t num_heads) {
    const std::int64_t d_k = x.size(-1) / num_heads;
    if (x.rank() == 2) return x.reshape({x.size(0), num_heads, d_k}).permute({1, 0, 2});
    return x.reshape({x.size(0), x.size(1), num_heads, d_k}).permute({0, 2, 1, 3});
}

// The way back: x (B, H, T, d_k) → (B, T, C), or (H, T, d_k) → (T, C).
Tensor merge_heads(const Tensor& x) {
    const std::int64_t C = x.size(-3) * x.size(-1);
    if (x.rank() == 3) return x.permute({1, 0, 2}).reshape({x.size(1), C});
    return x.permute({0, 2, 1, 3}).reshape({x.size(0), x.size(2), C});
}

// How many numbers multi-head attention learns: W_Q and W_K are d_model × heads·d_k, W_V is d_model ×
// heads·d_v, and W_O is heads·d_v × d_model. With `bias` each of the four adds a vector as long as its
// product's rows.
std::int64_t count_parameters(std::int64_t d_model, std::int64_t num_heads, std::int64_t d_k, std::int64_t d_v,
                              bool bias) {
    const std::int64_t matrices = 2 * d_model * num_heads * d_k + 2 * d_model * num_heads * d_v;
    const std::int64_t vectors = 2 * num_heads * d_k + num_heads * d_v + d_model;
    return matrices + (bias ? vectors : 0);
}

// The whole of causal attention, from memory: X (B, T, D), four weights (D, D), D = num_heads · d_head. Returns
// the output (B, T, D) and the weights (B, H, T, T). Write the shape beside every tensor.
AttentionResult multi_head_causal_attention(const Tensor& X, const Tensor& W_Q, const Tensor& W_K,
                                            const Tensor& W_V, const Tensor& W_O, std::int64_t num_heads) {
    const std::int64_t T = X.size(1), d_head = X.size(2) / num_heads;
    const Tensor Q = split_heads(matmul(X, W_Q), num_heads);  // (B, H, T, d_head)
    const Tensor K = split_heads(matmul(X, W_K), num_heads);  // (B, H, T, d_head)
    const Tensor V = split_heads(matmul(X, W_V), num_heads);  // (B, H, T, d_head)
    const Tensor scores = matmul(Q, K.transpose(-2, -1)) / std::sqrt(static_cast<double>(d_head));
    const Tensor blocked = triu(ones({T, T}), 1) == 1;                 // (T, T), for every sample and head
    const Tensor weights = softmax(where(blocked, -1e9, scores), -1);  // (B, H, T, T)
    return {matmul(merge_heads(matmul(weights, V)), W_O), weights};    // (B, T, D), (B, H, T, T)
}
