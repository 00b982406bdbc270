// The checks that need more runs: gradients, influence, and masks of the checklist's own.
// B batch, T tokens, C = d_model, H heads, d_k the width of a head.
#include <cmath>
#include <iostream>
#include <limits>
#include <numeric>

#include "traced_run.h"
#include "weft/base/text.h"
#include "weft/core/creation.h"
#include "weft/core/modes.h"
#include "weft/core/record.h"
#include "weft/ops/creation.h"
#include "weft/watch/trace.h"

namespace weft::check {

namespace {

// Weights y randomly, so no gradient cancels by chance.
Tensor loss_of(const Tensor& y) {
    Rng rng(1);
    return sum(y * randn(y.shape(), rng, y.dtype()));
}

// Names the first block of `width` rows or columns of a matrix's gradient that is all zero, or returns "". Adds
// the head if the number of blocks is a multiple of num_heads.
std::string zero_block(const Tensor& gradient, std::int64_t width, std::int64_t num_heads) {
    for (int axis = 0; axis < 2; ++axis) {
        const std::int64_t size = gradient.size(axis);
        if (size % width != 0) continue;
        for (std::int64_t begin = 0; begin < size; begin += width) {
            if (largest(gradient.slice(axis, begin, begin + width)) != 0) continue;
            const std::string head = size % (width * num_heads) == 0
                                         ? " (head " + std::to_string(begin / width % num_heads) + ")"
                                         : "";
            return (axis == 0 ? "rows " : "columns ") + std::to_string(begin) + " to " +
                   std::to_string(begin + width - 1) + head;
        }
    }
    return "";
}

// At least H samples: those of x in turn, with tokens rotated by one more each time around.
Tensor sample_per_head(const Tensor& x, std::int64_t num_heads) {
    const std::int64_t B = x.size(0), T = x.size(1);
    std::vector<Tensor> samples;
    for (std::int64_t s = 0; s < std::max<std::int64_t>(2, num_heads); ++s) {
        const std::int64_t turn = s / B % T;
        samples.push_back(cat({x[s % B].slice(0, turn, T), x[s % B].slice(0, 0, turn)}));
    }
    return stack(samples);
}

bool fits(const Mask& mask, std::int64_t B, std::int64_t H, std::int64_t T) {
    try {
        (void)mask.materialize(B, H, T, T);
        return true;
    } catch (const ShapeError&) {
        return false;
    }
}

// (B, T, T), true = blocked: sample s blocks key s mod T for every query except that token's own.
Tensor per_sample_masks(std::int64_t B, std::int64_t T) {
    std::vector<bool> blocked;
    for (std::int64_t s = 0; s < B; ++s)
        for (std::int64_t i = 0; i < T; ++i)
            for (std::int64_t j = 0; j < T; ++j) blocked.push_back(j == s % T && i != j);
    return from_vector(blocked, {B, T, T});
}

}  // namespace

Outcome gradient_reaches(const AttentionSubject& subject, const Tensor& x) {
    const TracedRun run = traced_run(subject, x);
    if (!run.y.requires_grad()) return {false, "the output is outside the graph"};
    const std::int64_t width = std::gcd(run["q"].size(-1), run["v"].size(-1));  // divides d_k and d_v
    nn::NamedTensors named = subject.parameters;
    const bool of_steps = named.empty();
    if (of_steps) named = {{"q", run["q"]}, {"k", run["k"]}, {"v", run["v"]}};
    std::vector<Tensor> wanted;
    for (const auto& [name, value] : named) wanted.push_back(value);
    const std::vector<Tensor> gradients = grad({loss_of(run.y)}, wanted, {}, {.allow_unused = true});
    std::size_t matrices = 0;
    for (std::size_t i = 0; i < gradients.size(); ++i) {
        const Tensor& gradient = gradients[i];
        const std::string& name = named[i].first;
        if (!gradient.defined()) return {false, name, " has no gradient"};
        if (!std::isfinite(largest(gradient))) return {false, name, " has a gradient that is not finite"};
        if (of_steps) {
            for (std::int64_t h = 0; h < gradient.size(1); ++h)
                if (largest(gradient.select(1, h)) == 0) return {false, name, " has no gradient in head ", h};
        } else if (gradient.rank() == 2) {
            ++matrices;
            const std::string zero = zero_block(gradient, width, subject.num_heads);
            if (!zero.empty()) return {false, name, " has no gradient in ", zero};
        }
    }
    if (of_steps) return {true, "q, k and v in each of ", subject.num_heads, " heads"};
    return {true, gradients.size(), " parameters, ", matrices, " of them matrices, in every block of ", width};
}

Outcome no_influence(const AttentionSubject& subject, const Tensor& x) {
    const NoGrad off;
    const TracedRun run = traced_run(subject, x);
    const std::int64_t B = x.size(0), T = x.size(1);
    const std::int64_t edits = std::min<std::int64_t>(T, 16);        // tokens, spread evenly
    const Tensor heads_that_see = sum((!run.blocked).to(int64), 1);  // (B, T, T)
    std::int64_t rows = 0;
    for (std::int64_t edit = 0; edit < edits; ++edit) {
        const std::int64_t j = edit * (T - 1) / std::max<std::int64_t>(1, edits - 1), b = edit % B;
        Tensor other = x.clone();
        other[b][j].copy_(x[b][j] * -3 + 1);
        const Tensor y = traced_run(subject, other).y;
        for (std::int64_t sample = 0; sample < B; ++sample)
            for (std::int64_t i = 0; i < T; ++i) {
                if (sample == b && (i == j || heads_that_see.at({b, i, j}) > 0)) continue;
                ++rows;
                if (!equal_values(y[sample][i], run.y[sample][i]))
                    return Outcome(false, "editing token ", j, " of sample ", b,
                                   " changed the output of token ", i, " of sample ", sample,
                                   ", which may not see it");
            }
    }
    if (rows == 0) return {Verdict::not_applicable, "every token may see every token, and there is one sample"};
    return {true, edits, " tokens edited, ", rows, " outputs that may not see them unchanged to the last bit"};
}

Outcome own_masks(const AttentionSubject& subject, const Tensor& x) {
    const NoGrad off;
    // With as many samples as heads, code can confuse a mask per sample with one per head. Use x itself if the
    // subject's own mask does not fit that many samples.
    const std::int64_t T = x.size(1);
    const Tensor more = sample_per_head(x, subject.num_heads);
    const Tensor samples = fits(subject.mask, more.size(0), subject.num_heads, T) ? more : x;
    const std::int64_t B = samples.size(0);
    const Tensor own = per_sample_masks(B, T);
    const TracedRun run = traced_run(subject, samples, Mask::blocked(own));
    const Tensor weights = run["weights"];
    for (const Outcome& outcome :
         {blocked_are_0(weights, run.blocked), rows_sum_to_1(weights, run.blocked, true)})
        if (!outcome.passed()) return {false, B, " samples, sample s hiding key s: ", outcome.evidence};
    return {true, B, " samples, sample s hiding key s: each hides its own"};
}

Outcome fully_masked_row(const AttentionSubject& subject, const Tensor& x) {
    const std::int64_t T = x.size(1), i = T - 1;
    Tensor blocked = zeros({T, T}, boolean);
    blocked[i].fill_(1);
    Tensor input = x.clone().requires_grad_();
    const TracedRun run = traced_run(subject, input, Mask::blocked(blocked));
    for (const char* name : {"weights", "heads"}) {
        const Tensor row = run[name].detach().select(2, i);
        if (largest(row) != 0)
            return {false, name, " of a token that sees nothing: up to ", format_number(largest(row), 4),
                    ", not 0"};
    }
    if (largest(run["merged"].detach().select(1, i)) != 0) return {false, "merged is not 0 there"};
    std::vector<Tensor> wanted{input};
    for (const auto& [name, parameter] : subject.parameters) wanted.push_back(parameter);
    for (const Tensor& gradient : grad({loss_of(run.y)}, wanted, {}, {.allow_unused = true}))
        if (gradient.defined() && !std::isfinite(largest(gradient))) return {false, "a gradient is not finite"};
    return {true, "token ", i, " blinded: weights, heads and merged 0, gradients finite"};
}

// The attention checklist: the traced run, the report, and the order of the checks.

namespace {

Outcome deterministic(const AttentionSubject& subject, const TracedRun& traced) {
    if (!equal_values(traced.y, traced_run(subject, traced.x).y))
        return {false, "two runs on the same input differ: is dropout on?"};
    const Tensor plain = subject.run(traced.x, {});
    const double error = plain.shape() == traced.y.shape() ? distance(plain, traced.y) : 1;
    return {error <= tolerance(traced.y.dtype()), "two traced runs are equal, and an untraced one differs by ",
            format_number(error, 3)};
}

}  // namespace

Tensor TracedRun::operator[](const std::string& name) const {
    const auto found = named.find(name);
    if (found == named.end())
        throw ValueError("no step is named \"", name, "\"; name it with traced(\"", name, "\", …)");
    return found->second;
}

TracedRun traced_run(const AttentionSubject& subject, const Tensor& x, const Mask& extra_mask) {
    const Plain composed(Plain::operations);  // Weft's fused attention has no scores or weights to name
    Trace trace;
    TracedRun traced;
    traced.x = x;
    traced.y = subject.run(x, extra_mask);
    for (const TraceEntry& entry : trace.entries()) traced.named[entry.name] = entry.tensor;
    const std::int64_t B = x.size(0), T = x.size(1), H = subject.num_heads;
    traced.blocked = (subject.mask | extra_mask).materialize(B, H, T, T).expand({B, H, T, T});
    return traced;
}

double tolerance(DType dtype) { return dtype == float32 ? 1e-4 : 1e-10; }

double largest(const Tensor& x) { return x.numel() == 0 ? 0 : max(abs(x.detach().to(float64))).item(); }

double distance(const Tensor& a, const Tensor& b) {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    if (a.shape() != b.shape()) return infinity;
    const Tensor x = a.detach().to(float64), y = b.detach().to(float64);
    const Tensor error = abs(x - y) / clamp(abs(y), 1, infinity);
    const double maximum = largest(masked_fill(error, x == y, 0));  // equal infinities are at distance 0
    return std::isnan(maximum) ? infinity : maximum;
}

bool equal_values(const Tensor& a, const Tensor& b) {
    return a.shape() == b.shape() && all(a.detach() == b.detach());
}

bool AttentionReport::passed() const {
    return std::none_of(checks.begin(), checks.end(),
                        [](const AttentionCheck& check) { return check.failed(); });
}

const AttentionCheck& AttentionReport::operator[](const std::string& name) const {
    for (const AttentionCheck& check : checks)
        if (check.name == name) return check;
    throw ValueError("AttentionReport: there is no check \"", name, "\"; weft/check/attention.h lists them");
}

std::string AttentionReport::str() const {
    std::vector<std::vector<std::string>> rows;
    std::size_t failed = 0, not_applicable = 0;
    for (const AttentionCheck& check : checks) {
        rows.push_back({check.passed()   ? "passed"
                        : check.failed() ? "FAILED"
                                         : "n/a",
                        check.name, check.evidence});
        failed += check.failed();
        not_applicable += check.verdict == Verdict::not_applicable;
    }
    const std::string decided = std::to_string(checks.size() - not_applicable);
    return format_table(rows) +
           (failed == 0 ? "all " + decided + " checks passed"
                        : std::to_string(failed) + " of " + decided + " checks failed") +
           (not_applicable == 0 ? "" : ", " + std::to_string(not_applicable) + " not applicable") + "\n";
}

void AttentionReport::print() const { std::cout << str() << std::flush; }

AttentionReport attention(const AttentionSubject& subject, const Tensor& x) {
    if ((x.rank() != 2 && x.rank() != 3) || x.size(-2) < 2 || x.numel() == 0 || subject.num_heads < 1)
        throw ValueError(
            "check::attention: takes x (B, T, C) or (T, C) with at least 2 tokens and 1 head, not ", x.shape(),
            " and ", subject.num_heads, " heads");
    const Tensor batch = x.rank() == 2 ? x.detach().unsqueeze(0) : x.detach();
    const EnableGrad on;
    AttentionReport report;
    const auto add = [&](const char* name, const std::function<Outcome()>& check) {
        try {
            const Outcome outcome = check();
            report.checks.push_back({name, outcome.verdict, outcome.evidence});
        } catch (const Error& error) {
            report.checks.push_back({name, Verdict::failed, error.what()});
        }
    };
    TracedRun run;
    add("same result twice", [&] {
        run = traced_run(subject, batch);
        return deterministic(subject, run);
    });
    if (!run.y.defined()) return report;
    const std::int64_t B = batch.size(0), T = batch.size(1), H = subject.num_heads;
    const auto if_blocked = [&](const auto& check) {
        return any(run.blocked) ? check() : Outcome(Verdict::not_applicable, "nothing is blocked");
    };
    const auto if_takes_mask = [&](const auto& check) {
        return subject.takes_mask ? check() : Outcome(Verdict::not_applicable, "it takes no mask");
    };
    add("shapes of q, k, v", [&] { return shapes_of_qkv(subject, run); });
    add("shape of scores", [&] { return has_shape(run["scores"], {B, H, T, T}); });
    add("scaled by sqrt(d_k)", [&] { return scaled(run); });
    add("masked before softmax", [&] { return if_blocked([&] { return masked_before(run); }); });
    add("softmax over the last axis", [&] { return softmaxed(run); });
    add("weights sum to 1", [&] { return rows_sum_to_1(run["weights"], run.blocked, false); });
    add("blocked weights are 0",
        [&] { return if_blocked([&] { return blocked_are_0(run["weights"], run.blocked); }); });
    add("visible weights sum to 1",
        [&] { return if_blocked([&] { return rows_sum_to_1(run["weights"], run.blocked, true); }); });
    add("sample row", [&] { return sample_row(run); });
    add("heads are weights times values", [&] { return weights_times_values(run); });
    add("shape of merged", [&] { return has_shape(run["merged"], {B, T, H * run["v"].size(-1)}); });
    add("heads side by side", [&] { return side_by_side(run); });
    add("shape of the output", [&] { return has_shape(run.y, batch.shape()); });
    add("gradient reaches every head", [&] { return gradient_reaches(subject, batch); });
    add("blocked tokens have no influence", [&] { return no_influence(subject, batch); });
    add("each sample has its own mask",
        [&] { return if_takes_mask([&] { return own_masks(subject, batch); }); });
    add("a fully masked row is 0",
        [&] { return if_takes_mask([&] { return fully_masked_row(subject, batch); }); });
    return report;
}

AttentionReport attention(const nn::MultiHeadAttention& module, const Tensor& x, const Mask& mask) {
    const nn::EvalMode eval_mode;
    const auto run = [&](const Tensor& input, const Mask& extra_mask) {
        return module(input, mask | extra_mask);
    };
    return attention({run, module.num_heads, mask, module.named_parameters()}, x);
}

AttentionReport attention(const nn::CausalMultiHeadAttention& module, const Tensor& x) {
    const nn::EvalMode eval_mode;
    const auto run = [&](const Tensor& input, const Mask& extra_mask) { return module(input, extra_mask); };
    return attention({run, module.num_heads, Mask::causal(), module.named_parameters()}, x);
}

AttentionReport attention(const nn::Attention& module, const Tensor& x, const Mask& mask) {
    const nn::EvalMode eval_mode;
    const auto run = [&](const Tensor& input, const Mask& extra_mask) {
        return module(input, mask | extra_mask);
    };
    const Mask whole = module.max_seq_len > 0 ? Mask::causal() | mask : mask;
    return attention({run, module.num_heads, whole, module.named_parameters()}, x);
}

}  // namespace weft::check
