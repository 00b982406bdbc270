#include "weft/train/loop.h"

#include <cmath>

namespace weft::training {

double evaluate(const std::vector<Batch>& batches, const std::function<Tensor(const Batch&)>& loss_of,
                const std::function<bool()>& stop) {
    if (batches.empty()) throw ValueError("evaluate: there is no batch; give at least one");
    const NoGrad off;
    const nn::Evaluating evaluating;
    double sum = 0, tokens = 0;
    for (const Batch& batch : batches) {
        if (stop && stop()) return NAN;
        const auto count = static_cast<double>(batch.targets.numel());
        sum += count * loss_of(batch).item();
        tokens += count;
    }
    return stop && stop() ? NAN : sum / tokens;
}

}  // namespace weft::training
