// Exercises of chapter 10: columns of tokens as heads, and the whole of attention from memory.
//
//     make exercise N=10          tries what you wrote; make hint N=10 helps
//
// Replace each blank(). The tasks are numbered as on the page. B batch, T tokens, C = d_model, H heads,
// d_k = C / H.
#include "exercise.h"

// 1. Predict. The shape of what the library's split_heads gives, as {…}.
inline Shape shape_of_heads() { return nn::split_heads(zeros({2, 5, 12}), 3).shape(); }
Shape prediction_of_heads() { return blank(); }

// 2. Predict. How many more parameters has attention of width 64 with 8 heads than with 1 head?
inline double more_parameters() {
    Rng rng(1);
    const nn::MultiHeadAttention eight(64, 8, rng), one(64, 1, rng);
    return static_cast<double>(eight.num_parameters() - one.num_parameters());
}
double prediction_of_more() { return blank(); }

// x (B, T, C) → (B, H, T, d_k), or (T, C) → (H, T, d_k): head h has the columns h·d_k … (h + 1)·d_k − 1. That
// is task 4.
Tensor split_heads(const Tensor& x, std::int64_t num_heads);

// 3. Mend. The inverse of split_heads: (B, H, T, d_k) → (B, T, C). Its result has the right shape and all the
// right numbers.
Tensor merge_heads(const Tensor& x) { return x.reshape({x.size(0), x.size(2), x.size(1) * x.size(3)}); }

// 4. Write. As declared above, for both ranks; not by nn::split_heads.
Tensor split_heads(const Tensor& x, std::int64_t num_heads) { return blank(); }

// 5. Write. The number of parameters of multi-head attention whose heads have queries and keys of width d_k and
// values of width d_v, which need not be d_model / num_heads; with or without the biases of all four
// projections.
std::int64_t count_parameters(std::int64_t d_model, std::int64_t num_heads, std::int64_t d_k, std::int64_t d_v,
                              bool bias) {
    return blank();
}

// 6. Write. The whole of attention, from memory: X (B, T, D) and four weights (D, D), which multiply from the
// right, D = num_heads · d_head. Every token attends to every token. Returns the output (B, T, D) and the
// weights (B, H, T, T). Not by the library's attention. Write the shape beside every tensor.
AttentionResult multi_head_attention(const Tensor& X, const Tensor& W_Q, const Tensor& W_K, const Tensor& W_V,
                                     const Tensor& W_O, std::int64_t num_heads) {
    return blank();
}

// 7. Paper. T tokens of width C, H heads of width C / H, no mask. Enter the multiply-adds of the four
// projections for T = 128 and C = 64, those of both products with the weights (q kᵀ and weights · v) of all
// heads together, and the T at which the two are equal for C = 768.
std::vector<double> cost_on_paper() { return blank(); }
