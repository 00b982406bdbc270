// The attention checklist: every step of a self-attention, looked at in a real run of it.
// B batch, T tokens, C = d_model, H heads, d_k and d_v the widths of a head.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "weft/nn/attention.h"

namespace weft::check {

// One step, looked at.
struct AttentionCheck {
    std::string name;      // one of those below
    bool passed = false;   // as it should be
    std::string evidence;  // the shapes and numbers that decided it
};

// All steps of one attention; `attention` makes it.
struct AttentionReport {
    std::vector<AttentionCheck> checks;                               // in the order of the run
    bool passed() const;                                              // all of them
    const AttentionCheck& operator[](const std::string& name) const;  // ValueError when there is no such check
    std::string str() const;  // a line for each check: passed or FAILED, name, evidence
    void print() const;       // str() to standard output
};

// What is checked: any function that does self-attention, and what it is meant to do.
struct AttentionSubject {
    // x (B, T, C) → (B, T, C). `extra_mask` blocks what it blocks, besides what the function blocks by itself.
    // On its way it names its steps with traced(name, tensor), see weft/core/trace.h: "q" (B, H, T, d_k), "k"
    // (B, H, T, d_k), "v" (B, H, T, d_v), "scores" (B, H, T, T), "biased scores" if it adds a bias, "masked
    // scores" if anything is blocked, "weights" (B, H, T, T), "heads" (B, H, T, d_v) and "merged" (B, T,
    // H·d_v). Weft's own attention names all of them.
    std::function<Tensor(const Tensor& x, const Mask& extra_mask)> run;
    std::int64_t num_heads = 1;        // H
    Mask mask = {};                    // what it blocks by itself
    nn::NamedTensors parameters = {};  // which gradients must reach, in every head
    bool takes_mask = true;  // false: `extra_mask` is ignored; the two checks that need it are left out
};

// Runs the subject on x (B, T, C) or (T, C), T ≥ 2, and on probes made of it, and reports on
//     "same result twice"                 the run is deterministic, and tracing does not change it
//     "shapes of q, k, v"                 (B, H, T, d_k), (B, H, T, d_k), (B, H, T, d_v)
//     "shape of scores"                   (B, H, T, T)
//     "scaled by sqrt(d_k)"               scores are q kᵀ / √d_k, not / √d_model
//     "masked before softmax"             masked scores are the scores, but −∞ or far below them where blocked
//     "softmax over the last axis"        weights are softmax of the masked scores, row by row
//     "weights sum to 1"                  in every row that sees something
//     "blocked weights are 0"             exactly
//     "visible weights sum to 1"          over what the row may see alone
//     "sample row"                        weights of the last token in head 0, printed; finite and ≥ 0
//     "heads are weights times values"    heads = weights v
//     "shape of merged"                   (B, T, H·d_v)
//     "heads side by side"                merged holds head h in columns h·d_v … (h+1)·d_v − 1
//     "shape of the output"               x's
//     "gradient reaches every head"       no parameter lacks a gradient, nor any block of d_k rows or
//                                         columns of a matrix; without parameters, the same of q, k and v
//     "blocked tokens have no influence"  editing a token changes no bit of an output that may not see it,
//                                         nor of another sample
//     "each sample has its own mask"      H samples, each with a mask of its own
//     "a fully masked row is 0"      weights, heads and merged exactly 0, gradients finite
// A step that is not named fails the checks that need it, as does an exception, whose message is the evidence.
// ValueError when x has another rank or T < 2, or num_heads < 1. Gradients that tensors hold are not touched.
AttentionReport attention(const AttentionSubject& subject, const Tensor& x);

// A module, in evaluation mode for the while. `mask` is what it is used with.
AttentionReport attention(const nn::MultiHeadAttention& module, const Tensor& x, const Mask& mask = {});
AttentionReport attention(const nn::CausalMultiHeadAttention& module, const Tensor& x);

}  // namespace weft::check
