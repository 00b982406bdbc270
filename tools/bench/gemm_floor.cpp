// The floor: the time that the matrix products of a workload take on this machine with this BLAS and nothing
// else. The measured time divided by the floor shows what everything else costs.
//
//     gemm_floor WORKLOAD [--threads N] [--weights FORMAT] [--precision medium]
//
// With --precision medium the products are of operands in bfloat16, by the library that Weft takes for them.
//
// Decoding is limited by memory, because each new token reads and multiplies every weight once: its floor is
// the time in which all threads together read as many bytes as the weights have in their format.
//
// Otherwise a linear layer counts as three products (forward, gradient of x, gradient of W), and causal
// attention as six products per visible 64 × 64 tile of scores (two forward, four backward; tiles above the
// diagonal need none). A prompt counts the forward ones, and none for the logits, of which it needs one row.
// Each thread computes whole products of its own, which is the best that any division of
// them can reach, whatever flavour of BLAS is installed. N = B·T rows, C = d_model, V vocabulary.
#ifdef __linux__
#include <sys/mman.h>
#endif

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <iostream>
#include <map>
#include <new>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

#if __has_include(<cblas-openblas.h>)
#include <cblas-openblas.h>
#else
#include <cblas.h>
#endif

#include "fast/blas/blas.h"

extern "C" void openblas_set_num_threads(int);

namespace {

struct Sizes {
    long layers, num_heads, C, B, T, V;
    bool mlp;
    long kv_heads = num_heads, passes = 3;  // forward alone is one pass
};

const std::map<std::string, Sizes> workloads{
    {"toy", {1, 2, 32, 8, 16, 32, true}},         {"char", {4, 4, 128, 12, 64, 65, true}},
    {"gpt2", {12, 12, 768, 4, 64, 50257, true}},  {"attention", {1, 12, 768, 4, 1024, 0, false}},
    {"long", {1, 12, 768, 1, 4096, 0, false}},    {"decode", {12, 12, 768, 1, 1, 50257, true}},
    {"smol", {30, 9, 576, 1, 1, 49152, true, 3}}, {"prompt", {30, 9, 576, 1, 448, 0, true, 3, 1}},
};

const std::map<std::string, double> bits_of_weights{{"float32", 32}, {"bfloat16", 16}, {"float16", 16},
                                                    {"Q8_0", 8.5},   {"Q4_0", 4.5},    {"Q4_1", 5}};

// `times` products (m, k) @ (k, n).
struct Product {
    long m, n, k;
    double times;
    double flop() const {
        return 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
    }
};

std::vector<Product> products_of(const Sizes& s) {
    const long N = s.B * s.T, d_k = s.C / s.num_heads, tile = std::min(s.T, 64L);
    std::vector<Product> list;
    auto linear = [&](long in, long out, double layers) {
        list.push_back({N, out, in, layers});
        if (s.passes == 1) return;
        list.push_back({N, in, out, layers});
        list.push_back({out, in, N, layers});
    };
    const auto layers = static_cast<double>(s.layers);
    linear(s.C, s.C + 2 * d_k * s.kv_heads, layers);
    linear(s.C, s.C, layers);
    if (s.mlp) linear(s.C, 4 * s.C, layers), linear(4 * s.C, s.C, layers);
    if (s.V > 0) linear(s.C, s.V, 1);
    const double per_side = static_cast<double>(s.T / tile), tiles = per_side * (per_side + 1) / 2;
    list.push_back({tile, tile, d_k, layers * static_cast<double>(2 * s.passes * s.B * s.num_heads) * tiles});
    return list;
}

// work(thread) on so many threads.
template <class F>
void on_threads(int threads, F work) {
    std::vector<std::thread> team;
    for (int thread = 1; thread < threads; ++thread) team.emplace_back(work, thread);
    work(0);
    for (std::thread& thread : team) thread.join();
}

// The minimum time of one such product of numbers of type T over five trials, each of enough products to be
// measurable on all threads.
template <class T>
double seconds(const Product& p, int threads) {
    const auto elements = [](long rows, long columns) { return static_cast<std::size_t>(rows * columns); };
    const std::vector<T> a(elements(p.m, p.k), T(0.5f)), b(elements(p.k, p.n), T(0.25f));
    std::vector<float> c(elements(p.m, p.n) * static_cast<std::size_t>(threads));
    const int rounds = std::max(5, static_cast<int>(4e8 / p.flop()));  // of each thread
    const int m = static_cast<int>(p.m), n = static_cast<int>(p.n), k = static_cast<int>(p.k);
    auto multiply = [&](float* result) {
        if constexpr (std::is_same_v<T, float>)
            cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, m, n, k, 1, a.data(), k, b.data(), k, 0,
                        result, n);
        else
            weft::kernels::fast::half_gemm({m, n, k, false, true, false, k, k, n}, a.data(), b.data(), result);
    };
    double best = INFINITY;
    for (int trial = 0; trial < 5; ++trial) {
        const auto start = std::chrono::steady_clock::now();
        on_threads(threads, [&](int thread) {
            for (int i = 0; i < rounds; ++i)
                multiply(c.data() + static_cast<std::size_t>(thread) * elements(p.m, p.n));
        });
        best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() /
                                  rounds / threads);
    }
    return best;
}

