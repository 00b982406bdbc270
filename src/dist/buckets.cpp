#include "dist/transport.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "weft/core/dtype.h"
#include "weft/core/modes.h"
#include "weft/ops.h"
#include "weft/packed/packed.h"

namespace weft::dist {

Range share(std::int64_t n, std::int64_t P, std::int64_t r) { return {n * r / P, n * (r + 1) / P}; }

std::int64_t middle(Range node) {
    return node.begin + static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(node.size() - 1)));
}

bool are_parts(std::int64_t G, Range left, Range right) {
    const Range both{left.begin, right.end};
    Range node{0, G};
    while (node != both) {
        if (node.size() == 1) return false;
        const std::int64_t m = middle(node);
        (both.begin < m ? node.end : node.begin) = m;
    }
    return middle(node) == left.end && left.end == right.begin;
}

std::vector<Range> nodes_within(std::int64_t G, Range range) {
    std::vector<Range> nodes, waiting = {{0, G}};
    while (!waiting.empty()) {
        const Range node = waiting.back();
        waiting.pop_back();
        if (node.end <= range.begin || range.end <= node.begin) continue;
        if (range.begin <= node.begin && node.end <= range.end) {
            nodes.push_back(node);
            continue;
        }
        const std::int64_t m = middle(node);
        waiting.push_back({m, node.end});
        waiting.push_back({node.begin, m});
    }
    return nodes;
}

void add_in_tree(std::int64_t G, const std::vector<Range>& nodes,
                 const std::function<void(std::size_t, std::size_t)>& add) {
    std::vector<std::pair<Range, std::size_t>> done;  // no two neighbours are the parts of one node
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        done.emplace_back(nodes[i], i);
        while (done.size() > 1 && are_parts(G, done[done.size() - 2].first, done.back().first)) {
            const auto [right, at] = done.back();
            done.pop_back();
            add(done.back().second, at);
            done.back().first.end = right.end;
        }
    }
}

namespace {

// a[i] += b[i], of values of this type.
void add(DType dtype, std::byte* a, const std::byte* b, std::int64_t n) {
    visit_floating(dtype, [&]<class T>(T) {
        parallel_for(n, 1 << 16, [&](std::int64_t begin, std::int64_t end) {
            auto* to = reinterpret_cast<T*>(a);
            const auto* from = reinterpret_cast<const T*>(b);
            for (std::int64_t i = begin; i < end; ++i) to[i] += from[i];
        });
    });
}

}  // namespace

Buckets::Buckets(Transport& transport, const std::vector<Tensor>& parameters,
                 const DataParallelOptions& options)
    : transport_(transport), parameters_(parameters), grains_(options.grains) {
    for (std::int64_t r = 0; r < transport.size; ++r) {
        const std::vector<Range> nodes = nodes_within(grains_, share(grains_, transport.size, r));
        nodes_.insert(nodes_.end(), nodes.begin(), nodes.end());
        counts_.push_back(static_cast<int>(nodes.size()));
    }
    for (const Tensor& x : parameters) {
        std::int64_t& end = lanes_[x.dtype()].elements;
        places_.push_back({end, end + x.numel()});
        end += x.numel();
    }
    for (auto& [dtype, lane] : lanes_) {
        lane.sum = zeros({lane.elements}, dtype);
        for (std::int64_t begin = 0; begin < lane.elements; begin += options.bucket_elements) {
            const Range range{begin, std::min(begin + options.bucket_elements, lane.elements)};
            Bucket bucket{
                .lane = lane, .range = range, .out = zeros({own_nodes() * range.size()}, dtype), .in = {}};
            bucket.in = zeros({std::ssize(nodes_) * piece(bucket, transport.rank).size()}, dtype);
            buckets_.push_back(std::move(bucket));
        }
    }
}

void Buckets::begin(Clock::time_point start) {
    start_ = start;
    timeline.clear();
    sent_ = added_ = received_ = 0;
    for (Bucket& bucket : buckets_) bucket.filled = 0;
}

