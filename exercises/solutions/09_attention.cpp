// Our solutions: the functions of exercises/09_attention.cpp that change.

double prediction_of_table() { return 2; }

double prediction_for_equal_keys() { return 3; }

Tensor attention_weights(const Tensor& q, const Tensor& k) {
    const Tensor scores = matmul(q, k.T()) / std::sqrt(static_cast<double>(q.size(-1)));  // (T, S)
    return softmax(scores, -1);
}

std::vector<double> weights_of(const std::vector<double>& query, const std::vector<std::vector<double>>& keys) {
    std::vector<double> weights;
    for (const std::vector<double>& key : keys) {
        double dot = 0;
        for (std::size_t i = 0; i < query.size(); ++i) dot += query[i] * key[i];
        weights.push_back(dot / std::sqrt(static_cast<double>(query.size())));
    }
    const double largest = *std::max_element(weights.begin(), weights.end());
    double sum = 0;
    for (double& w : weights) sum += w = std::exp(w - largest);
    for (double& w : weights) w /= sum;
    return weights;
}

Tensor scores_of(const Tensor& q, const Tensor& k) {
    return matmul(q, k.transpose(-2, -1)) / std::sqrt(static_cast<double>(q.size(-1)));
}

Tensor attend(const Tensor& q, const Tensor& k, const Tensor& v) {
    return matmul(softmax(scores_of(q, k), -1), v);
}

std::vector<double> attention_on_paper() { return {0.75, 8}; }
