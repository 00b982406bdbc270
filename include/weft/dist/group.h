// The processes that mpirun started together, and what they exchange.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "weft/core/tensor.h"

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

}  // namespace weft::dist
