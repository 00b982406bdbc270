// Evaluation by several processes.
#pragma once

#include "weft/dist/group.h"
#include "weft/train/loop.h"

namespace weft::dist {

// training::evaluate, with its bits: the mean loss per token, Σ nᵢ lossᵢ / Σ nᵢ over batches of nᵢ targets.
// Process r computes the losses of the batches r, r + P, …, and all get the mean. `stop` is
// not asked in a group of several. Throws what training::evaluate throws.
//
//     const auto loss_of = [&](const training::Batch& batch) {
//         return cross_entropy(model(batch.inputs), batch.targets);
//     };
//     const double loss = dist::evaluate(corpus.validation_batches(), loss_of, group);
double evaluate(const std::vector<training::Batch>& batches,
                const std::function<Tensor(const training::Batch&)>& loss_of, Group& group,
                const std::function<bool()>& stop = {});

}  // namespace weft::dist
