// Chapter 19: attention in tiles, values computed twice, and threads that change no bit.
#include "15_text.h"
#include "18_step.h"
#include "chapter.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <functional>
#include <thread>

#include "weft/weft.h"

using namespace weft;

namespace {

constexpr double MiB = 1024 * 1024;
using Inputs = std::vector<Tensor>;

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

// The multiply-adds of attention with one head of 32, without a mask and with a causal one.
void skipped() {
    const NoGrad off;
    Rng rng(1);
    std::printf("tokens   multiply-adds in millions   of all\n");
    std::printf("         no mask    causal mask\n");
    for (const std::int64_t tokens : {64, 256, 1024, 4096}) {
        const Tensor x = randn({1, 1, tokens, 32}, rng);
        const auto millions = [&](const Mask& mask) {
            const CountMultiplyAdds counter;
            (void)scaled_dot_product_attention(x, x, x, {.mask = mask});
            return static_cast<double>(counter.count()) / 1e6;
        };
        const double all = millions({}), causal = millions(Mask::causal());
        std::printf("%6lld  %8.2f   %12.2f   %8.3f\n", static_cast<long long>(tokens), all, causal,
                    causal / all);
    }
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

// A step on 1, 2, 4, … threads, as far as there are processors, but on two at least.
void thread_times(int processors) {
    Training training;
    std::vector<int> threads;
    std::vector<std::function<void()>> works;
    for (int n = 1; n <= std::max(2, processors); n *= 2) {
        threads.push_back(n);
        works.push_back([&training, n] {
            set_num_threads(n);
            training.step();
        });
    }
    const auto ms = milliseconds(works);
    set_num_threads(1);
    std::printf("threads   ms a step   times as fast\n");
    for (std::size_t i = 0; i < ms.size(); ++i)
        std::printf("%7d   %9.2f   %13.2f\n", threads[i], ms[i], ms[0] / ms[i]);
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

// A small GPT on the tale of chapter 15, in float64. Each initial weight is changed by up to `rounding` of its
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

std::string tiles_figure() {
    constexpr int tokens = 16, tile = 4, row = 2;  // the row of tiles that is followed
    constexpr double left = 50, top = 60, cell = 16, side = tile * cell;
    viz::Drawing drawing(700, 335, "Scores in tiles");
    for (int i = 0; i < tokens / tile; ++i)
        for (int j = 0; j < tokens / tile; ++j) {
            const double x = left + j * side, y = top + i * side;
            if (j > i) {
                drawing.box(x, y, side, side, "skipped", {"#fff", {"#888", 1, true}, 0, {.size = 11}});
                continue;
            }
            std::vector<std::string> fills;
            for (int query = 0; query < tile; ++query)
                for (int key = 0; key < tile; ++key)
                    fills.push_back(i == j && key > query ? "#cccccc" : i == row ? "#f2b27a" : "#bcd9ee");
            drawing.cells(x, y, cell, cell, zeros({tile, tile}),
                          {.texts = std::vector<std::string>(fills.size()), .fills = fills});
            drawing.path({{x, y}, {x + side, y}, {x + side, y + side}, {x, y + side}, {x, y}}, {.width = 2.5});
        }
    const double middle = top + (row + 0.5) * side;
    for (int j = 0; j <= row; ++j)
        drawing.text(left + (j + 0.5) * side, middle, std::to_string(j + 1), {.size = 20, .bold = true});
    drawing.text(left + 2 * side, top - 18, "keys");
    drawing.text(left - 20, top + 2 * side, "queries", {.rotate = -90});
    double x = left + 4 * side;
    for (int j = 1; j <= 3; ++j, x += 105) {
        drawing.arrow(x + (j == 1 ? 5 : 0), middle, x + 25, middle);
        drawing.box(x + 25, middle - 26, 80, 52, "m, s, o\nafter tile " + std::to_string(j),
                    {.fill = "#fdf0e2"});
    }
    drawing.arrow(x, middle, x + 25, middle).text(x + 32, middle, "o / s", {.anchor = "start"});
    const double aside = left + 4 * side + 30, high = top + side / 2;
    drawing.text(aside, high, "No row of tiles needs another:", {.anchor = "start"});
    drawing.text(aside, high + 20, "any thread may take any row.", {.anchor = "start"});
    return drawing.svg();
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

}  // namespace

int main(int argc, char** argv) {
    Chapter chapter(argc, argv);
    const int processors = get_num_threads();
    set_num_threads(1);
    chapter.section("Tiles");
    tiles();
    chapter.section("What a causal mask skips");
    skipped();
    chapter.section("Computing twice");
    computing_twice();
    chapter.section("The same bits");
    the_same_bits();
    chapter.section("Thread times");
    thread_times(processors);
    chapter.section("Break it");
    sums();
    std::printf("\n");
    drift();
    chapter.figure("19_tiles", tiles_figure());
    chapter.figure("19_memory", memory_figure());
}
