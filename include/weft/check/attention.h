// The attention checklist: runs a self-attention and checks each of its steps.
// B batch, T tokens, C = d_model, H heads, d_k and d_v the widths of a head.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "weft/nn/attention.h"
#include "weft/nn/general_attention.h"
#include "weft/ops.h"

namespace weft::check {

// How a check ends. It is not applicable if there is nothing to examine, such as the mask where nothing is
// blocked.
enum class Verdict {
    passed,         // the step is right
    failed,         // it is not
    not_applicable  // there was nothing to examine
};

// The result of one check.
struct AttentionCheck {
    std::string name;                   // one of those listed at `attention`
    Verdict verdict = Verdict::failed;  // whether the step is right
    std::string evidence;               // the shapes and numbers that decided, or why it is not applicable
    bool passed() const { return verdict == Verdict::passed; }  // false also if it is not applicable
    bool failed() const { return verdict == Verdict::failed; }  // false also if it is not applicable
};

// The results of all checks.
struct AttentionReport {
    std::vector<AttentionCheck> checks;  // in the order of the run
    bool passed() const;                 // whether none failed
    // The check of that name; ValueError if there is none.
    const AttentionCheck& operator[](const std::string& name) const;
    std::string str() const;  // a line per check: passed, FAILED or n/a, name, evidence; then the counts
    void print() const;       // prints str()
};

// A self-attention to check, and what it should do.
struct AttentionSubject {
    // x (B, T, C) → (B, T, C); `extra_mask` blocks more than the function blocks by itself. It names its steps
    // with traced(name, tensor), as Weft's own attention does: "q" and "k" (B, H, T, d_k), "v" (B, H, T, d_v),
    // "scores" (B, H, T, T), "biased scores" if it adds a bias, "masked scores" if anything is blocked,
    // "weights" (B, H, T, T), "heads" (B, H, T, d_v) and "merged" (B, T, H·d_v).
    std::function<Tensor(const Tensor& x, const Mask& extra_mask)> run;
    std::int64_t num_heads = 1;  // H
    Mask mask = {};              // mask that the attention applies by itself
    // Parameters that a gradient must reach, in every head; without any, q, k and v.
    nn::NamedTensors parameters = {};
    bool takes_mask = true;  // false: it ignores `extra_mask`; the two checks that need it are not applicable
};

// Runs the subject on x (B, T, C) or (T, C), T ≥ 2, and on variations of x, and checks
//   "same result twice"                 the run is deterministic, and tracing does not change it
//   "shapes of q, k, v"                 (B, H, T, d_k), (B, H, T, d_k), (B, H, T, d_v)
//   "shape of scores"                   (B, H, T, T)
//   "scaled by sqrt(d_k)"               scores are q kᵀ / √d_k, not / √d_model
//   "masked before softmax"             masked scores are the scores, and −∞ or far below where blocked
//   "softmax over the last axis"        weights are softmax of the masked scores, row by row
//   "weights sum to 1"                  in every row that is not fully masked
//   "blocked weights are 0"             exactly
//   "visible weights sum to 1"          over the keys that are not blocked
//   "sample row"                        weights of the last token in head 0: finite and ≥ 0; prints them
//   "heads are weights times values"    heads = weights v
//   "shape of merged"                   (B, T, H·d_v)
//   "heads side by side"                merged holds head h in columns h·d_v … (h+1)·d_v − 1
//   "shape of the output"               that of x
//   "gradient reaches every head"       not 0 in any block of d_k rows or columns of a matrix; see parameters
//   "blocked tokens have no influence"  editing a token changes no bit of what may not attend to it
//   "each sample has its own mask"      with H samples that have different masks
//   "a fully masked row is 0"           weights, heads and merged are exactly 0, gradients finite
// A step without a name fails the checks that need it, and so does an exception, whose message is the evidence.
// Where nothing is blocked, the checks of the mask, of blocked and of visible weights are not applicable; with
// a single sample, neither is that of influence, because several samples must not influence one another.
// ValueError unless x has rank 2 or 3, T ≥ 2 and num_heads ≥ 1. No tensor's grad() changes.
//
//     check::AttentionSubject subject{my_attention, 2};
//     subject.mask = Mask::causal();
//     const check::AttentionReport report = check::attention(subject, x);
//     if (!report.passed()) report.print();
AttentionReport attention(const AttentionSubject& subject, const Tensor& x);

// Checks a module, under EvalMode. `mask` is the one you use it with.
//
//     const auto report = check::attention(nn::MultiHeadAttention(64, 8, rng), x);  // x (B, T, 64)
AttentionReport attention(const nn::MultiHeadAttention& module, const Tensor& x, const Mask& mask = {});
AttentionReport attention(const nn::CausalMultiHeadAttention& module, const Tensor& x);
AttentionReport attention(const nn::Attention& module, const Tensor& x, const Mask& mask = {});

// The mask oracle: what each common way to mask attention scores does to the same scores, forward and backward,
// computed with Weft's own operations. T queries, S keys.

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
