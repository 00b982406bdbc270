// Runs workloads with Weft, with Weft composed, with the floor and, if python3 has torch, with PyTorch, eager
// and compiled, alternately in rounds, and prints tables of the minimum times and their ratios.
//
//     compare [--threads N,…] [--rounds N] [--python PATH] [WORKLOAD…]
//     compare --busy N …    medians of Weft and PyTorch, quiet and beside N processes that never rest
//     compare --span …      how fast Weft would be on more cores (span.h)
#include <signal.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <iomanip>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

namespace {

using Result = std::optional<nlohmann::json>;

// The line of JSON that a command prints, or nothing if it fails.
Result run(const std::string& command) {
    std::FILE* pipe = popen(command.c_str(), "r");
    if (pipe == nullptr) return {};
    std::string text;
    char buffer[4096];
    while (const std::size_t n = std::fread(buffer, 1, sizeof buffer, pipe)) text.append(buffer, n);
    if (pclose(pipe) != 0 || text.empty()) return {};
    return nlohmann::json::parse(text.substr(text.find('{')), nullptr, false);
}

// The best of several runs of one program.
struct Best {
    double ms = INFINITY, megabytes = 0, tokens_per_s = 0;
    std::string kernels;
    void take(const Result& r) {
        if (!r || r->is_discarded()) return;
        ms = std::min(ms, r->value("min_ms", ms));
        megabytes = std::max(megabytes, r->value("peak_rss_mb", 0.0));
        tokens_per_s = std::max(tokens_per_s, r->value("tokens_per_s", 0.0));
        kernels = r->value("kernels", kernels);
    }
};

std::string number(double x, const char* unit = "") {
    if (!(x > 0 && x < INFINITY)) return "–";
    std::ostringstream out;
    out << std::fixed << std::setprecision(x < 10 ? 2 : x < 100 ? 1 : 0) << x << unit;
    return out.str();
}

std::string ratio(double a, double b) { return number(a / b, " ×"); }

void row(const std::vector<std::string>& cells) {
    for (const std::string& cell : cells) std::cout << "| " << cell << " ";
    std::cout << "|" << std::endl;
}

// Processes that keep a processor busy each, for as long as this and its process live.
class Spinners {
public:
    explicit Spinners(int n) {
        const pid_t parent = getpid();
        for (int i = 0; i < n; ++i) {
            const pid_t id = fork();
            if (id == 0) {
#ifdef __linux__
                prctl(PR_SET_PDEATHSIG, SIGKILL);
#endif
                if (getppid() != parent) _exit(0);  // it died before
                for (volatile unsigned rounds = 0;;) rounds = rounds + 1;
            }
            if (id > 0) ids_.push_back(id);
        }
    }
    ~Spinners() {
        for (const pid_t id : ids_) kill(id, SIGKILL), waitpid(id, nullptr, 0);
    }
    Spinners(const Spinners&) = delete;
    Spinners& operator=(const Spinners&) = delete;

private:
    std::vector<pid_t> ids_;
};

// The median of the medians of several runs of one program.
struct Median {
    std::vector<double> ms;
    void take(const Result& r) {
        if (r && !r->is_discarded() && r->contains("median_ms")) ms.push_back((*r)["median_ms"]);
    }
    double value() const {
        std::vector<double> sorted = ms;
        std::sort(sorted.begin(), sorted.end());
        return sorted.empty() ? NAN : (sorted[(sorted.size() - 1) / 2] + sorted[sorted.size() / 2]) / 2;
    }
};

std::string quoted(const std::filesystem::path& path) { return "'" + path.string() + "'"; }

}  // namespace

