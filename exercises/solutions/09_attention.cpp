// Exercises of chapter 9: embeddings, and attention with one head, first for one query and then as matrices.
//
//     make exercise N=9          tries what you wrote; make hint N=9 helps
//
// Our solutions. The tasks are numbered as on the page. T queries, S keys and values, d_k the width of
// queries and keys.
#include <algorithm>
#include <cmath>

#include "exercise.h"

// 1. Predict. The tokens 1, 3, 1 are looked up in a table. What is the gradient of the first number of row 1?
inline double gradient_of_table() {
    const Tensor table = ones({5, 2}, float64).requires_grad_();
    sum(embedding(table, tensor({1, 3, 1}, int64))).backward();
    return table.grad().at(1, 0);
}
double prediction_of_table() { return 2; }

// 2. Predict. All three keys are equal, and the values are 1, 2 and 6. What does a query get?
inline double output_for_equal_keys() {
    const Tensor q = tensor({{0.5, -2.0}}, float64), k = tensor({{3, 1}, {3, 1}, {3, 1}}, float64),
                 v = tensor({{1}, {2}, {6}}, float64);
    return scaled_dot_product_attention(q, k, v).item();
}
double prediction_for_equal_keys() { return 3; }

// 3. Mend. The weights of attention: q (T, d_k), k (S, d_k) → (T, S). Every shape is right, and all weights are
// between 0 and 1.
Tensor attention_weights(const Tensor& q, const Tensor& k) {
    const Tensor scores = matmul(q, k.T()) / std::sqrt(static_cast<double>(q.size(-1)));  // (T, S)
    return softmax(scores, -1);
}

// 4. Write. The weights of one query in plain numbers, without tensors: softmax(query · keys[j] / √d_k) over
// the S keys. query (d_k), keys S of (d_k) → S weights. Scores may be as large as 1000.
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

// 5. Write. The scores q kᵀ / √d_k: q (…, T, d_k), k (…, S, d_k) → (…, T, S), where … is nothing or any axes
// that q and k share.
Tensor scores_of(const Tensor& q, const Tensor& k) {
    return matmul(q, k.transpose(-2, -1)) / std::sqrt(static_cast<double>(q.size(-1)));
}

// 6. Write. The output of attention: q (…, T, d_k), k (…, S, d_k), v (…, S, d_v) → (…, T, d_v). Not by the
// library's attention.
Tensor attend(const Tensor& q, const Tensor& k, const Tensor& v) {
    return matmul(softmax(scores_of(q, k), -1), v);
}

// 7. Paper. d_k = 4. The query is (2, 0, 0, 0), the two keys are (ln 3, 5, 5, 5) and (0, 1, 2, 3), and their
// values are 10 and 2. Enter the weight of the first key and the output.
std::vector<double> attention_on_paper() { return {0.75, 8}; }
