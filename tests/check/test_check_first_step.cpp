// The first step of a training names each parameter that does not learn by it: with every operation of the
// table between a parameter and the loss, and one edge of the graph cut at a time.
#include <cmath>
#include <limits>
#include <set>
#include <sstream>

#include "catch.h"
#include "golden/golden.h"
#include "op_table.h"
#include "weft/weft.h"

using namespace weft;

namespace {

// The floating inputs of an operation as parameters of a module, and one parameter beside them, so that there
// is always a loss.
struct Around : nn::Module {
    const OpEntry& op;
    Inputs inputs;
    nn::Parameter beside = register_parameter("beside", ones({2}, float64));

    explicit Around(const OpEntry& what) : Module("Around"), op(what) {
        static const Golden golden("ops.safetensors");
        const auto name = [&](std::size_t i) { return "in" + std::to_string(i); };
        for (std::size_t i = 0; golden.has(op.golden + "/" + name(i)); ++i) {
            Tensor x = golden(op.golden + "/" + name(i)).clone();
            inputs.push_back(is_floating_point(x.dtype()) ? register_parameter(name(i), x.to(float64)) : x);
        }
    }
    bool learns(std::size_t i) const { return is_floating_point(inputs[i].dtype()); }

    // The loss, with the edge from parameter `cut` to the operation cut, or all edges from it to the loss.
    static constexpr std::size_t none = SIZE_MAX, outputs = SIZE_MAX - 1;
    Tensor loss(std::size_t cut) const {
        Inputs given;
        for (std::size_t i = 0; i < inputs.size(); ++i)  // a copy, for what an operation changes in place
            given.push_back(!learns(i) ? inputs[i] : i == cut ? inputs[i].detach().clone() : inputs[i] * 1.0);
        Tensor total = sum(beside);
        Rng rng(1);
        for (const Tensor& y : op.function(given))
            if (y.requires_grad() && cut != outputs)
                total = total + sum(y * randn(y.shape(), rng, y.dtype())).to(float64);
        return total;
    }
};

// A step of gradient descent: what first_step says, by the first word of each of its lines.
std::set<std::string> named(const Around& net, std::size_t cut, check::FlowReport& flow) {
    optim::SGD optimizer(net, {.lr = 1e-3});
    std::set<std::string> names;
    try {
        flow = check::first_step(net, optimizer.lr(), [&] {
            net.loss(cut).backward();
            optimizer.step();
        });
    } catch (const GraphError& error) {
        std::istringstream lines(error.what());
        for (std::string line; std::getline(lines, line);)
            if (line.starts_with("  ")) {
                CHECK(contains(line, " gets no gradient: the loss does not depend on it through the graph"));
                names.insert(line.substr(2, line.find(' ', 2) - 2));
            }
    }
    return names;
}

struct Pair : nn::Module {
    nn::Linear first, second;
    explicit Pair(Rng& rng)
        : Module("Pair"),
          first(register_module("first", nn::Linear(2, 2, rng))),
          second(register_module("second", nn::Linear(2, 1, rng))) {}
    Tensor loss() const { return sum(second(first(ones({3, 2})))); }
};

std::string fault_of(const nn::Module& module, double lr, const std::function<void()>& step) {
    return message_of<GraphError>([&] { check::first_step(module, lr, step); });
}

}  // namespace

TEST_CASE("the first step names the parameter behind a cut edge, for every operation of the table",
          "[check][flow]") {
    int edges = 0;
    for (const OpEntry& op : op_table()) {
        if (op.gradient == Gradient::none) continue;
        INFO(op.declaration << ", sample " << op.golden);
        check::FlowReport flow;
        std::set<std::string> all;
        const Around whole(op);
        CHECK(named(whole, Around::none, flow) == std::set<std::string>{});
        CHECK(flow.rows.size() == whole.named_parameters().size());
        for (std::size_t i = 0; i < whole.inputs.size(); ++i) {
            if (!whole.learns(i)) continue;
            const std::string name = "in" + std::to_string(i);
            all.insert(name);
            CHECK(named(Around(op), i, flow) == std::set<std::string>{name});
            ++edges;
        }
        CHECK(named(Around(op), Around::outputs, flow) == all);
    }
    CHECK(edges > 150);
}

