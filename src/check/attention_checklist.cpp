// The attention checklist: the traced run, the report, and the order of the checks.
#include <cmath>
#include <iostream>
#include <limits>

#include "traced_run.h"
#include "weft/base/numbers.h"
#include "weft/base/table.h"
#include "weft/core/grad_mode.h"
#include "weft/core/plain.h"
#include "weft/watch/trace.h"

namespace weft::check {

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

}  // namespace weft::check
