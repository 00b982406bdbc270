// Chapter 15: where the time of a step goes: operations, bytes, threads; and the same bits.
// B texts in a batch, T characters, C = d_model, H heads, L layers, V characters in the vocabulary.
#include "13_text.h"
#include "chapter.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <functional>
#include <set>
#include <thread>

#include "weft/weft.h"

using namespace weft;

namespace {

constexpr std::int64_t B = 12, T = 64, C = 128, H = 4, L = 2, V = 65;
constexpr double MiB = 1024 * 1024;

using Inputs = std::vector<Tensor>;
struct Operation {
    const char* name;
    std::vector<Shape> shapes;  // of its inputs
    std::function<Tensor(const Inputs&)> call;
};

const std::vector<Operation>& operations() {
    static const Tensor targets = zeros({B * T}, float32).to(int64);  // (B · T,)
    const Shape heads = {B, H, T, C / H};
    static const std::vector<Operation> all = {
        {"linear", {{B * T, C}, {4 * C, C}, {4 * C}}, [](const Inputs& x) { return linear(x[0], x[1], x[2]); }},
        {"GELU", {{B * T, 4 * C}}, [](const Inputs& x) { return gelu(x[0], Gelu::tanh); }},
        {"layer norm", {{B * T, C}, {C}, {C}}, [](const Inputs& x) { return layer_norm(x[0], x[1], x[2]); }},
        {"cross-entropy", {{B * T, V}}, [](const Inputs& x) { return cross_entropy(x[0], targets); }},
        {"attention", {heads, heads, heads}, [](const Inputs& x) {
             return scaled_dot_product_attention(x[0], x[1], x[2], {.mask = Mask::causal()});
         }}};
    return all;
}

Inputs drawn(const Operation& operation, DType dtype) {
    Rng rng(1);
    Inputs inputs;
    for (const Shape& shape : operation.shapes) inputs.push_back(randn(shape, rng, dtype).requires_grad_());
    return inputs;
}

// The result, and the gradients of the inputs.
std::vector<Tensor> result(const Operation& operation, bool composed, DType dtype) {
    const Composed mode(composed);
    const Inputs inputs = drawn(operation, dtype);
    const Tensor y = operation.call(inputs);
    y.backward(ones_like(y));
    std::vector<Tensor> all = {y.detach()};
    for (const Tensor& x : inputs) all.push_back(x.grad());
    return all;
}

Tensor by_plain_loops(const Operation& operation) {
    const ReferenceKernels plain;
    return operation.call(drawn(operation, float32)).detach();
}

// The largest difference, relative to the largest element.
double difference(const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
    double largest = 0;
    for (std::size_t i = 0; i < a.size(); ++i)
        largest = std::max(largest, max(abs(a[i] - b[i])).item() / max(abs(b[i])).item());
    return largest;
}

void same_result() {
    for (const Operation& operation : operations()) {
        const double single = difference(result(operation, false, float32), result(operation, true, float32));
        const double twice = difference(result(operation, false, float64), result(operation, true, float64));
        const double plain = difference({by_plain_loops(operation)}, {result(operation, false, float32)[0]});
        std::printf("%-14s  float32 to 1 in 100000: %s   float64 to 1 in 10^12: %s   by plain loops: %s\n",
                    operation.name, single < 1e-5 ? "yes" : "no", twice < 1e-12 ? "yes" : "no",
                    plain < 1e-5 ? "yes" : "no");
    }
}

// ---- counting

struct Counts {
    int operations = 0;
    double bytes = 0, flops = 0;
};

Counts counted(const Tensor& y) {
    static const std::set<std::string> views = {"leaf", "reshape", "transpose", "unsqueeze", "squeeze"};
    Counts counts;
    const std::vector<GraphNode> nodes = graph_nodes(y);
    for (const GraphNode& node : nodes) {
        if (views.contains(node.operation)) continue;
        const auto written = static_cast<double>(node.shape.numel());
        double read = 0, flops = written;                                                 // one for each result
        for (const std::size_t input : std::set(node.inputs.begin(), node.inputs.end()))  // x * x reads x once
            read += static_cast<double>(nodes[input].shape.numel());
        if (node.operation == "matmul")
            flops = 2 * written * static_cast<double>(nodes[node.inputs[0]].shape[-1]);
        if (node.operation == "sum") flops = read;
        if (node.operation == "softmax" || node.operation == "log_softmax") flops = 5 * written;
        if (node.operation == "where") flops = 0;
        if (node.operation == "gather") read = written, flops = 0;
        counts.operations += 1;
        counts.bytes += 4 * (read + written);
        counts.flops += flops;
    }
    return counts;
}

Counts in_steps(const Operation& operation) {
    const Composed definitions;
    return counted(operation.call(drawn(operation, float32)));
}

// The bytes of the kernel, and the arithmetic of the definition.
Counts fused(const Operation& operation) {
    Counts counts = counted(operation.call(drawn(operation, float32)));
    counts.flops = in_steps(operation).flops;
    return counts;
}

void counting() {
    std::printf("                operations   MiB moved         FLOPs per byte\n");
    std::printf("                in steps     in steps  fused   in steps  fused\n");
    for (const Operation& operation : operations()) {
        const Counts steps = in_steps(operation), kernel = fused(operation);
        std::printf("%-14s  %10d   %8.2f  %5.2f   %8.2f  %5.2f\n", operation.name, steps.operations,
                    steps.bytes / MiB, kernel.bytes / MiB, steps.flops / steps.bytes,
                    kernel.flops / kernel.bytes);
    }
}

// ---- times

// The fastest of `runs` of each work, in milliseconds. They take turns, so a busy machine slows all of them.
std::vector<double> milliseconds(const std::vector<std::function<void()>>& works, int runs = 30) {
    std::vector<double> fastest(works.size(), INFINITY);
    for (int i = 0; i < runs; ++i)
        for (std::size_t w = 0; w < works.size(); ++w) {
            const auto start = std::chrono::steady_clock::now();
            works[w]();
            const std::chrono::duration<double, std::milli> taken = std::chrono::steady_clock::now() - start;
            fastest[w] = std::min(fastest[w], taken.count());
        }
    return fastest;
}

// P: a product of two 512 × 512 matrices. W: y = x + 1, with arrays of 0.25 MiB and of 128 MiB.
void roof() {
    const NoGrad off;
    const Tensor a = ones({512, 512}), b = ones({512, 512}), small = ones({1 << 16}), large = ones({1 << 25});
    const double P = 2 * 512.0 * 512 * 512 / milliseconds({[&] { (void)matmul(a, b); }})[0] / 1e6;
    std::printf("products              P %5.1f billion FLOPs a second\n", P);
    for (const Tensor& x : {small, large}) {
        const double moved = 2 * 4 * static_cast<double>(x.numel());  // x is read, y is written
        const double W = moved / milliseconds({[&] { (void)(x + 1); }})[0] / 1e6;
        std::printf("arrays of %6.2f MiB  W %5.1f billion bytes a second, bend at %4.1f FLOPs per byte\n",
                    moved / 2 / MiB, W, P / W);
    }
}

void fused_times() {
    for (const Operation& operation : operations()) {
        const Inputs inputs = drawn(operation, float32);
        const Tensor dy = ones_like(operation.call(inputs));
        const auto both_ways = [&](bool composed) {
            const Composed mode(composed);
            operation.call(inputs).backward(dy);
        };
        const auto ms = milliseconds({[&] { both_ways(true); }, [&] { both_ways(false); }});
        std::printf("%-14s  in steps %.2f ms, fused %.2f ms, ratio %.1f\n", operation.name, ms[0], ms[1],
                    ms[0] / ms[1]);
    }
}

void gelu_times() {
    const NoGrad off;
    for (const std::int64_t rows : {B * T, std::int64_t{1} << 16}) {
        const Tensor x = ones({rows, 4 * C});
        const auto forward = [&](bool composed) {
            const Composed mode(composed);
            (void)gelu(x, Gelu::tanh);
        };
        const auto ms =
            milliseconds({[&] { forward(true); }, [&] { forward(false); }}, rows == B * T ? 30 : 10);
        std::printf("arrays of %6.2f MiB  in steps %7.2f ms, fused %6.2f ms, ratio %4.1f\n",
                    4 * static_cast<double>(x.numel()) / MiB, ms[0], ms[1], ms[0] / ms[1]);
    }
}

// q, k and v: one product with a weight of 3C rows, or three with C rows each.
void one_or_three() {
    const NoGrad off;
    Rng rng(1);
    const Tensor x = randn({B * T, C}, rng), W = randn({3 * C, C}, rng);
    const std::vector<Tensor> parts = chunk(W, 3, 0);                                        // each (C, C)
    const Tensor q = linear(x, parts[0]), k = linear(x, parts[1]), v = linear(x, parts[2]);  // (B · T, C) each
    std::printf("the same to 1 in 100000: %s\n",
                difference({linear(x, W)}, {cat({q, k, v}, -1)}) < 1e-5 ? "yes" : "no");
    const auto three = [&] {
        for (const Tensor& part : parts) (void)linear(x, part);
    };
    const auto ms = milliseconds({[&] { (void)linear(x, W); }, three}, 100);
    std::printf("one product %.2f ms, three products %.2f ms, ratio %.2f\n", ms[0], ms[1], ms[1] / ms[0]);
}

// ---- a step, and its floor

struct Training {
    Rng rng{1};
    lm::GPT model{{.vocab_size = V, .block_size = T, .num_layers = L, .num_heads = H, .d_model = C}, rng};
    optim::AdamW optimizer{model, {.lr = 1e-3}};
    Tensor tokens = randint(0, V, {B, T + 1}, rng);

