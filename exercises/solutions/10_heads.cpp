// Exercises of chapter 10: columns of tokens as heads, and the whole of attention from memory.
//
//     make exercise N=10          tries what you wrote; make hint N=10 helps
//
// Our solutions. The tasks are numbered as on the page. B batch, T tokens, C = d_model, H heads, d_k = C / H.
#include "exercise.h"

// 1. Predict. The shape of what the library's split_heads gives, as {…}.
inline Shape shape_of_heads() { return nn::split_heads(zeros({2, 5, 12}), 3).shape(); }
Shape prediction_of_heads() { return {2, 3, 5, 4}; }

// 2. Predict. How many more parameters has attention of width 64 with 8 heads than with 1 head?
inline double more_parameters() {
    Rng rng(1);
    const nn::MultiHeadAttention eight(64, 8, rng), one(64, 1, rng);
    return static_cast<double>(eight.num_parameters() - one.num_parameters());
}
double prediction_of_more() { return 0; }

// x (B, T, C) → (B, H, T, d_k), or (T, C) → (H, T, d_k): head h has the columns h·d_k … (h + 1)·d_k − 1. That
// is task 4.
Tensor split_heads(const Tensor& x, std::int64_t num_heads);

// 3. Mend. The inverse of split_heads: (B, H, T, d_k) → (B, T, C). Its result has the right shape and all the
// right numbers.
Tensor merge_heads(const Tensor& x) {
    return x.permute({0, 2, 1, 3}).reshape({x.size(0), x.size(2), x.size(1) * x.size(3)});
}

// 4. Write. As declared above, for both ranks; not by nn::split_heads.
Tensor split_heads(const Tensor& x, std::int64_t num_heads) {
    const std::int64_t d_k = x.size(-1) / num_heads;
    if (x.rank() == 2) return x.reshape({x.size(0), num_heads, d_k}).permute({1, 0, 2});
    return x.reshape({x.size(0), x.size(1), num_heads, d_k}).permute({0, 2, 1, 3});
}

// 5. Write. The number of parameters of multi-head attention whose heads have queries and keys of width d_k and
// values of width d_v, which need not be d_model / num_heads; with or without the biases of all four
// projections.
std::int64_t count_parameters(std::int64_t d_model, std::int64_t num_heads, std::int64_t d_k, std::int64_t d_v,
                              bool bias) {
    const std::int64_t matrices = 2 * d_model * num_heads * d_k + 2 * d_model * num_heads * d_v;
    const std::int64_t vectors = 2 * num_heads * d_k + num_heads * d_v + d_model;
    return matrices + (bias ? vectors : 0);
}

// 6. Write. The whole of attention, from memory: X (B, T, D) and four weights (D, D), which multiply from the
// right, D = num_heads · d_head. Every token attends to every token. Returns the output (B, T, D) and the
// weights (B, H, T, T). Not by the library's attention. Write the shape beside every tensor.
AttentionResult multi_head_attention(const Tensor& X, const Tensor& W_Q, const Tensor& W_K, const Tensor& W_V,
                                     const Tensor& W_O, std::int64_t num_heads) {
    const std::int64_t d_head = X.size(2) / num_heads;
    const Tensor Q = split_heads(matmul(X, W_Q), num_heads);  // (B, H, T, d_head)
    const Tensor K = split_heads(matmul(X, W_K), num_heads);  // (B, H, T, d_head)
    const Tensor V = split_heads(matmul(X, W_V), num_heads);  // (B, H, T, d_head)
    const Tensor scores = matmul(Q, K.transpose(-2, -1)) / std::sqrt(static_cast<double>(d_head));
    const Tensor weights = softmax(scores, -1);                      // (B, H, T, T)
    return {matmul(merge_heads(matmul(weights, V)), W_O), weights};  // (B, T, D), (B, H, T, T)
}

// 7. Paper. T tokens of width C, H heads of width C / H, no mask. Enter the multiply-adds of the four
// projections for T = 128 and C = 64, those of both products with the weights (q kᵀ and weights · v) of all
// heads together, and the T at which the two are equal for C = 768.
std::vector<double> cost_on_paper() { return {2097152, 2097152, 1536}; }
