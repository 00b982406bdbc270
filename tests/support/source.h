// What the tests of the sources share. Each test carries the number of a statement, [S0.07], as its tag.
#pragma once

#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "golden/golden.h"
#include "weft/weft.h"

namespace source {

using namespace weft;

inline Tensor random(const Shape& shape, std::uint64_t seed = 1, DType dtype = float64) {
    Rng rng(seed);
    return randn(shape, rng, dtype);
}

// The largest |a − b|; a ShapeError of its own where the shapes differ, so that nothing broadcasts unseen.
inline double difference(const Tensor& a, const Tensor& b) {
    if (a.shape() != b.shape()) throw ShapeError("distance of " + a.shape().str() + " and " + b.shape().str());
    return max(abs(a.detach() - b.detach())).item();
}

inline bool has_nan(const Tensor& x) { return any(x.detach() != x.detach()); }

// A row as a page prints it: "0.35 0.65 0.00".
inline std::string printed(const Tensor& row, int decimals) {
    std::string text;
    for (const double value : row.detach().to(float64).to_vector<double>()) {
        char number[64];
        std::snprintf(number, sizeof number, "%.*f", decimals, value);
        text += (text.empty() ? "" : " ") + std::string(number);
    }
    return text;
}

template <class M>
M in_double(M module) {
    module.to(float64);
    return module;
}

// The multiply-adds of the products that run in run(), as the library counts them.
template <class F>
std::int64_t multiply_adds(const F& run) {
    const CountMultiplyAdds counter;
    run();
    return counter.count();
}

// The tensor that the run under this trace gave that name.
inline Tensor named(const Trace& trace, const std::string& name) {
    for (const TraceEntry& entry : trace.entries())
        if (entry.name == name) return entry.tensor;
    throw ValueError("the trace has no tensor named ", name);
}

// softmax(Q_h K_hᵀ / √d_k) V_h of every head, concatenated, @ W_O: x (N, C), W_Q, W_K and W_V (C, H·d_k), W_O
// (H·d_k, C) → (N, C). The width of a head is whatever the weights make it.
inline Tensor textbook(const Tensor& x, const Tensor& W_Q, const Tensor& W_K, const Tensor& W_V,
                       const Tensor& W_O, std::int64_t num_heads) {
    const Tensor q = nn::split_heads(matmul(x, W_Q), num_heads);  // (H, N, d_k)
    const Tensor k = nn::split_heads(matmul(x, W_K), num_heads);
    const Tensor v = nn::split_heads(matmul(x, W_V), num_heads);
    const double root = std::sqrt(static_cast<double>(q.size(-1)));
    const Tensor weights = softmax(matmul(q, k.transpose(-2, -1)) / root, -1);  // (H, N, N)
    return matmul(nn::merge_heads(matmul(weights, v)), W_O);
}

}  // namespace source
