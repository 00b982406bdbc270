// Training by several processes, each of which computes a part of every batch.
#pragma once

#include "weft/dist/group.h"
#include "weft/nn/module.h"

namespace weft::dist {

// Options of DataParallel.
struct DataParallelOptions {
    // G, the parts into which each batch is cut. The result depends on G, not on the number of processes.
    std::int64_t grains = 8;
    std::int64_t bucket_elements = 1 << 18;  // gradients leave in buckets of so many elements
};

// What happened in a backward: a grain was computed, or a bucket of gradients was on its way.
struct Span {
    const char* what;    // "grain" or "bucket"
    std::int64_t index;  // index of the grain in the batch, or of the bucket, from 0
    double begin, end;   // seconds since the beginning of the backward
};

// The gradient of a batch, computed by all processes of a group (data parallelism; Li et al., "PyTorch
// Distributed", VLDB 2020, §3). Each batch is cut into G grains; a process computes about G/P of them, and
// their gradients are added in a binary tree over the grains that does not depend on P. So any number of
// processes gives the same bits, one process too, for which this is gradient accumulation:
//
//     dist::Group group;
//     dist::DataParallel parallel(model, group, {.grains = 4});
//     for (std::int64_t step = 0; step < steps; ++step) {
//         optimizer.zero_grad();
//         const double loss = parallel.backward([&](std::int64_t grain) {
//             const auto part = [&](const Tensor& all) { return all.slice(0, 3 * grain, 3 * grain + 3); };
//             return cross_entropy(model(part(x)), part(y));
//         });
//         optimizer.step();
//         log << "loss " << loss << " in " << dist::Span(parallel.timeline().back()).end << " s\n";
//     }
//
// The optimiser runs on every process, with the same gradients. Random numbers of the module (dropout) are
// drawn for each grain from a stream of its own; with one grain, from the module's generators as they are.
class DataParallel {
public:
    // Error, naming the parameter, unless all processes have the same parameters with the same values;
    // ValueError unless 1 ≤ P ≤ grains and 1 ≤ bucket_elements ≤ 2²², for more than 2¹⁴ buckets, and if the
    // module has a persistent buffer (as BatchNorm has), which would depend on the order of the grains.
    DataParallel(const nn::Module& module, Group& group, const DataParallelOptions& options = {});
    ~DataParallel();
    DataParallel(const DataParallel&) = delete;
    DataParallel& operator=(const DataParallel&) = delete;

    // Adds ∂L/∂p to the gradient of every parameter p that requires one, and returns L = 1/G Σ loss_of(g), g
    // from 0 to G − 1, a scalar each; loss_of is called for the grains of this process, in order. While the
    // last of them is differentiated, gradients leave that are complete. Error unless every process calls it
    // with as many grains; GraphError, naming the parameter, if a loss does not depend on one; what loss_of
    // throws. If it throws, neither gradients nor the module's generators have changed.
    double backward(const std::function<Tensor(std::int64_t grain)>& loss_of);

    std::int64_t grains() const;                   // G
    std::vector<std::int64_t> own_grains() const;  // those of this process, ascending
    std::uint64_t bytes_sent() const;              // what this process sent for gradients, since it was made
    const std::vector<Span>& timeline() const;     // spans of the last backward, on this process

private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace weft::dist
