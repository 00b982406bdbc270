// Our solutions: the functions of exercises/10_heads.cpp that change.

Shape prediction_of_heads() { return {2, 3, 5, 4}; }

double prediction_of_more() { return 0; }

Tensor merge_heads(const Tensor& x) {
    return x.permute({0, 2, 1, 3}).reshape({x.size(0), x.size(2), x.size(1) * x.size(3)});
}

Tensor split_heads(const Tensor& x, std::int64_t num_heads) {
    const std::int64_t d_k = x.size(-1) / num_heads;
    if (x.rank() == 2) return x.reshape({x.size(0), num_heads, d_k}).permute({1, 0, 2});
    return x.reshape({x.size(0), x.size(1), num_heads, d_k}).permute({0, 2, 1, 3});
}

std::int64_t count_parameters(std::int64_t d_model, std::int64_t num_heads, std::int64_t d_k, std::int64_t d_v,
                              bool bias) {
    const std::int64_t matrices = 2 * d_model * num_heads * d_k + 2 * d_model * num_heads * d_v;
    const std::int64_t vectors = 2 * num_heads * d_k + num_heads * d_v + d_model;
    return matrices + (bias ? vectors : 0);
}

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

std::vector<double> cost_on_paper() { return {2097152, 2097152, 1536}; }
