// Looks for a program whose gradients differ from route to route:
//     random_programs first count          programs of the seeds first … first + count − 1
//     random_programs first count --json   writes them as lines of JSON for replay.py
//     random_programs --minutes 60         new seeds, until the time is up or one fails
#include <sys/resource.h>

#include <chrono>
#include <cstring>
#include <iostream>
#include <random>

#include "program.h"

using namespace random_programs;

int main(int argc, char** argv) {
    const bool for_minutes = argc == 3 && std::strcmp(argv[1], "--minutes") == 0;
    const bool as_json = argc == 4 && std::strcmp(argv[3], "--json") == 0;
    if (!for_minutes && argc != 3 && !as_json) {
        std::cerr << "usage: random_programs FIRST COUNT [--json] | --minutes N\n";
        return 2;
    }
    const rlimit memory{8ull << 30, 8ull << 30};  // a statement that wants more is left out
    setrlimit(RLIMIT_AS, &memory);
    std::uint64_t first = for_minutes ? std::random_device()() * 1'000'000ull : std::stoull(argv[1]);
    const std::uint64_t last = for_minutes ? UINT64_MAX : first + std::stoull(argv[2]);
    const auto start = std::chrono::steady_clock::now();
    const auto minutes = [&] {
        return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() / 60;
    };
    Counts counts;
    std::uint64_t ran = 0, failed = 0, seed = first;
    if (!as_json) std::cout << "seeds from " << first << std::endl;
    for (; seed < last && (!for_minutes || minutes() < std::stod(argv[2])); ++seed, ++ran) {
        const Program program = ProgramBuilder(seed).make();
        if (as_json) {
            const std::string line = json(program);
            if (!line.empty()) std::cout << line << '\n';
            continue;
        }
        const Verdict verdict = compare(program, counts);
        if (verdict) continue;
        ++failed;
        const Program small = minimised(program, verdict.route);
        Counts ignored;
        std::cout << "seed " << seed << ", " << verdict.route << ": " << verdict.what
                  << "\nsmaller: " << compare(small, ignored).what << "\n"
                  << as_cpp(small) << std::endl;
        if (failed == 5) break;
    }
    if (as_json) return 0;
    std::cout << ran << " programs, seeds " << first << " to " << seed << ", " << failed << " failed\n";
    for (const auto& [route, n] : counts) std::cout << "  " << route << ": " << n << '\n';
    return failed != 0 || ran == 0;
}
