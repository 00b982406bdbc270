// Mask: which keys a query may not see. Its polarity is in its name, never in a bare bool, and its rank says
// its meaning:
//     (T, S) for all samples and heads · (B, T, S) per sample · (B|1, H|1, T, S) per sample and head.
// B samples, H heads, T queries, S keys.
#pragma once

#include <cstdint>
#include <vector>

#include "weft/core/tensor.h"

namespace weft {

// Made by name, joined with |; what attention takes. One without a name blocks nothing.
class [[nodiscard]] Mask {
public:
    Mask() = default;  // blocks nothing

    // Query i may not see key j where j > i + (S − T): the last query sees every key, so a query that follows
    // cached keys sees all of them and itself. With S < T the first T − S queries see nothing.
    static Mask causal();

    // (B,) lengths: sample b's keys j ≥ lengths[b] are padding and blocked. ValueError when a length is
    // negative.
    static Mask padding(const std::vector<std::int64_t>& lengths);

    static Mask blocked(
        const Tensor& mask);  // bool of rank 2, 3 or 4: true = may not be seen (as masked_fill takes it)
    static Mask allowed(
        const Tensor& mask);  // bool of rank 2, 3 or 4: true = may be seen (as PyTorch's attention takes it)

    // Blocked where either blocks.
    friend Mask operator|(const Mask& a, const Mask& b);

    // Whether it is Mask(), which blocks nothing.
    bool blocks_nothing() const { return !causal_ && parts_.empty() && paddings_.empty(); }
    bool is_causal() const { return causal_; }  // Mask::causal() is part of it
    // It is Mask::causal() and nothing else.
    bool only_causal() const { return causal_ && parts_.empty() && paddings_.empty(); }

    // The tensors that it holds, bool, true = blocked: those given to blocked(), and the opposites that
    // allowed() made.
    const std::vector<Tensor>& parts() const { return parts_; }

    // bool, (B|1, H|1, T, S), true = blocked. ShapeError, naming `caller` and both shapes, where a part of the
    // mask does not fit.
    Tensor materialize(std::int64_t B, std::int64_t H, std::int64_t T, std::int64_t S,
                       const char* caller = "Mask::materialize") const;
    // The same without the causal part, which the attention kernel handles itself; undefined when nothing else
    // blocks.
    Tensor materialize_rest(std::int64_t B, std::int64_t H, std::int64_t T, std::int64_t S,
                            const char* caller = "Mask::materialize_rest") const;

private:
    bool causal_ = false;
    std::vector<std::vector<std::int64_t>> paddings_;
    std::vector<Tensor> parts_;  // bool, true = blocked
};

}  // namespace weft
