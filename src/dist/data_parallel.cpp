#include "weft/dist/data_parallel.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <map>
#include <set>

#include "dist/probe.h"
#include "dist/transport.h"
#include "dist/tree.h"
#include "models/io/raw.h"
#include "weft/core/ops.h"
#include "weft/core/threads.h"

namespace weft::dist {

namespace {

using Clock = std::chrono::steady_clock;

// a[i] += b[i], of values of this type.
void add(DType dtype, std::byte* a, const std::byte* b, std::int64_t n) {
    const auto sum = [&]<class T>(T) {
        parallel_for(n, 1 << 16, [&](std::int64_t begin, std::int64_t end) {
            auto* to = reinterpret_cast<T*>(a);
            const auto* from = reinterpret_cast<const T*>(b);
            for (std::int64_t i = begin; i < end; ++i) to[i] += from[i];
        });
    };
    dtype == float64 ? sum(double()) : sum(float());
}

// The gradients of all parameters of one type, laid one after the other.
struct Lane {
    std::int64_t elements = 0;
    Tensor sum;  // of the grains
};

// A part of a lane that travels together. Every process sends its nodes of the tree, cut into P pieces, piece q
// to process q, which adds them up and sends the sum of its piece to all.
struct Bucket {
    Lane& lane;
    Range range;
    Tensor out, in;
    std::int64_t filled = 0;  // elements that have been laid in
    std::unique_ptr<Request> exchange = {}, completion = {};
    double begin = 0;

    DType dtype() const { return lane.sum.dtype(); }
};

}  // namespace

struct DataParallel::State {
    nn::NamedTensors parameters;  // those that require a gradient, the last registered first: backward's order
    std::vector<Tensor> tensors;  // the same without names
    nn::NamedGenerators generators;
    Transport& transport;
    const DataParallelOptions options;
    Range own;                 // grains
    std::vector<Range> nodes;  // of all processes, in order
    std::vector<int> counts;   // of nodes of each process
    std::map<DType, Lane> lanes;
    std::vector<Range> places;  // of the parameters, in their lanes
    std::vector<Bucket> buckets;
    std::uint64_t bytes_sent = 0;
    std::vector<Span> timeline;
    Clock::time_point start;

    // During a backward: the gradients of the tree's nodes so far, all grains but the last; and how many
    // buckets have been sent, added up, and received.
    struct Node {
        Range range;
        std::vector<Tensor> gradients;
    };
    std::vector<Node> done;
    std::size_t sent = 0, added = 0, received = 0;

    State(Transport& t, const DataParallelOptions& o) : transport(t), options(o) {}
    double now() const { return std::chrono::duration<double>(Clock::now() - start).count(); }
    int own_nodes() const { return counts[static_cast<std::size_t>(transport.rank)]; }
    // Piece q of the bucket, as a part of the lane.
    Range piece(const Bucket& bucket, std::int64_t q) const {
        const Range cut = share(bucket.range.size(), transport.size, q);
        return {bucket.range.begin + cut.begin, bucket.range.begin + cut.end};
    }

    void make_buckets() {
        for (const Tensor& x : tensors) {
            std::int64_t& end = lanes[x.dtype()].elements;
            places.push_back({end, end + x.numel()});
            end += x.numel();
        }
        for (auto& [dtype, lane] : lanes) {
            lane.sum = zeros({lane.elements}, dtype);
            for (std::int64_t begin = 0; begin < lane.elements; begin += options.bucket_elements) {
                const Range range{begin, std::min(begin + options.bucket_elements, lane.elements)};
                Bucket bucket{
                    .lane = lane, .range = range, .out = zeros({own_nodes() * range.size()}, dtype), .in = {}};
                bucket.in = zeros({std::ssize(nodes) * piece(bucket, transport.rank).size()}, dtype);
                buckets.push_back(std::move(bucket));
            }
        }
    }

