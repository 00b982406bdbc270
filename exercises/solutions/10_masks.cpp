// Exercise of chapter 10: masks. In all of them true means blocked.
//
//     make exercise N=10
//
// Write each function in place of its blank. B samples, T queries, S keys.
#include <cmath>

#include "exercise.h"

// bool (T, S): query i may not see key j where j > i + (S − T). For T = S that is the upper triangle; with S >
// T the queries follow S − T keys that all of them see.
Tensor causal_mask(std::int64_t T, std::int64_t S) {
    const Tensor last = arange(T).reshape({T, 1}) + static_cast<double>(S - T);  // (T, 1)
    return arange(S) > last;                                                     // (S,) against (T, 1)
}

// bool (B, 1, T, T) with B = lengths.size(): blocks the future, and of sample b the keys j ≥ lengths[b].
Tensor padded_causal(const std::vector<std::int64_t>& lengths, std::int64_t T) {
    const auto B = static_cast<std::int64_t>(lengths.size());
    const Tensor padding = arange(T) >= from_vector(lengths, {B, 1, 1, 1});  // (B, 1, 1, T)
    return padding || causal_mask(T, T);                                     // (B, 1, T, T)
}

// Softmax over the last axis, over the keys that are not blocked; a row in which all are blocked gives zeros,
// and gradients of 0. scores floating (…, S), blocked bool that broadcasts to it. Not by weft::softmax: use
// exp, max (its .values), sum and masked_fill.
Tensor safe_softmax(const Tensor& scores, const Tensor& blocked) {
    const Tensor masked = masked_fill(scores, blocked, -INFINITY);  // (…, S)
    Tensor largest = max(masked, -1, true).values.detach();         // (…, 1)
    largest = masked_fill(largest, largest == -INFINITY, 0);
    const Tensor e = exp(masked - largest);  // 0 where blocked
    const Tensor total = sum(e, -1, true);   // (…, 1)
    return e / masked_fill(total, total == 0, 1);
}
