// The mask oracle: what each common way to mask attention scores does to the same scores, computed by Weft's
// own arithmetic, forward and backward. T queries, S keys.
#pragma once

#include <string>
#include <vector>

#include "weft/core/ops.h"

namespace weft::check {

// The common ways to keep blocked scores out of softmax.
enum class MaskRule {
    add,      // softmax(scores + blocked · (−1e9))
    replace,  // softmax(where(blocked, −1e9, scores))
    plain,    // e^(x − max x) / Σ e^(x − max x) of x = masked_fill(scores, blocked, −∞)
    safe      // Weft's softmax of the same, in which a row of −∞ gives 0
};

// "add -1e9", "replace by -1e9", "-inf, plain softmax" or "-inf, safe softmax".
const char* name(MaskRule rule);

// What one rule gives. The values that are averaged are the keys' positions 0 … S − 1, and the gradients are
// those of the sum of the averages: Σ_ij weights_ij · j.
struct MaskOutcome {
    MaskRule rule = MaskRule::safe;     // which one
    DType dtype = float32;              // in which it was computed
    Tensor masked;                      // (T, S): what softmax is given
    Tensor weights;                     // (T, S)
    Tensor scores_gradient;             // (T, S)
    Tensor values_gradient;             // (S,): Σ_i weights_ij, so that one NaN row reaches every key
    std::vector<std::string> verdicts;  // per query: "blocked keys get 0", "the mask has no effect", "NaN", …
    bool finite() const;                // no NaN or infinity in the weights or a gradient
};

// What every rule makes of the same scores.
struct MaskTable {
    std::vector<MaskOutcome> outcomes;  // in the order of MaskRule
    // That rule's outcome.
    const MaskOutcome& operator[](MaskRule rule) const { return outcomes.at(static_cast<std::size_t>(rule)); }
    std::string str() const;  // a line for each rule and query: weights, gradients, verdict
    void print() const;       // str() to standard output
};

// scores (S,) or (T, S), floating; the mask as attention takes it for one sample and head: rank 2 is (T, S).
// The arithmetic is done in `dtype`. ShapeError when the scores have another rank or the mask does not fit;
// DTypeError unless dtype is floating.
MaskTable mask_oracle(const Tensor& scores, const Mask& mask, DType dtype = float32);

}  // namespace weft::check
