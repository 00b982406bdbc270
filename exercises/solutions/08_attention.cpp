// Exercise of chapter 8: attention with one head, first for a single query in plain numbers, then as matrices.
//
//     make exercise N=8
//
// Write each function in place of its blank. T queries, S keys and values, d_k width of queries and keys.
#include <algorithm>
#include <cmath>

#include "exercise.h"

// The weights of one query: w_j = e^(s_j) / Σ_m e^(s_m), with the scores s_j = query · keys[j] / √d_k.
// query (d_k), keys S of (d_k) → S weights. Scores may be as large as 1000, and e^1000 is infinite: subtract
// the largest score from all of them first, which changes no weight.
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

// q kᵀ / √d_k: q (…, T, d_k), k (…, S, d_k) → (…, T, S), where … may be nothing, or a batch.
Tensor scores_of(const Tensor& q, const Tensor& k) {
    return matmul(q, k.transpose(-2, -1)) / std::sqrt(static_cast<double>(q.size(-1)));
}

// softmax(q kᵀ / √d_k) v: q (…, T, d_k), k (…, S, d_k), v (…, S, d_v) → (…, T, d_v).
Tensor attend(const Tensor& q, const Tensor& k, const Tensor& v) {
    return matmul(softmax(scores_of(q, k), -1), v);
}