    void step() {
        optimizer.zero_grad();
        const Tensor logits = model(tokens.slice(1, 0, T));  // (B, T, V)
        cross_entropy(logits, tokens.slice(1, 1, T + 1)).backward();
        optimizer.step();
    }
};

// The products that a step cannot do without: three for each linear layer, six for each layer's attention.
std::vector<std::pair<Tensor, Tensor>> products() {
    Rng rng(1);
    std::vector<std::pair<Tensor, Tensor>> all;
    const auto linear_layer = [&](std::int64_t in, std::int64_t out) {
        const Tensor x = randn({B * T, in}, rng), W = randn({out, in}, rng), dy = randn({B * T, out}, rng);
        all.insert(all.end(), {{x, W.T()}, {dy, W}, {dy.T(), x}});  // y, dx, dW
    };
    for (int layer = 0; layer < L; ++layer) {
        linear_layer(C, 3 * C), linear_layer(C, C);      // attention: q, k and v; W_out
        linear_layer(C, 4 * C), linear_layer(4 * C, C);  // MLP
        const Tensor q = randn({B, H, T, C / H}, rng), weights = randn({B, H, T, T}, rng);
        for (int i = 0; i < 3; ++i) all.insert(all.end(), {{q, q.transpose(-2, -1)}, {weights, q}});
    }
    linear_layer(C, V);  // the head
    return all;
}

void the_floor() {
    Training training;
    const auto needed = products();
    const auto all_products = [&] {
        for (const auto& [a, b] : needed) (void)matmul(a, b);
    };
    const auto million_multiply_adds = [](const std::function<void()>& work) {
        const CountMultiplyAdds counter;
        work();
        return static_cast<double>(counter.count()) / 1e6;
    };
    std::printf("multiply-adds: %.1f million in the products, %.1f million in a step\n\n",
                million_multiply_adds(all_products), million_multiply_adds([&] { training.step(); }));

    const auto composed_step = [&] {
        const Composed definitions;
        training.step();
    };
    const auto ms = milliseconds({all_products, [&] { training.step(); }, composed_step});
    std::printf("the products alone  %6.2f ms\n", ms[0]);
    std::printf("a step              %6.2f ms, %.2f times the floor\n", ms[1], ms[1] / ms[0]);
    std::printf("a step, composed    %6.2f ms, %.2f times the floor\n", ms[2], ms[2] / ms[0]);
}

// ---- tiles

// One query's average of the values, with no more scores at hand than a tile has.
Tensor in_tiles(const Tensor& scores, const Tensor& v, std::int64_t tile) {  // (S,), (S, d) → (d,)
    double m = -INFINITY, s = 0;                                             // maximum and sum so far
    Tensor o = zeros({v.size(1)}, float64);                                  // (d,)
    for (std::int64_t from = 0; from < scores.size(0); from += tile) {
        const std::int64_t to = std::min(from + tile, scores.size(0));
        const Tensor part = scores.slice(0, from, to);  // (tile,)
        const double next = std::max(m, max(part).item()), shrink = std::exp(m - next);
        const Tensor e = exp(part - next);  // (tile,)
        s = shrink * s + sum(e).item();
        o = shrink * o + matmul(e.unsqueeze(0), v.slice(0, from, to)).squeeze(0);  // (d,)
        m = next;
        std::printf("after %lld keys: maximum %.0f, sum %.3f\n", static_cast<long long>(to), m, s);
    }
    return o / s;
}

void tiles() {
    const Tensor scores = tensor({1.0, 3.0, 2.0, 5.0}, float64);                          // (S,)
    const Tensor v = tensor({{1.0, 0.0}, {0.0, 1.0}, {1.0, 1.0}, {2.0, -1.0}}, float64);  // (S, d)
    const Tensor tiled = in_tiles(scores, v, 2);                                          // (d,)
    const Tensor whole = matmul(softmax(scores, 0).unsqueeze(0), v).squeeze(0);           // (d,)
    std::printf("in tiles (%.3f, %.3f), at once (%.3f, %.3f)\n", tiled.at({0}), tiled.at({1}), whole.at({0}),
                whole.at({1}));
}

// ---- threads

std::vector<std::vector<float>> weights_after_5_steps(int threads) {
    set_num_threads(threads);
    Training training;
    for (int step = 0; step < 5; ++step) training.step();
    set_num_threads(1);
    std::vector<std::vector<float>> weights;
    for (const Tensor& parameter : training.model.parameters()) weights.push_back(parameter.to_vector<float>());
    return weights;
}

void the_same_bits() {
    const auto on_one = weights_after_5_steps(1);
    for (const int threads : {2, 3})
        std::printf(
            "5 steps on %d threads: %s\n", threads,
            weights_after_5_steps(threads) == on_one ? "the same bits as on one" : "other bits than on one");
}

void thread_times() {
    Training training;
    const auto on = [&](int threads) {
        set_num_threads(threads);
        training.step();
    };
    const auto ms = milliseconds({[&] { on(1); }, [&] { on(2); }});
    set_num_threads(1);
    std::printf("a step on one thread %.2f ms, on two %.2f ms, ratio %.2f\n", ms[0], ms[1], ms[0] / ms[1]);
}

// What not to do: each thread adds up its own part, and the parts are added at the end.
float sum_in_parts(const std::vector<float>& values, std::size_t threads) {
    std::vector<float> parts(threads);
    std::vector<std::thread> team;
    for (std::size_t t = 0; t < threads; ++t)
        team.emplace_back([&, t] {
            const std::size_t from = values.size() * t / threads, to = values.size() * (t + 1) / threads;
            for (std::size_t i = from; i < to; ++i) parts[t] += values[i];
        });
    for (std::thread& thread : team) thread.join();
    float total = 0;
    for (const float part : parts) total += part;
    return total;
}

void sums() {
    Rng rng(1);
    const Tensor x = rand({1000000}, rng);
    const std::vector<float> values = x.to_vector<float>();
    std::printf("threads   sum in parts   Weft's sum\n");
    for (const int threads : {1, 2, 3, 4}) {
        set_num_threads(threads);
        std::printf("%7d   %12.1f   %10.1f\n", threads, sum_in_parts(values, static_cast<std::size_t>(threads)),
                    sum(x).item());
    }
    std::printf("in float64 %26.1f\n", sum(x.to(float64)).item());
    set_num_threads(1);
}

// ---- how far two runs drift apart

constexpr std::array<int, 4> looked_at = {1, 30, 100, 300};  // steps

// The weights, and the character that the model says for each position of the validation text.
struct Snapshot {
    std::vector<double> weights;
    std::vector<std::int64_t> says;
};

// A small GPT on the tale of chapter 13, in float64. Each initial weight is changed by up to `rounding` of its
// size.
std::vector<Snapshot> snapshots(std::uint64_t seed, double rounding) {
    const text::Characters characters(tale);
    training::Corpus corpus(characters.encode(tale), {.block_size = 32, .batch_size = 8, .seed = 2});
    Rng rng(seed);
    lm::GPT model({.vocab_size = characters.vocab_size(),
                   .block_size = 32,
                   .num_layers = 1,
                   .num_heads = 2,
                   .d_model = 32},
                  rng);
    model.to(float64);
    for (Tensor& weight : model.parameters()) {
        const NoGrad off;
        weight.add_(weight * (2 * rand(weight.shape(), rng, float64) - 1), rounding);
    }
    optim::AdamW optimizer(model, {.lr = 3e-3});
    std::vector<Snapshot> all;
    for (int step = 1; step <= looked_at.back(); ++step) {
        optimizer.zero_grad();
        const training::Batch batch = corpus.training_batch(step);
        cross_entropy(model(batch.inputs), batch.targets).backward();
        optimizer.step();
        if (std::ranges::find(looked_at, step) == looked_at.end()) continue;
        const NoGrad off;
        Snapshot now;
        for (const Tensor& weight : model.parameters())
            for (const double value : weight.to_vector<double>()) now.weights.push_back(value);
        now.says = argmax(model(corpus.validation_batches()[0].inputs), -1).to_vector<std::int64_t>();
        all.push_back(now);
    }
    return all;
}

double distance(const std::vector<double>& a, const std::vector<double>& b) {  // relative to the length of a
    double apart = 0, length = 0;
    for (std::size_t i = 0; i < a.size(); ++i) apart += std::pow(a[i] - b[i], 2), length += a[i] * a[i];
    return std::sqrt(apart / length);
}

double agreement(const std::vector<std::int64_t>& a,
                 const std::vector<std::int64_t>& b) {  // the share that is equal
    double same = 0;
    for (std::size_t i = 0; i < a.size(); ++i) same += a[i] == b[i];
    return same / static_cast<double>(a.size());
}

void drift() {
    constexpr std::uint64_t seeds = 5;
    std::vector<std::vector<Snapshot>> exact, rounded;
    for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
        exact.push_back(snapshots(seed, 0));
        rounded.push_back(snapshots(seed, std::pow(2, -24)));
    }
    const auto row = [&](std::size_t at, const char* other, const auto& second) {
        std::vector<double> apart, same;
        for (std::size_t i = 0; i < seeds; ++i) {
            const Snapshot &a = exact[i][at], &b = second(i)[at];
            apart.push_back(distance(a.weights, b.weights));
            same.push_back(agreement(a.says, b.says));
        }
        std::printf("%4d  %-9s  %s  %s\n", looked_at[at], other, spread(apart, "%.1e (%.1e to %.1e)").c_str(),
                    spread(same, "%.2f (%.2f to %.2f)").c_str());
    };
    std::printf("step  differs    distance of the weights         same predictions\n");
    for (std::size_t at = 0; at < looked_at.size(); ++at) {
        row(
            at, "rounding", [&](std::size_t i) -> const auto& { return rounded[i]; });
        row(
            at, "seed", [&](std::size_t i) -> const auto& { return exact[(i + 1) % seeds]; });
    }
}

