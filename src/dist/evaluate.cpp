#include "weft/dist/evaluate.h"

#include <cstring>

#include "dist/transport.h"

namespace weft::dist {

double evaluate(const std::vector<training::Batch>& batches,
                const std::function<Tensor(const training::Batch&)>& loss_of, Group& group,
                const std::function<bool()>& stop) {
    const Doing doing("evaluate");
    if (group.size() == 1) return training::evaluate(batches, loss_of, stop);
    if (batches.empty()) throw ValueError("evaluate: there is no batch; give at least one");
    const NoGrad off;
    const nn::EvalMode eval_mode;
    const auto P = static_cast<std::size_t>(group.size());
    std::vector<double> losses;
    for (auto i = static_cast<std::size_t>(group.rank()); i < batches.size(); i += P)
        losses.push_back(loss_of(batches[i]).item());
    const auto all = group.transport().all_gather(
        words("evaluate of ", batches.size(), " batches"),
        {reinterpret_cast<const char*>(losses.data()), losses.size() * sizeof(double)});
    double sum = 0, tokens = 0;
    for (std::size_t i = 0; i < batches.size(); ++i) {
        double loss = 0;
        std::memcpy(&loss, all[i % P].data() + i / P * sizeof loss, sizeof loss);
        const auto count = static_cast<double>(batches[i].targets.numel());
        sum += count * loss;
        tokens += count;
    }
    return sum / tokens;
}

}  // namespace weft::dist
