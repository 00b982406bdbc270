// Times training steps of a workload on one or more processes and prints one line of JSON:
//
//     dist_bench char --batch 96 --grains 8 --steps 20 --bucket 262144
//     mpirun -n 2 --bind-to none dist_bench gpt2 --batch 32 --grains 8 --threads 1
//
// A step is loss, backward and optimiser (workloads.h). Its figures are those of process 0, but for
// bytes_per_step, which has one for each process:
//
//     grain_ms       median time of a grain: forward, backward, and the sum with earlier ones
//     optimizer_ms   median time of clipping and AdamW
//     hidden_ms      time in which a bucket was on its way while the last grain was computed, median of steps
//     exposed_ms     the same after the last grain
//     ready          share of the last grain's time that was left when the first bucket left

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <iostream>
#include <nlohmann/json.hpp>

#include "dist/transport.h"
#include "workloads.h"

using namespace weft;

namespace {

using Clock = std::chrono::steady_clock;

double rounded(double x) { return std::round(x * 1e3) / 1e3; }

// How long at least one bucket was on its way between two times, in milliseconds.
double on_their_way(const std::vector<dist::Span>& timeline, double begin, double end) {
    std::vector<std::pair<double, double>> spans;
    for (const dist::Span& span : timeline)
        if (span.what == std::string("bucket"))
            spans.emplace_back(std::max(span.begin, begin), std::min(span.end, end));
    std::sort(spans.begin(), spans.end());
    double total = 0;
    for (const auto& [from, to] : spans) {
        total += std::max(0.0, to - std::max(from, begin));
        begin = std::max(begin, to);
    }
    return total * 1e3;
}

int run(int argc, char** argv) {
    CLI::App app("Time data-parallel training steps and print one line of JSON");
    std::string name;
    std::int64_t batch = 0, T = 0;
    int threads = 0, steps = 10, warm_up = 2;
    dist::DataParallelOptions options;
    std::vector<std::string> names;
    for (const auto& w : bench::workloads())
        if (w.training) names.push_back(w.name);
    app.add_option("workload", name, "workload to time")->required()->check(CLI::IsMember(names));
    app.add_option("--batch", batch, "sequences in a batch; 0: the workload's own number")
        ->check(CLI::NonNegativeNumber);
    app.add_option("--grains", options.grains, "parts of the batch")->check(CLI::PositiveNumber);
    app.add_option("--bucket", options.bucket_elements, "elements of a bucket")->check(CLI::PositiveNumber);
    app.add_option("--threads", threads, "threads of each process; 0: its share of the processors")
        ->check(CLI::Range(0, 1024));
    app.add_option("--steps", steps, "number of timed steps")->check(CLI::PositiveNumber);
    app.add_option("--warm_up", warm_up, "number of steps before them")->check(CLI::NonNegativeNumber);
    CLI11_PARSE(app, argc, argv);

    dist::Group group;
    if (threads > 0) set_num_threads(threads);
    const auto& workload = *std::find_if(bench::workloads().begin(), bench::workloads().end(),
                                         [&](const auto& w) { return w.name == name; });
    if (batch == 0) batch = workload.B;
    if (batch % options.grains != 0)
        throw ValueError("a batch of ", batch, " is not a multiple of ", options.grains, " grains");
    const bench::Training training = workload.training(batch, 0);
    const std::int64_t rows = batch / options.grains;
    T = training.x.size(1);
    dist::DataParallel parallel(*training.model, group, options);

    std::vector<double> whole, grain, optimizer, hidden, exposed, ready;  // milliseconds, and a share
    std::uint64_t bytes = 0;
    double loss = 0;
    for (int i = -warm_up; i < steps; ++i) {
        group.at_step(i + warm_up);
        if (i == 0) {
            group.barrier();
            bytes = parallel.bytes_sent();
        }
        const auto start = Clock::now();
        loss = parallel.backward([&](std::int64_t g) {
            const auto part = [&](const Tensor& x) {
                return x.slice(0, g * rows, (g + 1) * rows);
            };  // (rows, T)
            return cross_entropy((*training.model)(part(training.x)), part(training.y));
        });
        const auto update = Clock::now();
        training.update();
        if (i < 0) continue;
        whole.push_back(bench::ms_since(start));
        optimizer.push_back(bench::ms_since(update));
        dist::Span last{}, first{"bucket", 0, INFINITY, 0};
        for (const dist::Span& span : parallel.timeline())
            if (span.what == std::string("grain")) {
                grain.push_back((span.end - span.begin) * 1e3);
                last = span;
            }
        for (const dist::Span& span : parallel.timeline())
            if (span.what == std::string("bucket") && span.begin < first.begin) first = span;
        hidden.push_back(on_their_way(parallel.timeline(), last.begin, last.end));
        exposed.push_back(on_their_way(parallel.timeline(), last.end, INFINITY));
        if (group.size() > 1)
            ready.push_back(std::max(0.0, (last.end - first.begin) / (last.end - last.begin)));
    }

    std::uint64_t checksum = 0;
    for (const Tensor& p : training.model->parameters()) checksum = dist::checksum(p, checksum);
    std::ostringstream hexadecimal;
    hexadecimal << std::hex << checksum;
    group.agree("the weights", hexadecimal.str());
    std::vector<std::uint64_t> sent;
    const auto per_step = static_cast<std::int64_t>((parallel.bytes_sent() - bytes)) / steps;
    for (const Tensor& x : group.all_gather(full({}, per_step, int64)))
        sent.push_back(static_cast<std::uint64_t>(x.item()));
    if (group.rank() != 0) return 0;
    std::cout << nlohmann::ordered_json{{"workload", name},
                                        {"P", group.size()},
                                        {"threads", get_num_threads()},
                                        {"batch", batch},
                                        {"tokens", batch * T},
                                        {"grains", options.grains},
                                        {"bucket", options.bucket_elements},
                                        {"median_ms", rounded(bench::median(whole))},
                                        {"min_ms", rounded(*std::min_element(whole.begin(), whole.end()))},
                                        {"grain_ms", rounded(bench::median(grain))},
                                        {"optimizer_ms", rounded(bench::median(optimizer))},
                                        {"hidden_ms", rounded(bench::median(hidden))},
                                        {"exposed_ms", rounded(bench::median(exposed))},
                                        {"ready", rounded(bench::median(ready))},
                                        {"bytes_per_step", sent},
                                        {"parameters", training.model->num_parameters()},
                                        {"loss", loss},
                                        {"checksum", hexadecimal.str()},
                                        {"peak_rss_mb", std::round(training::peak_memory())}}
                     .dump()
              << "\n";
    return 0;
}

}  // namespace

int main(int argc, char** argv) try { return run(argc, argv); } catch (const std::exception& error) {
    std::cerr << "dist_bench: " << error.what() << "\n";
    return 1;
}
