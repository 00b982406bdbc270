// Chapter 15: where the time of a step goes: operations, bytes, threads; and the same bits.
#include <chrono>
#include <cmath>
#include <cstdio>
#include <functional>
#include <set>
#include <thread>

#include "chapter.h"
#include "weft/core/trace.h"
#include "weft/viz/figure.h"

using namespace weft;

namespace {

using Inputs = std::vector<Tensor>;
struct Operation {
    const char* name;
    std::vector<Shape> shapes;  // of its inputs
    std::function<Tensor(const Inputs&)> call;
};

// At the sizes of a small GPT: 12 texts of 64 tokens are 768 rows; d_model 128, 4 heads of 32, 65 characters.
const std::vector<Operation>& operations() {
    static const Tensor targets = zeros({768}, float32).to(int64);
    static const std::vector<Operation> all = {
        {"linear", {{768, 128}, {512, 128}, {512}}, [](const Inputs& x) { return linear(x[0], x[1], x[2]); }},
        {"GELU", {{768, 512}}, [](const Inputs& x) { return gelu(x[0], Gelu::tanh); }},
        {"layer norm",
         {{768, 128}, {128}, {128}},
         [](const Inputs& x) { return layer_norm(x[0], x[1], x[2]); }},
        {"cross-entropy", {{768, 65}}, [](const Inputs& x) { return cross_entropy(x[0], targets); }},
        {"attention", {{12, 4, 64, 32}, {12, 4, 64, 32}, {12, 4, 64, 32}}, [](const Inputs& x) {
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

// The result and the gradients of its inputs, by the kernels or by the definitions.
std::vector<Tensor> result(const Operation& operation, bool composed, DType dtype) {
    const Composed mode(composed);
    Inputs inputs = drawn(operation, dtype);
    Tensor y = operation.call(inputs);
    y.backward(ones_like(y));
    std::vector<Tensor> all = {y.detach()};
    for (const Tensor& x : inputs) all.push_back(x.grad());
    return all;
}

double apart(const std::vector<Tensor>& a, const std::vector<Tensor>& b) {  // relative to the largest element
    double largest = 0;
    for (std::size_t i = 0; i < a.size(); ++i)
        largest = std::max(largest, max(abs(a[i] - b[i])).item() / max(abs(b[i])).item());
    return largest;
}

void same_result() {
    for (const Operation& operation : operations()) {
        const double single = apart(result(operation, false, float32), result(operation, true, float32));
        const double twice = apart(result(operation, false, float64), result(operation, true, float64));
        std::printf("%-14s  float32 to 1 in 100000: %s   float64 to 1 in 10^12: %s\n", operation.name,
                    single < 1e-5 ? "yes" : "no", twice < 1e-12 ? "yes" : "no");
    }
}

struct Counts {
    int nodes = 0;
    double bytes = 0, flops = 0;  // read and written in float32; additions, multiplications, exponentials …
};

// What a forward pass does, from its graph: each node reads its inputs and writes its result. A view does
// neither.
Counts counted(const Tensor& y) {
    static const std::set<std::string> views = {"leaf",   "reshape",   "transpose", "permute", "expand",
                                                "select", "unsqueeze", "squeeze",   "slice"};
    Counts counts;
    const std::vector<GraphNode> nodes = graph_nodes(y);
    for (const GraphNode& node : nodes) {
        if (views.count(node.operation) != 0) continue;
        double read = 0;
        for (const std::size_t input : node.inputs) read += static_cast<double>(nodes[input].shape.numel());
        const auto written = static_cast<double>(node.shape.numel());
        const Shape& first = nodes[node.inputs[0]].shape;  // of a product: (…, M, K)
        counts.nodes += 1;
        counts.bytes += 4 * (read + written);
        counts.flops += node.operation == "matmul" ? 2 * written * static_cast<double>(first[first.rank() - 1])
                                                   : std::max(read, written);
    }
    return counts;
}

struct Both {
    Counts composed, fused;
};
Both both(const Operation& operation) {
    Both counts;
    {
        const Composed definitions;
        counts.composed = counted(operation.call(drawn(operation, float32)));
    }
    counts.fused = counted(operation.call(drawn(operation, float32)));
    counts.fused.flops = counts.composed.flops;  // the same arithmetic, in one go
    return counts;
}

void counting() {
    std::printf("                operations   MB moved          FLOPs per byte\n");
    std::printf("                in steps     in steps  fused   in steps  fused\n");
    for (const Operation& operation : operations()) {
        const auto [composed, fused] = both(operation);
        std::printf("%-14s  %10d   %8.2f  %5.2f   %8.2f  %5.2f\n", operation.name, composed.nodes,
                    composed.bytes / 1e6, fused.bytes / 1e6, composed.flops / composed.bytes,
                    fused.flops / fused.bytes);
    }
}

// The least of thirty times, in milliseconds: other programs only ever make it longer.
double milliseconds(const std::function<void()>& work) {
    double least = INFINITY;
    for (int i = 0; i < 30; ++i) {
        const auto start = std::chrono::steady_clock::now();
        work();
        const std::chrono::duration<double, std::milli> taken = std::chrono::steady_clock::now() - start;
        least = std::min(least, taken.count());
    }
    return least;
}

// Forward and backward.
double time_of(const Operation& operation, bool composed) {
    const Composed mode(composed);
    const Inputs inputs = drawn(operation, float32);
    const Tensor dy = ones_like(operation.call(inputs));
    return milliseconds([&] { operation.call(inputs).backward(dy); });
}

void fused_times() {
    for (const Operation& operation : operations()) {
        const double steps = time_of(operation, true), kernel = time_of(operation, false);
        std::printf("%-14s  in steps %.2f ms, fused %.2f ms: %.1f times\n", operation.name, steps, kernel,
                    steps / kernel);
    }
}

// q, k and v of 768 tokens: one product with a weight of 3 · 128 rows, or three with 128 rows each.
void one_or_three() {
    const NoGrad off;
    Rng rng(1);
    const Tensor x = randn({768, 128}, rng), W = randn({384, 128}, rng);  // (B · T, C) and (3C, C)
    const std::vector<Tensor> parts = chunk(W, 3, 0);                     // each (C, C)
    const auto three = [&] { return cat({linear(x, parts[0]), linear(x, parts[1]), linear(x, parts[2])}, -1); };
    std::printf("the same to 1 in 100000: %s\n", apart({linear(x, W)}, {three()}) < 1e-5 ? "yes" : "no");
    std::printf("one product %.2f ms\n", milliseconds([&] { return linear(x, W); }));
    std::printf("three products %.2f ms\n", milliseconds([&] {
                    for (const Tensor& part : parts) (void)linear(x, part);
                }));
}

// ---- the floor

struct Model {
    Rng rng{1};
    nn::GPT gpt{{.vocab_size = 65, .block_size = 64, .num_layers = 2, .num_heads = 4, .d_model = 128}, rng};
    Tensor tokens;  // (B, T + 1)
    explicit Model(std::int64_t samples = 2) : tokens(randint(0, 65, {samples, 65}, rng)) {}

    double step() {
        const Tensor x = tokens.slice(1, 0, 64), next = tokens.slice(1, 1, 65);  // (B, T)
        gpt.zero_grad();
        const Tensor loss = cross_entropy(gpt(x), next);
        loss.backward();
        return loss.item();
    }
};

// The products that a step cannot do without: three for each linear layer, six for each layer's attention.
std::vector<std::pair<Tensor, Tensor>> products() {
    Rng rng(1);
    std::vector<std::pair<Tensor, Tensor>> all;
    const auto linear_layer = [&](std::int64_t in, std::int64_t out) {
        const Tensor x = randn({128, in}, rng), W = randn({out, in}, rng), dy = randn({128, out}, rng);
        all.insert(all.end(), {{x, W.T()}, {dy, W}, {dy.T(), x}});  // y; dx; dW
    };
    for (int layer = 0; layer < 2; ++layer) {
        linear_layer(128, 384), linear_layer(128, 128), linear_layer(128, 512), linear_layer(512, 128);
        const Tensor q = randn({2, 4, 64, 32}, rng), weights = randn({2, 4, 64, 64}, rng);
        for (int i = 0; i < 3; ++i) all.insert(all.end(), {{q, q.transpose(-2, -1)}, {weights, q}});
    }
    linear_layer(128, 65);
    return all;
}

void the_floor() {
    Model model;
    const auto needed = products();
    const double floor = milliseconds([&] {
        for (const auto& product : needed) (void)matmul(product.first, product.second);
    });
    const double step = milliseconds([&] { model.step(); });
    const Composed definitions;
    const double composed = milliseconds([&] { model.step(); });
    std::printf("the products alone   %.2f ms\n", floor);
    std::printf("a step               %.2f ms, %.2f times the floor\n", step, step / floor);
    std::printf("a step, composed     %.2f ms, %.2f times the floor\n", composed, composed / floor);
}

// ---- tiles

// One query's average of the values, with no more scores at hand than a tile has.
Tensor in_tiles(const Tensor& scores, const Tensor& v, std::int64_t tile) {  // (S,), (S, d) → (d,)
    double m = -INFINITY, s = 0;                                             // maximum and sum, so far
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

std::vector<std::vector<float>> trained(int threads) {
    set_num_threads(threads);
    Model model;
    optim::AdamW optimizer(model.gpt, {.lr = 1e-3});
    for (int step = 0; step < 5; ++step) {
        model.step();
        optimizer.step();
    }
    std::vector<std::vector<float>> parameters;
    for (const Tensor& parameter : model.gpt.parameters()) parameters.push_back(parameter.to_vector<float>());
    return parameters;
}

void the_same_bits() {
    const auto alone = trained(1);
    for (const int threads : {2, 3})
        std::printf("5 steps on %d threads: %s\n", threads,
                    trained(threads) == alone ? "the same bits as on one" : "other bits than on one");
    set_num_threads(1);
}

void thread_times() {
    Model model(8);
    for (const int threads : {1, 2}) {
        set_num_threads(threads);
        std::printf("threads %d: a step takes %.2f ms\n", threads, milliseconds([&] { model.step(); }));
    }
    set_num_threads(1);
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

// ---- figures

std::string bytes_figure() {
    std::vector<std::string> names;
    std::vector<double> composed, fused;
    for (const Operation& operation : operations()) {
        const Both counts = both(operation);
        names.push_back(operation.name);
        composed.push_back(counts.composed.bytes / 1e6), fused.push_back(counts.fused.bytes / 1e6);
    }
    return viz::Plot(
               {.title = "Memory traffic of a forward pass", .y = "MB read and written", .legend = "top-right"})
        .bars(names, composed, "in steps")
        .bars(names, fused, "fused")
        .svg();
}

std::string roof_figure() {
    constexpr double bandwidth = 20, peak = 60;  // an example: thousand million bytes, and FLOPs, a second
    const auto roof = [](double intensity) { return std::fmin(peak, bandwidth * intensity); };
    viz::Plot plot({.title = "What a processor can do with each byte",
                    .x = "FLOPs per byte",
                    .y = "GFLOPs a second, at most",
                    .log_x = true,
                    .log_y = true,
                    .x_range = {0.07, 300},
                    .y_range = {1, 150},
                    .legend = "bottom-right"});
    std::vector<double> steps, fused, high_steps, high_fused;
    for (const Operation& operation : operations()) {
        const Both counts = both(operation);
        steps.push_back(counts.composed.flops / counts.composed.bytes),
            high_steps.push_back(roof(steps.back()));
        fused.push_back(counts.fused.flops / counts.fused.bytes), high_fused.push_back(roof(fused.back()));
        const bool flat = roof(fused.back()) == peak;
        plot.text(fused.back() * (flat ? 1 : 1.2), high_fused.back() * (flat ? 1.3 : 0.9), operation.name,
                  {.size = 12, .anchor = flat ? "middle" : "start"});
    }
    return plot.line({0.07, peak / bandwidth, 300}, {roof(0.07), peak, peak}, "the roof", {.colour = "#888"})
        .points(steps, high_steps, "in steps", {.colour = viz::palette(0)})
        .points(fused, high_fused, "fused", {.colour = viz::palette(1)})
        .svg();
}

std::string memory_figure() {
    std::vector<double> tokens, square, rows, tile;
    for (double T = 64; T <= 65536; T *= 2) {
        tokens.push_back(T);
        square.push_back(12 * T * T * 4 / 1e6);  // the weights of 12 heads, float32
        rows.push_back(4 * T * 768 * 4 / 1e6);   // q, k, v and the result, d_model 768
        tile.push_back(128 * 512 * 4 / 1e6);     // the scores that a thread has at hand
    }
    return viz::Plot({.title = "Memory of attention, 12 heads, d_model 768",
                      .x = "tokens T",
                      .y = "MB",
                      .log_x = true,
                      .log_y = true,
                      .legend = "top-left"})
        .line(tokens, square, "weights, T × T", {.markers = true})
        .line(tokens, rows, "q, k, v and result", {.markers = true})
        .line(tokens, tile, "a tile of scores", {.dashed = true})
        .svg();
}

}  // namespace

int main(int argc, char** argv) {
    Chapter chapter(argc, argv);
    set_num_threads(1);
    chapter.section("The same result");
    same_result();
    chapter.section("Counting");
    counting();
    chapter.section("Fused times");
    fused_times();
    chapter.section("One product or three");
    one_or_three();
    chapter.section("The floor");
    the_floor();
    chapter.section("Tiles");
    tiles();
    chapter.section("The same bits");
    the_same_bits();
    chapter.section("Thread times");
    thread_times();
    chapter.section("Break it");
    sums();
    chapter.figure("15_bytes", bytes_figure());
    chapter.figure("15_roof", roof_figure());
    chapter.figure("15_memory", memory_figure());
}