TEST_CASE("the first step passes where every parameter learns, and gives gradient_flow's report",
          "[check][flow]") {
    Rng rng(1);
    Pair net(rng);
    optim::AdamW optimizer(net, {.lr = 1e-2});
    int steps = 0;
    const auto step = [&] {
        ++steps;
        net.loss().backward();
        optimizer.step();
    };
    const check::FlowReport flow = check::first_step(net, 1e-2, step);
    CHECK(steps == 1);
    CHECK(flow.passed());
    CHECK(flow.str() == check::gradient_flow(net).str());
}

TEST_CASE("the first step names a parameter that no optimiser has", "[check][flow]") {
    Rng rng(1);
    Pair net(rng);
    optim::SGD optimizer(net.first, {.lr = 0.1});
    const auto step = [&] {
        net.zero_grad();
        net.loss().backward();
        optimizer.step();
    };
    const std::string fault = fault_of(net, 0.1, step);
    CHECK(contains(fault, "\n  second.weight (1, 2) has a gradient, and the step does not change it\n"));
    CHECK(contains(fault, "\n  second.bias (1,) has a gradient, and the step does not"));
    CHECK_FALSE(contains(fault, "first."));
    CHECK(contains(
        fault,
        "give each to an optimiser that steps after backward(), or freeze it with requires_grad_(false)"));
    // Nothing has to change at a rate of 0, nor what is frozen.
    CHECK(check::first_step(net, 0, step).passed());
    for (auto [name, parameter] : net.second.named_parameters()) parameter.requires_grad_(false);
    const check::FlowReport flow = check::first_step(net, 0.1, step);
    CHECK(flow.passed());
    CHECK(flow.rows[2].frozen);
    CHECK(contains(flow.str(), "second.weight  (1, 2)  -              frozen\n"));
}

TEST_CASE("the first step refuses calls in the wrong order", "[check][flow]") {
    Rng rng(1);
    Pair net(rng);
    optim::SGD optimizer(net, {.lr = 0.1});
    const std::string none = "optimiser: no parameter has a gradient; before step() call backward() on a loss";
    CHECK(contains(fault_of(net, 0.1,
                            [&] {
                                optimizer.step();
                                net.loss().backward();
                            }),
                   none));
    CHECK(contains(fault_of(net, 0.1,
                            [&] {
                                net.loss().backward();
                                optimizer.zero_grad();
                                optimizer.step();
                            }),
                   none));
}

TEST_CASE("the first step names a parameter that holds NaN or an infinity, or gets one", "[check][flow]") {
    const double inf = std::numeric_limits<double>::infinity();
    Rng rng(1);
    for (const double wrong : {std::nan(""), inf, -inf}) {
        Pair before(rng), gradient(rng), after(rng);
        NoGrad off;
        before.first.bias[1].fill_(wrong);
        const auto flow = [](Pair& net) {
            EnableGrad on;
            net.loss().backward();
        };
        CHECK(contains(fault_of(before, 0, [&] { flow(before); }),
                       "\n  first.bias (2,) held NaN or an infinity before the step\n"));
        CHECK(contains(fault_of(gradient, 0,
                                [&] {
                                    flow(gradient);
                                    gradient.second.weight.set_grad(tensor({{1.0, wrong}}));
                                }),
                       "\n  second.weight (1, 2) gets a gradient with NaN or an infinity\n"));
        CHECK(contains(fault_of(after, 0,
                                [&] {
                                    flow(after);
                                    after.second.bias.fill_(wrong);
                                }),
                       "\n  second.bias (1,) holds NaN or an infinity after the step\n"));
    }
}

