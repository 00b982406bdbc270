#include "weft/dist/data_parallel.h"

#include <algorithm>
#include <optional>

#include "dist/transport.h"
#include "weft/base/text.h"
#include "weft/core/modes.h"
#include "weft/core/record.h"
#include "weft/ops.h"

namespace weft::dist {

namespace {

// MPI goes through all exchanges that have begun whenever it moves one on, so many take it very long.
constexpr std::int64_t max_buckets = 1 << 14;

}  // namespace

struct DataParallel::State {
    nn::NamedTensors parameters;  // those that require a gradient, the last registered first: backward's order
    std::vector<Tensor> tensors;  // the same without names
    nn::NamedGenerators generators;
    Transport& transport;
    const DataParallelOptions options;
    Range own;                       // grains
    std::optional<Buckets> buckets;  // unless alone
    std::uint64_t bytes_sent = 0;
    std::vector<Span> timeline;

    // During a backward: the gradients of the tree's nodes so far.
    struct Node {
        Range range;
        std::vector<Tensor> gradients;
    };
    std::vector<Node> done;

    // Ends a backward. If it failed, puts the generators back to where they were.
    class Draws {
    public:
        explicit Draws(State& s) : s_(s) {
            for (const auto& [name, rng] : s.generators) before_.push_back(rng->state());
        }
        ~Draws() {
            s_.done.clear();
            if (!finished_) set([](const Rng::State& before) { return before; });
        }
        Draws(const Draws&) = delete;
        Draws& operator=(const Draws&) = delete;
        // Each generator continues from f(its state at the beginning).
        template <class F>
        void set(const F& f) {
            for (std::size_t i = 0; i < before_.size(); ++i) s_.generators[i].second->set_state(f(before_[i]));
        }
        void finish() { finished_ = true; }

    private:
        State& s_;
        std::vector<Rng::State> before_;
        bool finished_ = false;
    };

    State(Transport& t, const DataParallelOptions& o) : transport(t), options(o) {}

    // Widens the node by its left parts at the end of `done`, and returns how many nodes are before them.
    std::size_t widen(Range& node) const {
        std::size_t before = done.size();
        for (; before > 0 && are_parts(options.grains, done[before - 1].range, node); --before)
            node.begin = done[before - 1].range.begin;
        return before;
    }

    // Adds a parameter's gradient to those of the node's left parts, while it is in the cache; at the last
    // grain the sum leaves.
    void add(std::size_t parameter, Tensor gradient, Node& node, std::size_t before, bool leaves) {
        const NoGrad off;
        for (std::size_t i = done.size(); i > before; --i)
            gradient = std::exchange(done[i - 1].gradients[parameter], {}).add_(gradient);
        node.gradients[parameter] = gradient;
        if (!leaves) return;
        std::vector<Tensor> at_nodes;
        for (std::size_t i = 0; i < before; ++i) at_nodes.push_back(done[i].gradients[parameter]);
        at_nodes.push_back(gradient);
        buckets->lay(parameter, at_nodes);
    }

