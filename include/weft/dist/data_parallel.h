// The processes that mpirun started together, and what they exchange.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "weft/core/tensor.h"
#include "weft/nn/module.h"

namespace weft::dist {

class Transport;

// All processes of this run, as torch.distributed after init_process_group. Make one, and let it live until the
// end of the work:
//
//     dist::Group group;  // without mpirun: one process
//     const Tensor mean = group.all_reduce(full({2}, group.rank())) / group.size();
//     if (group.rank() == 0) std::printf("%d processes\n", group.size());
//
// Every function but rank, size, host and at_step is collective: all processes call the same ones in the same
// order, or each gets an Error with the calls of two that differ.
//
// Make the group first of all: the others wait for a process for WEFT_PATIENCE + 3 seconds (a variable of the
// environment, by default 5), and at least 8. Then the group watches over itself: a process that ends, or that
// is silent for WEFT_PATIENCE seconds, ends them all, with its rank and host on standard error, and each of the
// others says its step and operation. A process is silent if it is stopped or its host is out of reach; it is
// not if it computes.
class Group {
public:
    // Joins the processes that mpirun started, and compares them. Error unless all have the same version of
    // Weft and round alike, because kernels for different processors give different bits; Error under mpirun if
    // Weft was built without MPI; ValueError if WEFT_PATIENCE is not a number of seconds from 0.1 to 86400.
    // Where several processes run on one host, each takes its share of the processors, as by set_num_threads,
    // unless WEFT_NUM_THREADS or OMP_NUM_THREADS is set; a process that may not use that many is named on
    // standard error.
    Group();
    ~Group();  // leaves; while an exception passes, says which process failed, and the others end
    Group(const Group&) = delete;
    Group& operator=(const Group&) = delete;

    int rank() const;                                         // this process's number, from 0
    int size() const;                                         // P, the number of processes
    const std::string& host(int rank) const;                  // the machine that a process runs on
    const std::string& host() const { return host(rank()); }  // the machine that this process runs on

    // [x of process 0, …, x of process P − 1], on every process. Error unless they have one shape and type.
    std::vector<Tensor> all_gather(const Tensor& x);
    // x of process 0 + … + x of process P − 1, on every process with the same bits: neighbours are added first.
    // Error unless they have one shape and type, DTypeError for bool.
    Tensor all_reduce(const Tensor& x);
    // Copies x of process `source` into x of the others. Error unless they have one shape and type, IndexError
    // unless 0 ≤ source < P.
    void broadcast(Tensor& x, int source = 0);
    // The text of process `source`, on every process. IndexError unless 0 ≤ source < P.
    std::string broadcast(const std::string& text, int source = 0);
    // Error, with both values and hosts, unless `value` is the same on every process; `what` names it.
    //
    //     group.agree("the seed", std::to_string(seed));
    void agree(const std::string& what, const std::string& value);
    void barrier();  // returns when every process has called it

    void at_step(std::int64_t step);  // the step that messages name when a process ends

    Transport& transport() { return *transport_; }  // for DataParallel

private:
    std::unique_ptr<Transport> transport_;
};

// Training by several processes, each of which computes a part of every batch.

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