TEST_CASE("the first step names a child that is not registered, and so not trained", "[check][flow]") {
    struct Forgetful : nn::Module {
        nn::Linear first = register_module("first", nn::Linear(2, 2));
        nn::Linear second = nn::Linear(2, 1);
        Forgetful() : Module("Forgetful") {}
        Tensor loss(const Tensor& x) const { return sum(second(first(x))); }
    };
    Forgetful net;
    optim::SGD optimizer(net, {.lr = 0.1}), for_second(net.second, {.lr = 0.1});
    bool trains_second = false, by_grad = false;
    const auto step = [&] {
        net.zero_grad();
        const Tensor x = ones({3, 2}).requires_grad_();
        if (by_grad) {  // as DataParallel does
            const auto parameters = net.parameters();
            const std::vector<Tensor> gradients = grad({net.loss(x)}, parameters);
            for (std::size_t i = 0; i < parameters.size(); ++i) Tensor(parameters[i]).set_grad(gradients[i]);
        } else {
            net.loss(x).backward();
        }
        optimizer.step();
        if (trains_second) for_second.step();
    };
    for (const bool grads : {false, true}) {
        by_grad = grads;
        const std::string fault = fault_of(net, 0.1, step);
        CHECK(contains(
            fault,
            "first_step: not every parameter learns:\n"
            "  Linear.weight (1, 2), used by linear, is not registered in this Forgetful, and the step does "
            "not change it: register_module() the Linear there, or freeze it\n"
            "  Linear.bias (1,), used by linear, is not registered"));
        // What is in no module is named only beside a fault, because it may be an input.
        CHECK(contains(fault,
                       "\n  a tensor (3, 2), used by linear, requires a gradient and is in no module: it is an "
                       "input, or"));
        CHECK_FALSE(contains(fault, "first."));
    }
    by_grad = false;
    trains_second = true;  // by an optimiser of its own
    CHECK(check::first_step(net, 0.1, step).str() == check::gradient_flow(net).str());
    trains_second = false;
    for (Tensor parameter : net.second.parameters()) parameter.requires_grad_(false);
    CHECK(check::first_step(net, 0.1, step).passed());
}

TEST_CASE("the first step names what took the place of a parameter by assignment", "[check][flow]") {
    struct Assigned : nn::Module {
        Tensor w = register_parameter("w", ones({2}));  // a Tensor, which can be assigned
        nn::Parameter b = register_parameter("b", ones({2}));
    } net;
    net.w = full({2}, 2).requires_grad_();
    optim::SGD optimizer(net, {.lr = 0.1});
    const std::string fault = fault_of(net, 0.1, [&] {
        sum(net.w * net.b).backward();
        optimizer.step();
    });
    CHECK(contains(
        fault,
        "\n  w (2,) gets no gradient: the loss does not depend on it through the graph\n"
        "  a tensor (2,), used by multiply, requires a gradient and is in no module: it is an input, or else "
        "register_parameter() it, and change it with copy_(), not by assignment\n"));
}

TEST_CASE("the first step names a layer that each forward pass makes anew", "[check][flow]") {
    Rng rng(1);
    Pair net(rng);
    optim::SGD optimizer(net, {.lr = 0.1});
    const std::string fault = fault_of(net, 0.1, [&] {
        const Tensor y = nn::Linear(2, 2, rng, false)(net.first(ones({3, 2})));
        sum(y * net.loss()).backward();
        optimizer.step();
    });
    CHECK(contains(fault,
                   "learns:\n  a parameter (2, 2), used by linear, was in a module that is gone: make that a "
                   "member of this Pair, and register_module() it\n"));
}

TEST_CASE("a gradient of exactly 0 is reported by the first step, and is no error", "[check][flow]") {
    struct Zero : nn::Module {
        nn::Parameter a = register_parameter("a", ones({2})), b = register_parameter("b", ones({2}));
    } net;
    optim::SGD optimizer(net, {.lr = 0.1});
    const check::FlowReport flow = check::first_step(net, 0.1, [&] {
        sum(net.a * net.a + net.b * 0).backward();
        optimizer.step();
    });
    CHECK(flow.rows[0].problem.empty());
    CHECK(flow.rows[1].problem == "zero");
}

TEST_CASE("a first step that rounding swallows is no error", "[check][flow]") {
    for (const DType dtype : {float32, float64}) {
        struct One : nn::Module {
            nn::Parameter w;
            explicit One(DType dtype) : Module("One"), w(register_parameter("w", ones({2}, dtype))) {}
        } net(dtype);
        const auto at = [&](double lr) {
            net.zero_grad();
            optim::SGD optimizer(net, {.lr = lr});
            return check::first_step(net, lr, [&] {
                sum(net.w).backward();
                optimizer.step();
            });
        };
        CHECK(at(1e-17).passed());
        CHECK(net.w[0].item() == 1);
        CHECK(at(1e-6).passed());
        CHECK(net.w[0].item() < 1);
    }
}
