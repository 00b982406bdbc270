// Our solutions: the functions of exercises/12_attention_backward.cpp that change.

double prediction_of_first_query() { return 0; }

double prediction_of_values() { return 3; }

Tensor gradient_of_scores(const Tensor& p, const Tensor& dp) {
    return p * (dp - sum(p * dp, -1, keepdim));  // (T, S)
}

Gradients attention_gradients(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& blocked,
                              double scale, const Tensor& dy) {
    const Tensor p = softmax(masked_fill(matmul(q, k.T()) * scale, blocked, -INFINITY), -1);  // (T, S)
    const Tensor ds = gradient_of_scores(p, matmul(dy, v.T()));                               // (T, S)
    return {matmul(ds, k) * scale, matmul(ds.T(), q) * scale, matmul(p.T(), dy)};
}

BlockGradients gradients_of_block(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& blocked,
                                  const Tensor& y, const Tensor& lse, double scale, const Tensor& dy) {
    const Tensor D = sum(dy * y, -1, keepdim);                                        // (T, 1)
    const Tensor p = masked_fill(exp(matmul(q, k.T()) * scale - lse), blocked, 0.0);  // (T, n)
    const Tensor ds = p * (matmul(dy, v.T()) - D);                                    // (T, n)
    return {matmul(ds.T(), q) * scale, matmul(p.T(), dy)};
}

double gradient_of_scale(const Tensor& q, const Tensor& k, const Tensor& v, double scale, const Tensor& dy) {
    const Tensor dots = matmul(q, k.T()), p = softmax(dots * scale, -1);  // (T, S) each
    return sum(gradient_of_scores(p, matmul(dy, v.T())) * dots).item();
}

std::vector<double> row_on_paper() { return {7, -0.5, -1.25, 1.75, 6, 2}; }
