// Gradient clipping and the learning-rate schedule.
#include <algorithm>
#include <cmath>
#include <numbers>
#include <set>

#include "norms.h"
#include "weft/nn/optim.h"

namespace weft::optim {

double clip_grad_norm(const std::vector<Tensor>& parameters, double max_norm) {
    if (!(max_norm >= 0)) throw ValueError("clip_grad_norm: max_norm must be at least 0, not ", max_norm);
    std::vector<Tensor> gradients;
    std::set<const TensorImpl*> seen;
    for (const Tensor& parameter : parameters)
        if (seen.insert(&parameter.impl()).second && parameter.grad().defined())
            gradients.push_back(parameter.grad());

    double squares = 0;
    for (const Tensor& gradient : gradients) squares += sum_of_squares(gradient);
    const double norm = std::sqrt(squares);
    const double factor = max_norm / (norm + 1e-6);
    if (std::isfinite(norm) && factor < 1) {
        NoGrad off;
        for (Tensor& gradient : gradients) gradient.mul_(factor);
    }
    return norm;
}

double clip_grad_norm(const nn::Module& module, double max_norm) {
    return clip_grad_norm(module.parameters(), max_norm);
}

double cosine_lr(std::int64_t step, const CosineOptions& options) {
    check_rate(options.lr, "lr");
    check_rate(options.min_lr, "min_lr");
    if (options.min_lr > options.lr)
        throw ValueError("cosine_lr: min_lr ", options.min_lr, " is above lr ", options.lr);
    if (step < 0 || options.warmup_steps < 0 || options.steps < 0)
        throw ValueError("cosine_lr: step ", step, ", warmup_steps ", options.warmup_steps, " and steps ",
                         options.steps, " must be at least 0");
    if (step < options.warmup_steps)
        return options.lr * static_cast<double>(step + 1) / static_cast<double>(options.warmup_steps + 1);
    if (step >= options.steps) return options.min_lr;
    const double done = static_cast<double>(step - options.warmup_steps) /
                        static_cast<double>(options.steps - options.warmup_steps);
    return options.min_lr + (options.lr - options.min_lr) * (1 + std::cos(std::numbers::pi * done)) / 2;
}

}  // namespace weft::optim
