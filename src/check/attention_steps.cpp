// The checks that one traced run decides.
// B batch, T tokens, C = d_model, H heads, d_k and d_v the widths of a head.
#include <array>
#include <cmath>
#include <iostream>

#include "traced_run.h"
#include "weft/base/text.h"
#include "weft/check/attention.h"
#include "weft/core/creation.h"
#include "weft/core/modes.h"

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

// The mask oracle. T queries, S keys.

namespace {

constexpr double low = -1e9;

// softmax as in textbooks: on a row of −∞, x − max x is NaN.
Tensor plain_softmax(const Tensor& x) {
    const Tensor e = exp(x - max(x, -1, keepdim).values.detach());
    return e / sum(e, -1, keepdim);
}

Tensor masked_by(MaskRule rule, const Tensor& scores, const Tensor& blocked) {
    if (rule == MaskRule::add) return scores + blocked.to(scores.dtype()) * low;
    if (rule == MaskRule::replace) return where(blocked, full({}, low, scores.dtype()), scores);
    return masked_fill(scores, blocked, -INFINITY);
}

// Describes what happened to one query; `unmasked` is softmax of its scores.
std::string verdict(const Tensor& weights, const Tensor& unmasked, const Tensor& blocked) {
    if (!all(isfinite(weights))) return "NaN";
    if (!any(blocked)) return "nothing is blocked";
    const double leaked = max(masked_fill(weights, !blocked, 0)).item();
    if (max(abs(weights)).item() == 0) return "sees nothing, gives 0";
    if (leaked == 0) return "blocked keys get 0";
    if (max(abs(weights - unmasked)).item() < 1e-6) return "the mask has no effect";
    return "blocked keys get up to " + to_chars(leaked, std::chars_format::fixed, 4);
}

MaskOutcome outcome(MaskRule rule, const Tensor& given, const Tensor& blocked) {
    const EnableGrad on;
    Tensor scores = given.detach().clone().requires_grad_();
    Tensor positions =
        arange(0, static_cast<double>(given.size(1)), 1, given.dtype()).requires_grad_();  // (S,)
    const Tensor masked = masked_by(rule, scores, blocked);
    const Tensor weights = rule == MaskRule::plain ? plain_softmax(masked) : softmax(masked, -1);
    sum(matmul(weights, positions)).backward();
    MaskOutcome result{rule, given.dtype(), masked.detach(), weights.detach(), scores.grad(), positions.grad(),
                       {}};
    const Tensor unmasked = softmax(given.detach(), -1);
    for (std::int64_t i = 0; i < given.size(0); ++i)
        result.verdicts.push_back(verdict(result.weights[i], unmasked[i], blocked[i]));
    return result;
}

std::string row_text(const Tensor& row) {
    std::string text;
    for (const double value : row.to(float64).to_vector<double>()) {
        std::string number =
            std::isnan(value) ? "nan" : to_chars(value + 0.0, std::chars_format::fixed, 4);  // no −0
        if (number.size() < 7) number.insert(0, 7 - number.size(), ' ');
        text += (text.empty() ? "" : " ") + number;
    }
    return text;
}

}  // namespace

const char* name(MaskRule rule) {
    constexpr std::array<const char*, 4> names{"add -1e9", "replace by -1e9", "-inf, plain softmax",
                                               "-inf, safe softmax"};
    return names.at(static_cast<std::size_t>(rule));
}

bool MaskOutcome::finite() const {
    return all(isfinite(weights)) && all(isfinite(scores_gradient)) && all(isfinite(values_gradient));
}

std::string MaskTable::str() const {
    std::vector<std::vector<std::string>> rows{{"rule", "type", "query", "weights", "scores' gradient", ""}};
    for (const MaskOutcome& outcome : outcomes) {
        for (std::size_t i = 0; i < outcome.verdicts.size(); ++i) {
            const auto row = static_cast<std::int64_t>(i);
            rows.push_back({name(outcome.rule), name(outcome.dtype), std::to_string(i),
                            row_text(outcome.weights[row]), row_text(outcome.scores_gradient[row]),
                            outcome.verdicts[i]});
        }
        rows.push_back({"", "", "", row_text(outcome.values_gradient), "is the values' gradient"});
    }
    return format_table(rows);
}

void MaskTable::print() const { std::cout << str() << std::flush; }

MaskTable mask_oracle(const Tensor& scores, const Mask& mask, DType dtype) {
    if (scores.rank() != 1 && scores.rank() != 2)
        throw ShapeError("mask_oracle: takes scores (S,) or (T, S), not ", scores.shape());
    if (!takes_gradient(dtype) || !takes_gradient(scores.dtype()))
        throw DTypeError("mask_oracle: scores of ", name(scores.dtype()), " in ", name(dtype),
                         "; both must be float32 or float64");
    const Tensor rows =
        (scores.rank() == 1 ? scores.detach().unsqueeze(0) : scores.detach()).to(dtype);  // (T, S)
    const std::int64_t T = rows.size(0), S = rows.size(1);
    const Tensor blocked = mask.materialize(1, 1, T, S).reshape({T, S});
    MaskTable table;
    for (const MaskRule rule : {MaskRule::add, MaskRule::replace, MaskRule::plain, MaskRule::safe})
        table.outcomes.push_back(outcome(rule, rows, blocked));
    return table;
}

}  // namespace weft::check
