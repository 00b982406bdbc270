// Chapter 22: more than one machine: the order of a sum, messages between processes, and training on several.
//
//     mpirun -n 4 chapter_22       with Weft built for MPI: DataParallel runs on four processes
//     mpirun -n 2 chapter_22 --timeline    measures what the figure 22_overlap shows
#include "15_text.h"
#include "22_world.h"
#include "chapter.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <compare>
#include <cstdio>
#include <iostream>
#include <map>
#include <span>

#include "weft/weft.h"

using namespace weft;

namespace {

// ---- a mean of means

void means() {
    Rng rng(1);
    const Tensor x = randn({8, 3}, rng, float64), y = randn({8, 1}, rng, float64);  // (B, in), (B, out)
    nn::Linear model(3, 1, rng);
    model.to(float64);
    const auto gradient = [&](std::int64_t begin, std::int64_t end) {  // of the mean over these samples: (1, 3)
        const Tensor loss = mse_loss(model(x.slice(0, begin, end)), y.slice(0, begin, end));
        return grad({loss}, {model.weight})[0];
    };
    std::cout << "all eight samples      " << gradient(0, 8) << "\n";
    std::cout << "mean of 4 and 4        " << (gradient(0, 4) + gradient(4, 8)) / 2 << "\n";
    std::cout << "mean of 6 and 2        " << (gradient(0, 6) + gradient(6, 8)) / 2 << "\n";
    std::cout << "the same, weighted     " << (6 * gradient(0, 6) + 2 * gradient(6, 8)) / 8 << "\n";
}

// ---- the order of a sum

using Grains = std::vector<Tensor>;  // the gradient of each grain, all of one shape

struct Range {
    std::size_t begin, end;  // begin, …, end − 1
    auto operator<=>(const Range&) const = default;
};

// The part of n things that process r of P takes.
Range share(std::size_t n, std::size_t P, std::size_t r) { return {n * r / P, n * (r + 1) / P}; }

// Each of P processes adds up its own grains, and then the sums are added, process by process.
Tensor sum_by_process(const Grains& grains, std::size_t P) {
    Tensor total;
    for (std::size_t r = 0; r < P; ++r) {
        const Range own = share(grains.size(), P, r);
        Tensor sum = grains[own.begin];
        for (std::size_t i = own.begin + 1; i < own.end; ++i) sum = sum + grains[i];
        total = r == 0 ? sum : total + sum;
    }
    return total;
}

// Where a node of the tree is cut in two: its left part has the largest power of two below its size.
std::size_t middle(Range node) { return node.begin + std::bit_floor(node.end - node.begin - 1); }

Tensor sum_in_tree(const Grains& grains, Range node) {
    if (node.end - node.begin == 1) return grains[node.begin];
    const std::size_t m = middle(node);
    return sum_in_tree(grains, {node.begin, m}) + sum_in_tree(grains, {m, node.end});
}

// The largest parts of `node` that lie within a process's own grains: what it can add up by itself.
std::vector<Range> nodes_within(Range own, Range node) {
    if (node.end <= own.begin || own.end <= node.begin) return {};
    if (own.begin <= node.begin && node.end <= own.end) return {node};
    const std::size_t m = middle(node);
    std::vector<Range> nodes = nodes_within(own, {node.begin, m});
    for (const Range right : nodes_within(own, {m, node.end})) nodes.push_back(right);
    return nodes;
}

// The sum of `node`, from the sums that the processes have made.
Tensor joined(const std::map<Range, Tensor>& sums, Range node) {
    if (const auto found = sums.find(node); found != sums.end()) return found->second;
    const std::size_t m = middle(node);
    return joined(sums, {node.begin, m}) + joined(sums, {m, node.end});
}

Tensor sum_on_processes(const Grains& grains, std::size_t P) {
    const Range root = {0, grains.size()};
    std::map<Range, Tensor> sums;
    for (std::size_t r = 0; r < P; ++r)
        for (const Range node : nodes_within(share(grains.size(), P, r), root))
            sums.insert({node, sum_in_tree(grains, node)});
    return joined(sums, root);
}

void orders() {
    Rng rng(1);
    Grains grains;
    for (int i = 0; i < 8; ++i) grains.push_back(rand({10000}, rng) - 0.5);
    const Tensor one = sum_by_process(grains, 1), tree = sum_in_tree(grains, {0, 8});
    std::printf("elements of 10000 that differ from those of one process\n");
    std::printf("processes   process by process   in the tree\n");
    for (std::size_t P = 1; P <= 8; ++P) {
        const auto differ = [](const Tensor& a, const Tensor& b) { return sum((a != b).to(int64)).item(); };
        std::printf("%9zu   %18.0f   %11.0f\n", P, differ(sum_by_process(grains, P), one),
                    differ(sum_on_processes(grains, P), tree));
    }
}

void shares() {
    std::printf("processes   sums of each process   numbers sent for each parameter, at most\n");
    for (std::size_t P = 1; P <= 8; ++P) {
        std::string sums;
        std::size_t most = 0;
        for (std::size_t r = 0; r < P; ++r) {
            const std::size_t nodes = nodes_within(share(8, P, r), {0, 8}).size();
            sums += std::to_string(nodes) + " ";
            most = std::max(most, nodes);
        }
        const auto p = static_cast<double>(P);
        std::printf("%9zu   %-20s   %.2f\n", P, sums.c_str(), static_cast<double>(most + 1) * (p - 1) / p);
    }
}

// ---- messages

void a_message() {
    World world(2, {.latency = 1e-4, .bandwidth = 1e6});
    world.run([](Process& me) {
        if (me.rank() == 0) me.send(1, {3, 1, 4});
        if (me.rank() == 1) std::printf("process 1 received %zu numbers\n", me.receive(0).size());
    });
    std::printf("it took %.0f microseconds\n", 1e6 * world.seconds());
}

void add(std::span<double> to, const Values& from) {
    for (std::size_t i = 0; i < to.size(); ++i) to[i] += from[i];
}

// An all-reduce: process 0 receives the values of all others, adds, and sends the sum to each.
void all_reduce_by_one(Process& me, Values& values) {
    for (int other = 1; other < me.size(); ++other) {
        if (me.rank() == 0) add(values, me.receive(other));
        if (me.rank() == other) me.send(0, values);
    }
    for (int other = 1; other < me.size(); ++other) {
        if (me.rank() == 0) me.send(other, values);
        if (me.rank() == other) values = me.receive(0);
    }
}

// An all-reduce in a ring: each process sends to the next one and receives from the one before, all at once.
void all_reduce_in_ring(Process& me, Values& values) {
    const int P = me.size(), next = (me.rank() + 1) % P, before = (me.rank() + P - 1) % P;
    const auto piece = [&](int i) {  // i, counted around the ring, of P
        const Range cut =
            share(values.size(), static_cast<std::size_t>(P), static_cast<std::size_t>((i + 2 * P) % P));
        return std::span(values.data() + cut.begin, values.data() + cut.end);
    };
    const auto pass_on = [&](int i) {  // the piece i, for which piece i − 1 comes
        const std::span<double> out = piece(i);
        return me.exchange(next, {out.begin(), out.end()}, before);
    };
    for (int step = 0; step < P - 1; ++step)  // reduce-scatter: piece rank + 1 is complete in the end
        add(piece(me.rank() - step - 1), pass_on(me.rank() - step));
    for (int step = 0; step < P - 1; ++step) {  // all-gather: the complete pieces go round
        const Values in = pass_on(me.rank() + 1 - step);
        std::ranges::copy(in, piece(me.rank() - step).begin());
    }
}

using AllReduce = std::function<void(Process&, Values&)>;

// The seconds that it takes for n numbers, each of them checked, and how many the busiest process sends.
std::pair<double, double> cost(const AllReduce& all_reduce, int P, std::size_t n) {
    World world(P, {.latency = 1e-4, .bandwidth = 3e7});
    world.run([&](Process& me) {
        Values values(n, me.rank() + 1.0);
        all_reduce(me, values);
        if (values != Values(n, P * (P + 1) / 2.0)) throw ValueError("all_reduce: a sum is wrong");
    });
    std::int64_t most = 0;
    for (int rank = 0; rank < P; ++rank) most = std::max(most, world.sent(rank));
    return {world.seconds(), static_cast<double>(most)};
}

void costs() {
    for (const std::size_t n : {300000, 10}) {
        std::printf("%zu numbers     by process 0               in a ring\n", n);
        for (const int P : {2, 4, 8, 16}) {
            const auto one = cost(all_reduce_by_one, P, n), ring = cost(all_reduce_in_ring, P, n);
            std::printf("%2d processes   %7.1f ms, %4.1f n sent   %7.1f ms, %4.1f n sent\n", P, 1e3 * one.first,
                        one.second / static_cast<double>(n), 1e3 * ring.first,
                        ring.second / static_cast<double>(n));
        }
    }
}

// ---- training

constexpr std::int64_t G = 8, B = 16, T = 32;  // grains, sequences in a batch, characters of each

struct Training {
    Rng rng;
    lm::GPT model;
    optim::AdamW optimizer;