void Buckets::lay(std::size_t parameter, const std::vector<Tensor>& at_nodes) {
    const DType dtype = parameters_[parameter].dtype();
    const std::size_t width = itemsize(dtype);
    const auto common = [](Range a, Range b) {
        return Range{std::max(a.begin, b.begin), std::min(a.end, b.end)};
    };
    const Range place = places_[parameter];
    for (Bucket& bucket : buckets_) {
        const Range here = common(place, bucket.range);
        if (bucket.dtype() != dtype || here.size() <= 0) continue;
        for (std::int64_t node = 0; node < own_nodes(); ++node)
            for (std::int64_t q = 0; q < transport_.size; ++q) {
                const Range cut = piece(bucket, q), part = common(here, cut);
                if (part.size() <= 0) continue;
                const std::int64_t at =
                    own_nodes() * (cut.begin - bucket.range.begin) + node * cut.size() + part.begin - cut.begin;
                std::memcpy(bytes_at(bucket.out) + static_cast<std::size_t>(at) * width,
                            bytes_at(at_nodes[static_cast<std::size_t>(node)]) +
                                static_cast<std::size_t>(part.begin - place.begin) * width,
                            static_cast<std::size_t>(part.size()) * width);
            }
        bucket.filled += here.size();
    }
    advance();
}

// All processes send and add up in the same order.
bool Buckets::advance() {
    while (sent_ < buckets_.size() && buckets_[sent_].filled == buckets_[sent_].range.size())
        send(buckets_[sent_++]);
    while (added_ < sent_ && buckets_[added_].exchange->done()) add_up(buckets_[added_++]);
    while (received_ < added_ && buckets_[received_].completion->done()) {
        timeline.push_back({"bucket", static_cast<std::int64_t>(received_), buckets_[received_].begin, now()});
        ++received_;
    }
    return received_ == buckets_.size();
}

Tensor Buckets::sum(std::size_t parameter) const {
    const Tensor& x = parameters_[parameter];
    const Range place = places_[parameter];
    return lanes_.at(x.dtype()).sum.slice(0, place.begin, place.end).view(x.shape());
}

// Piece q of the bucket, as a part of the lane.
Range Buckets::piece(const Bucket& bucket, std::int64_t q) const {
    const Range cut = share(bucket.range.size(), transport_.size, q);
    return {bucket.range.begin + cut.begin, bucket.range.begin + cut.end};
}

// The bytes of a piece of the bucket for each process.
std::vector<int> Buckets::piece_bytes(const Bucket& bucket,
                                      const std::function<std::int64_t(std::int64_t)>& copies) const {
    std::vector<int> bytes;
    for (std::int64_t q = 0; q < transport_.size; ++q)
        bytes.push_back(static_cast<int>(copies(q) * static_cast<std::int64_t>(itemsize(bucket.dtype()))));
    return bytes;
}

void Buckets::send(Bucket& bucket) {
    bucket.begin = now();
    const std::int64_t mine = piece(bucket, transport_.rank).size();
    bucket.exchange = transport_.exchange(
        reinterpret_cast<const char*>(bytes_at(bucket.out)),
        piece_bytes(bucket, [&](std::int64_t q) { return own_nodes() * piece(bucket, q).size(); }),
        reinterpret_cast<char*>(bytes_at(bucket.in)),
        piece_bytes(bucket, [&](std::int64_t q) { return counts_[static_cast<std::size_t>(q)] * mine; }));
}

void Buckets::add_up(Bucket& bucket) {
    const Range mine = piece(bucket, transport_.rank);
    const std::size_t width = itemsize(bucket.dtype());
    std::byte* in = bytes_at(bucket.in);
    const auto node = [&](std::size_t i) { return in + i * static_cast<std::size_t>(mine.size()) * width; };
    add_in_tree(grains_, nodes_,
                [&](std::size_t i, std::size_t j) { add(bucket.dtype(), node(i), node(j), mine.size()); });
    std::byte* sum = bytes_at(bucket.lane.sum);
    if (mine.size() > 0)
        std::memcpy(sum + static_cast<std::size_t>(mine.begin) * width, in,
                    static_cast<std::size_t>(mine.size()) * width);
    bucket.completion =
        transport_.complete(reinterpret_cast<char*>(sum) + static_cast<std::size_t>(bucket.range.begin) * width,
                            piece_bytes(bucket, [&](std::int64_t q) { return piece(bucket, q).size(); }));
}

}  // namespace weft::dist
