// Times kernels alone, on one thread and on two: kernels_bench [--benchmark_filter=softmax]
#include <benchmark/benchmark.h>

#include <optional>

#include "weft/weft.h"

namespace {

using namespace weft;

// Times `f`; `bytes` is the least that it has to move.
template <class F>
void measure(benchmark::State& state, double bytes, const F& f) {
    set_num_threads(static_cast<int>(state.range(0)));
    const NoGrad off;
    for (auto _ : state) benchmark::DoNotOptimize(f());
    state.counters["GB/s"] = benchmark::Counter(bytes * 1e-9, benchmark::Counter::kIsIterationInvariantRate);
}

constexpr std::int64_t R = 4096, C = 768;  // rows and columns
constexpr double one_array = 4.0 * R * C;

Tensor matrix(std::uint64_t seed) {
    Rng rng(seed);
    return randn({R, C}, rng);
}

void add(benchmark::State& state) {
    measure(state, 3 * one_array, [a = matrix(1), b = matrix(2)] { return a + b; });
}
void add_row(benchmark::State& state) {
    measure(state, 2 * one_array, [a = matrix(1), b = matrix(2)[0]] { return a + b; });
}
void exponential(benchmark::State& state) {
    measure(state, 2 * one_array, [a = matrix(1)] { return exp(a); });
}
void gelu_tanh(benchmark::State& state) {
    measure(state, 2 * one_array, [a = matrix(1)] { return gelu(a, Gelu::tanh); });
}
void sum_rows(benchmark::State& state) {
    measure(state, one_array, [a = matrix(1)] { return sum(a, -1); });
}
void sum_columns(benchmark::State& state) {
    measure(state, one_array, [a = matrix(1)] { return sum(a, 0); });
}
void softmax_rows(benchmark::State& state) {
    measure(state, 2 * one_array, [a = matrix(1)] { return softmax(a, -1); });
}
void norm(benchmark::State& state) {
    measure(state, 2 * one_array, [a = matrix(1), w = matrix(2)[0]] { return layer_norm(a, w); });
}
void permuted_copy(benchmark::State& state) {
    measure(state, 2 * one_array,
            [a = matrix(1).reshape({64, 64, 12, 64}).permute({0, 2, 1, 3})] { return a.contiguous(); });
}
void product(benchmark::State& state) {
    measure(state, 0, [a = matrix(1), b = matrix(2)[0].expand({C, C}).contiguous()] { return matmul(a, b); });
}

// Q, K and V of 64 tokens with one projection to 3C columns, or with three to C: the same multiply-adds.
void one_projection(benchmark::State& state) {
    const Tensor x = matrix(1).slice(0, 0, 64), W = matrix(2).slice(0, 0, 3 * C);
    measure(state, 0, [&] { return chunk(linear(x, W), 3, -1); });
}
void three_projections(benchmark::State& state) {
    const Tensor x = matrix(1).slice(0, 0, 64);
    const std::vector<Tensor> W = chunk(matrix(2).slice(0, 0, 3 * C), 3, 0);
    measure(state, 0, [&] { return std::vector{linear(x, W[0]), linear(x, W[1]), linear(x, W[2])}; });
}

// What fusing gains: forward and backward of one operation at the sizes of the char model (arguments: threads,
// and 1 for the definition). N = 12 · 64 rows.
template <class F>
void fused(benchmark::State& state, const std::vector<Shape>& shapes, const F& f) {
    set_num_threads(static_cast<int>(state.range(0)));
    std::optional<Plain> composed;
    if (state.range(1) == 1) composed.emplace(Plain::operations);
    Rng rng(1);
    std::vector<Tensor> leaves;
    for (const Shape& shape : shapes) leaves.push_back(randn(shape, rng).requires_grad_());
    const Tensor seed = ones_like(f(leaves));
    for (auto _ : state) benchmark::DoNotOptimize(grad({f(leaves)}, leaves, {seed}));
}
using Leaves = std::vector<Tensor>;
void fused_linear(benchmark::State& state) {
    fused(state, {{768, 128}, {512, 128}, {512}}, [](const Leaves& x) { return linear(x[0], x[1], x[2]); });
}
void fused_gelu(benchmark::State& state) {
    fused(state, {{768, 512}}, [](const Leaves& x) { return gelu(x[0], Gelu::tanh); });
}
void fused_layer_norm(benchmark::State& state) {
    fused(state, {{768, 128}, {128}}, [](const Leaves& x) { return layer_norm(x[0], x[1]); });
}
void fused_cross_entropy(benchmark::State& state) {
    Rng rng(2);
    fused(state, {{768, 65}},
          [targets = randint(0, 65, {768}, rng)](const Leaves& x) { return cross_entropy(x[0], targets); });
}
void fused_attention(benchmark::State& state) {
    fused(state, {{12, 64, 384}},
          [](const Leaves& x) { return multi_head_attention(x[0], 4, {.mask = Mask::causal()}); });
}

BENCHMARK(fused_linear)->Args({1, 0})->Args({1, 1})->UseRealTime();
BENCHMARK(fused_gelu)->Args({1, 0})->Args({1, 1})->UseRealTime();
BENCHMARK(fused_layer_norm)->Args({1, 0})->Args({1, 1})->UseRealTime();
BENCHMARK(fused_cross_entropy)->Args({1, 0})->Args({1, 1})->UseRealTime();
BENCHMARK(fused_attention)->Args({1, 0})->Args({1, 1})->UseRealTime();

BENCHMARK(add)->Arg(1)->Arg(2)->UseRealTime();
BENCHMARK(add_row)->Arg(1)->Arg(2)->UseRealTime();
BENCHMARK(exponential)->Arg(1)->Arg(2)->UseRealTime();
BENCHMARK(gelu_tanh)->Arg(1)->Arg(2)->UseRealTime();
BENCHMARK(sum_rows)->Arg(1)->Arg(2)->UseRealTime();
BENCHMARK(sum_columns)->Arg(1)->Arg(2)->UseRealTime();
BENCHMARK(softmax_rows)->Arg(1)->Arg(2)->UseRealTime();
BENCHMARK(norm)->Arg(1)->Arg(2)->UseRealTime();
BENCHMARK(permuted_copy)->Arg(1)->Arg(2)->UseRealTime();
BENCHMARK(product)->Arg(1)->Arg(2)->UseRealTime();
BENCHMARK(one_projection)->Arg(1)->Arg(2)->UseRealTime();
BENCHMARK(three_projections)->Arg(1)->Arg(2)->UseRealTime();

}  // namespace
