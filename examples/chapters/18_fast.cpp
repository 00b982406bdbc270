// Chapter 18: where the time of a step goes: operations, and the bytes that they move.
#include "18_step.h"
#include "chapter.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <functional>
#include <set>

#include "weft/weft.h"

using namespace weft;

namespace {

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
    const Plain mode(Plain::operations, composed);
    const Inputs inputs = drawn(operation, dtype);
    const Tensor y = operation.call(inputs);
    y.backward(ones_like(y));
    std::vector<Tensor> all = {y.detach()};
    for (const Tensor& x : inputs) all.push_back(x.grad());
    return all;
}

Tensor by_plain_loops(const Operation& operation) {
    const Plain plain;
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
    const Plain definitions(Plain::operations);
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
            const Plain mode(Plain::operations, composed);
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
            const Plain mode(Plain::operations, composed);
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
        const Plain definitions(Plain::operations);
        training.step();
    };
    const auto ms = milliseconds({all_products, [&] { training.step(); }, composed_step});
    std::printf("the products alone  %6.2f ms\n", ms[0]);
    std::printf("a step              %6.2f ms, %.2f times the floor\n", ms[1], ms[1] / ms[0]);
    std::printf("a step, composed    %6.2f ms, %.2f times the floor\n", ms[2], ms[2] / ms[0]);
}

// ---- a profile

// Ten steps of a GPT with 4 layers: train_gpt's model, and `char` in docs/performance.md.
void the_profile() {
    Training training{.layers = 4};
    training.step();  // makes what later steps recycle
    const Profile profile;
    for (int i = 0; i < 10; ++i) training.step();
    std::printf("%s", profile.str().c_str());
}

// ---- bytes that are not counted

// Adds 1 to a sixteenth of the readings of 16 sensors: to a block of rows, or to all of one sensor.
void one_of_sixteen() {
    const NoGrad off;
    for (const std::int64_t times : {1 << 12, 1 << 21}) {
        const Tensor by_time = ones({times, 16}), by_sensor = ones({16, times});
        const Tensor block = by_time.slice(0, 0, times / 16);  // (times / 16, 16)
        const Tensor column = by_time.select(1, 3);            // (times,)
        const Tensor row = by_sensor.select(0, 3);             // (times,)
        std::printf("arrays of %6.2f MiB ", 4 * static_cast<double>(by_time.numel()) / MiB);
        const auto ms =
            milliseconds({[&] { (void)(block + 1); }, [&] { (void)(column + 1); }, [&] { (void)(row + 1); }});
        std::printf(" a block %.4f ms, a column %.4f ms, a row %.4f ms\n", ms[0], ms[1], ms[2]);
    }
}

// Products whose operands are rounded to bfloat16: what a number becomes, how far a product and a gradient are
// from those of float32, and the time of a step.
void half_the_bits() {
    Rng rng(1);
    const Tensor x = randn({256, 768}, rng), w = randn({768, 768}, rng);
    const auto far = [](const Tensor& a, const Tensor& b) { return (norm(a - b) / norm(b)).item(); };
    const Tensor exact = matmul(x, w);
    Training training;
    const auto gradient = [&] {  // of all parameters, as one vector
        training.optimizer.zero_grad();
        training.loss().backward();
        std::vector<Tensor> parts;
        for (const Tensor& p : training.model.parameters()) parts.push_back(p.grad().reshape(-1));
        return cat(parts, 0);
    };
    const Tensor of_float32 = gradient();
    const auto step = [&] { training.step(); };
    {
        const Float32MatmulPrecision medium("medium");
        std::printf("1.01 becomes %.7f\n", matmul(full({1, 1}, 1.01), ones({1, 1})).sum().item());
        std::printf("a product differs by  %.4f of its norm\n", far(matmul(x, w), exact));
        const CountMultiplyAdds counter;
        std::printf("a gradient differs by %.3f of its norm;", far(gradient(), of_float32));
        std::printf(" multiply-adds in bfloat16: %.0f %%\n",
                    100 * static_cast<double>(counter.count_bfloat16()) / static_cast<double>(counter.count()));
    }
    const auto ms = milliseconds({step, [&] {
                                      const Float32MatmulPrecision medium("medium");
                                      step();
                                  }});
    std::printf("a step in float32 %.2f ms, with products in bfloat16 %.2f ms\n", ms[0], ms[1]);
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
    chapter.section("Where the time goes");
    the_profile();
    chapter.section("Half the bits");
    half_the_bits();
    chapter.section("Break it");
    one_of_sixteen();
    chapter.figure("18_bytes", bytes_figure());
    chapter.figure("18_roof", roof_figure());
}
