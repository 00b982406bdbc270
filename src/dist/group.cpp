#include "weft/dist/data_parallel.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "dist/transport.h"
#include "weft/base/text.h"
#include "weft/core/error.h"
#include "weft/core/modes.h"
#include "weft/ops.h"
#include "weft/packed/packed.h"

namespace weft::dist {

namespace {

std::string described(const char* call, const Tensor& x) {
    if (is_quantized(x.dtype())) refuse_blocks(x.dtype());
    return words(call, " of ", x.shape(), " ", name(x.dtype()));
}

int checked_source(int source, int size) {
    if (source < 0 || source >= size)
        throw IndexError("broadcast: there is no process ", source, "; use 0 to ", size - 1);
    return source;
}

// How many processors this process may use.
long allowed_processors() {
#ifdef __linux__
    cpu_set_t set;
    return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
#else
    return ::sysconf(_SC_NPROCESSORS_ONLN);
#endif
}

}  // namespace

Group::Group() : transport_(connected()) {
    if (launched() == nullptr) return;
    if (size() > 1) agree("the arithmetic", arithmetic());
    // A process takes its share of its host, unless the environment says how many threads. Open MPI binds each
    // of one or two processes to a single core, where a team of threads would starve.
    const long processors = ::sysconf(_SC_NPROCESSORS_ONLN), allowed = allowed_processors();
    const long here = std::count(transport_->hosts.begin(), transport_->hosts.end(), host());
    long wanted = std::max(1L, processors / here);
    if (std::getenv("WEFT_NUM_THREADS") != nullptr || std::getenv("OMP_NUM_THREADS") != nullptr)
        wanted = std::min<long>(processors, get_num_threads());
    else
        set_num_threads(static_cast<int>(std::min(wanted, allowed)));
    const bool starved = allowed < wanted;
    const auto answers = transport_->all_gather("binding", starved ? std::to_string(allowed) : "");
    for (int r = 0; r < size() && rank() == 0; ++r)
        if (const std::string& bound = answers[static_cast<std::size_t>(r)]; !bound.empty()) {
            std::fprintf(
                stderr,
                "process %d on %s may use only %s of its host's processors; mpirun --bind-to none lets its "
                "threads use all\n",
                r, host(r).c_str(), bound.c_str());
            break;
        }
}
Group::~Group() = default;

int Group::rank() const { return transport_->rank; }
int Group::size() const { return transport_->size; }

const std::string& Group::host(int rank) const {
    if (rank < 0 || rank >= size())
        throw IndexError("Group: there is no process ", rank, "; use 0 to ", size() - 1);
    return transport_->hosts[static_cast<std::size_t>(rank)];
}

std::vector<Tensor> Group::all_gather(const Tensor& x) {
    const Doing doing("all_gather");
    const Tensor dense = x.contiguous();
    std::vector<Tensor> all;
    for (const std::string& bytes :
         transport_->all_gather(described("all_gather", x), std::string(raw_values(dense)))) {
        all.push_back(zeros(x.shape(), x.dtype()));
        set_raw_values(all.back(), bytes);
    }
    return all;
}

Tensor Group::all_reduce(const Tensor& x) {
    if (x.dtype() == boolean) throw DTypeError("all_reduce: bool does not add; convert it with to(int64)");
    if (only_stores(x.dtype()))
        throw DTypeError("all_reduce: ", name(x.dtype()),
                         " stores, and arithmetic is in float32; convert it with to(float32)");
    const Doing doing("all_reduce");
    const NoGrad off;
    std::vector<Tensor> all = all_gather(x);
    std::vector<Range> leaves;
    for (int r = 0; r < size(); ++r) leaves.push_back({r, r + 1});
    add_in_tree(size(), leaves, [&](std::size_t i, std::size_t j) { all[i].add_(all[j]); });
    return all[0];
}

void Group::broadcast(Tensor& x, int source) {
    checked_source(source, size());
    const Doing doing("broadcast");
    const Tensor dense = x.contiguous();
    const auto all = transport_->all_gather(words(described("broadcast", x), " from process ", source),
                                            rank() == source ? std::string(raw_values(dense)) : "");
    if (rank() == source) return;
    Tensor received = zeros(x.shape(), x.dtype());
    set_raw_values(received, all[static_cast<std::size_t>(source)]);
    const NoGrad off;
    x.copy_(received);
}

std::string Group::broadcast(const std::string& text, int source) {
    checked_source(source, size());
    const Doing doing("broadcast");
    return transport_->all_gather(words("broadcast of a text from process ", source),
                                  rank() == source ? text : "")[static_cast<std::size_t>(source)];
}

void Group::agree(const std::string& what, const std::string& value) {
    const Doing doing("agree");
    const auto all = transport_->all_gather("agree on " + what, value);
    for (int r = 1; r < size(); ++r)
        if (const std::string& other = all[static_cast<std::size_t>(r)]; other != all[0])
            throw Error("the processes differ in ", what, ": process 0 on ", host(0), " has ",
                        excerpt(all[0], 200), "; process ", r, " on ", host(r), " has ", excerpt(other, 200),
                        "; give all the same");
}

void Group::barrier() {
    const Doing doing("barrier");
    transport_->all_gather("barrier", "");
}

void Group::at_step(std::int64_t step) { Doing::step = step; }

}  // namespace weft::dist
