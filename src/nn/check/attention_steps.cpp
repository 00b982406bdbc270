// The checks that one traced run decides.
// B batch, T tokens, C = d_model, H heads, d_k and d_v the widths of a head.
#include <cmath>

#include "traced_run.h"
#include "weft/core/text.h"

namespace weft::check {

namespace {

// (B, H, T, 1): true for rows that are not fully masked.
Tensor has_visible_key(const Tensor& blocked) { return sum((!blocked).to(float32), -1, keepdim) > 0; }

std::string index_of(const Tensor& x, std::size_t position) { return text::index(position, x.shape()); }

Outcome shapes_of_qkv(const AttentionSubject& subject, const TracedRun& run) {
    const Tensor q = run["q"], k = run["k"], v = run["v"];
    const std::int64_t B = run.x.size(0), T = run.x.size(1), H = subject.num_heads;
    const bool right = q.rank() == 4 && q.shape() == Shape{B, H, T, q.size(-1)} && k.shape() == q.shape() &&
                       v.rank() == 4 && v.shape() == Shape{B, H, T, v.size(-1)};
    return {right, "q " + q.shape().str() + ", k " + k.shape().str() + ", v " + v.shape().str() +
                       (right ? ""
                              : ", not (" + std::to_string(B) + ", " + std::to_string(H) + ", " +
                                    std::to_string(T) + ", d)")};
}

Outcome has_shape(const Tensor& x, const Shape& expected) {
    return {x.shape() == expected, x.shape().str() + (x.shape() == expected ? "" : ", not " + expected.str())};
}

// Finds the factor in scores = factor · q kᵀ, by least squares.
Outcome scaled(const TracedRun& run) {
    const Tensor q = run["q"].detach(), k = run["k"].detach(), scores = run["scores"].detach();
    const Tensor dots = matmul(q, k.transpose(-2, -1)).to(float64);
    if (dots.shape() != scores.shape()) return {false, "scores are " + scores.shape().str()};
    const double squares = sum(dots * dots).item();
    const double factor = squares == 0 ? 0 : sum(dots * scores.to(float64)).item() / squares;
    const double d_k = static_cast<double>(q.size(-1)), C = static_cast<double>(run.x.size(-1));
    const double right = 1 / std::sqrt(d_k), error = distance(scores, dots * right);
    const std::string as =
        std::abs(factor * std::sqrt(d_k) - 1) < 1e-3 ? " = 1/sqrt(" + text::number(d_k, 6) + ")"
        : std::abs(factor * std::sqrt(C) - 1) < 1e-3
            ? " = 1/sqrt(" + text::number(C, 6) + "), where " + text::number(C, 6) + " is d_model,"
            : "";
    const std::string found = "scores = " + text::number(factor, 4) + as + " times q k^T";
    if (error <= tolerance(scores.dtype())) return {true, found};
    return {false, found + "; d_k is " + text::number(d_k, 6) + ", so it should be " + text::number(right, 4) +
                       "; the scores are off by up to " + text::number(error, 3)};
}

Outcome masked_before(const TracedRun& run) {
    if (!any(run.blocked)) return {true, "nothing is blocked"};
    const Tensor scores = run.unmasked(), masked = run["masked scores"].detach();
    if (masked.shape() != scores.shape())
        return {false, "masked scores are " + masked.shape().str() + ", scores " + scores.shape().str()};
    const double moved = distance(masked_fill(masked, run.blocked, 0), masked_fill(scores, run.blocked, 0));
    if (moved > tolerance(scores.dtype()))
        return {false, "visible scores were changed, by up to " + text::number(moved, 3)};
    // Blocked scores must be so far below the others that their e^x is 0.
    const double highest = max(masked_fill(masked, !run.blocked, -INFINITY)).item();
    const double far_below = min(masked_fill(scores, run.blocked, INFINITY)).item() - 1000;
    return {highest <= far_below || !any(!run.blocked),
            "the largest blocked score is " + text::number(highest, 4) + ", the smallest visible one " +
                text::number(far_below + 1000, 4)};
}

Outcome softmaxed(const TracedRun& run) {
    const Tensor weights = run["weights"].detach(), scores = run.softmaxed();
    const Tensor rows = has_visible_key(run.blocked);
    const auto error = [&](const Tensor& expected) {
        return distance(masked_fill(weights, !rows, 0), masked_fill(expected, !rows, 0));
    };
    if (weights.shape() != scores.shape())
        return {false, "weights are " + weights.shape().str() + ", scores " + scores.shape().str()};
    const double off = error(softmax(scores, -1)), close = tolerance(weights.dtype());
    const std::string by = "weights differ from softmax of the scores by " + text::number(off, 3);
    for (int axis = 0; axis < 3 && off > close; ++axis)
        if (error(softmax(scores, axis)) <= close)
            return {false, by + "; they are softmax over axis " + std::to_string(axis)};
    return {off <= close, by};
}

Outcome sample_row(const TracedRun& run) {
    const Tensor row = run["weights"].detach()[0][0][run.x.size(1) - 1];
    std::string text;
    bool right = true;
    const auto values = row.to(float64).to_vector<double>();
    for (std::size_t j = 0; j < values.size(); ++j) {
        right = right && values[j] >= 0 && std::isfinite(values[j]);
        if (j < 8) text += (j == 0 ? "" : " ") + text::number(values[j], 3);
    }
    return {right, "last token, head 0: " + text + (values.size() > 8 ? " …" : "")};
}

Outcome equal(const Tensor& found, const Tensor& expected, const std::string& what) {
    if (found.shape() != expected.shape())
        return {false, found.shape().str() + ", but " + what + " are " + expected.shape().str()};
    const double error = distance(found, expected);
    return {error <= tolerance(found.dtype()), "differ from " + what + " by " + text::number(error, 3)};
}

Outcome side_by_side(const TracedRun& run) {
    const Tensor heads = run["heads"].detach(), merged = run["merged"].detach();
    const Tensor right = nn::merge_heads(heads);
    const Outcome outcome = equal(merged, right, "the heads side by side");
    if (!outcome.passed && merged.numel() == heads.numel() &&
        same_bits(merged.reshape({-1}), heads.contiguous().reshape({-1})))
        return {false, outcome.evidence + ": they were reshaped without the permute"};
    return outcome;
}

}  // namespace

Outcome rows_sum_to_1(const Tensor& weights, const Tensor& blocked, bool visible_only) {
    if (weights.shape() != blocked.shape())
        return {false, "weights are " + weights.shape().str() + ", not " + blocked.shape().str()};
    const Tensor counted = visible_only ? masked_fill(weights.detach(), blocked, 0) : weights.detach();
    const Tensor sums = sum(counted.to(float64), -1, keepdim), rows = has_visible_key(blocked);  // (B, H, T, 1)
    const auto values = sums.to_vector<double>();
    const auto counts = rows.to_vector<bool>();
    double worst = 0;
    std::size_t at = 0, count = 0;
    for (std::size_t row = 0; row < values.size(); ++row) {
        if (!counts[row]) continue;
        ++count;
        const double off = std::abs(values[row] - 1);
        if (!(off <= worst)) worst = off, at = row;
    }
    return {
        worst <= tolerance(weights.dtype()),
        std::to_string(count) + " rows; the farthest from 1 is " +
            (values.empty() ? "none" : text::number(values[at], 8) + " at " + index_of(sums.squeeze(-1), at))};
}

Outcome blocked_are_0(const Tensor& weights, const Tensor& blocked) {
    if (weights.shape() != blocked.shape())
        return {false, "weights are " + weights.shape().str() + ", not " + blocked.shape().str()};
    const auto values = masked_fill(weights.detach(), !(blocked && has_visible_key(blocked)), 0)
                            .to(float64)
                            .to_vector<double>();
    for (std::size_t i = 0; i < values.size(); ++i)
        if (values[i] != 0)
            return {false, "a blocked key gets " + text::number(values[i], 4) + " at " + index_of(weights, i)};
    return {true, text::number(sum(blocked.to(float64)).item(), 9) + " blocked weights, all exactly 0"};
}

std::vector<AttentionCheck> check_steps(const AttentionSubject& subject, const TracedRun& run) {
    const std::int64_t B = run.x.size(0), T = run.x.size(1), H = subject.num_heads;
    std::vector<AttentionCheck> checks;
    const auto add = [&](const char* name, const std::function<Outcome()>& check) {
        checks.push_back(checked(name, check));
    };
    add("shapes of q, k, v", [&] { return shapes_of_qkv(subject, run); });
    add("shape of scores", [&] { return has_shape(run["scores"], {B, H, T, T}); });
    add("scaled by sqrt(d_k)", [&] { return scaled(run); });
    add("masked before softmax", [&] { return masked_before(run); });
    add("softmax over the last axis", [&] { return softmaxed(run); });
    add("weights sum to 1", [&] { return rows_sum_to_1(run["weights"], run.blocked, false); });
    add("blocked weights are 0", [&] { return blocked_are_0(run["weights"], run.blocked); });
    add("visible weights sum to 1", [&] { return rows_sum_to_1(run["weights"], run.blocked, true); });
    add("sample row", [&] { return sample_row(run); });
    add("heads are weights times values", [&] {
        return equal(run["heads"], matmul(run["weights"].detach(), run["v"].detach()), "weights times values");
    });
    add("shape of merged", [&] { return has_shape(run["merged"], {B, T, H * run["v"].size(-1)}); });
    add("heads side by side", [&] { return side_by_side(run); });
    add("shape of the output", [&] { return has_shape(run.y, run.x.shape()); });
    return checks;
}

}  // namespace weft::check
