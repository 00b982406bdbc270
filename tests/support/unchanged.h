// For refusals of what changes something: what a caller can see of the objects involved is afterwards what it
// was before.
#pragma once

#include <cstring>
#include <filesystem>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "environment.h"
#include "refusal.h"
#include "weft/packed/packed.h"
#include "weft/weft.h"

namespace unchanged {

using namespace weft;

// ---- what a caller can see of an object, as text

inline std::string state(double x) { return std::to_string(x) + " "; }
inline std::string state(const std::string& text) { return text + "\n"; }
inline std::string state(const Rng& rng) {
    return std::to_string(rng.state().seed) + " at " + std::to_string(rng.state().position) + "\n";
}
inline std::string values(const Tensor& x) {
    const NoGrad off;
    return x.shape().str() + name(x.dtype()) + std::string(raw_values(x.detach().contiguous()));
}
inline std::string state(const Tensor& x) {
    if (!x.defined()) return "undefined\n";
    return values(x) + " version " + std::to_string(x.version()) + (x.requires_grad() ? " in the graph" : "") +
           " gradient " + (x.grad().defined() ? values(x.grad()) : "none") + "\n";
}
inline std::string state(const nn::Module& module) {
    std::string text = module.summary() + (module.training() ? "training\n" : "evaluating\n");
    for (const auto& [name, value] : module.state_dict()) text += name + ": " + state(value);
    for (const auto& [name, value] : module.named_buffers()) text += name + ": " + state(value);
    for (const auto& [name, rng] : module.named_generators()) text += name + ": " + state(*rng);
    for (const auto& [name, child] : module.named_children()) text += state(child);
    return text;
}
inline std::string state(const nn::NamedTensors& tensors) {
    std::string text;
    for (const auto& [name, value] : tensors) text += name + ": " + state(value);
    return text;
}
template <class Options>
std::string state(const optim::Optimizer<Options>& optimizer) {
    return std::to_string(optimizer.steps()) + " at " + state(optimizer.lr()) + state(optimizer.state_dict());
}
inline std::string state(const nn::KeyValueCache& cache) {
    return std::to_string(cache.length()) + " of " + std::to_string(cache.capacity()) + ", at most " +
           std::to_string(cache.longest()) + "\n";
}
inline std::string state(const std::vector<nn::KeyValueCache>& caches) {
    std::string text;
    for (const nn::KeyValueCache& cache : caches) text += state(cache);
    return text;
}
inline std::string state(const Shape& shape) { return shape.str() + "\n"; }
inline std::string state(const report::Report& report) { return report.html(); }
inline std::string state(const viz::Drawing& drawing) { return drawing.svg(); }
inline std::string state(const viz::Plot& plot) { return plot.svg(); }
inline std::string state(const viz::StorageMovie& movie) { return movie.str(); }
// Every file of the folder, with its bytes.
inline std::string state(const Scratch& scratch) {
    std::map<std::string, std::string> files;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(scratch.folder()))
        files[entry.path().string()] = entry.is_regular_file() ? io::load_text(entry.path()) : "a folder";
    std::string text;
    for (const auto& [name, bytes] : files) text += name + ": " + bytes + "\n";
    return text;
}

// The state of several objects, which must outlive the result.
template <class... Objects>
State watch(Objects&... objects) {
    return [&objects...] { return (state(objects) + ...); };
}

// A test of functions that change something, which its name lists after "refused without a change: ". It makes
// refusals of theirs happen, and shows that the state would have shown a change.
class Unchanged {
public:
    ~Unchanged() {
        CHECK(refusals > 0);
        CHECK(accepted > 0);
    }
    template <class E>
    void refuses(const std::string& words, const State& state, const std::function<void()>& action) {
        ++refusals;
        ::refuses<E>(words, state, action);
    }
    // With any exception.
    void refuses(const State& state, const std::function<void()>& action) {
        INFO("refusal " << ++refusals);
        const std::string before = state();
        std::string message;
        try {
            action();
            FAIL_CHECK("did not throw");
        } catch (const std::exception& error) {
            message = error.what();
        }
        INFO(message);
        const bool is_unchanged = state() == before;
        CHECK(is_unchanged);
    }
    void changes(const State& state, const std::function<void()>& action) {
        ++accepted;
        const std::string before = state();
        action();
        const bool is_changed = state() != before;
        CHECK(is_changed);
    }
    int refusals = 0, accepted = 0;
};

}  // namespace unchanged
