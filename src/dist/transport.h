// How bytes get from one process to another.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "weft/core/error.h"
#include "weft/core/tensor.h"
#include "weft/dist/data_parallel.h"

namespace weft::dist {

// The parts as one text, written as in an Error.
std::string words(const auto&... parts) { return Error::text(parts...); }

// An exchange that has begun.
class Request {
public:
    virtual ~Request() = default;
    virtual bool done() = 0;  // whether it is complete; the call moves it on
};

class Transport {
public:
    virtual ~Transport() = default;

    int rank = 0, size = 1;
    std::vector<std::string> hosts = {};  // host names by rank
    std::uint64_t bytes_sent = 0;         // bytes that this process sent to others

    // The bytes of each process, by rank, on all of them. `call` describes the call; Error unless all made the
    // same one.
    virtual std::vector<std::string> all_gather(const std::string& call, const std::string& bytes) = 0;
    // Begins to send counts_out[q] bytes to each process q, from `out` one after the other, and to receive
    // counts_in[q] from it. Processes begin their exchanges in the same order.
    virtual std::unique_ptr<Request> exchange(const char* out, const std::vector<int>& counts_out, char* in,
                                              const std::vector<int>& counts_in) = 0;
    // Begins to complete `bytes` on all processes, of which process q has piece q, of counts[q] bytes.
    virtual std::unique_ptr<Request> complete(char* bytes, const std::vector<int>& counts) = 0;
};

// Waits until it is done.
void finish(Request& request);

std::string this_host();  // its name

// The variable by which mpirun says that it started this process; null if it did not.
const char* launched();

// This process alone.
std::unique_ptr<Transport> alone();
// The processes that mpirun started, or this one alone.
std::unique_ptr<Transport> connected();

// What this process does, for messages when it ends.
struct Doing {
    explicit Doing(const char* operation) : before_(now.exchange(operation)) {}
    ~Doing() {  // an exception is reported with the innermost operation that it ends
        if (std::uncaught_exceptions() == exceptions_) now = before_;
    }
    Doing(const Doing&) = delete;
    Doing& operator=(const Doing&) = delete;

    inline static std::atomic<const char*> now = "the program's own work";
    inline static std::atomic<std::int64_t> step = 0;

private:
    const char* before_;
    int exceptions_ = std::uncaught_exceptions();
};

// A checksum of the words of a tensor, going on from `hash`.
std::uint64_t checksum(const Tensor& x, std::uint64_t hash = 0xcbf29ce484222325);

// How this process computes: the version of Weft, the compiler, and a checksum of one training step of a small
// model, which is another one where kernels round in another way.
std::string arithmetic();

// The binary tree in which the gradients of grains are added. It covers the grains [0, G); a node of n > 1
// grains has as its left part the first m, the largest power of two below n, and as its right part the others.
// Which process computed a grain has no influence on it, so a sum in this tree has the same bits wherever it is
// made.

// The integers from begin to end − 1.
struct Range {
    std::int64_t begin = 0, end = 0;

    std::int64_t size() const { return end - begin; }
    bool operator==(const Range&) const = default;
};

// Part r of n things for P processes: [⌊nr/P⌋, ⌊n(r + 1)/P⌋).
Range share(std::int64_t n, std::int64_t P, std::int64_t r);

// Where the right part of a node of at least two grains begins.
std::int64_t middle(Range node);

// Whether left + right is a node of the tree over [0, G), and these are its parts.
bool are_parts(std::int64_t G, Range left, Range right);

// The largest nodes of the tree over [0, G) that lie within `range`, in order.
std::vector<Range> nodes_within(std::int64_t G, Range range);

// Adds in the tree over [0, G), whose parts `nodes` cover it in order: add(i, j) adds the value of the node j
// to that of the node i. The sum is then the value of the first.
void add_in_tree(std::int64_t G, const std::vector<Range>& nodes,
                 const std::function<void(std::size_t, std::size_t)>& add);

// How the gradients of all processes come together while backward goes on.

// The gradients of all parameters of one type, laid one after the other, are a lane. It is cut into buckets,
// which travel one by one. Every process sends its nodes of the tree over the grains, cut into P pieces, piece
// q to process q, which adds them up and sends the sum of its piece to all.
class Buckets {
public:
    using Clock = std::chrono::steady_clock;

    // Of the gradients of these parameters, laid in this order.
    Buckets(Transport& transport, const std::vector<Tensor>& parameters, const DataParallelOptions& options);

    // Empties the buckets for a backward that began at `start`, where the time line has its zero.
    void begin(Clock::time_point start);
    // Lays in the gradient of a parameter at each node of this process. The buckets that this fills leave.
    void lay(std::size_t parameter, const std::vector<Tensor>& at_nodes);
    // Moves the exchanges on as far as they get without waiting; whether all sums have been received.
    bool advance();
    // The sum of a parameter's gradients over all grains.
    Tensor sum(std::size_t parameter) const;

    std::vector<Span> timeline;

private:
    struct Lane {
        std::int64_t elements = 0;
        Tensor sum;  // sum over the grains
    };
    struct Bucket {
        Lane& lane;
        Range range;  // range in the lane
        Tensor out, in;
        std::int64_t filled = 0;  // elements that have been laid in
        std::unique_ptr<Request> exchange = {}, completion = {};
        double begin = 0;

        DType dtype() const { return lane.sum.dtype(); }
    };

    double now() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }
    std::int64_t own_nodes() const { return counts_[static_cast<std::size_t>(transport_.rank)]; }
    Range piece(const Bucket& bucket, std::int64_t q) const;
    std::vector<int> piece_bytes(const Bucket& bucket,
                                 const std::function<std::int64_t(std::int64_t)>& copies) const;
    void send(Bucket& bucket);
    void add_up(Bucket& bucket);

    Transport& transport_;
    const std::vector<Tensor> parameters_;
    const std::int64_t grains_;
    std::vector<Range> nodes_;  // the nodes of all processes, in order
    std::vector<int> counts_;   // number of nodes of each process
    std::map<DType, Lane> lanes_;
    std::vector<Range> places_;  // ranges of the parameters in their lanes
    std::vector<Bucket> buckets_;
    Clock::time_point start_;
    std::size_t sent_ = 0, added_ = 0, received_ = 0;  // buckets, in this backward
};

}  // namespace weft::dist
