// Runs workloads by Weft, by Weft composed, by the floor and, where python3 has torch, by PyTorch: alternately,
// in rounds, and prints a table of the least times and their ratios.
//
//     compare [--threads N] [--rounds N] [--python PATH] [WORKLOAD…]
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

// The line of JSON that a command prints; nothing when it fails.
Result run(const std::string& command) {
    std::FILE* pipe = popen(command.c_str(), "r");
    if (pipe == nullptr) return {};
    std::string text;
    char buffer[4096];
    while (const std::size_t n = std::fread(buffer, 1, sizeof buffer, pipe)) text.append(buffer, n);
    if (pclose(pipe) != 0 || text.empty()) return {};
    return nlohmann::json::parse(text.substr(text.find('{')), nullptr, false);
}

struct Best {
    double ms = INFINITY, megabytes = 0, tokens_per_s = 0;
    void take(const Result& r) {
        if (!r || r->is_discarded()) return;
        ms = std::min(ms, r->value("min_ms", ms));
        megabytes = std::max(megabytes, r->value("peak_rss_mb", 0.0));
        tokens_per_s = std::max(tokens_per_s, r->value("tokens_per_s", 0.0));
    }
    bool measured() const { return ms < INFINITY; }
};

std::string number(double x, const char* unit = "") {
    if (!(x > 0 && x < INFINITY)) return "–";
    std::ostringstream out;
    out << std::fixed << std::setprecision(x < 10 ? 2 : x < 100 ? 1 : 0) << x << unit;
    return out.str();
}

std::string ratio(const Best& a, const Best& b) {
    return a.measured() && b.measured() ? number(a.ms / b.ms, " ×") : "–";
}

std::string quoted(const std::filesystem::path& path) { return "'" + path.string() + "'"; }

}  // namespace

int main(int argc, char** argv) {
    CLI::App app("Weft beside the floor and PyTorch, alternately; a table of least times");
    std::vector<std::string> names{"toy", "char", "gpt2", "attention", "long", "decode"};
    std::string python = "python3";
    int threads = 2, rounds = 3;
    app.add_option("workloads", names, "which; all of them when none is named");
    app.add_option("--threads", threads)->check(CLI::Range(1, 1024));
    app.add_option("--rounds", rounds, "how often each program runs")->check(CLI::Range(1, 100));
    app.add_option("--python", python, "a Python that has torch; without one PyTorch is left out");
    CLI11_PARSE(app, argc, argv);

    const auto here = std::filesystem::path(argv[0]).parent_path();
    const bool has_torch = std::system((python + " -c 'import torch' 2>/dev/null").c_str()) == 0;
    if (!has_torch) std::cerr << "no torch in " << python << ": PyTorch is left out\n";
    std::cout << "| workload | threads | Weft ms | floor ms | Weft / floor | composed ms | PyTorch ms | Weft / "
                 "PyTorch | Weft MB | PyTorch MB | Weft tokens/s | PyTorch tokens/s |\n"
                 "|---|---|---|---|---|---|---|---|---|---|---|---|\n";
    for (const std::string& name : names) {
        const std::string arguments = " " + name + " --threads " + std::to_string(threads);
        Best weft, floor, composed, torch;
        for (int round = 0; round < rounds; ++round) {
            weft.take(run(quoted(here / "weft_bench") + arguments));
            if (name != "decode") floor.take(run(quoted(here / "gemm_floor") + arguments));
            if (name != "decode") composed.take(run(quoted(here / "weft_bench") + arguments + " --composed"));
            if (has_torch) torch.take(run(python + " " + quoted(WEFT_TORCH_PEER) + arguments));
        }
        std::cout << "| " << name << " | " << threads << " | " << number(weft.ms) << " | " << number(floor.ms)
                  << " | " << ratio(weft, floor) << " | " << number(composed.ms) << " | " << number(torch.ms)
                  << " | " << ratio(weft, torch) << " | " << number(weft.megabytes) << " | "
                  << number(torch.megabytes) << " | " << number(weft.tokens_per_s) << " | "
                  << number(torch.tokens_per_s) << " |" << std::endl;
    }
}