    // Lays the gradient of a parameter at each node of this process into the buckets.
    void lay(std::size_t parameter, const std::vector<Tensor>& gradients) {
        const DType dtype = tensors[parameter].dtype();
        const std::size_t width = itemsize(dtype);
        const auto common = [](Range a, Range b) {
            return Range{std::max(a.begin, b.begin), std::min(a.end, b.end)};
        };
        const Range place = places[parameter];
        for (Bucket& bucket : buckets) {
            const Range here = common(place, bucket.range);
            if (bucket.dtype() != dtype || here.size() <= 0) continue;
            for (std::int64_t node = 0; node < own_nodes(); ++node)
                for (std::int64_t q = 0; q < transport.size; ++q) {
                    const Range cut = piece(bucket, q), part = common(here, cut);
                    if (part.size() <= 0) continue;
                    const std::int64_t at = own_nodes() * (cut.begin - bucket.range.begin) + node * cut.size() +
                                            part.begin - cut.begin;
                    std::memcpy(io::bytes_at(bucket.out) + static_cast<std::size_t>(at) * width,
                                io::bytes_at(gradients[static_cast<std::size_t>(node)]) +
                                    static_cast<std::size_t>(part.begin - place.begin) * width,
                                static_cast<std::size_t>(part.size()) * width);
                }
            bucket.filled += here.size();
        }
    }

    // The bytes of a piece of the bucket for each process.
    std::vector<int> piece_bytes(const Bucket& bucket,
                                 const std::function<std::int64_t(std::int64_t)>& copies) const {
        std::vector<int> bytes;
        for (std::int64_t q = 0; q < transport.size; ++q)
            bytes.push_back(static_cast<int>(copies(q) * static_cast<std::int64_t>(itemsize(bucket.dtype()))));
        return bytes;
    }

    void send(Bucket& bucket) {
        bucket.begin = now();
        const std::int64_t mine = piece(bucket, transport.rank).size();
        bucket.exchange = transport.exchange(
            reinterpret_cast<const char*>(io::bytes_at(bucket.out)),
            piece_bytes(bucket, [&](std::int64_t q) { return own_nodes() * piece(bucket, q).size(); }),
            reinterpret_cast<char*>(io::bytes_at(bucket.in)),
            piece_bytes(bucket, [&](std::int64_t q) { return counts[static_cast<std::size_t>(q)] * mine; }));
    }

    void add_up(Bucket& bucket) {
        const Range mine = piece(bucket, transport.rank);
        const std::size_t width = itemsize(bucket.dtype());
        std::byte* in = io::bytes_at(bucket.in);
        const auto node = [&](std::size_t i) { return in + i * static_cast<std::size_t>(mine.size()) * width; };
        add_in_tree(options.grains, nodes,
                    [&](std::size_t i, std::size_t j) { add(bucket.dtype(), node(i), node(j), mine.size()); });
        std::byte* sum = io::bytes_at(bucket.lane.sum);
        if (mine.size() > 0)
            std::memcpy(sum + static_cast<std::size_t>(mine.begin) * width, in,
                        static_cast<std::size_t>(mine.size()) * width);
        bucket.completion = transport.complete(
            reinterpret_cast<char*>(sum) + static_cast<std::size_t>(bucket.range.begin) * width,
            piece_bytes(bucket, [&](std::int64_t q) { return piece(bucket, q).size(); }));
    }

    // Moves the buckets on as far as they get without waiting. All processes send and add up in the same order.
    void advance() {
        while (sent < buckets.size() && buckets[sent].filled == buckets[sent].range.size())
            send(buckets[sent++]);
        while (added < sent && buckets[added].exchange->done()) add_up(buckets[added++]);
        while (received < added && buckets[received].completion->done()) {
            timeline.push_back({"bucket", static_cast<std::int64_t>(received), buckets[received].begin, now()});
            ++received;
        }
    }

    // Adds the gradients of a grain to those of its left neighbours as far as they are parts of one node.
    void add_grain(std::int64_t grain, std::vector<Tensor> gradients) {
        const NoGrad off;
        done.push_back({{grain, grain + 1}, std::move(gradients)});
        while (done.size() > 1 && are_parts(options.grains, done[done.size() - 2].range, done.back().range)) {
            const Node right = std::move(done.back());
            done.pop_back();
            for (std::size_t i = 0; i < tensors.size(); ++i) done.back().gradients[i].add_(right.gradients[i]);
            done.back().range.end = right.range.end;
        }
    }

