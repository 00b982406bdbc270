// gradient_flow, first_step and check_finite.
#include <algorithm>
#include <cmath>
#include <iostream>
#include <limits>

#include "weft/base/numbers.h"
#include "weft/base/table.h"
#include "weft/check/gradient_flow.h"

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

// Whether a first step, at least lr·min(1, |g|) in SGD and Adam, is too large for rounding to swallow.
bool must_change(const Tensor& parameter, const Tensor& before, double lr) {
    const bool wide = parameter.dtype() == float64;
    const double spacing =
        wide ? std::numeric_limits<double>::epsilon() : std::numeric_limits<float>::epsilon();
    const double smallest = wide ? std::numeric_limits<double>::min() : std::numeric_limits<float>::min();
    return any(clamp(abs(in_float64(parameter.grad())), 0, 1) * lr > abs(before) * spacing + smallest);
}

// Why the step did not train a parameter that had the values `before`; empty if it did.
std::string fault_of(const FlowRow& row, const Tensor& parameter, const Tensor& before, double lr) {
    if (row.frozen) return "";
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
    std::size_t failed = 0;
    for (const FlowRow& row : rows) {
        const bool has_norm = row.problem != "absent" && !row.frozen;
        table.push_back({row.name, row.shape.str(), has_norm ? format_number(row.norm, 4) : "-",
                         row.frozen            ? "frozen"
                         : row.problem.empty() ? "ok"
                                               : "FAILED: the gradient is " + row.problem});
        failed += row.problem.empty() ? 0 : 1;
    }
    const std::string all = std::to_string(rows.size());
    return format_table(table) +
           (failed == 0 ? "every one of " + all + " parameters has a gradient\n"
                        : std::to_string(failed) + " of " + all + " parameters have no usable gradient\n");
}

void FlowReport::print() const { std::cout << str() << std::flush; }

FlowReport gradient_flow(const nn::Module& module) {
    FlowReport report;
    for (const auto& [name, parameter] : module.named_parameters())
        report.rows.push_back(row_of(name, parameter));
    return report;
}

FlowReport first_step(const nn::Module& module, double lr, const std::function<void()>& step) {
    std::vector<Tensor> before;
    const nn::NamedTensors parameters = module.named_parameters();
    for (const auto& [name, parameter] : parameters) before.push_back(in_float64(parameter).clone());
    step();
    FlowReport report = gradient_flow(module);
    std::string faults;
    for (std::size_t i = 0; i < parameters.size(); ++i) {
        const auto& [name, parameter] = parameters[i];
        const std::string fault = fault_of(report.rows[i], parameter, before[i], lr);
        if (!fault.empty()) faults += "\n  " + name + " " + parameter.shape().str() + " " + fault;
    }
    if (!faults.empty())
        throw GraphError(
            "first_step: not every parameter learns:", faults,
            "\nlet the loss use each without detach() and NoGrad, and give each to an optimiser that "
            "steps after backward(), or freeze it with requires_grad_(false)");
    return report;
}

void check_finite(const Tensor& x, const std::string& what) {
    if (!is_floating_point(x.dtype())) return;
    const std::vector<double> values = in_float64(x).to_vector<double>();
    for (std::size_t i = 0; i < values.size(); ++i)
        if (!std::isfinite(values[i]))
            throw ValueError(what, ": ", values[i], " at ", format_index(i, x.shape()), " of ", x.shape(),
                             " is not finite");
}

}  // namespace weft::check
