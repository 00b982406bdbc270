// Step 9: attention with a mask. B batch, T tokens, C channels, H heads, d = C / H.
#pragma once

#include "08_nn.h"

inline Tensor split_heads(const Tensor& x, Index H) {  // (B, T, C) → (B, H, T, d)
    return transpose(reshape(x, {x.size(0), x.size(1), H, x.size(2) / H}), 1, 2);
}
inline Tensor merge_heads(const Tensor& x) {  // (B, H, T, d) → (B, T, C)
    return reshape(transpose(x, 1, 2), {x.size(0), x.size(2), x.size(1) * x.size(3)});
}

// What is added to the scores: −∞ where key s is after query t, 0 elsewhere.
inline Array causal_mask(Index T) {
    const Array mask = Array::full({T, T}, 0);
    for (Index t = 0; t < T; ++t)
        for (Index s = t + 1; s < T; ++s) mask.at({t, s}) = -std::numeric_limits<double>::infinity();
    return mask;
}

// softmax(q kᵀ / √d + mask) v
inline Tensor attention(const Tensor& q, const Tensor& k, const Tensor& v, const Array& mask) {  // (…, T, d)
    const Tensor scores = matmul(q, transpose(k, -2, -1)) / std::sqrt(q.size(-1));               // (…, T, T)
    return matmul(softmax(scores + mask), v);                                                    // (…, T, d)
}

struct CausalMultiHeadAttention : Module {
    Index H;
    Linear W_qkv;  // C → 3C: the queries, keys and values of all heads
    Linear W_out;  // C → C
    CausalMultiHeadAttention(Index C, Index H, Random& random)
        : H(H),
          W_qkv(register_module("W_qkv", Linear(C, 3 * C, random))),
          W_out(register_module("W_out", Linear(C, C, random))) {}
    Tensor operator()(const Tensor& x) const {  // (B, T, C)
        const Index C = x.size(2);
        const Tensor qkv = W_qkv(x);                                                   // (B, T, 3C)
        const auto part = [&](Index i) { return slice(qkv, 2, i * C, (i + 1) * C); };  // (B, T, C)
        const Tensor q = split_heads(part(0), H), k = split_heads(part(1), H), v = split_heads(part(2), H);
        return W_out(merge_heads(attention(q, k, v, causal_mask(x.size(1)))));  // (B, T, C)
    }
};
