// gradient_flow, first_step and check_finite.
#include <algorithm>
#include <cmath>
#include <iostream>
#include <limits>

#include "nn/table.h"
#include "weft/core/text.h"
#include "weft/nn/check.h"

namespace weft::check {

namespace {

std::vector<double> values_of(const Tensor& x) { return x.detach().to(float64).to_vector<double>(); }

// ‖gradient‖₂, NaN if an element is NaN or infinite. Scaled by the largest element, so no square overflows or
// vanishes.
double norm_of(const Tensor& gradient) {
    const std::vector<double> values = values_of(gradient);
    double largest = 0, squares = 0;
    for (const double g : values) {
        if (!std::isfinite(g)) return std::numeric_limits<double>::quiet_NaN();
        largest = std::max(largest, std::abs(g));
    }
    if (largest == 0) return 0;
    for (const double g : values) squares += (g / largest) * (g / largest);
    return largest * std::sqrt(squares);
}

FlowRow row_of(const std::string& name, const Tensor& parameter) {
    FlowRow row{name, parameter.shape(), 0, ""};
    const Tensor gradient = parameter.grad();
    row.frozen = !parameter.requires_grad();
    if (row.frozen) return row;
    if (!gradient.defined()) {
        row.problem = "absent";
        return row;
    }
    row.norm = norm_of(gradient);
    if (!std::isfinite(row.norm))
        row.problem = "not finite";
    else if (row.norm == 0 && parameter.numel() > 0)
        row.problem = "zero";
    return row;
}

bool all_finite(const std::vector<double>& values) {
    return std::all_of(values.begin(), values.end(), [](double x) { return std::isfinite(x); });
}

// Whether a first step, at least lr·min(1, |g|) in SGD and Adam, is too large for rounding to swallow.
bool must_change(const Tensor& parameter, const std::vector<double>& values, double lr) {
    const bool wide = parameter.dtype() == float64;
    const double spacing =
        wide ? std::numeric_limits<double>::epsilon() : std::numeric_limits<float>::epsilon();
    const double smallest = wide ? std::numeric_limits<double>::min() : std::numeric_limits<float>::min();
    const std::vector<double> gradient = values_of(parameter.grad());
    for (std::size_t i = 0; i < values.size(); ++i)
        if (lr * std::min(1.0, std::abs(gradient[i])) > smallest + spacing * std::abs(values[i])) return true;
    return false;
}

// Why the step did not train a parameter that had the values `before`; empty if it did.
std::string fault_of(const FlowRow& row, const Tensor& parameter, const std::vector<double>& before,
                     double lr) {
    if (row.frozen) return "";
    if (!all_finite(before)) return "held NaN or an infinity before the step";
    if (row.problem == "absent") return "gets no gradient: the loss does not depend on it through the graph";
    if (row.problem == "not finite") return "gets a gradient with NaN or an infinity";
    const std::vector<double> after = values_of(parameter);
    if (!all_finite(after)) return "holds NaN or an infinity after the step";
    if (after == before && must_change(parameter, before, lr))
        return "has a gradient, and the step does not change it";
    return "";
}

}  // namespace

bool FlowReport::passed() const {
    return std::all_of(rows.begin(), rows.end(), [](const FlowRow& row) { return row.problem.empty(); });
}

std::string FlowReport::str() const {
    std::size_t names = 9, shapes = 5;
    for (const FlowRow& row : rows) {
        names = std::max(names, row.name.size());
        shapes = std::max(shapes, row.shape.str().size());
    }
    const auto padded = [](const std::string& text, std::size_t to) {
        return text::pad_right(text, to) + "  ";
    };
    std::string text =
        padded("parameter", names) + padded("shape", shapes) + padded("gradient norm", 13) + "\n";
    std::size_t failed = 0;
    for (const FlowRow& row : rows) {
        text += padded(row.name, names) + padded(row.shape.str(), shapes) +
                padded(row.problem == "absent" || row.frozen ? "-" : text::number(row.norm, 4), 13) +
                (row.frozen            ? "frozen"
                 : row.problem.empty() ? "ok"
                                       : "FAILED: the gradient is " + row.problem) +
                "\n";
        failed += row.problem.empty() ? 0 : 1;
    }
    return text + (failed == 0 ? "every one of " + std::to_string(rows.size()) + " parameters has a gradient\n"
                               : std::to_string(failed) + " of " + std::to_string(rows.size()) +
                                     " parameters have no usable gradient\n");
}

void FlowReport::print() const { std::cout << str() << std::flush; }

FlowReport gradient_flow(const nn::Module& module) {
    FlowReport report;
    for (const auto& [name, parameter] : module.named_parameters())
        report.rows.push_back(row_of(name, parameter));
    return report;
}

FlowReport first_step(const nn::Module& module, double lr, const std::function<void()>& step) {
    std::vector<std::vector<double>> before;
    const nn::NamedTensors parameters = module.named_parameters();
    for (const auto& [name, parameter] : parameters) before.push_back(values_of(parameter));
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
    const std::vector<double> values = values_of(x);
    for (std::size_t i = 0; i < values.size(); ++i)
        if (!std::isfinite(values[i]))
            throw ValueError(what, ": ", values[i], " at ", text::index(i, x.shape()), " of ", x.shape(),
                             " is not finite");
}

}  // namespace weft::check
