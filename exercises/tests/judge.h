// What the tests of the faults share.
#pragma once

#include "exercise.h"

// NotYet, with its name and evidence, for the first check that failed.
inline void expect_passed(const check::AttentionReport& report) {
    for (const check::AttentionCheck& check : report.checks)
        expect(!check.failed(), "check::attention finds \"" + check.name + "\" wrong: " + check.evidence);
}
// The report on a causal attention of width C in H heads.
template <class Attention>
check::AttentionReport checklist(std::int64_t C, std::int64_t H) {
    manual_seed(3);
    const Attention attention;
    return check::attention({attention, H, Mask::causal(), attention.named_parameters()},
                            randn({2, 6, C}, default_rng(), float64));
}
// The counts, and every check that failed.
inline std::string verdict(const check::AttentionReport& report) {
    int failed = 0;
    std::string found;
    for (const check::AttentionCheck& check : report.checks)
        if (check.failed()) ++failed, found += "\n    FAILED  " + check.name;
    return "check::attention: " + std::to_string(failed) + " of " + std::to_string(report.checks.size()) +
           " failed" + found;
}
inline std::string verdict(const check::FlowReport& report) {
    std::string found;
    for (const check::FlowRow& row : report.rows)
        if (!row.problem.empty()) found += "\n    FAILED  " + row.name + ": the gradient is " + row.problem;
    return "check::gradient_flow: " + (found.empty() ? "passed" : "FAILED" + found);
}
// Both, for a model of one layer or more that has seen a batch.
inline std::string verdict(const lm::GPT& model, const training::Batch& batch) {
    lm::GPT same = model;
    same.to(float64);
    cross_entropy(same(batch.inputs), batch.targets).backward();
    Rng rng(3);
    const Tensor x = randn({2, 6, same.config.d_model}, rng, float64);
    return verdict(check::attention(same.blocks[0].attn, x)) + "\n" + verdict(check::gradient_flow(same));
}
