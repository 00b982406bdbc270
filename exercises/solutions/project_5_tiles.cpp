// Project 5, after chapters 18 to 21: attention in tiles, as an operation that can be differentiated twice.
//
//     make exercise PROJECT=5          runs the acceptance tests; make hint PROJECT=5 helps
//
// Written like this, softmax(q kᵀ / √d) v needs T × S weights for T queries and S keys. But a query needs
// only three numbers or vectors about the keys so far: the largest score m, the sum of e^(score − m), and the
// sum of e^(score − m) · value. When a tile of further keys brings a larger m, both sums are scaled to it,
// and those of the tile are added; at the end, one division gives the output. So `tile` keys at a time are
// enough, and the memory grows with T × tile.
//
// Write it with Weft's operations on whole tiles (T, tile), not element by element, and record it as one
// operation named "tiled_attention" with a gradient rule of your own. The rule may save q, k, v and the output,
// and nothing of the size T × S. Let P be the weights and dy the gradient of the output. Then
//
//     dv = Pᵀ dy
//     dP = dy vᵀ
//     dS = P ∘ (dP − the sum of P ∘ dP over the keys)
//     dq = dS k / √d
//     dk = dSᵀ q / √d
//
// where P is computed again. You may compute it as a whole; doing this in tiles, too, is the next step, if you
// like. If the rule consists of Weft's operations, it can be differentiated itself, and the tests do that.
//
// When the tests pass, add a causal mask: which tiles need not be computed at all? Then measure, as chapter 18
// does, where your time goes, and which tile is the fastest.
#include <cmath>

#include "exercise.h"

// q (T, d), k (S, d), v (S, d_v) → (T, d_v), for any tile ≥ 1: it may be larger than S, and need not divide it.
// ValueError for a smaller tile. Scores may be as large as 1000.
Tensor tiled_attention(const Tensor& q, const Tensor& k, const Tensor& v, std::int64_t tile) {
    if (tile < 1) throw ValueError("tiled_attention: tile must be at least 1, not " + std::to_string(tile));
    const std::int64_t T = q.size(0), S = k.size(0);
    const double scale = 1 / std::sqrt(static_cast<double>(q.size(1)));
    Tensor y;
    {
        const NoGrad off;
        Tensor largest = full({T, 1}, -INFINITY, q.dtype()), total = zeros({T, 1}, q.dtype());
        Tensor weighted = zeros({T, v.size(1)}, q.dtype());  // (T, d_v)
        for (std::int64_t from = 0; from < S; from += tile) {
            const std::int64_t to = std::min(from + tile, S);
            const Tensor scores = matmul(q, k.slice(0, from, to).T()) * scale;    // (T, tile)
            const Tensor now = maximum(largest, max(scores, 1, keepdim).values);  // (T, 1)
            const Tensor e = exp(scores - now), old = exp(largest - now);         // (T, tile), (T, 1)
            total = old * total + sum(e, 1, keepdim);
            weighted = old * weighted + matmul(e, v.slice(0, from, to));
            largest = now;
        }
        y = weighted / total;
    }
    return record("tiled_attention", y, {q, k, v}, {q, k, v}, [scale](const Saved& saved, const Tensor& dy) {
        const Tensor &q = saved[0], &k = saved[1], &v = saved[2];
        const Tensor P = softmax(matmul(q, k.T()) * scale, -1);  // (T, S)
        const Tensor dP = matmul(dy, v.T());                     // (T, S)
        const Tensor dS = P * (dP - sum(P * dP, 1, keepdim));    // (T, S)
        return Grads{matmul(dS, k) * scale, matmul(dS.T(), q) * scale, matmul(P.T(), dy)};
    });
}