    // What all processes must have in common.
    std::string description() const {
        std::string lines = words("grains ", options.grains, ", buckets of ", options.bucket_elements);
        for (const auto& [name, x] : parameters)
            lines += words("\nparameter ", name, " ", x.shape(), " ", weft::name(x.dtype()), ", values ",
                           to_chars(checksum(x), 16));
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
    for (const auto& [name, x] : module.named_parameters())
        if (x.requires_grad()) s.parameters.emplace_back(name, x);
    const nn::NamedTensors buffers = module.named_buffers();
    for (const auto& saved : module.state_dict())
        if (std::any_of(buffers.begin(), buffers.end(), [&](const auto& b) { return b.first == saved.first; }))
            throw ValueError(
                "DataParallel: the buffer ", saved.first,
                " would depend on the order of the grains; use a module without one, as LayerNorm in place "
                "of BatchNorm");
    std::reverse(s.parameters.begin(), s.parameters.end());
    std::int64_t elements = 0;
    for (const auto& [name, x] : s.parameters) {
        s.tensors.push_back(x);
        elements += x.numel();
    }
    if (const std::int64_t buckets = (elements - 1) / options.bucket_elements + 1; buckets > max_buckets)
        throw ValueError("DataParallel: ", elements, " elements in buckets of ", options.bucket_elements,
                         " make ", buckets, " buckets; use larger ones, at most ", max_buckets);
    s.generators = module.named_generators();
    s.own = share(G, P, group.rank());
    if (P == 1) return;
    const Doing doing("DataParallel");
    s.compare();
    s.buckets.emplace(s.transport, s.tensors, options);
}
DataParallel::~DataParallel() = default;

double DataParallel::backward(const std::function<Tensor(std::int64_t)>& loss_of) {
    State& s = *state_;
    const Doing doing("DataParallel::backward");
    const std::int64_t G = s.options.grains;
    const bool alone = s.transport.size == 1;
    const std::uint64_t sent = s.transport.bytes_sent;
    const auto start = Buckets::Clock::now();
    const auto now = [&] { return std::chrono::duration<double>(Buckets::Clock::now() - start).count(); };
    std::vector<Span> timeline;
    State::Draws draws(s);
    if (!alone) s.buckets->begin(start);
    s.transport.all_gather(words("DataParallel::backward of ", G, " grains"), "");

    std::vector<double> losses;
    for (std::int64_t grain = s.own.begin; grain < s.own.end; ++grain) {
        const double begin = now();
        if (G > 1)
            draws.set([&](const Rng::State& before) -> Rng::State {
                const auto bits = philox(before.seed, before.position + static_cast<std::uint64_t>(grain));
                return {bits[0] | std::uint64_t{bits[1]} << 32, 0};
            });
        const Tensor loss = loss_of(grain);
        losses.push_back(loss.item());
        State::Node node{{grain, grain + 1}, std::vector<Tensor>(s.tensors.size())};
        const std::size_t before = s.widen(node.range);
        const bool leaves = !alone && grain + 1 == s.own.end;
        (void)grad({loss}, s.tensors, {full(loss.shape(), 1 / static_cast<double>(G), loss.dtype())},
                   {.allow_unused = true,
                    .ready = [&](std::size_t i, Tensor g) { s.add(i, std::move(g), node, before, leaves); }});
        for (std::size_t i = 0; i < node.gradients.size(); ++i)
            if (!node.gradients[i].defined())
                throw GraphError(
                    "DataParallel::backward: the loss of grain ", grain, " does not depend on ",
                    s.parameters[i].first,
                    "; use every parameter in each grain, or call requires_grad_(false) on this one");
        s.done.resize(before);
        s.done.push_back(std::move(node));
        timeline.push_back({"grain", grain, begin, now()});
    }
    if (G > 1)
        draws.set([&](const Rng::State& before) -> Rng::State {
            return {before.seed, before.position + static_cast<std::uint64_t>(G)};
        });

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
            Buckets& buckets;
            explicit All(Buckets& b) : buckets(b) {}
            bool done() override { return buckets.advance(); }
        } all(*s.buckets);
        finish(all);
        for (std::size_t i = 0; i < s.tensors.size(); ++i) give(i, s.buckets->sum(i));
        timeline.insert(timeline.end(), s.buckets->timeline.begin(), s.buckets->timeline.end());
    }
    draws.finish();
    s.timeline = std::move(timeline);

    std::string all;
    for (const std::string& part :
         s.transport.all_gather("DataParallel::backward, the losses",
                                {reinterpret_cast<const char*>(losses.data()), losses.size() * sizeof(double)}))
        all += part;
    losses.resize(static_cast<std::size_t>(G));
    all.copy(reinterpret_cast<char*>(losses.data()), all.size());
    std::vector<Range> leaves;
    for (std::int64_t grain = 0; grain < G; ++grain) leaves.push_back({grain, grain + 1});
    add_in_tree(G, leaves, [&](std::size_t i, std::size_t j) { losses[i] += losses[j]; });
    s.bytes_sent += s.transport.bytes_sent - sent;
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
