// What holds for every operation, tested on every sample of the table.
#include <algorithm>

#include "golden/golden.h"
#include "op_table.h"
#include "refusal.h"

using namespace weft;

namespace {

// The floating outputs and the seeds that the golden file holds for them.
std::pair<std::vector<Tensor>, std::vector<Tensor>> seeded(const OpEntry& op, const Outputs& outputs) {
    std::pair<std::vector<Tensor>, std::vector<Tensor>> result;
    for (std::size_t i = 0; i < outputs.size(); ++i) {
        const std::string dy = op.golden + "/dy" + std::to_string(i);
        if (!golden().has(dy) || !outputs[i].requires_grad()) continue;
        result.first.push_back(outputs[i]);
        result.second.push_back(golden()(dy).to(outputs[i].dtype()));
    }
    return result;
}

std::vector<Tensor> leaves_of(const Inputs& inputs) {
    std::vector<Tensor> leaves;
    for (const Tensor& x : inputs)
        if (x.requires_grad()) leaves.push_back(x);
    return leaves;
}

// Outputs, then the gradient of each leaf.
std::vector<Tensor> results_of(const OpEntry& op, const Inputs& inputs, const GradOptions& options = {},
                               bool gaps_in_seeds = false) {
    const Outputs outputs = op.function(inputs);
    std::vector<Tensor> results(outputs);
    auto [roots, seeds] = seeded(op, outputs);
    const auto leaves = leaves_of(inputs);
    if (op.gradient == Gradient::none || leaves.empty()) return results;
    if (gaps_in_seeds)
        for (Tensor& seed : seeds) seed = strided_copy(seed);
    for (const Tensor& gradient : grad(roots, leaves, seeds, options)) results.push_back(gradient);
    return results;
}

// What the golden file holds in the place of results_of.
std::vector<Tensor> expected_of(const OpEntry& op, const Inputs& inputs) {
    std::vector<Tensor> expected;
    for (int i = 0; golden().has(op.golden + "/out" + std::to_string(i)); ++i)
        expected.push_back(golden()(op.golden + "/out" + std::to_string(i)));
    for (std::size_t i = 0; i < inputs.size() && op.gradient != Gradient::none; ++i)
        if (inputs[i].requires_grad()) expected.push_back(golden()(op.golden + "/grad" + std::to_string(i)));
    return expected;
}

// CHECKs that each result is within `tolerance` of the expected one; returns the largest distance.
double compare(const std::vector<Tensor>& results, const std::vector<Tensor>& expected, double tolerance) {
    CHECK(results.size() == expected.size());
    double largest = 0;
    for (std::size_t i = 0; i < std::min(results.size(), expected.size()); ++i) {
        INFO("result " << i << " (outputs, then gradients)\nfound " << results[i] << "\nexpected "
                       << expected[i]);
        const double d = distance(results[i], expected[i]);
        CHECK(d <= tolerance);
        largest = std::max(largest, d);
    }
    return largest;
}

// Calls `test` with every row, and says which row it was where it fails.
template <class Test>
void for_every_row(Test&& test) {
    for (const OpEntry& op : op_table()) {
        INFO(op.declaration << ", sample " << op.golden);
        try {
            test(op);
        } catch (const std::exception& error) {
            FAIL_CHECK("threw " << error.what());
        }
    }
}

}  // namespace

TEST_CASE("every golden sample is used by a row of the table", "[ops]") {
    std::vector<std::string> unused;
    for (const std::string& name : golden().names()) {
        const std::string sample = name.substr(0, name.find('/'));
        const auto& table = op_table();
        if (std::none_of(table.begin(), table.end(), [&](const OpEntry& op) { return op.golden == sample; }))
            unused.push_back(sample);
    }
    CHECK(unused == std::vector<std::string>{});
}

