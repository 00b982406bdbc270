// The binary tree in which the gradients of grains are added. It covers the grains [0, G); a node of n > 1
// grains has as its left part the first m, the largest power of two below n, and as its right part the others.
// Which process computed a grain has no influence on it, so a sum in this tree has the same bits wherever it is
// made.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <vector>

#include "dist/transport.h"
#include "weft/dist/data_parallel.h"

namespace weft::dist {

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
