// The mask oracle: what each common way to mask attention scores does to the same scores, forward and backward,
// computed with Weft's own operations. T queries, S keys.
#pragma once

#include <string>
#include <vector>

#include "weft/ops.h"

namespace weft::check {

// Common ways to keep blocked scores out of softmax.
enum class MaskRule {
    add,      // softmax(scores + blocked · (−1e9))
    replace,  // softmax(where(blocked, −1e9, scores))
    plain,    // e^(x − max x) / Σ e^(x − max x) of x = masked_fill(scores, blocked, −∞)
    safe      // Weft's softmax of the same x, which is 0 on a row of −∞
};

// Returns "add -1e9", "replace by -1e9", "-inf, plain softmax" or "-inf, safe softmax".
//
//     const std::string rule = name(check::MaskRule::add);  // "add -1e9"
const char* name(MaskRule rule);

// The result of one rule. The values are the keys' positions, 0 … S − 1, the gradients of Σ_ij weights_ij · j.
struct MaskOutcome {
    MaskRule rule = MaskRule::safe;     // the rule
    DType dtype = float32;              // type of the arithmetic
    Tensor masked;                      // (T, S): the input of softmax
    Tensor weights;                     // (T, S)
    Tensor scores_gradient;             // (T, S)
    Tensor values_gradient;             // (S,): Σ_i weights_ij, so one NaN row reaches every key
    std::vector<std::string> verdicts;  // per query: "blocked keys get 0", "the mask has no effect", "NaN", …
    bool finite() const;                // no NaN or infinity in the weights or a gradient
};

// The results of all rules on the same scores.
struct MaskTable {
    std::vector<MaskOutcome> outcomes;  // in the order of MaskRule
    // The outcome of that rule.
    const MaskOutcome& operator[](MaskRule rule) const { return outcomes.at(static_cast<std::size_t>(rule)); }
    std::string str() const;  // a line per rule and query: weights, gradients, verdict
    void print() const;       // prints str()
};

// Applies every rule to scores (S,) or (T, S), in the arithmetic of `dtype`. The mask is for one sample and
// head: rank 2 is (T, S). ShapeError when the scores have another rank or the mask does not fit; DTypeError
// unless scores and dtype are floating.
//
//     const Tensor blocked = from_vector(std::vector<bool>{true, true}, {1, 2});
//     const check::MaskTable table = check::mask_oracle(zeros({2}), Mask::blocked(blocked));
//     const Tensor added = table[check::MaskRule::add].weights;  // (1, 2): [[0.5, 0.5]], no effect
//     const Tensor safe = table[check::MaskRule::safe].weights;  // (1, 2): [[0, 0]]
MaskTable mask_oracle(const Tensor& scores, const Mask& mask, DType dtype = float32);

}  // namespace weft::check
