// A traced run of a subject, and the checks of the attention checklist.
#pragma once

#include <map>

#include "weft/check/attention.h"

namespace weft::check {

// The tensors that a run named, and what it should have blocked.
struct TracedRun {
    Tensor x, y;
    std::map<std::string, Tensor> named;  // the last tensor with each name
    Tensor blocked;                       // bool (B, H, T, T)

    Tensor operator[](const std::string& name) const;  // ValueError if the run named no such tensor
    bool has(const std::string& name) const { return named.count(name) > 0; }
    // The scores before the mask, and those that softmax gets.
    Tensor unmasked() const { return (*this)[has("biased scores") ? "biased scores" : "scores"].detach(); }
    Tensor softmaxed() const { return has("masked scores") ? (*this)["masked scores"].detach() : unmasked(); }
};

TracedRun traced_run(const AttentionSubject& subject, const Tensor& x, const Mask& extra_mask = {});

// The result of a check; its evidence is given in parts, like the message of an Error.
struct Outcome {
    Verdict verdict = Verdict::failed;
    std::string evidence = {};

    Outcome(Verdict verdict, const auto&... parts) : verdict(verdict), evidence(Error::text(parts...)) {}
    Outcome(bool is_right, const auto&... parts)
        : Outcome(is_right ? Verdict::passed : Verdict::failed, parts...) {}
    bool passed() const { return verdict == Verdict::passed; }
};

// The rounding error allowed between two numbers, relative to max(1, |b|).
double tolerance(DType dtype);
double largest(const Tensor& x);                      // max |x|; 0 if empty, NaN if there is one
double distance(const Tensor& a, const Tensor& b);    // max |a − b| / max(1, |b|)
bool equal_values(const Tensor& a, const Tensor& b);  // of one shape, and a = b

// ---- checks of one run (attention_steps.cpp)
Outcome shapes_of_qkv(const AttentionSubject& subject, const TracedRun& run);
Outcome has_shape(const Tensor& x, const Shape& expected);
Outcome scaled(const TracedRun& run);
Outcome masked_before(const TracedRun& run);
Outcome softmaxed(const TracedRun& run);
// Over the rows that are not fully masked: (B, H, T, T) weights sum to 1, blocked weights are 0.
Outcome rows_sum_to_1(const Tensor& weights, const Tensor& blocked, bool visible_only);
Outcome blocked_are_0(const Tensor& weights, const Tensor& blocked);
Outcome sample_row(const TracedRun& run);
Outcome weights_times_values(const TracedRun& run);
Outcome side_by_side(const TracedRun& run);

// ---- checks that need more runs (attention_checklist.cpp)
Outcome gradient_reaches(const AttentionSubject& subject, const Tensor& x);
Outcome no_influence(const AttentionSubject& subject, const Tensor& x);
Outcome own_masks(const AttentionSubject& subject, const Tensor& x);
Outcome fully_masked_row(const AttentionSubject& subject, const Tensor& x);

}  // namespace weft::check
