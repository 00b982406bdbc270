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
    return blank("a score for each key, the largest subtracted, e to each of them, divided by their sum");
}

// q kᵀ / √d_k: q (…, T, d_k), k (…, S, d_k) → (…, T, S), where … may be nothing, or a batch.
Tensor scores_of(const Tensor& q, const Tensor& k) {
    return blank("a matrix product with k, its last two axes exchanged, over the root of q.size(-1)");
}

// softmax(q kᵀ / √d_k) v: q (…, T, d_k), k (…, S, d_k), v (…, S, d_v) → (…, T, d_v).
Tensor attend(const Tensor& q, const Tensor& k, const Tensor& v) {
    return blank("the scores, softmax over the keys, a matrix product with v");
}