    explicit Training(std::uint64_t seed, double dropout = 0)
        : rng(seed),
          model({.vocab_size = 30,
                 .block_size = T,
                 .num_layers = 1,
                 .num_heads = 2,
                 .d_model = 32,
                 .dropout = dropout},
                rng),
          optimizer(model, {.lr = 3e-3}) {}
};

training::Corpus make_corpus() {
    return {text::Characters(tale).encode(tale), {.block_size = T, .batch_size = B, .seed = 2}};
}

// The mean loss of part i of n of a batch: B / n sequences.
Tensor loss_of_part(const lm::GPT& model, const training::Batch& batch, std::int64_t i, std::int64_t n) {
    const std::int64_t begin = B * i / n, end = B * (i + 1) / n;
    return cross_entropy(model(batch.inputs.slice(0, begin, end)), batch.targets.slice(0, begin, end));
}

// Gradient accumulation: one grain after the other on this process, added in the tree.
void accumulate(Training& t, const training::Batch& batch) {
    std::vector<Tensor> parameters = t.model.parameters();
    std::vector<Grains> grains(parameters.size());
    for (std::int64_t grain = 0; grain < G; ++grain) {
        const Tensor loss = loss_of_part(t.model, batch, grain, G) / G;
        const std::vector<Tensor> gradients = grad({loss}, parameters);
        for (std::size_t i = 0; i < gradients.size(); ++i) grains[i].push_back(gradients[i]);
    }
    for (std::size_t i = 0; i < parameters.size(); ++i) parameters[i].set_grad(sum_in_tree(grains[i], {0, G}));
}

bool same_bits(const lm::GPT& a, const lm::GPT& b) {
    const std::vector<Tensor> of_a = a.parameters(), of_b = b.parameters();
    for (std::size_t i = 0; i < of_a.size(); ++i)
        if (of_a[i].to_vector<float>() != of_b[i].to_vector<float>()) return false;
    return true;
}

void data_parallel(dist::Group& group) {
    training::Corpus corpus = make_corpus();
    Training alone(1);
    Training together(1);
    dist::DataParallel parallel(together.model, group, {.grains = G});
    std::printf("process %d of %d computes the grains", group.rank(), group.size());
    for (const std::int64_t grain : parallel.own_grains()) std::printf(" %d", static_cast<int>(grain));
    std::printf("\n");
    for (int step = 1; step <= 5; ++step) {
        const training::Batch batch = corpus.training_batch(step);
        together.optimizer.zero_grad();
        const double loss = parallel.backward(
            [&](std::int64_t grain) { return loss_of_part(together.model, batch, grain, G); });
        together.optimizer.step();

        alone.optimizer.zero_grad();
        accumulate(alone, batch);
        alone.optimizer.step();
        std::printf("step %d  loss %.2f\n", step, loss);
    }
    std::printf("the same bits as one process that adds in the tree: %s\n",
                same_bits(alone.model, together.model) ? "yes" : "no");
}

// ---- overlap

struct Bar {
    int process;
    const char* what;
    int index;
    double begin, end;  // milliseconds
};

// Recorded on two cores by WEFT_NUM_THREADS=1 mpirun -n 2 --bind-to none chapter_22 --timeline
const std::vector<Bar> recorded = {
    {0, "grain", 0, 0.0, 44.8},   {0, "bucket", 0, 64.9, 76.4}, {0, "bucket", 1, 70.1, 81.8},
    {0, "bucket", 2, 75.9, 86.9}, {0, "bucket", 3, 81.3, 93.3}, {0, "grain", 1, 44.8, 93.5},
    {0, "bucket", 4, 86.3, 97.1}, {0, "bucket", 5, 92.3, 97.1}, {0, "bucket", 6, 93.5, 97.4},
    {1, "grain", 2, 0.0, 48.5},   {1, "bucket", 0, 69.2, 80.9}, {1, "bucket", 1, 74.2, 86.3},
    {1, "bucket", 2, 80.4, 91.4}, {1, "bucket", 3, 85.7, 97.0}, {1, "bucket", 4, 91.0, 97.1},
    {1, "bucket", 5, 96.2, 97.1}, {1, "grain", 3, 48.5, 97.2},  {1, "bucket", 6, 97.2, 97.3},
};

bool is_grain(const Bar& bar) { return bar.what[0] == 'g'; }

void overlap() {
    for (int process = 0; process < 2; ++process) {
        double computed = 0, first = INFINITY, last = 0;
        for (const Bar& bar : recorded) {
            if (bar.process != process) continue;
            if (is_grain(bar)) computed = std::max(computed, bar.end);
            if (!is_grain(bar)) first = std::min(first, bar.begin), last = std::max(last, bar.end);
        }
        std::printf("process %d computes until %.1f ms; gradients travel from %.1f to %.1f ms\n", process,
                    computed, first, last);
    }
}

// What each process did in a backward of a GPT of 1.6 million parameters, the fastest of 40, in milliseconds.
void print_timeline(dist::Group& group) {
    Rng rng(1);
    lm::GPT model({.vocab_size = 65, .block_size = 64, .num_layers = 2, .num_heads = 4, .d_model = 256}, rng);
    const Tensor ids = randint(0, 65, {16, 65}, rng);  // (B, T + 1)
    dist::DataParallel parallel(model, group, {.grains = 4});
    std::vector<dist::Span> fastest;
    double least = INFINITY;
    for (int i = 0; i < 40; ++i) {
        (void)parallel.backward([&](std::int64_t grain) {
            const Tensor part = ids.slice(0, 4 * grain, 4 * grain + 4);
            return cross_entropy(model(part.slice(1, 0, 64)), part.slice(1, 1, 65));
        });
        double end = 0;
        for (const dist::Span& span : parallel.timeline()) end = std::max(end, span.end);
        const double total = group.all_reduce(tensor(end, float64)).item();  // the same on every process
        if (total < least) fastest = parallel.timeline(), least = total;
    }
    for (int rank = 0; rank < group.size(); ++rank, group.barrier()) {
        if (rank != group.rank()) continue;
        for (const dist::Span& span : fastest)
            std::printf("    {%d, \"%s\", %d, %.1f, %.1f},\n", rank, span.what, static_cast<int>(span.index),
                        1e3 * span.begin, 1e3 * span.end);
        std::fflush(stdout);
    }
}

// ---- how fast it can get

struct Step {
    double serial = 0.125;          // seconds of what every host does once: clipping, the optimiser
    double grain = 0.925 - serial;  // seconds of a grain, which with the above is a measured step
    double grains = 128;            // in a step
    double bytes = 4 * 124e6;       // of all gradients
    double buckets = 475;
};

// The seconds of a step on P hosts whose network moves so many bytes a second.
double seconds(const Step& step, double P, double bandwidth, double latency) {
    const double compute = std::ceil(step.grains / P) * step.grain;
    const double all_reduce = 2 * (P - 1) / P * step.bytes / bandwidth + 2 * (P - 1) * latency * step.buckets;
    const double hidden = 2.0 / 3 * step.grain;  // the backward of the last grain
    return compute + step.serial + (P == 1 ? 0 : std::max(0.0, all_reduce - hidden));
}

const std::array<double, 3> gigabits = {1, 10, 100};  // a second
const std::array<double, 8> hosts = {1, 2, 4, 8, 16, 32, 64, 128};

double speedup(double P, double gigabit) {
    return seconds({}, 1, 1, 0) / seconds({}, P, gigabit * 1e9 / 8, 2e-5);
}

void speedups() {
    std::printf("hosts   1 Gbit/s   10 Gbit/s   100 Gbit/s\n");
    for (const double P : hosts)
        std::printf("%5.0f   %8.1f   %9.1f   %10.1f\n", P, speedup(P, gigabits[0]), speedup(P, gigabits[1]),
                    speedup(P, gigabits[2]));
}

// ---- what goes wrong

void deadlock() {
    World world(3);
    try {
        world.run([](Process& me) {
            me.send((me.rank() + 1) % 3, {1, 2, 3});
            (void)me.receive((me.rank() + 2) % 3);
        });
    } catch (const Error& error) {
        std::printf("%s\n", error.what());
    }
}

// ---- Break it

// The gradient of a batch as P processes compute it that begin with the same generators of dropout. With
// `streams` each grain draws from a position of its own.
Tensor gradient_with_dropout(Training& t, const training::Batch& batch, std::size_t P, bool streams) {
    const nn::NamedGenerators generators = t.model.named_generators();
    Grains grains;
    for (std::size_t r = 0; r < P; ++r) {
        for (const auto& generator : generators) generator.second->set_state({generator.second->seed(), 0});
        const Range own = share(G, P, r);
        for (std::size_t grain = own.begin; grain < own.end; ++grain) {
            if (streams)
                for (const auto& generator : generators)
                    generator.second->set_state({generator.second->seed(), 1000000 * grain});
            std::vector<Tensor> flat;
            for (const Tensor& g : grad({loss_of_part(t.model, batch, static_cast<std::int64_t>(grain), G)},
                                        t.model.parameters()))
                flat.push_back(g.reshape(-1));
            grains.push_back(cat(flat, 0));
        }
    }
    return sum_in_tree(grains, {0, G});
}

void dropout_streams() {
    Training t(1, 0.2);
    const training::Batch batch = make_corpus().training_batch(1);
    std::printf("distance of the gradient from that of one process\n");
    std::printf("processes   generators as they are   a stream for each grain\n");
    for (const std::size_t P : {1, 2, 4, 8}) {
        std::array<double, 2> apart{};
        for (const bool streams : {false, true}) {
            const Tensor one = gradient_with_dropout(t, batch, 1, streams);
            const Tensor g = gradient_with_dropout(t, batch, P, streams);
            apart[streams ? 1 : 0] = std::sqrt(sum((g - one) * (g - one)).item() / sum(one * one).item());
        }
        std::printf("%9zu   %22.2f   %23.2f\n", P, apart[0], apart[1]);
    }
}

// The validation loss of process 0 of two, each of which has half of every batch; nobody compares their models.
double trained_by_two(std::uint64_t seed, std::uint64_t other_seed) {
    training::Corpus corpus = make_corpus();
    std::array<Training, 2> processes = {Training(seed), Training(other_seed)};
    for (Training& t : processes) t.model.to(float64);
    for (int step = 1; step <= 200; ++step) {
        const training::Batch batch = corpus.training_batch(step);
        std::array<std::vector<Tensor>, 2> gradients;
        for (std::int64_t r = 0; r < 2; ++r) {
            const lm::GPT& model = processes[r].model;
            gradients[r] = grad({loss_of_part(model, batch, r, 2)}, model.parameters());
        }
        for (Training& t : processes) {
            std::vector<Tensor> parameters = t.model.parameters();
            for (std::size_t i = 0; i < parameters.size(); ++i)
                parameters[i].set_grad((gradients[0][i] + gradients[1][i]) / 2);
            t.optimizer.step();
        }
    }
    return training::evaluate(corpus.validation_batches(), [&](const training::Batch& batch) {
        return cross_entropy(processes[0].model(batch.inputs), batch.targets);
    });
}

void other_seeds() {
    std::vector<double> same, other;
    for (std::uint64_t seed = 1; seed <= 5; ++seed) {
        same.push_back(trained_by_two(seed, seed));
        other.push_back(trained_by_two(seed, seed + 100));
    }
    std::printf("validation loss after 200 steps on two processes, of five seeds\n");
    std::printf("one seed for both        %s\n", spread(same).c_str());
    std::printf("a seed for each          %s\n", spread(other).c_str());
}

// ---- figures

const std::array<const char*, 3> fills = {"#dcecf9", "#fdf3d8", "#e6f4ec"};  // of the processes
const std::array<std::size_t, 3> borders = {0, 5, 2};                        // in the palette

// The tree over 8 grains, in the colours of three processes; what a process sends has a thick border.
std::string tree_figure() {
    viz::Drawing d(640, 330, "A binary tree over eight grains, shared out to three processes");
    constexpr double left = 46, width = 78, box = 54, height = 34;
    const auto x_of = [&](Range node) {
        return left + width * (static_cast<double>(node.begin + node.end - 1) / 2);
    };
    const auto y_of = [&](Range node) {
        return 240 - 68 * std::log2(static_cast<double>(node.end - node.begin));
    };
    std::vector<Range> waiting = {{0, 8}};
    for (std::size_t i = 0; i < waiting.size(); ++i) {  // lines first, so that boxes cover their ends
        const Range node = waiting[i];
        if (node.end - node.begin == 1) continue;
        for (const Range part : {Range{node.begin, middle(node)}, Range{middle(node), node.end}}) {
            d.line(x_of(node), y_of(node) + height / 2, x_of(part), y_of(part) + height / 2, {"#888"});
            waiting.push_back(part);
        }
    }
    for (const Range node : waiting) {
        viz::BoxStyle style = {.fill = "#fff", .stroke = {"#888", 1.2, true}};
        for (std::size_t r = 0; r < 3; ++r)
            for (const Range sent : nodes_within(share(8, 3, r), {0, 8}))
                if (sent.begin <= node.begin && node.end <= sent.end)
                    style = {.fill = fills[r],
                             .stroke = {viz::palette(borders[r]), node == sent ? 3.5 : 1, false}};
        std::string name = std::to_string(node.begin);
        if (node.end - node.begin > 1) name += "–" + std::to_string(node.end - 1);
        d.box(x_of(node) - box / 2, y_of(node), box, height, name, style);
    }
    for (std::size_t r = 0; r < 3; ++r) {
        const Range own = share(8, 3, r);
        d.text(left + width * (static_cast<double>(own.begin + own.end - 1) / 2), 302,
               "process " + std::to_string(r),
               {.colour = viz::palette(borders[r] == 5 ? 1 : borders[r]), .bold = true});
    }
    d.text(20, 28, "thick border: a sum that is sent", {.size = 12, .anchor = "start"});
    d.text(20, 46, "dashed: added by the receivers", {.size = 12, .anchor = "start"});
    return d.svg();
}

std::string overlap_figure() {
    viz::Drawing d(680, 396, "What two processes did during one backward");
    const auto x_of = [](double ms) { return 92 + 5.7 * ms; };
    for (int ms = 0; ms <= 100; ms += 20) {
        d.line(x_of(ms), 14, x_of(ms), 356, {"#ddd", 1, false});
        d.text(x_of(ms), 370, std::to_string(ms), {.size = 12});
    }
    d.text(x_of(50), 387, "milliseconds since the beginning of the backward", {.size = 12});
    for (const Bar& bar : recorded) {
        const double top = 18 + 174 * bar.process, width = 5.7 * std::max(bar.end - bar.begin, 0.4);
        if (bar.what[0] == 'g' && bar.begin == 0) {
            d.text(84, top + 17, "process " + std::to_string(bar.process), {.anchor = "end", .bold = true});
            d.text(84, top + 90, "buckets", {.size = 12, .anchor = "end"});
        }
        if (is_grain(bar))
            d.box(x_of(bar.begin), top, width, 34, "grain " + std::to_string(bar.index),
                  {.fill = "#dcecf9", .stroke = {viz::palette(0), 1.2, false}, .radius = 3});
        else
            d.box(
                x_of(bar.begin), top + 40 + 17 * bar.index, width, 13,
                width > 24 ? std::to_string(bar.index) : "",
                {.fill = "#fbe3d3", .stroke = {viz::palette(1), 1, false}, .radius = 2, .label = {.size = 11}});
    }
    return d.svg();
}

std::string speedup_figure() {
    viz::Plot plot({.title = "How many times as fast as one host, by the formula",
                    .x = "hosts",
                    .y = "speed-up",
                    .log_x = true,
                    .log_y = true,
                    .legend = "top-left"});
    const std::vector<double> x(hosts.begin(), hosts.end());
    plot.line(x, x, "ideal", {.colour = "#999", .dashed = true});
    for (const double gigabit : gigabits) {
        std::vector<double> y;
        for (const double P : hosts) y.push_back(speedup(P, gigabit));
        char label[40];
        std::snprintf(label, sizeof label, "%.0f Gbit/s", gigabit);
        plot.line(x, y, label, {.markers = true});
    }
    return plot.svg();
}

}  // namespace

int main(int argc, char** argv) {
    dist::Group group;
    if (argc == 2 && std::string(argv[1]) == "--timeline") {
        print_timeline(group);
        return 0;
    }
    if (group.rank() != 0) {  // process 0 prints
        if (std::freopen("/dev/null", "w", stdout) != nullptr) data_parallel(group);
        return 0;
    }
    Chapter chapter(argc, argv);
    set_num_threads(1);
    chapter.section("A mean of means");
    means();
    chapter.section("The order of a sum");
    orders();
    std::printf("\n");
    shares();
    chapter.section("Messages");
    a_message();
    std::printf("\n");
    costs();
    chapter.section("DataParallel");
    data_parallel(group);
    chapter.section("Overlap");
    overlap();
    chapter.section("How fast it can get");
    speedups();
    chapter.section("What goes wrong");
    deadlock();
    chapter.section("Break it");
    dropout_streams();
    std::printf("\n");
    other_seeds();
    chapter.figure("22_tree", tree_figure());
    chapter.figure("22_overlap", overlap_figure());
    chapter.figure("22_speedup", speedup_figure());
}
