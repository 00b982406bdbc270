// Mask: which keys a query may not attend to. The name of the function that makes it states its polarity, and
// its rank states its meaning: (T, S) for all samples and heads, (B, T, S) per sample, (B|1, H|1, T, S) per
// sample and head. That is (B or 1, H or 1, T, S), where an axis of size 1 serves all samples or heads.
// B samples, H heads, T queries, S keys.
#pragma once

#include <cstdint>
#include <vector>

#include "weft/autograd/tensor.h"

namespace weft {

// Make masks with the named functions and combine them with |: what either blocks is blocked.
//
//     const Mask mask = Mask::causal() | Mask::padding({3, 2});   // two samples, of 3 and 2 tokens
//     const Tensor blocked = mask.materialize(2, 1, 3, 3)[1][0];  // [[0, 1, 1], [0, 0, 1], [0, 0, 1]]
class [[nodiscard]] Mask {
public:
    Mask() = default;  // blocks nothing

    // Blocks key j for query i if j > i + (S − T): the last query attends to every key, so queries that
    // follow cached keys attend to all of those. If S < T, the first T − S rows are fully masked.
    static Mask causal();

    // `lengths` has one entry per sample: keys j ≥ lengths[b] of sample b are padding and blocked. ValueError
    // for a negative length; ShapeError when used unless there are B lengths, none above S.
    static Mask padding(const std::vector<std::int64_t>& lengths);

    // mask (T, S), (B, T, S) or (B|1, H|1, T, S), true = blocked, as in masked_fill. DTypeError unless bool,
    // ShapeError for any other rank.
    static Mask blocked(const Tensor& mask);
    // The same with true = allowed, as in PyTorch's scaled_dot_product_attention.
    static Mask allowed(const Tensor& mask);

    // Blocks what either blocks.
    friend Mask operator|(const Mask& a, const Mask& b);

    bool blocks_nothing() const { return !causal_ && parts_.empty() && paddings_.empty(); }  // it is Mask()
    bool is_causal() const { return causal_; }  // Mask::causal() is part of it
    // Whether it is Mask::causal() and nothing else.
    bool only_causal() const { return causal_ && parts_.empty() && paddings_.empty(); }

    // Its tensors, bool, true = blocked: those passed to blocked(), and the negations of those to allowed().
    const std::vector<Tensor>& parts() const { return parts_; }

    // bool (B|1, H|1, T, S), true = blocked. ShapeError, beginning with `caller`, if a part does not fit.
    Tensor materialize(std::int64_t B, std::int64_t H, std::int64_t T, std::int64_t S,
                       const char* caller = "Mask::materialize") const;
    // The same without the causal part, which the attention kernel handles itself, as bool tensors (B|1, H|1,
    // T|1, S|1): what is blocked is what any of them blocks. Masks that block a key for every query, such as
    // padding, are joined; the others are views of the tensors passed. So nothing new has an axis of T queries.
    std::vector<Tensor> rest(std::int64_t B, std::int64_t H, std::int64_t T, std::int64_t S,
                             const char* caller = "Mask::rest") const;

private:
    bool causal_ = false;
    std::vector<std::vector<std::int64_t>> paddings_;
    std::vector<Tensor> parts_;  // bool, true = blocked
};

}  // namespace weft
