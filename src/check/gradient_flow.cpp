// gradient_flow, first_step and check_finite.
#include <algorithm>
#include <cmath>
#include <iostream>
#include <limits>
#include <map>
#include <set>

#include "nn/registry.h"
#include "weft/base/text.h"
#include "weft/check/gradcheck.h"
#include "weft/watch/trace.h"

namespace weft::check {

namespace {

Tensor in_float64(const Tensor& x) { return x.detach().to(float64); }

// ‖gradient‖₂, NaN unless finite. Scaled by the largest element, so no square overflows or vanishes.
double norm_of(const Tensor& gradient) {
    const double largest = gradient.numel() == 0 ? 0 : max(abs(in_float64(gradient))).item();
    if (largest == 0) return 0;
    double squares = 0;  // NaN too if the largest element is infinite
    for (const double g : in_float64(gradient).to_vector<double>()) squares += (g / largest) * (g / largest);
    return largest * std::sqrt(squares);
}

FlowRow row_of(const std::string& name, const Tensor& parameter) {
    FlowRow row{name, parameter.shape(), 0, ""};
    const Tensor gradient = parameter.grad();
    row.frozen = !parameter.requires_grad();
    if (row.frozen) return row;
    if (gradient.defined()) row.norm = norm_of(gradient);
    row.problem = !gradient.defined()                      ? "absent"
                  : !std::isfinite(row.norm)               ? "not finite"
                  : row.norm == 0 && gradient.numel() != 0 ? "zero"
                                                           : "";
    return row;
}

// A leaf of a loss's graph that is no parameter of a model.
struct Stranger {
    FlowRow row;        // "not registered" if it is a parameter of a module outside the model
    std::string fault;  // the same in words, with the way out
    Tensor value = {};  // undefined if no module has it
    std::uint64_t version = 0;
    bool is_unchanged() const { return !value.defined() || value.version() == version; }
};

bool had_owner(const GraphNode& leaf) {  // which may be gone
    const std::weak_ptr<const LeafOwner> none;
    return leaf.owner.owner_before(none) || none.owner_before(leaf.owner);
}

// The strangers that `loss` depends on, by their numbers in the graph.
std::map<std::uint64_t, Stranger> strangers(const nn::Module& module, const Tensor& loss) {
    const nn::Module model = nn::Ownership::outermost(module);
    std::set<std::uint64_t> own;
    for (const Tensor& parameter : model.parameters()) own.insert(graph_number(parameter));
    std::map<std::uint64_t, std::pair<std::string, Tensor>> others;  // the parameters of other modules
    std::map<std::uint64_t, Stranger> found;
    const std::vector<GraphNode> nodes = graph_nodes(loss);
    for (const GraphNode& user : nodes)
        for (const std::size_t input : user.inputs) {
            const GraphNode& leaf = nodes[input];
            if (!leaf.inputs.empty() || own.contains(leaf.number) || found.contains(leaf.number)) continue;
            const std::string it = " " + leaf.shape.str() + ", used by " + user.operation + ", ";
            Stranger& stranger = found[leaf.number];
            FlowRow& row = stranger.row;
            row = {user.operation, leaf.shape, 0, had_owner(leaf) ? "not registered" : "", false, false};
            if (const auto owner = nn::Ownership::owner_of(leaf)) {
                const nn::Module outermost = nn::Ownership::outermost(*owner);
                if (!others.contains(leaf.number))
                    for (const auto& [name, value] : outermost.named_parameters())
                        others[graph_number(value)] = {outermost.kind() + "." + name, value};
                std::tie(row.name, stranger.value) = others[leaf.number];
                if (stranger.value.defined()) stranger.version = stranger.value.version();
                stranger.fault = row.name + it + "is not registered in this " + model.kind() +
                                 ", and the step does not change it: register_module() the " +
                                 outermost.kind() + " there, or freeze it";
            } else {
                stranger.fault =
                    row.problem.empty()
                        ? "a tensor" + it +
                              "requires a gradient and is in no module: it is an input, or else "
                              "register_parameter() it, and change it with copy_(), not by assignment"
                        : "a parameter" + it + "was in a module that is gone: make that a member of this " +
                              model.kind() + ", and register_module() it";
            }
        }
    return found;
}

// Whether a first step, at least lr·min(1, |g|) in SGD and Adam, is too large for rounding to swallow.
bool must_change(const Tensor& parameter, const Tensor& before, double lr) {
    const bool wide = parameter.dtype() == float64;
    const double spacing =
        wide ? std::numeric_limits<double>::epsilon() : std::numeric_limits<float>::epsilon();
    const double smallest = wide ? std::numeric_limits<double>::min() : std::numeric_limits<float>::min();
    return any(clamp(abs(in_float64(parameter.grad())), 0, 1) * lr > abs(before) * spacing + smallest);
}

// Why the step did not train a parameter that had the values `before`; empty if it did, or is in blocks.
std::string fault_of(const FlowRow& row, const Tensor& parameter, const Tensor& before, double lr) {
    if (row.frozen || !before.defined()) return "";
    if (!all(isfinite(before))) return "held NaN or an infinity before the step";
    if (row.problem == "absent") return "gets no gradient: the loss does not depend on it through the graph";
    if (row.problem == "not finite") return "gets a gradient with NaN or an infinity";
    const Tensor after = in_float64(parameter);
    if (!all(isfinite(after))) return "holds NaN or an infinity after the step";
    if (all(after == before) && must_change(parameter, before, lr))
        return "has a gradient, and the step does not change it";
    return "";
}

}  // namespace

bool FlowReport::passed() const {
    return std::all_of(rows.begin(), rows.end(), [](const FlowRow& row) { return row.problem.empty(); });
}

std::string FlowReport::str() const {
    std::vector<std::vector<std::string>> table{{"parameter", "shape", "gradient norm"}};
    std::size_t own = 0, failed = 0, outside = 0;
    for (const FlowRow& row : rows) {
        const bool has_norm = row.registered && row.problem != "absent" && !row.frozen;
        table.push_back({row.name, row.shape.str(), has_norm ? format_number(row.norm, 4) : "-",
                         row.frozen ? "frozen"
                         : !row.problem.empty()
                             ? (row.registered ? "FAILED: the gradient is " : "FAILED: ") + row.problem
                         : row.registered ? "ok"
                                          : "an input, in no module"});
        own += row.registered;
        (row.registered ? failed : outside) += !row.problem.empty();
    }
    const std::string all = std::to_string(own);
    return format_table(table) +
           (own == 0      ? "there are no parameters\n"
            : failed == 0 ? "every one of " + all + " parameters has a gradient\n"
                          : std::to_string(failed) + " of " + all + " parameters have no usable gradient\n") +
           (outside == 0 ? ""
                         : std::to_string(outside) +
                               " not registered: register_module() each child where it is "
                               "declared, or freeze it\n");
}

void FlowReport::print() const { std::cout << str() << std::flush; }

FlowReport gradient_flow(const nn::Module& module) {
    FlowReport report;
    for (const auto& [name, parameter] : module.named_parameters())
        report.rows.push_back(row_of(name, parameter));
    return report;
}

FlowReport gradient_flow(const nn::Module& module, const Tensor& loss) {
    FlowReport report = gradient_flow(module);
    for (auto& [number, stranger] : strangers(module, loss)) report.rows.push_back(std::move(stranger.row));
    return report;
}

FlowReport first_step(const nn::Module& module, double lr, const std::function<void()>& step) {
    std::vector<Tensor> before;
    const nn::NamedTensors parameters = module.named_parameters();
    for (const auto& [name, parameter] : parameters) before.push_back(in_float64(parameter).clone());
    std::map<std::uint64_t, Stranger> others;  // as they were before the optimiser's part of the step
    {
        const BackwardWatch watch([&](const Tensor& root) { others.merge(strangers(module, root)); });
        step();
    }
    FlowReport report = gradient_flow(module);
    std::string faults;
    for (std::size_t i = 0; i < parameters.size(); ++i) {
        const auto& [name, parameter] = parameters[i];
        const std::string fault = fault_of(report.rows[i], parameter, before[i], lr);
        if (!fault.empty()) faults += "\n  " + name + " " + parameter.shape().str() + " " + fault;
    }
    std::string inputs;
    for (const auto& [number, other] : others)
        if (other.is_unchanged()) (other.row.problem.empty() ? inputs : faults) += "\n  " + other.fault;
    if (!faults.empty())
        throw GraphError(
            "first_step: not every parameter learns:", faults, inputs,
            "\nlet the loss use each without detach() and NoGrad, and give each to an optimiser that "
            "steps after backward(), or freeze it with requires_grad_(false)");
    return report;
}

void check_finite(const Tensor& x, const std::string& what) {
    if (!takes_gradient(x.dtype())) return;
    const std::vector<double> values = in_float64(x).to_vector<double>();
    for (std::size_t i = 0; i < values.size(); ++i)
        if (!std::isfinite(values[i]))
            throw ValueError(what, ": ", values[i], " at ", format_index(i, x.shape()), " of ", x.shape(),
                             " is not finite");
}

}  // namespace weft::check
