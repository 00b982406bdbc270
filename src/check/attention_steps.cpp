// The checks that one traced run decides.
// B batch, T tokens, C = d_model, H heads, d_k and d_v the widths of a head.
#include <cmath>

#include "traced_run.h"
#include "weft/base/numbers.h"

namespace weft::check {

namespace {

// (B, H, T, 1): true for rows that are not fully masked.
Tensor has_visible_key(const Tensor& blocked) { return sum((!blocked).to(float32), -1, keepdim) > 0; }

Outcome equal(const Tensor& found, const Tensor& expected, const char* what) {
    if (found.shape() != expected.shape())
        return {false, found.shape(), ", but ", what, " are ", expected.shape()};
    const double error = distance(found, expected);
    return {error <= tolerance(found.dtype()), "differ from ", what, " by ", format_number(error, 3)};
}

}  // namespace

Outcome shapes_of_qkv(const AttentionSubject& subject, const TracedRun& run) {
    const Tensor q = run["q"], k = run["k"], v = run["v"];
    const std::int64_t B = run.x.size(0), T = run.x.size(1), H = subject.num_heads;
    const bool right = q.rank() == 4 && q.shape() == Shape{B, H, T, q.size(-1)} && k.shape() == q.shape() &&
                       v.rank() == 4 && v.shape() == Shape{B, H, T, v.size(-1)};
    if (right) return {true, "q ", q.shape(), ", k ", k.shape(), ", v ", v.shape()};
    return Outcome(false, "q ", q.shape(), ", k ", k.shape(), ", v ", v.shape(), ", not (", B, ", ", H, ", ", T,
                   ", d)");
}

Outcome has_shape(const Tensor& x, const Shape& expected) {
    return {x.shape() == expected, x.shape(), x.shape() == expected ? "" : ", not " + expected.str()};
}

// Finds the factor in scores = factor · q kᵀ, by least squares.
Outcome scaled(const TracedRun& run) {
    const Tensor q = run["q"].detach(), k = run["k"].detach(), scores = run["scores"].detach();
    const Tensor dots = matmul(q, k.transpose(-2, -1)).to(float64);
    if (dots.shape() != scores.shape()) return {false, "scores are ", scores.shape()};
    const double squares = sum(dots * dots).item();
    const double factor = squares == 0 ? 0 : sum(dots * scores.to(float64)).item() / squares;
    const double d_k = static_cast<double>(q.size(-1)), C = static_cast<double>(run.x.size(-1));
    const double right = 1 / std::sqrt(d_k), error = distance(scores, dots * right);
    const std::string as =
        std::abs(factor * std::sqrt(d_k) - 1) < 1e-3 ? " = 1/sqrt(" + format_number(d_k, 6) + ")"
        : std::abs(factor * std::sqrt(C) - 1) < 1e-3
            ? " = 1/sqrt(" + format_number(C, 6) + "), where " + format_number(C, 6) + " is d_model,"
            : "";
    const std::string found = "scores = " + format_number(factor, 4) + as + " times q k^T";
    if (error <= tolerance(scores.dtype())) return {true, found};
    return Outcome(false, found, "; d_k is ", q.size(-1), ", so it should be ", format_number(right, 4),
                   "; the scores are off by up to ", format_number(error, 3));
}

Outcome masked_before(const TracedRun& run) {
    const Tensor scores = run.unmasked(), masked = run["masked scores"].detach();
    if (masked.shape() != scores.shape())
        return {false, "masked scores are ", masked.shape(), ", scores ", scores.shape()};
    const double moved = distance(masked_fill(masked, run.blocked, 0), masked_fill(scores, run.blocked, 0));
    if (moved > tolerance(scores.dtype()))
        return {false, "visible scores were changed, by up to ", format_number(moved, 3)};
    // Blocked scores must be so far below the others that their e^x is 0.
    const double highest = max(masked_fill(masked, !run.blocked, -INFINITY)).item();
    const double far_below = min(masked_fill(scores, run.blocked, INFINITY)).item() - 1000;
    return {highest <= far_below || !any(!run.blocked), "the largest blocked score is ",
            format_number(highest, 4), ", the smallest visible one ", format_number(far_below + 1000, 4)};
}

Outcome softmaxed(const TracedRun& run) {
    const Tensor weights = run["weights"].detach(), scores = run.softmaxed();
    const Tensor rows = has_visible_key(run.blocked);
    const auto error = [&](const Tensor& expected) {
        return distance(masked_fill(weights, !rows, 0), masked_fill(expected, !rows, 0));
    };
    if (weights.shape() != scores.shape())
        return {false, "weights are ", weights.shape(), ", scores ", scores.shape()};
    const double off = error(softmax(scores, -1)), close = tolerance(weights.dtype());
    const std::string by = "weights differ from softmax of the scores by " + format_number(off, 3);
    for (int axis = 0; axis < 3 && off > close; ++axis)
        if (error(softmax(scores, axis)) <= close) return {false, by, "; they are softmax over axis ", axis};
    return {off <= close, by};
}

Outcome sample_row(const TracedRun& run) {
    const Tensor row = run["weights"].detach()[0][0][run.x.size(1) - 1];
    const auto values = row.to(float64).to_vector<double>();
    std::string text;
    for (std::size_t j = 0; j < std::min<std::size_t>(values.size(), 8); ++j)
        text += (j == 0 ? "" : " ") + format_number(values[j], 3);
    return {all(isfinite(row) && row >= 0), "last token, head 0: ", text, values.size() > 8 ? " …" : ""};
}

Outcome weights_times_values(const TracedRun& run) {
    return equal(run["heads"], matmul(run["weights"].detach(), run["v"].detach()), "weights times values");
}

Outcome side_by_side(const TracedRun& run) {
    const Tensor heads = run["heads"].detach(), merged = run["merged"].detach();
    const Tensor right = nn::merge_heads(heads);
    const Outcome outcome = equal(merged, right, "the heads side by side");
    if (!outcome.passed() && merged.numel() == heads.numel() &&
        equal_values(merged.reshape({-1}), heads.contiguous().reshape({-1})))
        return {false, outcome.evidence, ": they were reshaped without the permute"};
    return outcome;
}

Outcome rows_sum_to_1(const Tensor& weights, const Tensor& blocked, bool visible_only) {
    if (weights.shape() != blocked.shape())
        return {false, "weights are ", weights.shape(), ", not ", blocked.shape()};
    const Tensor counted = visible_only ? masked_fill(weights.detach(), blocked, 0) : weights.detach();
    const Tensor sums = sum(counted.to(float64), -1), rows = has_visible_key(blocked).squeeze(-1);  // (B, H, T)
    const Tensor off = masked_fill(abs(sums - 1), !rows, 0).reshape({-1});
    const auto at = static_cast<std::int64_t>(argmax(off, 0).item());
    return Outcome(off[at].item() <= tolerance(weights.dtype()), format_number(sum(rows.to(float64)).item(), 9),
                   " rows; the farthest from 1 is ", format_number(sums.reshape({-1})[at].item(), 8), " at ",
                   format_index(at, sums.shape()));
}

Outcome blocked_are_0(const Tensor& weights, const Tensor& blocked) {
    if (weights.shape() != blocked.shape())
        return {false, "weights are ", weights.shape(), ", not ", blocked.shape()};
    const Tensor seen = masked_fill(weights.detach(), !(blocked && has_visible_key(blocked)), 0).reshape({-1});
    const auto at = static_cast<std::int64_t>(argmax((seen != 0).to(int64), 0).item());
    if (seen[at].item() != 0)
        return {false, "a blocked key gets ", format_number(seen[at].item(), 4), " at ",
                format_index(at, weights.shape())};
    return {true, format_number(sum(blocked.to(float64)).item(), 9), " blocked weights, all exactly 0"};
}

}  // namespace weft::check