// ---- figures

std::string bytes_figure() {
    std::vector<std::string> names;
    std::vector<double> steps, kernels;
    for (const Operation& operation : operations()) {
        names.push_back(operation.name);
        steps.push_back(in_steps(operation).bytes / MiB), kernels.push_back(fused(operation).bytes / MiB);
    }
    return viz::Plot({.title = "Memory traffic of a forward pass",
                      .y = "MiB read and written",
                      .legend = "top-right"})
        .bars(names, steps, "in steps")
        .bars(names, kernels, "fused")
        .svg();
}

std::string roof_figure() {
    constexpr double bandwidth = 20, peak = 60;  // an example: billion bytes, and billion FLOPs, a second
    const auto roof = [](double intensity) { return std::fmin(peak, bandwidth * intensity); };
    viz::Plot plot({.title = "The most a core can compute, by FLOPs per byte",
                    .x = "FLOPs per byte",
                    .y = "billion FLOPs a second",
                    .log_x = true,
                    .log_y = true,
                    .x_range = {0.07, 300},
                    .y_range = {1, 150},
                    .legend = "bottom-right"});
    plot.line({0.07, peak / bandwidth, 300}, {roof(0.07), peak, peak}, "the roof", {.colour = "#888"});
    // Each name to the right of its point and `lower` times as high, or above or below the flat part.
    const auto points = [&](const char* label, std::size_t colour, const auto& counts_of,
                            const std::array<double, 5>& lower) {
        std::vector<double> intensities, heights;
        for (std::size_t i = 0; i < operations().size(); ++i) {
            const Counts counts = counts_of(operations()[i]);
            const double intensity = counts.flops / counts.bytes, height = roof(intensity);
            intensities.push_back(intensity), heights.push_back(height);
            const bool flat = height == peak;
            plot.text(intensity * (flat ? 1 : 1.2), height * lower[i], operations()[i].name,
                      {.size = 12, .anchor = flat ? "middle" : "start", .colour = viz::palette(colour)});
        }
        plot.points(intensities, heights, label, {.colour = viz::palette(colour)});
    };
    points("in steps", 0, in_steps, {0.77, 0.9, 0.9, 0.95, 0.85});
    points("fused", 1, fused, {1.3, 0.9, 0.83, 1.08, 1.3});
    return plot.svg();
}

