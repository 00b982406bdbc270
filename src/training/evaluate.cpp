#include "weft/training/evaluate.h"

#include <cmath>
#include <cstddef>

#include "weft/autograd/grad_mode.h"
#include "weft/nn/module.h"
#include "weft/ops/creation.h"

namespace weft::training {

double evaluate(const std::vector<Batch>& batches, const std::function<Tensor(const Batch&)>& loss_of,
                const std::function<bool()>& stop) {
    if (batches.empty()) throw ValueError("evaluate: there is no batch; give at least one");
    const NoGrad off;
    const nn::EvalMode eval_mode;
    double sum = 0, tokens = 0;
    for (const Batch& batch : batches) {
        if (stop && stop()) return NAN;
        const auto count = static_cast<double>(batch.targets.numel());
        sum += count * loss_of(batch).item();
        tokens += count;
    }
    return stop && stop() ? NAN : sum / tokens;
}

double evaluate(const std::vector<Batch>& batches, const std::function<Tensor(const Batch&)>& loss_of,
                dist::Group& group, const std::function<bool()>& stop) {
    if (group.size() == 1) return evaluate(batches, loss_of, stop);
    if (batches.empty()) throw ValueError("evaluate: there is no batch; give at least one");
    group.agree("the number of batches to evaluate", std::to_string(batches.size()));
    const NoGrad off;
    const nn::EvalMode eval_mode;
    const auto P = static_cast<std::size_t>(group.size()), rank = static_cast<std::size_t>(group.rank());
    std::vector<double> own((batches.size() + P - 1) / P);  // the last may be missing
    for (std::size_t i = rank; i < batches.size(); i += P) own[i / P] = loss_of(batches[i]).item();
    const std::vector<Tensor> losses = group.all_gather(from_vector(own));
    double sum = 0, tokens = 0;
    for (std::size_t i = 0; i < batches.size(); ++i) {
        const auto count = static_cast<double>(batches[i].targets.numel());
        sum += count * losses[i % P].data<double>()[i / P];
        tokens += count;
    }
    return sum / tokens;
}

}  // namespace weft::training