    // The same for one parameter of the last grain, into the buckets.
    void add_last(std::size_t parameter, const Tensor& gradient) {
        const NoGrad off;
        Range range{own.end - 1, own.end};
        Tensor value = gradient;
        std::size_t left = done.size();
        for (; left > 0 && are_parts(options.grains, done[left - 1].range, range); --left) {
            Tensor& sum = done[left - 1].gradients[parameter];
            value = sum.add_(value);
            range.begin = done[left - 1].range.begin;
        }
        std::vector<Tensor> values;
        for (std::size_t i = 0; i < left; ++i) values.push_back(done[i].gradients[parameter].contiguous());
        values.push_back(value.contiguous());
        lay(parameter, values);
        advance();
    }

    // What all processes must have in common.
    std::string description() const {
        std::string lines = words("grains ", options.grains, ", buckets of ", options.bucket_elements);
        for (const auto& [name, x] : parameters)
            lines += words("\nparameter ", name, " ", x.shape(), " ", weft::name(x.dtype()), ", values ",
                           text::chars(checksum(x), 16));
        for (const auto& [name, rng] : generators)
            lines += words("\ngenerator ", name, ", seed ", rng->seed(), ", position ", rng->state().position);
        return lines;
    }

    // Refuses other parameters on other processes, with the first line of the descriptions that differs.
    void compare() const {
        const auto all = transport.all_gather("DataParallel", description());
        for (std::size_t r = 1; r < all.size(); ++r) {
            if (all[r] == all[0]) continue;
            const auto [a, b] = std::mismatch(all[0].begin(), all[0].end(), all[r].begin(), all[r].end());
            const auto line = [](const std::string& text, std::size_t at) -> std::string {
                if (at >= text.size()) return "nothing more";
                const std::size_t begin = at == 0 ? 0 : text.rfind('\n', at - 1) + 1;
                return text.substr(begin, text.find('\n', at) - begin);
            };
            const auto at = static_cast<std::size_t>(a - all[0].begin());
            throw Error("DataParallel: process 0 on ", transport.hosts[0], " has ", line(all[0], at),
                        "; process ", r, " on ", transport.hosts[r], " has ", line(all[r], at),
                        "; make the same module with the same seed on every process");
        }
    }
};

DataParallel::DataParallel(const nn::Module& module, Group& group, const DataParallelOptions& options)
    : state_(std::make_unique<State>(group.transport(), options)) {
    State& s = *state_;
    const std::int64_t G = options.grains, P = group.size();
    if (G < 1 || options.bucket_elements < 1 || options.bucket_elements > 1 << 22)
        throw ValueError("DataParallel: ", G, " grains and buckets of ", options.bucket_elements,
                         " elements; use 1 grain or more, and 1 to 4194304 elements");
    if (P > G)
        throw ValueError("DataParallel: ", P, " processes have only ", G,
                         " grains to compute; start fewer processes, or cut the batch into more grains");
    std::set<std::string> names;
    for (const auto& [name, x] : module.named_parameters()) {
        if (x.requires_grad()) s.parameters.emplace_back(name, x);
        names.insert(name);
    }
    for (const auto& [name, x] : module.named_buffers())
        for (const auto& [saved, y] : module.state_dict())
            if (saved == name)
                throw ValueError(
                    "DataParallel: the buffer ", name,
                    " would depend on the order of the grains; use a module without one, as LayerNorm "
                    "in place of BatchNorm");
    std::reverse(s.parameters.begin(), s.parameters.end());
    for (const auto& [name, x] : s.parameters) s.tensors.push_back(x);
    s.generators = module.named_generators();
    s.own = share(G, P, group.rank());
    for (std::int64_t r = 0; r < P; ++r) {
        const std::vector<Range> nodes = nodes_within(G, share(G, P, r));
        s.nodes.insert(s.nodes.end(), nodes.begin(), nodes.end());
        s.counts.push_back(static_cast<int>(nodes.size()));
    }
    if (P == 1) return;
    const Doing doing("DataParallel");
    s.compare();
    s.make_buckets();
}
DataParallel::~DataParallel() = default;

double DataParallel::backward(const std::function<Tensor(std::int64_t)>& loss_of) {
    State& s = *state_;
    const Doing doing("DataParallel::backward");
    const std::int64_t G = s.options.grains;
    const bool alone = s.transport.size == 1;
    const std::uint64_t before = s.transport.bytes_sent;
    s.start = Clock::now();
    s.timeline.clear();
    s.done.clear();
    s.sent = s.added = s.received = 0;
    for (Bucket& bucket : s.buckets) bucket.filled = 0;
    s.transport.all_gather(words("DataParallel::backward of ", G, " grains"), "");

    std::vector<Rng::State> states;
    for (const auto& [name, rng] : s.generators) states.push_back(rng->state());
    std::vector<double> losses;
    for (std::int64_t grain = s.own.begin; grain < s.own.end; ++grain) {
        const double begin = s.now();
        if (G > 1)
            for (std::size_t i = 0; i < states.size(); ++i) {
                const auto bits =
                    philox(states[i].seed, states[i].position + static_cast<std::uint64_t>(grain));
                s.generators[i].second->set_state({bits[0] | std::uint64_t{bits[1]} << 32, 0});
            }
        const Tensor loss = loss_of(grain);
        losses.push_back(loss.item());
        GradOptions options{.allow_unused = true};
        const bool last = !alone && grain + 1 == s.own.end;
        if (last) options.ready = [&](std::size_t i, const Tensor& g) { s.add_last(i, g); };
        std::vector<Tensor> gradients =
            grad({loss}, s.tensors, {full(loss.shape(), 1 / static_cast<double>(G), loss.dtype())}, options);
        for (std::size_t i = 0; i < gradients.size(); ++i)
            if (!gradients[i].defined())
                throw GraphError(
                    "DataParallel::backward: the loss of grain ", grain, " does not depend on ",
                    s.parameters[i].first,
                    "; use every parameter in each grain, or call requires_grad_(false) on this one");
        if (!last) s.add_grain(grain, std::move(gradients));
        s.timeline.push_back({"grain", grain, begin, s.now()});
    }
    if (G > 1)
        for (std::size_t i = 0; i < states.size(); ++i)
            s.generators[i].second->set_state(
                {states[i].seed, states[i].position + static_cast<std::uint64_t>(G)});

    const NoGrad off;
    const auto give = [&](std::size_t i, const Tensor& g) {
        Tensor& parameter = s.tensors[i];
        const Tensor earlier = parameter.grad();
        parameter.set_grad(earlier.defined() ? earlier + g : g);
    };
    if (alone) {
        for (std::size_t i = 0; i < s.tensors.size(); ++i) give(i, s.done[0].gradients[i]);
    } else {
        struct All : Request {
            State& state;
            explicit All(State& s) : state(s) {}
            bool done() override { return state.advance(), state.received == state.buckets.size(); }
        } all(s);
        finish(all);
        for (std::size_t i = 0; i < s.tensors.size(); ++i) {
            const Tensor& parameter = s.tensors[i];
            give(i, s.lanes.at(parameter.dtype())
                        .sum.slice(0, s.places[i].begin, s.places[i].end)
                        .view(parameter.shape()));
        }
    }
    s.done.clear();

    std::string all;
    for (const std::string& part :
         s.transport.all_gather("DataParallel::backward, the losses",
                                {reinterpret_cast<const char*>(losses.data()), losses.size() * sizeof(double)}))
        all += part;
    losses.resize(static_cast<std::size_t>(G));
    std::memcpy(losses.data(), all.data(), all.size());
    std::vector<Range> leaves;
    for (std::int64_t grain = 0; grain < G; ++grain) leaves.push_back({grain, grain + 1});
    add_in_tree(G, leaves, [&](std::size_t i, std::size_t j) { losses[i] += losses[j]; });
    s.bytes_sent += s.transport.bytes_sent - before;
    return losses[0] / static_cast<double>(G);
}

std::int64_t DataParallel::grains() const { return state_->options.grains; }
std::vector<std::int64_t> DataParallel::own_grains() const {
    std::vector<std::int64_t> grains;
    for (std::int64_t grain = state_->own.begin; grain < state_->own.end; ++grain) grains.push_back(grain);
    return grains;
}
std::uint64_t DataParallel::bytes_sent() const { return state_->bytes_sent; }
const std::vector<Span>& DataParallel::timeline() const { return state_->timeline; }

}  // namespace weft::dist
