// Times Weft on one workload and prints one line of JSON in the format of torch_peer.py:
//
//     weft_bench WORKLOAD [--threads N] [--reps N] [--composed] [--dropout P] [--weights FORMAT]
//                         [--precision medium]
//     weft_bench WORKLOAD --span [LINES]    its work, its span and its speed-up on more cores (span.h)

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>

#include "span.h"
#include "weft/weft.h"
#include "workloads.h"

using namespace weft;

namespace {

// The mean time for a batch (B, T) of a text of a million tokens, over a pass with the shuffle that begins it.
double batch_ms(std::int64_t B, std::int64_t T) {
    training::Corpus corpus(text::Ids(1'000'000), {.block_size = T, .batch_size = B});
    const std::int64_t batches = std::ssize(corpus.training()) / (B * T);
    const auto start = std::chrono::steady_clock::now();
    for (std::int64_t step = 0; step < batches; ++step) (void)corpus.training_batch(step);
    return bench::ms_since(start) / static_cast<double>(batches);
}

double rounded(double x, double digits) { return std::round(x * digits) / digits; }

}  // namespace

int main(int argc, char** argv) {
    CLI::App app("Time Weft on one workload and print one line of JSON");
    std::string name;
    int threads = 2, repetitions = 0, lines = 0;
    bench::Options options;
    bool composed = false;
    std::vector<std::string> names;
    for (const auto& w : bench::workloads()) names.push_back(w.name);
    app.add_option("workload", name, "workload to time")->required()->check(CLI::IsMember(names));
    app.add_option("--threads", threads, "number of threads")->check(CLI::Range(1, 1024));
    app.add_option("--reps", repetitions, "number of timed steps; 0: the workload's default")
        ->check(CLI::NonNegativeNumber);
    app.add_flag("--composed", composed, "use the definitions instead of fused operations");
    app.add_option("--dropout", options.dropout, "dropout of the modules that have it")
        ->check(CLI::Range(0.0, 0.99));
    app.add_option("--weights", options.weights, "what decode, smol and prompt store their weights in")
        ->check(CLI::IsMember(bench::weight_formats()));
    std::string precision = "highest";
    app.add_option("--precision", precision, "of products of float32: highest or medium (bfloat16)")
        ->check(CLI::IsMember({"highest", "medium"}));
    const auto* span = app.add_option("--span", lines, "print work, span and speed-ups; list so many loops")
                           ->expected(0, 1)
                           ->check(CLI::NonNegativeNumber);
    CLI11_PARSE(app, argc, argv);

    set_num_threads(threads);
    set_float32_matmul_precision(precision);
    std::optional<Plain> guard;
    if (composed) guard.emplace(Plain::operations);
    const auto& workload = *std::find_if(bench::workloads().begin(), bench::workloads().end(),
                                         [&](const auto& w) { return w.name == name; });
    const bench::Step step = workload.make(options);
    for (int i = 0; i < workload.warm_up; ++i) step.run();
    if (repetitions == 0) repetitions = workload.repetitions;
    if (span->count() > 0) {
        const bench::Span s = bench::measure_span(step.run, repetitions, lines, std::cerr);
        nlohmann::ordered_json line{{"workload", name},
                                    {"work_ms", rounded(s.work, 1e3)},
                                    {"span_ms", rounded(s.span, 1e3)},
                                    {"measured", rounded(s.one_thread / s.two_threads, 1e2)}};
        for (const auto& [cores, ms] : s.predicted) line[std::to_string(cores)] = rounded(s.work / ms, 1e2);
        std::cout << line.dump() << "\n";
        return 0;
    }
    const CountMultiplyAdds counter;
    std::vector<double> times, rates;  // in milliseconds, and in tokens per second
    for (int i = 0; i < repetitions; ++i) {
        const auto start = std::chrono::steady_clock::now();
        rates.push_back(step.run());
        times.push_back(bench::ms_since(start));
    }

    const double median = bench::median(times);
    nlohmann::ordered_json line;
    line["workload"] = name;
    line["peer"] = composed ? "weft composed" : "weft";
    line["threads"] = threads;
    if (options.dropout > 0) line["dropout"] = options.dropout;
    line["min_ms"] = rounded(*std::min_element(times.begin(), times.end()), 1e3);
    line["median_ms"] = rounded(median, 1e3);
    if (precision == "medium") {
        line["precision"] = precision;
        line["percent_in_bfloat16"] = rounded(
            100 * static_cast<double>(counter.count_bfloat16()) / static_cast<double>(counter.count()), 1e2);
    }
    line["peak_rss_mb"] = rounded(training::peak_memory(), 10);
    if (step.weight_bytes > 0) {
        line["weights"] = options.weights;
        line["weights_mb"] = rounded(static_cast<double>(step.weight_bytes) / 1e6, 10);
        line["tokens_per_s"] = rounded(*std::max_element(rates.begin(), rates.end()), 1e2);
        line["median_tokens_per_s"] = rounded(bench::median(rates), 1e2);
    }
    if (workload.B > 0)
        line["batch_percent_of_step"] = rounded(100 * batch_ms(workload.B, workload.T) / median, 1e5);
    std::cout << line.dump() << "\n";
}