std::string memory_figure() {
    std::vector<double> tokens, square, rows, tile;
    for (double n = 64; n <= 65536; n *= 2) {
        tokens.push_back(n);
        square.push_back(12 * n * n * 4 / MiB);  // the weights of 12 heads, float32
        rows.push_back(4 * n * 768 * 4 / MiB);   // q, k, v and the result, d_model 768
        tile.push_back(128 * 512 * 4 / MiB);     // the scores that a thread has at hand
    }
    return viz::Plot({.title = "Memory of attention, 12 heads, d_model 768",
                      .x = "tokens T",
                      .y = "MiB",
                      .log_x = true,
                      .log_y = true,
                      .legend = "top-left"})
        .line(tokens, square, "weights, T × T", {.markers = true})
        .line(tokens, rows, "q, k, v and result", {.markers = true})
        .line(tokens, tile, "a tile of scores", {.dashed = true})
        .svg();
}

// ---- computing twice

Tensor blocks(const Tensor& x, const std::vector<Tensor>& weights, bool twice) {
    Tensor y = x;
    for (const Tensor& w : weights) {
        const auto block = [w](const Inputs& in) { return in[0] + gelu(matmul(in[0], w)); };
        y = twice ? checkpoint(block, {y}, {w}) : block({y});
    }
    return y;
}

