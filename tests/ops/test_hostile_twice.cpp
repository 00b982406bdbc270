// The gradient of the gradient where operands are 0 or equal. The golden files stop at first derivatives, and
// gradgradcheck takes samples away from such points: between the two, 0·∞ inside a rule went unnoticed.
#include <cmath>
#include <sstream>

#include "catch.h"
#include "environment.h"
#include "op_table.h"

using namespace weft;

namespace {

using Doubles = std::vector<double>;

// The sample's operands, of which the floating ones whose bit is set in `which` are `value`: at every second
// element, or at all.
Inputs at_the_edge(const OpEntry& op, unsigned which, double value, bool everywhere) {
    const NoGrad off;
    Inputs inputs = inputs_of(op);
    for (std::size_t k = 0; k < inputs.size(); ++k) {
        if (inputs[k].dtype() != float64 || (which >> k) % 2 == 0) continue;
        Doubles values = inputs[k].to_vector<double>();
        for (std::size_t i = 0; i < values.size(); i += everywhere ? 1 : 2) values[i] = value;
        inputs[k] = from_vector(values, inputs[k].shape());
    }
    return as_leaves(inputs);
}

std::vector<Tensor> leaves_of(const Inputs& inputs) {
    std::vector<Tensor> leaves;
    for (const Tensor& x : inputs)
        if (x.requires_grad()) leaves.push_back(x);
    return leaves;
}

// All gradients of Σ seed · y in one list; in the graph if `again`.
Tensor gradients(const OpEntry& op, const Inputs& inputs, bool again) {
    const Tensor y = flat(op.function(inputs));
    const Tensor seeds = cos(arange(y.numel()).to(float64));
    std::vector<Tensor> parts;
    for (const Tensor& g :
         grad({sum(y * seeds)}, leaves_of(inputs), {}, {.create_graph = again, .allow_unused = true}))
        if (g.defined()) parts.push_back(g.reshape({-1}));
    return parts.empty() ? zeros({0}, float64) : cat(parts);
}

// The slope of every gradient along element i of x, where it has one: the differences to both sides agree.
// Empty if a finite gradient has none.
Doubles slopes(const OpEntry& op, const Inputs& inputs, const Tensor& x, std::int64_t i, const Doubles& here) {
    constexpr double h = 1e-5;
    double& element = x.detach().data<double>()[i];
    const auto at = [&](double step) {
        const double before = std::exchange(element, element + step);
        const Doubles values = gradients(op, inputs, false).detach().to_vector<double>();
        element = before;
        return values;
    };
    const Doubles above = at(h), below = at(-h);
    Doubles result(here.size());
    for (std::size_t j = 0; j < here.size(); ++j) {
        if (!std::isfinite(here[j])) continue;
        const double up = (above[j] - here[j]) / h, down = (here[j] - below[j]) / h;
        const bool jumps = std::abs(up) > 1000;  // the gradient, as that of |x| at 0
        if (jumps || !(std::abs(up - down) <= 1e-3 * (1 + std::abs(up)))) return {};
        result[j] = (up + down) / 2;
    }
    return result;
}

// Compares; returns how many slopes there were.
std::int64_t compare(const OpEntry& op, const Inputs& inputs, const std::string& kind,
                     std::vector<std::string>& wrong) {
    const Tensor g = gradients(op, inputs, true);
    if (!g.requires_grad()) return 0;
    const std::vector<Tensor> leaves = leaves_of(inputs);
    const Doubles here = g.detach().to_vector<double>();
    std::vector<std::vector<Tensor>> again(here.size());  // the gradients of each gradient
    for (std::size_t j = 0; j < here.size(); ++j)
        if (std::isfinite(here[j]))
            again[j] = grad({g[static_cast<std::int64_t>(j)]}, leaves, {},
                            {.retain_graph = true, .allow_unused = true});
    std::int64_t compared = 0;
    for (std::size_t k = 0; k < leaves.size(); ++k)
        for (std::int64_t i = 0; i < leaves[k].numel(); ++i) {
            const Doubles expected = slopes(op, inputs, leaves[k], i, here);
            for (std::size_t j = 0; j < expected.size(); ++j) {
                if (again[j].empty()) continue;
                const Tensor dx = again[j][k];
                const double found = dx.defined() ? dx.contiguous().data<double>()[i] : 0;
                ++compared;
                if (std::abs(found - expected[j]) <= 2e-3 * (1 + std::abs(expected[j]))) continue;
                std::ostringstream line;
                line << op.golden << ' ' << kind << ": gradient " << j << " along element " << i << " of " << k
                     << ": " << found << " / " << expected[j];
                wrong.push_back(line.str());
                return compared;  // the first will do
            }
        }
    return compared;
}

}  // namespace

TEST_CASE("the gradient of a gradient is its slope, also where operands are 0 or equal", "[ops][hostile]") {
    std::vector<std::string> wrong;
    std::int64_t compared = 0;
    for (const OpEntry& op : op_table()) {
        if (op.gradient == Gradient::none || op.gradient == Gradient::once || !op.compared) continue;
        const auto check = [&](const std::string& kind, unsigned which, double value, bool everywhere) {
            try {
                compared += compare(op, at_the_edge(op, which, value, everywhere), kind, wrong);
            } catch (const Error&) {  // the operands are refused
            }
        };
        check("zeros", ~0u, 0, true);
        if (sanitized) continue;
        check("as it is", 0, 0, false);
        for (const unsigned which : {1u, 2u, 4u}) check("some zeros", which, 0, false);
        check("twos", ~0u, 2, true);
    }
    CHECK(wrong == std::vector<std::string>{});
    CHECK(compared > (sanitized ? 1000 : 10000));
}