int main(int argc, char** argv) {
    CLI::App app("Compare Weft with the floor and PyTorch; print tables of the minimum times");
    std::vector<std::string> names{"toy", "char", "gpt2", "attention", "long", "decode"};
    std::string python = "python3";
    std::vector<int> threads;
    int rounds = 3, busy = 0;
    bool span = false;
    app.add_option("workloads", names, "workloads to run; default: all");
    app.add_option("--threads", threads,
                   "numbers of threads, separated by commas; default: 1,2, and 2 with --busy")
        ->check(CLI::Range(1, 1024))
        ->delimiter(',')
        ->allow_extra_args(false);
    app.add_option("--rounds", rounds, "how often to run each program")->check(CLI::Range(1, 100));
    app.add_option("--busy", busy, "run beside so many processes that never rest, too; prints medians")
        ->check(CLI::Range(0, 1024));
    app.add_flag("--span", span, "print work, span and the speed-ups of a greedy schedule on more cores");
    app.add_option("--python", python, "a Python with torch; without torch, PyTorch is left out");
    CLI11_PARSE(app, argc, argv);

    if (threads.empty()) threads = busy > 0 ? std::vector{2} : std::vector{1, 2};
    const auto here = std::filesystem::path(argv[0]).parent_path();
    if (span) {
        row({"workload", "work ms", "span ms", "2 cores", "2 threads measured", "4", "8", "16", "32", "64"});
        row(std::vector<std::string>(10, "---"));
        for (const std::string& name : names) {
            if (name == "decode") continue;  // its step has a part that does not count
            const Result r = run(quoted(here / "weft_bench") + " " + name + " --span");
            if (!r || r->is_discarded()) continue;
            std::vector<std::string> cells{name};
            for (const char* key : {"work_ms", "span_ms", "2", "measured", "4", "8", "16", "32", "64"})
                cells.push_back(number(r->value(key, NAN), cells.size() < 3 ? "" : " ×"));
            row(cells);
        }
        return 0;
    }
    const bool has_torch = std::system((python + " -c 'import torch' 2>/dev/null").c_str()) == 0;
    if (!has_torch) std::cerr << "no torch in " << python << ": PyTorch is left out\n";

    if (busy > 0) {
        row({"workload", "threads", "Weft quiet ms", "Weft busy ms", "busy / quiet", "PyTorch quiet ms",
             "PyTorch busy ms", "busy / quiet", "Weft / PyTorch, busy"});
        row(std::vector<std::string>(9, "---"));
        for (const std::string& name : names)
            for (const int n : threads) {
                const std::string arguments = " " + name + " --threads " + std::to_string(n);
                const std::string weft = quoted(here / "weft_bench") + arguments,
                                  torch = python + " " + quoted(WEFT_TORCH_PEER) + arguments;
                Median weft_quiet, weft_busy, torch_quiet, torch_busy;
                for (int round = 0; round < rounds; ++round) {
                    weft_quiet.take(run(weft));
                    if (has_torch) torch_quiet.take(run(torch));
                    const Spinners spinners(busy);
                    weft_busy.take(run(weft));
                    if (has_torch) torch_busy.take(run(torch));
                }
                const double a = weft_quiet.value(), b = weft_busy.value(), c = torch_quiet.value(),
                             d = torch_busy.value();
                row({name, std::to_string(n), number(a), number(b), ratio(b, a), number(c), number(d),
                     ratio(d, c), ratio(b, d)});
            }
        return 0;
    }

    std::vector<std::vector<std::string>> decoding;
    std::string kernels;
    row({"workload", "threads", "Weft ms", "floor ms", "Weft / floor", "composed ms", "composed / Weft",
         "PyTorch ms", "Weft / PyTorch", "compiled ms", "Weft / compiled", "Weft MB", "PyTorch MB"});
    row(std::vector<std::string>(13, "---"));
    for (const std::string& name : names)
        for (const int n : threads) {
            const bool decodes = name == "decode";
            const std::string arguments = " " + name + " --threads " + std::to_string(n);
            Best weft, floor, composed, torch, compiled;
            for (int round = 0; round < rounds; ++round) {
                weft.take(run(quoted(here / "weft_bench") + arguments));
                floor.take(run(quoted(here / "gemm_floor") + arguments));
                const std::string peer = python + " " + quoted(WEFT_TORCH_PEER) + arguments;
                if (has_torch) torch.take(run(peer)), compiled.take(run(peer + " --compile"));
                if (!decodes) composed.take(run(quoted(here / "weft_bench") + arguments + " --composed"));
            }
            kernels = floor.kernels;
            if (decodes)
                decoding.push_back({std::to_string(n), number(weft.tokens_per_s), number(floor.tokens_per_s),
                                    ratio(weft.tokens_per_s, floor.tokens_per_s), number(torch.tokens_per_s),
                                    ratio(weft.tokens_per_s, torch.tokens_per_s), number(compiled.tokens_per_s),
                                    ratio(weft.tokens_per_s, compiled.tokens_per_s), number(weft.megabytes),
                                    number(torch.megabytes)});
            else
                row({name, std::to_string(n), number(weft.ms), number(floor.ms), ratio(weft.ms, floor.ms),
                     number(composed.ms), ratio(composed.ms, weft.ms), number(torch.ms),
                     ratio(weft.ms, torch.ms), number(compiled.ms), ratio(weft.ms, compiled.ms),
                     number(weft.megabytes), number(torch.megabytes)});
        }
    if (!decoding.empty()) {
        std::cout << "\ndecode, in tokens a second:\n\n";
        row({"threads", "Weft", "memory allows", "Weft / memory", "PyTorch", "Weft / PyTorch", "compiled",
             "Weft / compiled", "Weft MB", "PyTorch MB"});
        row(std::vector<std::string>(10, "---"));
        for (const auto& cells : decoding) row(cells);
    }
    std::cout << "\nOpenBLAS ran its kernels for " << kernels << ".\n";
}
