// Where the time of a run goes: by operation, by module, and as a trace that a browser's profiler opens.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "weft/watch/trace.h"

namespace weft {

// What the calls of an operation took together.
//
//     const Profile profile;
//     const Tensor c = matmul(ones({2, 3}), ones({3, 4}));
//     const ProfileRow row = profile.operations()[0];
//     // row.name is "matmul", row.calls is 1, row.bytes is 32, row.multiply_adds is 24
struct ProfileRow {
    std::string name;                // as operation_of: "matmul"
    bool backward = false;           // whether these are calls of its gradient rule
    std::int64_t calls = 0;          // how many
    double ms = 0;                   // the time between their beginnings and ends
    std::int64_t bytes = 0;          // of the arrays that they made: results, saved tensors, temporaries
    std::int64_t multiply_adds = 0;  // as CountMultiplyAdds counts them
};

// What the operations that a module called took together.
//
//     const nn::Sequential model{nn::Linear(4, 3), relu};
//     const Profile profile;
//     const Tensor y = model(ones({2, 4}));
//     const ProfileModule first = profile.modules()[1];  // first.path is "Sequential[0]"
struct ProfileModule {
    std::string path;                        // as Module::path: "GPT.blocks[3].attn"
    double forward_ms = 0, backward_ms = 0;  // of operations called by the module itself
    double total_ms = 0;                     // both, and those of the modules within it
    std::int64_t bytes = 0;                  // of the operations in total_ms
    std::int64_t multiply_adds = 0;          // of the operations in total_ms
};

// While a Profile is active, it measures the operations of this thread, forward and backward. A gradient rule
// counts under the name of its operation and in the module that called that. What an operation calls to compute
// its values is part of it, and so are kernels on other threads. Profiles nest, and the innermost measures. It
// costs about 0.1 µs and 100 bytes an operation.
//
//     const Profile profile;
//     cross_entropy(model(x), target).backward();
//     std::cout << profile;      // two tables of 80 columns
//     profile.save_trace(path);  // a file for chrome://tracing, ui.perfetto.dev or profiler.firefox.com
//
// A module is known by nn::located, through which Weft's layers call their operations.
class [[nodiscard]] Profile : Observer {
public:
    Profile();

    // A row for each operation, and for its gradient rule, the longest time first; the last is "outside
    // operations", the other time since the profile began. So the rows' times add up to that time.
    std::vector<ProfileRow> operations() const;
    // The modules in the order in which they were first called; the last, without a path, has the operations
    // that none of them called.
    std::vector<ProfileModule> modules() const;
    // Both as tables, without rows of less than 1 % of the operations' time, which are added up in one.
    std::string str() const;
    // Writes Chrome's trace event format: operations and the calls of modules, each with its time. IoError if
    // the file cannot be written.
    void save_trace(const std::string& path) const;

private:
    struct Event {  // an operation, or the call of a module
        const char* name;
        int module;  // in paths_; 0: none
        bool backward, is_module;
        std::int64_t began, ns, bytes, multiply_adds;
    };
    struct Caller {  // of a rule or a module that runs
        int module;
        std::int64_t began;
    };
    void begins(const Part& part) override;
    void ends(const Part& part, bool well) noexcept override;
    void computes(const char* operation) override;
    void records(const Recorded& node) override;
    void allocates(std::int64_t bytes) override { bytes_ += bytes; }
    void begin(const char* name);
    void end() noexcept;
    void add(const Event& event) noexcept;
    int module_of(std::uint64_t node) const;
    std::int64_t now() const;  // in nanoseconds since it began

    std::vector<Caller> callers_;
    const CountMultiplyAdds products_;
    const std::int64_t start_;  // the clock when it began
    std::int64_t bytes_ = 0;    // of the arrays since
    std::vector<Event> events_;
    Event open_{};
    int depth_ = 0, module_ = 0;
    std::vector<std::string> paths_{""};
    std::map<std::string, int> numbers_;                // of the paths
    std::vector<std::pair<std::uint64_t, int>> nodes_;  // and the modules that made them, in ascending order
};

// Writes profile.str().
std::ostream& operator<<(std::ostream& out, const Profile& profile);

}  // namespace weft
