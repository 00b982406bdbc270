// Runs workloads with Weft, with Weft composed, with the floor and, if python3 has torch, with PyTorch, eager
// and compiled, alternately in rounds, and prints tables of the minimum times and their ratios. Workloads that
// generate or read tokens run with weights in several formats; llama.cpp joins those of SmolLM2's sizes, if
// python3 has llama_cpp and gguf and --gguf names a file of that model.
//
//     compare [--threads N,…] [--rounds N] [--python PATH] [--weights FORMAT,…] [--gguf FILE] [WORKLOAD…]
//     compare --busy N …    medians of Weft and its peer, quiet and beside N processes that never rest
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
#include <map>
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
    double ms = INFINITY, megabytes = 0, weights = 0, tokens_per_s = 0, percent_in_bfloat16 = 0;
    std::string kernels;
    void take(const Result& r) {
        if (!r || r->is_discarded()) return;
        ms = std::min(ms, r->value("min_ms", ms));
        megabytes = std::max(megabytes, r->value("peak_rss_mb", 0.0));
        weights = r->value("weights_mb", weights);
        tokens_per_s = std::max(tokens_per_s, r->value("tokens_per_s", 0.0));
        percent_in_bfloat16 = r->value("percent_in_bfloat16", percent_in_bfloat16);
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

// The median of the medians of several runs of one program, of a step or a token.
struct Median {
    std::vector<double> ms;
    void take(const Result& r) {
        if (!r || r->is_discarded()) return;
        if (r->contains("median_tokens_per_s"))
            ms.push_back(1e3 / r->at("median_tokens_per_s").get<double>());
        else if (r->contains("median_ms"))
            ms.push_back(r->at("median_ms"));
    }
    double value() const {
        std::vector<double> sorted = ms;
        std::sort(sorted.begin(), sorted.end());
        return sorted.empty() ? NAN : (sorted[(sorted.size() - 1) / 2] + sorted[sorted.size() / 2]) / 2;
    }
};

std::string quoted(const std::filesystem::path& path) { return "'" + path.string() + "'"; }

// Whether a workload has the sizes of SmolLM2, which llama.cpp runs, too.
bool is_of_llama(const std::string& name) { return name == "smol" || name == "prompt"; }

// Whether a workload generates or reads tokens, with weights in several formats.
bool is_of_tokens(const std::string& name) { return name == "decode" || is_of_llama(name); }

}  // namespace

