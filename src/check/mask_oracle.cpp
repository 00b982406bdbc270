// The mask oracle. T queries, S keys.
#include "weft/check/mask_oracle.h"

#include <array>
#include <cmath>
#include <iostream>

#include "weft/base/numbers.h"
#include "weft/base/table.h"
#include "weft/core/creation.h"
#include "weft/core/grad_mode.h"

namespace weft::check {

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
