// Our solution: the functions of exercises/project_5_tiles.cpp that change.

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
