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
    return blank("arange(S) against arange(T), which must stand upright, (T, 1), compared with >");
}

// bool (B, 1, T, T) with B = lengths.size(): blocks the future, and of sample b the keys j ≥ lengths[b].
Tensor padded_causal(const std::vector<std::int64_t>& lengths, std::int64_t T) {
    return blank("the padding as (B, 1, 1, T) and the causal mask (T, T), joined with ||");
}

// Softmax over the last axis, over the keys that are not blocked; a row in which all are blocked gives zeros,
// and gradients of 0. scores floating (…, S), blocked bool that broadcasts to it. Not by weft::softmax: use
// exp, max (its .values), sum and masked_fill.
Tensor safe_softmax(const Tensor& scores, const Tensor& blocked) {
    return blank("as plain softmax, but with no row whose maximum is -inf and none whose sum is 0");
}
