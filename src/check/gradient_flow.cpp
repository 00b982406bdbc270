// gradient_flow: does every parameter learn? check_finite: where did the NaN come from?
#include <algorithm>
#include <cmath>
#include <iostream>
#include <limits>

#include "text.h"
#include "weft/check.h"

namespace weft::check {

namespace {

// ‖gradient‖₂, NaN when an element is NaN or infinite. Scaled by the largest, so that no square overflows or
// vanishes.
double norm_of(const Tensor& gradient) {
    const std::vector<double> values = gradient.detach().to(float64).to_vector<double>();
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
        return text + std::string(to - std::min(to, text.size()), ' ') + "  ";
    };
    std::string text =
        padded("parameter", names) + padded("shape", shapes) + padded("gradient norm", 13) + "\n";
    std::size_t failed = 0;
    for (const FlowRow& row : rows) {
        text += padded(row.name, names) + padded(row.shape.str(), shapes) +
                padded(row.problem == "absent" ? "-" : number_text(row.norm, 4), 13) +
                (row.problem.empty() ? "ok" : "FAILED: the gradient is " + row.problem) + "\n";
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

void check_finite(const Tensor& x, const std::string& what) {
    if (!is_floating(x.dtype())) return;
    const std::vector<double> values = x.detach().to(float64).to_vector<double>();
    for (std::size_t i = 0; i < values.size(); ++i)
        if (!std::isfinite(values[i]))
            throw ValueError(what + ": " + number_text(values[i]) + " at " + index_text(i, x.shape()) + " of " +
                             x.shape().str() + " is not finite");
}

}  // namespace weft::check