void computing_twice() {
    Rng rng(1);
    const Tensor x = randn({B * T, C}, rng);
    std::vector<Tensor> weights;
    for (int i = 0; i < 12; ++i) weights.push_back((randn({C, C}, rng) * 0.1).requires_grad_());
    const auto kept = [](const Tensor& y) {  // operations, without the leaves
        int operations = 0;
        for (const GraphNode& node : graph_nodes(y)) operations += node.operation != "leaf";
        return operations;
    };
    const Tensor once = blocks(x, weights, false), twice = blocks(x, weights, true);
    std::printf("12 blocks keep %d results of operations; computed twice, %d\n", kept(once), kept(twice));
    const std::vector<Tensor> a = grad({sum(once)}, weights), b = grad({sum(twice)}, weights);
    bool same = true;
    for (std::size_t i = 0; i < a.size(); ++i)
        same = same && a[i].to_vector<float>() == b[i].to_vector<float>();
    std::printf("the same gradients: %s\n", same ? "yes" : "no");
}

}  // namespace

int main(int argc, char** argv) {
    Chapter chapter(argc, argv);
    set_num_threads(1);
    chapter.section("The same result");
    same_result();
    chapter.section("Counting");
    counting();
    chapter.section("The roof of this machine");
    roof();
    chapter.section("Fused times");
    fused_times();
    std::printf("\n");
    gelu_times();
    chapter.section("One product or three");
    one_or_three();
    chapter.section("The floor");
    the_floor();
    chapter.section("Tiles");
    tiles();
    chapter.section("Computing twice");
    computing_twice();
    chapter.section("The same bits");
    the_same_bits();
    chapter.section("Thread times");
    thread_times();
    chapter.section("Break it");
    sums();
    std::printf("\n");
    drift();
    chapter.figure("15_bytes", bytes_figure());
    chapter.figure("15_roof", roof_figure());
    chapter.figure("15_memory", memory_figure());
}