TEST_CASE("every operation equals PyTorch, however it is computed: values and gradients", "[ops][golden]") {
    struct Way {
        const char* name;
        DType dtype;
        bool composed = false, reference = false, create_graph = false;
    };
    for (const Way& way : {Way{"float64", float64}, Way{"float32", float32}, Way{"composed", float64, true},
                           Way{"by the reference kernels", float64, false, true},
                           Way{"float32, by the reference kernels", float32, false, true},
                           Way{"with create_graph", float64, false, false, true}}) {
        double largest = 0;
        for_every_row([&](const OpEntry& op) {
            INFO(way.name);
            const Plain composed(Plain::operations, way.composed);
            const Plain reference(Plain::primitives, way.reference);
            const Inputs inputs = as_leaves(inputs_of(op), way.dtype);
            if (!op.compared) return;
            const auto results = results_of(op, inputs, {.create_graph = way.create_graph});
            const double tolerance = way.dtype == float64 ? 1e-10 : 3e-6;
            largest = std::max(largest, compare(results, expected_of(op, inputs), tolerance));
            if (way.dtype == float32)
                for (const Tensor& y : results) CHECK(y.dtype() != float64);
        });
        SUCCEED(way.name << ": largest relative distance " << largest);
    }
}

TEST_CASE("random operations draw the same by the reference kernels", "[ops]") {
    for_every_row([&](const OpEntry& op) {
        if (op.compared) return;
        const auto fast = results_of(op, as_leaves(inputs_of(op)));
        const Plain plain(Plain::primitives);
        compare(results_of(op, as_leaves(inputs_of(op))), fast, 1e-12);
    });
}

TEST_CASE("each input alone gets the gradient it gets among the others", "[ops][golden]") {
    for_every_row([&](const OpEntry& op) {
        const Inputs plain = inputs_of(op);
        for (std::size_t i = 0; i < plain.size() && op.compared && op.gradient != Gradient::none; ++i) {
            if (!is_floating_point(plain[i].dtype())) continue;
            Inputs inputs = plain;
            inputs[i] = inputs[i].detach().requires_grad_();
            INFO("input " << i);
            compare(results_of(op, inputs), expected_of(op, inputs), 1e-10);
        }
    });
}

TEST_CASE("inputs with gaps, transposed or expanded give the same results as copies of them", "[ops][views]") {
    const auto transposed = [](const Tensor& x) {
        Shape reversed = Shape::filled(x.rank(), 0);
        for (int i = 0; i < x.rank(); ++i) reversed[i] = x.rank() - 1 - i;
        return x.permute(reversed).contiguous().permute(reversed);
    };
    // All slices along the axis are equal then, so extremes may be ties: the first gets the gradient either
    // way.
    const auto expanded = [](int axis) {
        return
            [axis](const Tensor& x) { return x.rank() >= -axis ? x.slice(axis, 0, 1).expand(x.shape()) : x; };
    };
    const std::pair<const char*, std::function<Tensor(const Tensor&)>> layouts[] = {
        {"with gaps", strided_copy},
        {"transposed", transposed},
        {"expanded along the last axis", expanded(-1)},
        {"expanded along the axis before", expanded(-2)},
        {"expanded along the third from the end", expanded(-3)}};
    for_every_row([&](const OpEntry& op) {
        if (!op.takes_strided) return;
        for (const auto& [name, layout] : layouts) {
            INFO(name);
            Inputs laid_out = inputs_of(op), copied;
            for (Tensor& x : laid_out) {
                x = layout(x);
                copied.push_back(x.clone());
            }
            compare(results_of(op, as_leaves(laid_out), {}, true), results_of(op, as_leaves(copied)), 1e-13);
        }
    });
}

TEST_CASE("no operation changes its inputs, and none is recorded under NoGrad", "[ops]") {
    for_every_row([&](const OpEntry& op) {
        const Inputs inputs = as_leaves(inputs_of(op));
        Inputs before;
        std::vector<std::uint64_t> versions;
        for (const Tensor& x : inputs) {
            before.push_back(x.detach().clone());
            versions.push_back(x.version());
        }
        results_of(op, inputs);
        for (std::size_t i = 0; i < inputs.size(); ++i) {
            CHECK(same_bits(inputs[i], before[i]));
            CHECK(inputs[i].version() == versions[i]);
        }
        const NoGrad off;
        for (const Tensor& y : op.function(inputs)) CHECK_FALSE(y.requires_grad());
    });
}

TEST_CASE("types do not mix in any operation", "[ops]") {
    for_every_row([&](const OpEntry& op) {
        Inputs inputs = inputs_of(op);
        int floating = 0;
        for (Tensor& x : inputs)
            if (is_floating_point(x.dtype()) && ++floating == 2) x = x.to(float32);
        if (floating < 2) return;
        refuses<DTypeError>("float32…float64", [&] { op.function(inputs); });
    });
}
