// Counts the instructions of everything that takes a list, a file, a text or a graph, for an input of size n
// and one of size 4n; 4n may take at most 6 times as many:
//     growth            every case, in a run under valgrind's callgrind
//     growth NAME…      those whose names contain one of these
// Left out are n calls that each look through a list that is short in use (remove_hook, Report::setting, Mask's
// |), and backward through n slices of one tensor, each of which has a gradient of the tensor's size.
// Instructions do not depend on what else the machine does. Ends with 1 if a case grows faster, or could not be
// counted.
#include <unistd.h>
#include <valgrind/callgrind.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>

#include "environment.h"
#include "growth.h"

using namespace growth;

namespace {

constexpr double limit = 6;

std::vector<Case> all_cases() {
    std::vector<Case> all;
    for (const auto& part : {files(), texts(), graphs(), tensors(), modules(), pictures()})
        all.insert(all.end(), part.begin(), part.end());
    return all;
}

// Within valgrind: runs every case at n and at 4n, and has the counts written to a file each.
int count(const std::vector<Case>& cases) {
    set_num_threads(1);
    for (const Case& c : cases)
        for (const std::int64_t factor : {1, 4}) {
            c.prepare(c.n / 4)();  // what happens once is not counted
            const auto call = c.prepare(factor * c.n);
            const std::string name = std::to_string(factor) + " " + c.name;
            CALLGRIND_START_INSTRUMENTATION;
            CALLGRIND_ZERO_STATS;
            call();
            CALLGRIND_DUMP_STATS_AT(name.c_str());
            CALLGRIND_STOP_INSTRUMENTATION;
        }
    return 0;
}

// The counts by "factor name", as callgrind wrote them.
std::map<std::string, double> counts_in(const std::filesystem::path& folder) {
    const std::string before_name = "desc: Trigger: Client Request: ", before_count = "summary: ";
    std::map<std::string, double> counts;
    for (const auto& file : std::filesystem::directory_iterator(folder)) {
        std::ifstream in(file.path());
        std::string line, name;
        while (std::getline(in, line)) {
            if (line.starts_with(before_name)) name = line.substr(before_name.size());
            if (line.starts_with(before_count) && !name.empty())
                counts[name] = std::stod(line.substr(before_count.size()));
        }
    }
    return counts;
}

}  // namespace

std::filesystem::path growth::scratch(const std::string& name) {
    static const Scratch folder;
    return folder / name;
}

int main(int argc, char** argv) {
    std::string arguments;
    std::vector<Case> cases;
    for (int i = 1; i < argc; ++i) arguments += std::string(" '") + argv[i] + "'";
    for (const Case& c : all_cases()) {
        const auto named_by = [&](const char* part) {
            return std::string(c.name).find(part) != std::string::npos;
        };
        if (argc == 1 || std::any_of(argv + 1, argv + argc, named_by)) cases.push_back(c);
    }
    if (RUNNING_ON_VALGRIND) return count(cases);
    if (cases.empty()) return std::puts("no case has such a name"), 1;
    int failed = 0;
    for (const Case& c : cases) try {
            c.prepare(c.n / 4)();
        } catch (const std::exception& error) {
            failed += std::printf("%s: %s\n", c.name, error.what()) > 0;
        }
    if (failed > 0) return 1;

    const Scratch counted;
    const std::string command = "valgrind --tool=callgrind --instr-atstart=no --callgrind-out-file='" +
                                (counted / "counts").string() + "' --log-file='" + (counted / "log").string() +
                                "' '" + std::filesystem::absolute(argv[0]).string() + "'" + arguments;
    if (std::system(command.c_str()) != 0) {
        std::puts(io::load_text(counted / "log").c_str());
        return std::printf(
                   "valgrind could not run the cases; it is not installed, or does not know this processor's "
                   "instructions (build with -DWEFT_NATIVE=OFF)\n"),
               1;
    }
    std::map<std::string, double> counts = counts_in(counted.folder());
    std::printf("%-44s %8s %14s %14s %7s\n", "", "n", "instructions", "for 4n", "times");
    for (const Case& c : cases) {
        const double once = counts[std::string("1 ") + c.name], four = counts[std::string("4 ") + c.name];
        const bool passed = once > 0 && four <= limit * once;
        failed += !passed;
        std::printf("%-44s %8lld %14.0f %14.0f %7.2f%s\n", c.name, static_cast<long long>(c.n), once, four,
                    four / once, passed ? "" : "  FAILED");
    }
    std::printf("%zu cases, %d grow faster than %.0f times\n", cases.size(), failed, limit);
    return failed > 0;
}
