#include "weft/training/evaluate.h"

#include <cmath>
#include <cstddef>

#include "weft/core/creation.h"
#include "weft/core/grad_mode.h"
#include "weft/nn/module.h"

namespace weft::training {

namespace {

void check_any(const std::vector<Batch>& batches) {
    if (batches.empty()) throw ValueError("evaluate: there is no batch; give at least one");
}

// Σ nᵢ lossᵢ / Σ nᵢ over batches of nᵢ targets.
double mean_loss(const std::vector<Batch>& batches, const std::vector<double>& losses) {
    double sum = 0, tokens = 0;
    for (std::size_t i = 0; i < batches.size(); ++i) {
        const auto count = static_cast<double>(batches[i].targets.numel());
        sum += count * losses[i];
        tokens += count;
    }
    return sum / tokens;
}

}  // namespace

double evaluate(const std::vector<Batch>& batches, const std::function<Tensor(const Batch&)>& loss_of,
                const std::function<bool()>& stop) {
    check_any(batches);
    const NoGrad off;
    const nn::EvalMode eval_mode;
    std::vector<double> losses;
    for (const Batch& batch : batches) {
        if (stop && stop()) return NAN;
        losses.push_back(loss_of(batch).item());
    }
    return stop && stop() ? NAN : mean_loss(batches, losses);
}

double evaluate(const std::vector<Batch>& batches, const std::function<Tensor(const Batch&)>& loss_of,
                dist::Group& group, const std::function<bool()>& stop) {
    if (group.size() == 1) return evaluate(batches, loss_of, stop);
    check_any(batches);
    const NoGrad off;
    const nn::EvalMode eval_mode;
    std::vector<double> own(batches.size());  // the losses of this process, and 0, which changes no sum
    for (std::size_t i = static_cast<std::size_t>(group.rank()); i < own.size();
         i += static_cast<std::size_t>(group.size()))
        own[i] = loss_of(batches[i]).item();
    const Tensor all = group.all_reduce(from_vector(own, {static_cast<std::int64_t>(own.size())}));
    return mean_loss(batches, all.to_vector<double>());
}

}  // namespace weft::training