// Seconds in which the threads read so many bytes, each a part of its own, on average over as many times as
// there are tokens, the fastest of four averages. 64 sums side by side keep additions from being the
// bottleneck, and pages are large, as those of Weft's weights.
double seconds_to_read(double bytes, int threads) {
    constexpr std::ptrdiff_t width = 64, ahead = 2048 / sizeof(float);
    constexpr std::size_t page = std::size_t{1} << 21;
    const auto rows = static_cast<std::ptrdiff_t>(bytes / (width * sizeof(float)));
    const std::size_t size = (static_cast<std::size_t>(bytes) / page + 1) * page;
    auto* const memory = static_cast<float*>(std::aligned_alloc(page, size));
    if (memory == nullptr) throw std::bad_alloc();
#ifdef __linux__
    madvise(memory, size, MADV_HUGEPAGE);
#endif
    std::fill_n(memory, rows * width, 1.0f);
    constexpr int tokens = 64;
    double best = INFINITY, total = 0;
    for (int trial = 0; trial < 4; ++trial) {
        const auto start = std::chrono::steady_clock::now();
        std::vector<float> found(static_cast<std::size_t>(threads));
        on_threads(threads, [&](int thread) {
            float sums[width] = {};
            for (int pass = 0; pass < tokens; ++pass)
                for (std::ptrdiff_t row = rows * thread / threads; row < rows * (thread + 1) / threads; ++row) {
                    const float* const at = memory + row * width;
                    for (std::ptrdiff_t i = 0; i < width; i += 16) __builtin_prefetch(at + ahead + i);
                    for (std::ptrdiff_t i = 0; i < width; ++i) sums[i] += at[i];
                }
            for (const float sum : sums) found[static_cast<std::size_t>(thread)] += sum;
        });
        for (const float sum : found) total += sum;
        const double time = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
        best = std::min(best, time / tokens);
    }
    std::free(memory);
    return total > 0 ? best : INFINITY;  // uses the sums, so that they are computed
}

}  // namespace

int main(int argc, char** argv) {
    CLI::App app("Time the matrix products of a workload and print one line of JSON");
    std::string name, weights = "float32", precision = "highest";
    int threads = 2;
    std::vector<std::string> names;
    for (const auto& [key, sizes] : workloads) names.push_back(key);
    app.add_option("workload", name)->required()->check(CLI::IsMember(names));
    app.add_option("--threads", threads)->check(CLI::Range(1, 1024));
    app.add_option("--weights", weights, "their format, where they are only read")
        ->check(CLI::IsMember(bits_of_weights));
    app.add_option("--precision", precision, "that of the products")
        ->check(CLI::IsMember({"highest", "medium"}));
    CLI11_PARSE(app, argc, argv);
    const bool is_half = precision == "medium";
    if (is_half && !weft::kernels::fast::has_half_gemm()) {
        std::cerr << "there are no products in bfloat16: this processor or oneDNN lacks them\n";
        return 1;
    }

    weft::kernels::fast::choose_openblas_kernels();
    const Sizes s = workloads.at(name);
    nlohmann::ordered_json line;
    line["workload"] = name;
    line["peer"] = "floor";
    line["threads"] = threads;
    line["kernels"] = openblas_get_corename();
    if (s.T == 1) {
        const long per_layer = 10 * s.C + 2 * s.C / s.num_heads * s.kv_heads;  // weights over C
        const double bytes =
            static_cast<double>((s.layers * per_layer + s.V) * s.C) * bits_of_weights.at(weights) / 8;
        const double time = seconds_to_read(bytes, threads);
        line["weights"] = weights;
        line["weights_mb"] = std::round(bytes / 1e5) / 10;
        line["min_ms"] = std::round(time * 1e6) / 1e3;
        line["gb_per_s"] = std::round(bytes / time / 1e7) / 1e2;
        line["tokens_per_s"] = std::round(1e2 / time) / 1e2;
        std::cout << line.dump() << "\n";
        return 0;
    }

    openblas_set_num_threads(1);
    double total = 0, flop = 0;
    for (const Product& p : products_of(s)) {
        total += (is_half ? seconds<weft::BFloat16>(p, threads) : seconds<float>(p, threads)) * p.times;
        flop += p.flop() * p.times;
    }
    line["min_ms"] = std::round(total * 1e6) / 1e3;
    line["gflop"] = std::round(flop / 1e6) / 1e3;
    line["gflops_per_s"] = std::round(flop / 1e8 / total) / 10;
    if (s.passes == 1) line["tokens_per_s"] = std::round(static_cast<double>(s.B * s.T) / total * 1e2) / 1e2;
    std::cout << line.dump() << "\n";
}
