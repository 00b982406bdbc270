// Our solutions: the functions of exercises/11_masks.cpp that change.

double prediction_of_pairs() { return 10; }

double prediction_of_masked_row() { return 0; }

Tensor causal_weights(const Tensor& scores) {
    const std::int64_t T = scores.size(-1);
    const Tensor future = triu(ones({T, T}), 1) == 1;  // (T, T)
    return softmax(masked_fill(scores, future, -INFINITY), -1);
}

Tensor causal_mask(std::int64_t T, std::int64_t S) {
    const Tensor last = arange(T).reshape({T, 1}) + static_cast<double>(S - T);  // (T, 1)
    return arange(S) > last;                                                     // (S,) against (T, 1)
}

Tensor padded_causal(const std::vector<std::int64_t>& lengths, std::int64_t T) {
    const auto B = static_cast<std::int64_t>(lengths.size());
    const Tensor padding = arange(T) >= from_vector(lengths, {B, 1, 1, 1});  // (B, 1, 1, T)
    return padding || causal_mask(T, T);                                     // (B, 1, T, T)
}

Tensor safe_softmax(const Tensor& scores, const Tensor& blocked) {
    const Tensor masked = masked_fill(scores, blocked, -INFINITY);  // (…, S)
    Tensor largest = max(masked, -1, true).values.detach();         // (…, 1)
    largest = masked_fill(largest, largest == -INFINITY, 0);
    const Tensor e = exp(masked - largest);  // 0 where blocked
    const Tensor total = sum(e, -1, true);   // (…, 1)
    return e / masked_fill(total, total == 0, 1);
}

AttentionResult multi_head_causal_attention(const Tensor& X, const Tensor& W_Q, const Tensor& W_K,
                                            const Tensor& W_V, const Tensor& W_O, std::int64_t num_heads) {
    const std::int64_t T = X.size(1), d_head = X.size(2) / num_heads;
    const Tensor Q = nn::split_heads(matmul(X, W_Q), num_heads);  // (B, H, T, d_head)
    const Tensor K = nn::split_heads(matmul(X, W_K), num_heads);  // (B, H, T, d_head)
    const Tensor V = nn::split_heads(matmul(X, W_V), num_heads);  // (B, H, T, d_head)
    const Tensor scores = matmul(Q, K.transpose(-2, -1)) / std::sqrt(static_cast<double>(d_head));
    const Tensor weights = softmax(masked_fill(scores, causal_mask(T, T), -INFINITY), -1);  // (B, H, T, T)
    return {matmul(nn::merge_heads(matmul(weights, V)), W_O), weights};                     // (B, T, D)
}

std::vector<double> outputs_on_paper() { return {4, 6, 4, 28, 1}; }
