// Losses, with each Reduction.
#include "op_table.h"

using namespace weft;
using enum Gradient;

std::vector<OpEntry> loss_ops() {
    constexpr Reduction sum = Reduction::sum, each = Reduction::none, mean = Reduction::mean;
    const std::string options = "cross_entropy(Tensor, Tensor, CrossEntropyOptions)";
    const std::string nll = "nll_loss(Tensor, Tensor, Tensor, int64_t, Reduction)";
    const std::string divergence = "kl_div(Tensor, Tensor, Reduction, bool)";
    return {
        {"cross_entropy(Tensor, Tensor, int64_t)", "cross_entropy.ignored", twice,
         [](In x) { return cross_entropy(x[0], x[1]); }},
        {"cross_entropy(Tensor, Tensor, int64_t)", "cross_entropy.batched", twice,
         [](In x) { return cross_entropy(x[0], x[1], 2); }},
        {"cross_entropy(Tensor, Tensor, int64_t)", "cross_entropy.far", kink,
         [](In x) { return cross_entropy(x[0], x[1]); }},
        {options, "cross_entropy.weighted", twice,
         [](In x) { return cross_entropy(x[0], x[1], {.weight = x[2]}); }},
        {options, "cross_entropy.smooth", twice,
         [](In x) { return cross_entropy(x[0], x[1], {.label_smoothing = 0.3}); }},
        {options, "cross_entropy.both", twice,
         [](In x) { return cross_entropy(x[0], x[1], {.weight = x[2], .label_smoothing = 0.3}); }},
        {options, "cross_entropy.sum", twice,
         [](In x) { return cross_entropy(x[0], x[1], {.reduction = sum}); }},
        {options, "cross_entropy.each", twice,
         [](In x) { return cross_entropy(x[0], x[1], {.ignore_index = 2, .reduction = each}); }},
        {options, "cross_entropy.sum_of_both", twice,
         [](In x) {
             return cross_entropy(x[0], x[1], {.weight = x[2], .label_smoothing = 0.3, .reduction = sum});
         }},
        {options, "cross_entropy.each_of_both", twice,
         [](In x) {
             return cross_entropy(x[0], x[1], {.weight = x[2], .label_smoothing = 0.3, .reduction = each});
         }},
        {nll, "nll_loss.weighted", twice, [](In x) { return nll_loss(x[0], x[1], x[2]); }},
        {nll, "nll_loss", twice, [](In x) { return nll_loss(x[0], x[1], {}, 2); }},
        {nll, "nll_loss.sum", twice, [](In x) { return nll_loss(x[0], x[1], x[2], -100, sum); }},
        {nll, "nll_loss.each", twice, [](In x) { return nll_loss(x[0], x[1], x[2], -100, each); }},
        {"mse_loss(Tensor, Tensor, Reduction)", "mse_loss", twice, [](In x) { return mse_loss(x[0], x[1]); }},
        {"mse_loss(Tensor, Tensor, Reduction)", "mse_loss.sum", twice,
         [](In x) { return mse_loss(x[0], x[1], sum); }},
        {"mse_loss(Tensor, Tensor, Reduction)", "mse_loss.each", twice,
         [](In x) { return mse_loss(x[0], x[1], each); }},
        {"l1_loss(Tensor, Tensor, Reduction)", "l1_loss", twice, [](In x) { return l1_loss(x[0], x[1]); }},
        {"l1_loss(Tensor, Tensor, Reduction)", "l1_loss.each", twice,
         [](In x) { return l1_loss(x[0], x[1], each); }},
        {"huber_loss(Tensor, Tensor, double, Reduction)", "huber_loss", twice,
         [](In x) { return huber_loss(x[0], x[1], 0.7); }},
        {"huber_loss(Tensor, Tensor, double, Reduction)", "huber_loss.each", twice,
         [](In x) { return huber_loss(x[0], x[1], 0.7, each); }},
        {"smooth_l1_loss(Tensor, Tensor, double, Reduction)", "smooth_l1_loss", twice,
         [](In x) { return smooth_l1_loss(x[0], x[1], 0.7); }},
        {"smooth_l1_loss(Tensor, Tensor, double, Reduction)", "smooth_l1_loss.each", twice,
         [](In x) { return smooth_l1_loss(x[0], x[1], 0.3, each); }},
        {"smooth_l1_loss(Tensor, Tensor, double, Reduction)", "smooth_l1_loss.zero", twice,
         [](In x) { return smooth_l1_loss(x[0], x[1], 0, sum); }},
        {"binary_cross_entropy_with_logits(Tensor, Tensor, Reduction)", "bce", twice,
         [](In x) { return binary_cross_entropy_with_logits(x[0], x[1]); }},
        {"binary_cross_entropy_with_logits(Tensor, Tensor, Reduction)", "bce.each", twice,
         [](In x) { return binary_cross_entropy_with_logits(x[0], x[1], each); }},
        {"binary_cross_entropy(Tensor, Tensor, Reduction)", "binary_cross_entropy", twice,
         [](In x) { return binary_cross_entropy(x[0], x[1]); }},
        {"binary_cross_entropy(Tensor, Tensor, Reduction)", "binary_cross_entropy.each", twice,
         [](In x) { return binary_cross_entropy(x[0], x[1], each); }},
        {divergence, "kl_div", twice, [](In x) { return kl_div(x[0], x[1]); }},
        {divergence, "kl_div.batchmean", twice, [](In x) { return kl_div(x[0], x[1], Reduction::batchmean); }},
        {divergence, "kl_div.zero", kink, [](In x) { return kl_div(x[0], x[1], each); }},
        {divergence, "kl_div.log_target", twice, [](In x) { return kl_div(x[0], x[1], mean, true); }},
    };
}
