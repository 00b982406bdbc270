// The loss over batches, by one process or by several.
#pragma once

#include <functional>
#include <vector>

#include "weft/dist/group.h"
#include "weft/training/corpus.h"

namespace weft::training {

// The mean loss per token, Σ nᵢ lossᵢ / Σ nᵢ over batches of nᵢ targets, in evaluation mode and under NoGrad.
// NaN if stop() becomes true before the end. ValueError if there is no batch.
//
//     const double loss = training::evaluate(corpus.validation_batches(), [&](const training::Batch& batch) {
//         return cross_entropy(model(batch.inputs), batch.targets);
//     });
double evaluate(const std::vector<Batch>& batches, const std::function<Tensor(const Batch&)>& loss_of,
                const std::function<bool()>& stop = {});

// The same number by the processes of a group: process r computes the losses of the batches r, r + P, …, and
// each gets the mean. `stop` is not asked in a group of several. Throws what evaluate throws, and an Error if
// the processes have different numbers of batches.
//
//     const auto loss_of = [&](const training::Batch& batch) {
//         return cross_entropy(model(batch.inputs), batch.targets);
//     };
//     const double loss = training::evaluate(corpus.validation_batches(), loss_of, group);
double evaluate(const std::vector<Batch>& batches, const std::function<Tensor(const Batch&)>& loss_of,
                dist::Group& group, const std::function<bool()>& stop = {});

}  // namespace weft::training
