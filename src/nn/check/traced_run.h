// One traced run of a subject, and the checks made on such runs.
#pragma once

#include <map>

#include "weft/nn/check/attention.h"

namespace weft::check {

// What a run named, and what it should have blocked.
struct TracedRun {
    Tensor x, y;
    std::map<std::string, Tensor> named;  // the last tensor of each name
    Tensor blocked;                       // bool (B, H, T, T)

    Tensor operator[](
        const std::string& name) const;  // ValueError, saying how to name it, when it was not named
    bool has(const std::string& name) const { return named.count(name) > 0; }
    // The scores as softmax should get them, but for the mask.
    Tensor unmasked() const { return (*this)[has("biased scores") ? "biased scores" : "scores"].detach(); }
    Tensor softmaxed() const { return has("masked scores") ? (*this)["masked scores"].detach() : unmasked(); }
};

TracedRun traced_run(const AttentionSubject& subject, const Tensor& x, const Mask& extra_mask = {});

struct Outcome {
    bool passed = false;
    std::string evidence;
};
// The outcome of `check`; failed, with its message, where it throws an Error.
AttentionCheck checked(const std::string& name, const std::function<Outcome()>& check);

// How far two numbers may lie apart that are equal but for rounding, relative to the largest.
double tolerance(DType dtype);
double largest(const Tensor& x);                    // |x|, 0 when empty; NaN when there is one
double distance(const Tensor& a, const Tensor& b);  // the largest |a − b| / max(1, |b|)
bool same_bits(const Tensor& a, const Tensor& b);

// ---- the checks that one run answers (attention_steps.cpp)
std::vector<AttentionCheck> check_steps(const AttentionSubject& subject, const TracedRun& run);
// The shares of each row that sees something that are decided on: rows sum to 1, blocked weights are 0.
Outcome rows_sum_to_1(const Tensor& weights, const Tensor& blocked, bool visible_only);
Outcome blocked_are_0(const Tensor& weights, const Tensor& blocked);

// ---- the checks that need probes (attention_probes.cpp)
Outcome gradient_reaches(const AttentionSubject& subject, const Tensor& x);
Outcome no_influence(const AttentionSubject& subject, const Tensor& x);
Outcome own_masks(const AttentionSubject& subject, const Tensor& x);
Outcome fully_masked_row(const AttentionSubject& subject, const Tensor& x);

}  // namespace weft::check