int main(int argc, char** argv) {
    CLI::App app("Compare Weft with the floor and PyTorch; print tables of the minimum times");
    std::vector<std::string> names{"toy", "char", "gpt2", "attention", "long", "decode", "smol", "prompt"},
        formats{"float32", "bfloat16", "Q8_0", "Q4_0", "Q4_1"};
    std::string python = "python3", gguf;
    std::vector<int> threads;
    int rounds = 3, busy = 0;
    bool span = false, no_amx = false;
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
    app.add_option("--weights", formats, "formats of the weights of decode, smol and prompt")
        ->delimiter(',')
        ->allow_extra_args(false);
    app.add_option("--gguf", gguf, "a file of SmolLM2-135M; without it, llama.cpp is left out")
        ->check(CLI::ExistingFile);
    app.add_flag("--no-amx", no_amx, "llama.cpp without AMX, which faults in some virtual machines");
    CLI11_PARSE(app, argc, argv);

    if (threads.empty()) threads = busy > 0 ? std::vector{2} : std::vector{1, 2};
    const auto here = std::filesystem::path(argv[0]).parent_path();
    if (span) {
        row({"workload", "work ms", "span ms", "2 cores", "2 threads measured", "4", "8", "16", "32", "64"});
        row(std::vector<std::string>(10, "---"));
        for (const std::string& name : names) {
            if (is_of_tokens(name)) continue;  // their step has a part that does not count
            const Result r = run(quoted(here / "weft_bench") + " " + name + " --span");
            if (!r || r->is_discarded()) continue;
            std::vector<std::string> cells{name};
            for (const char* key : {"work_ms", "span_ms", "2", "measured", "4", "8", "16", "32", "64"})
                cells.push_back(number(r->value(key, NAN), cells.size() < 3 ? "" : " ×"));
            row(cells);
        }
        return 0;
    }
    const auto has = [&](const char* modules) {
        return std::system((python + " -c 'import " + modules + "' 2>/dev/null").c_str()) == 0;
    };
    const bool has_torch = has("torch"), has_llama = !gguf.empty() && has("llama_cpp, gguf");
    if (!has_torch) std::cerr << "no torch in " << python << ": PyTorch is left out\n";
    if (!has_llama)
        std::cerr << "no --gguf, or no llama_cpp and gguf in " << python << ": llama.cpp is left out\n";

    // The programs that run a workload, by name, with weights of one format on so many threads.
    const auto arguments = [](const std::string& name, int n, const std::string& weights) {
        return " " + name + " --threads " + std::to_string(n) +
               (is_of_tokens(name) ? " --weights " + weights : "");
    };
    const auto weft = [&](const std::string& rest) { return run(quoted(here / "weft_bench") + rest); };
    const auto torch = [&](const std::string& name, const std::string& weights, const std::string& rest) {
        const bool runs = !is_of_llama(name) && (weights == "float32" || weights == "bfloat16");
        return has_torch && runs ? run(python + " " + quoted(WEFT_TORCH_PEER) + rest) : Result{};
    };
    const auto llama = [&](const std::string& name, const std::string& rest) {
        return has_llama && is_of_llama(name) ? run(python + " " + quoted(WEFT_LLAMA_PEER) + rest +
                                                    " --file '" + gguf + "'" + (no_amx ? " --no-amx" : ""))
                                              : Result{};
    };
    const auto formats_of = [&](const std::string& name) {
        return is_of_tokens(name) ? formats : std::vector<std::string>{"float32"};
    };

    if (busy > 0) {
        row({"workload", "weights", "threads", "Weft quiet ms", "Weft busy ms", "busy / quiet", "peer",
             "peer quiet ms", "peer busy ms", "busy / quiet", "peer / Weft, busy"});
        row(std::vector<std::string>(11, "---"));
        for (const std::string& name : names)
            for (const int n : threads)
                for (const std::string& weights : formats_of(name)) {
                    const std::string rest = arguments(name, n, weights);
                    const auto peer = [&] {
                        return is_of_llama(name) ? llama(name, rest) : torch(name, weights, rest);
                    };
                    Median weft_quiet, weft_busy, peer_quiet, peer_busy;
                    for (int round = 0; round < rounds; ++round) {
                        weft_quiet.take(weft(rest));
                        peer_quiet.take(peer());
                        const Spinners spinners(busy);
                        weft_busy.take(weft(rest));
                        peer_busy.take(peer());
                    }
                    const double a = weft_quiet.value(), b = weft_busy.value(), c = peer_quiet.value(),
                                 d = peer_busy.value();
                    row({name, weights, std::to_string(n), number(a), number(b), ratio(b, a),
                         is_of_llama(name) ? "llama.cpp" : "PyTorch", number(c), number(d), ratio(d, c),
                         ratio(d, b)});
                }
        std::cout << "\nTimes are of a step, or of a token where tokens are generated or read.\n";
        return 0;
    }

    std::vector<std::vector<std::string>> of_tokens, in_bfloat16;
    std::string kernels;
    row({"workload", "threads", "Weft ms", "floor ms", "Weft / floor", "composed ms", "composed / Weft",
         "PyTorch ms", "Weft / PyTorch", "compiled ms", "Weft / compiled", "Weft MB", "PyTorch MB"});
    row(std::vector<std::string>(13, "---"));
    for (const std::string& name : names)
        for (const int n : threads) {
            struct Programs {
                Best weft, floor, composed, torch, compiled, llama, medium, half_floor, autocast,
                    autocast_compiled;
            };
            std::map<std::string, Programs> by_format;
            for (int round = 0; round < rounds; ++round)
                for (const std::string& weights : formats_of(name)) {
                    Programs& best = by_format[weights];
                    const std::string rest = arguments(name, n, weights);
                    best.weft.take(weft(rest));
                    best.floor.take(run(quoted(here / "gemm_floor") + rest));
                    best.torch.take(torch(name, weights, rest));
                    best.compiled.take(torch(name, weights, rest + " --compile"));
                    best.llama.take(llama(name, rest));
                    if (is_of_tokens(name)) continue;
                    best.composed.take(weft(rest + " --composed"));
                    best.medium.take(weft(rest + " --precision medium"));
                    best.half_floor.take(run(quoted(here / "gemm_floor") + rest + " --precision medium"));
                    best.autocast.take(torch(name, weights, rest + " --autocast"));
                    best.autocast_compiled.take(torch(name, weights, rest + " --autocast --compile"));
                }
            for (const std::string& weights : formats_of(name)) {
                const auto& [weft, floor, composed, torch, compiled, llama, medium, half_floor, autocast,
                             autocast_compiled] = by_format[weights];
                kernels = floor.kernels;
                const double rate = weft.tokens_per_s;
                if (is_of_tokens(name))
                    of_tokens.push_back({name, weights, std::to_string(n), number(rate),
                                         ratio(rate, by_format["float32"].weft.tokens_per_s),
                                         number(floor.tokens_per_s), ratio(rate, floor.tokens_per_s),
                                         number(llama.tokens_per_s), ratio(rate, llama.tokens_per_s),
                                         number(torch.tokens_per_s), ratio(rate, torch.tokens_per_s),
                                         number(compiled.tokens_per_s), ratio(rate, compiled.tokens_per_s),
                                         number(weft.weights), number(llama.weights), number(weft.megabytes),
                                         number(std::max(llama.megabytes, torch.megabytes))});
                if (is_of_tokens(name)) continue;
                const double best = std::min(
                    {torch.ms, compiled.ms, autocast.ms, autocast_compiled.ms});  // PyTorch at its best
                in_bfloat16.push_back({name, std::to_string(n), number(medium.ms), ratio(medium.ms, weft.ms),
                                       number(half_floor.ms), ratio(medium.ms, half_floor.ms),
                                       number(autocast.ms), number(autocast_compiled.ms), number(best),
                                       ratio(weft.ms, best), ratio(medium.ms, best),
                                       number(medium.percent_in_bfloat16, " %"), number(medium.megabytes)});
                row({name, std::to_string(n), number(weft.ms), number(floor.ms), ratio(weft.ms, floor.ms),
                     number(composed.ms), ratio(composed.ms, weft.ms), number(torch.ms),
                     ratio(weft.ms, torch.ms), number(compiled.ms), ratio(weft.ms, compiled.ms),
                     number(weft.megabytes), number(torch.megabytes)});
            }
        }
    if (!in_bfloat16.empty()) {
        std::cout << "\nwith products in bfloat16 (--precision medium, torch.autocast):\n\n";
        row({"workload", "threads", "Weft medium ms", "/ float32", "floor ms", "Weft / floor", "autocast ms",
             "autocast compiled ms", "PyTorch's best ms", "Weft float32 / best", "Weft medium / best",
             "multiply-adds in bfloat16", "Weft MB"});
        row(std::vector<std::string>(13, "---"));
        for (const auto& cells : in_bfloat16) row(cells);
    }
    if (!of_tokens.empty()) {
        std::cout << "\nin tokens a second, and megabytes:\n\n";
        row({"workload", "weights", "threads", "Weft", "/ float32", "floor", "Weft / floor", "llama.cpp",
             "Weft / llama.cpp", "PyTorch", "Weft / PyTorch", "compiled", "Weft / compiled", "Weft's weights",
             "the file's", "Weft's peak", "a peer's peak"});
        row(std::vector<std::string>(17, "---"));
        for (const auto& cells : of_tokens) row(cells);
    }
    std::cout << "\nOpenBLAS ran its kernels for " << kernels << ".\n";
}
