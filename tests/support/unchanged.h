// The table of what changes something and can throw. A row makes each refusal of a function happen, and shows
// that what a caller can see of the objects involved is afterwards what it was before.
#pragma once

#include <cstring>
#include <filesystem>
#include <functional>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "catch.h"
#include "scratch.h"
#include "small_disk.h"
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
    if (x.packed() != nullptr) return x.str();
    const Tensor dense = x.detach().contiguous();
    const auto* bytes = visit(x.dtype(), [&]<class S, class C>(Element<S, C>) {
        return reinterpret_cast<const char*>(dense.data<S>());
    });
    return x.shape().str() + name(x.dtype()) +
           std::string(bytes, static_cast<std::size_t>(x.numel()) * itemsize(x.dtype()));
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
    return std::to_string(cache.length()) + " of " + std::to_string(cache.capacity()) + "\n";
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

using State = std::function<std::string()>;
// The state of several objects, which must outlive the result.
template <class... Objects>
State watch(Objects&... objects) {
    return [&objects...] { return (state(objects) + ...); };
}

// ---- rows

using Action = std::function<void()>;

// What a row does. Each row has at least one of either.
class Check {
public:
    // The action throws, and the state is what it was.
    void refuses(const State& state, const Action& action) {
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
        const bool is_unchanged = state() == before;  // the text is long, and need not be UTF-8
        CHECK(is_unchanged);
    }
    // The action changes the state, so the state would show what a refusal had changed.
    void changes(const State& state, const Action& action) {
        ++accepted;
        const std::string before = state();
        action();
        const bool is_changed = state() != before;
        CHECK(is_changed);
    }
    int refusals = 0, accepted = 0;
};

struct Row {
    std::string functions;  // as the test of the headers calls them: "Tensor::add_ Tensor::operator+="
    std::function<void(Check&)> run;
};

std::vector<Row> tensor_rows();
std::vector<Row> module_rows();
std::vector<Row> constructor_rows();
std::vector<Row> training_rows();
std::vector<Row> file_rows();
std::vector<Row> picture_rows();

}  // namespace unchanged
