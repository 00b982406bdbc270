// The checks themselves: right gradients pass, each kind of wrong one is found and named.
#include <cmath>
#include <limits>

#include "markdown.h"
#include "refusal.h"
#include "weft/weft.h"

using namespace weft;
using check::gradcheck;
using check::gradgradcheck;
using Inputs = std::vector<Tensor>;

namespace {

Tensor input(const Shape& shape, std::uint64_t seed = 1) {
    Rng rng(seed);
    return randn(shape, rng, float64).requires_grad_();
}

// x² with a rule that gives `factor` · x · dy; 2 is right.
Tensor square(const Tensor& x, const Tensor& factor) {
    Tensor y;
    {
        NoGrad off;
        y = x * x;
    }
    return record("square", y, {x}, {x, factor}, [](const Saved& saved, const Tensor& dy) {
        return Grads{saved[1].detach() * saved[0] * dy};
    });
}

}  // namespace

TEST_CASE("gradcheck passes right gradients to ten digits", "[check]") {
    const auto report =
        gradcheck("a mixture", [](const Inputs& x) { return exp(sin(x[0]) * tanh(x[1])) / (1 + pow(x[1], 2)); },
                  {input({3, 4}), input({4}, 2)});
    INFO(report.message);
    CHECK(report.passed);
    CHECK(report.elements == 16);
    CHECK(report.largest_error < 1e-10);
    CHECK(report.largest_error > 0);
    CHECK(report.message.empty());
}

TEST_CASE("gradcheck's differences follow functions that bend sharply", "[check]") {
    const auto fast = gradcheck("sin 20x", [](const Inputs& x) { return sin(20 * x[0]); }, {input({5})});
    INFO(fast.message);
    CHECK(fast.passed);  // differences of order 4 would be wrong by 20⁵ h⁴ / 30 ≈ 1e-7
    const auto steep = gradcheck("log", [](const Inputs& x) { return log(x[0]); },
                                 {tensor({0.05, 0.1, 1}, float64).requires_grad_()});
    INFO(steep.message);
    CHECK(steep.passed);
}

TEST_CASE("gradcheck names operation, input, index, expected and found of a wrong gradient", "[check]") {
    Tensor factor = full({2, 3}, 2, float64);
    const auto f = [&](const Inputs& x) { return square(x[1], factor); };
    const Inputs inputs{input({2, 3}).detach(), input({2, 3}, 2)};
    CHECK(gradcheck("square", f, inputs).passed);
    factor.slice(0, 1, 2).slice(1, 2, 3).fill_(2.001);
    const auto report = gradcheck("square", f, inputs);
    CHECK_FALSE(report.passed);
    CHECK(contains(report.message, "gradcheck of square: input 1 (2, 3) at (1, 2): expected "));
    CHECK(contains(report.message, "(differences), found "));
    CHECK(contains(report.message, "1 of 6 elements are wrong"));
    CHECK(report.largest_error > 1e-5);
}

TEST_CASE("gradcheck finds an error of one part in ten million", "[check]") {
    const auto f = [](const Inputs& x) { return square(x[0], full({3}, 2 * (1 + 1e-7), float64)); };
    CHECK_FALSE(gradcheck("square", f, {tensor({1, 2, 3}, float64).requires_grad_()}).passed);
}

TEST_CASE("gradcheck takes transposed, sliced and expanded inputs as they are", "[check]") {
    const Tensor transposed = input({4, 3}).detach().T().requires_grad_();
    const Tensor sliced = input({3, 9}).detach().slice(1, 1, 9, 2).requires_grad_();
    const Tensor expanded = input({1, 4}).detach().expand({3, 4}).requires_grad_();
    REQUIRE_FALSE(transposed.is_contiguous());
    bool saw_strides = false;
    const auto report =
        gradcheck("product",
                  [&](const Inputs& x) {
                      saw_strides = saw_strides ||
                                    (!x[0].is_contiguous() && !x[1].is_contiguous() && x[2].strides()[0] == 0);
                      return x[0] * exp(x[1]) * x[2];
                  },
                  {transposed, sliced, expanded});
    INFO(report.message);
    CHECK(report.passed);
    CHECK(report.elements == 36);
    CHECK(saw_strides);
}

TEST_CASE("gradcheck takes inputs in the middle of a graph and leaves their gradients alone", "[check]") {
    Tensor x = input({3});
    const Tensor y = x * 2;
    CHECK(gradcheck("exp", [](const Inputs& in) { return exp(in[0]); }, {y}).passed);
    CHECK_FALSE(x.grad().defined());
}

TEST_CASE("gradcheck takes results that are views of the input", "[check]") {
    CHECK(gradcheck("transpose", [](const Inputs& x) { return x[0].T(); }, {input({2, 3})}).passed);
}

TEST_CASE("gradcheck of empty and scalar inputs", "[check]") {
    const auto f = [](const Inputs& x) { return exp(x[0]); };
    CHECK(gradcheck("exp", f, {input({0, 3})}).elements == 0);
    CHECK(gradcheck("exp", f, {input({0, 3})}).passed);
    CHECK(gradcheck("exp", f, {input({})}).elements == 1);
    CHECK(gradcheck("exp", f, {input({})}).passed);
}

TEST_CASE("gradcheck leaves inputs without gradients as they are", "[check]") {
    const Tensor ids = tensor({2, 0, 2}, int64);
    const auto report =
        gradcheck("embedding", [](const Inputs& x) { return embedding(x[0], x[1]); }, {input({3, 2}), ids});
    INFO(report.message);
    CHECK(report.passed);
    CHECK(report.elements == 6);
}

TEST_CASE("gradcheck reports a gradient that is absent", "[check]") {
    const auto cut =
        gradcheck("detach", [](const Inputs& x) { return x[0] * x[1].detach(); }, {input({2}), input({2}, 2)});
    CHECK_FALSE(cut.passed);
    CHECK(contains(cut.message, "input 1 (2,): the gradient is absent"));
    const auto all = gradcheck("detach", [](const Inputs& x) { return x[0].detach(); }, {input({2})});
    CHECK(contains(all.message, "input 0 (2,): the gradient is absent"));
}

TEST_CASE("gradcheck reports a gradient that is not finite", "[check]") {
    const auto report = gradcheck(
        "square", [](const Inputs& x) { return square(x[0], full({2}, std::nan(""), float64)); }, {input({2})});
    CHECK_FALSE(report.passed);
    CHECK(contains(report.message, "found nan"));
    CHECK(contains(report.message, "2 of 2 elements"));
    CHECK(report.largest_error == std::numeric_limits<double>::infinity());
}

TEST_CASE("gradcheck reports a function that is not deterministic", "[check]") {
    Rng rng(1);
    const auto report =
        gradcheck("dropout", [&](const Inputs& x) { return dropout(x[0], 0.5, rng); }, {input({64})});
    CHECK_FALSE(report.passed);
    CHECK(contains(report.message, "not deterministic"));
}

TEST_CASE("gradgradcheck reports the second of two gradients that is not deterministic", "[check]") {
    int calls = 0;
    const auto f = [&](const Inputs& x) {
        const Tensor y = [&] {
            const NoGrad off;
            return x[0] * x[1];
        }();
        return record("careless", y, {x[0], x[1]}, {x[0], x[1]}, [&](const Saved& saved, const Tensor& dy) {
            const double drift = is_grad_enabled() && calls++ % 2 == 1 ? 1 + 1e-15 : 1;
            return Grads{dy * saved[1], dy * saved[0] * drift};
        });
    };
    const auto report = gradgradcheck("careless", f, {input({3}), input({3}, 2)});
    CHECK_FALSE(report.passed);
    CHECK(contains(report.message, "not deterministic"));
}

TEST_CASE("gradcheck reports a gradient that changes from one backward to the next", "[check]") {
    int calls = 0;
    const auto f = [&](const Inputs& x) {
        Tensor y;
        {
            NoGrad off;
            y = x[0] * 2;
        }
        return record("twice", y, {x[0]}, {}, [&](const Saved&, const Tensor& dy) {
            return Grads{dy * (calls++ % 2 == 0 ? 2.0 : 2.0 + 1e-15)};
        });
    };
    const auto report = gradcheck("twice", f, {tensor({1, 2}, float64).requires_grad_()});
    CHECK_FALSE(report.passed);
    CHECK(contains(report.message, "changes from one backward to the next"));
}

TEST_CASE("a function that changes what it is given, or throws, leaves gradcheck's inputs and parameters alone",
          "[check][fault]") {
    const Tensor x = input({2}), constant = input({2}, 2).detach(), w = input({2}, 3);
    Tensor(w).set_grad(ones({2}, float64));
    const auto values = [&] {
        std::string text;
        for (const Tensor& each : {x, constant, w, w.grad()})
            text += each.repr() + (each.grad().defined() ? "g" : "");
        return text;
    };
    const auto careless = [&](const Inputs& in) {
        const NoGrad off;
        Tensor(in[1]).mul_(2);
        return in[0] * in[1];
    };
    const std::string changes =
        "mul_: the function of gradcheck of careless was given this tensor of shape (2,), which";
    refuses<GraphError>(changes, values, [&] { (void)gradcheck("careless", careless, {x, constant}); });
    refuses<GraphError>(changes, values, [&] { (void)gradgradcheck("careless", careless, {x, constant}); });
    for (int calls_until = 0; calls_until < 25; ++calls_until)  // in f's first call, or as a parameter is moved
        for (const bool in_rule : {false, true}) {
            int calls = 0;
            const auto check = [&] {
                if (calls++ == calls_until) throw ValueError("no");
            };
            const auto f = [&](const Inputs& in) {
                if (!in_rule) check();
                const Tensor y = in[0] * w;
                return record("mine", y.detach().clone(), {y}, {}, [&](const Saved&, const Tensor& dy) {
                    if (in_rule) check();
                    return Grads{dy};
                });
            };
            const auto run = [&] { (void)gradgradcheck("thrower", f, {x}, {.parameters = {w}}); };
            refuses<ValueError>("no", values, run);
        }
}

TEST_CASE("gradcheck and gradgradcheck of parameters, which keep their values and gradients", "[check]") {
    const Tensor x = input({2}), w = input({2, 3}, 2), frozen = input({2}, 3).detach();
    const Tensor before = w.clone();
    Tensor(w).set_grad(ones({2, 3}, float64));
    Tensor factor = full({2, 3}, 2, float64);
    const auto f = [&](const Inputs& in) { return square(w, factor).T().matmul(in[0]) * frozen.sum(); };
    const auto first = gradcheck("parameters", f, {x}, {.parameters = {w, frozen}});
    INFO(first.message);
    CHECK(first.passed);
    CHECK(first.elements == 8);
    CHECK(gradcheck("parameters", f, {x.detach()}, {.parameters = {w}}).elements == 6);
    const auto second = gradgradcheck("parameters", f, {x}, {.parameters = {w, frozen}});
    INFO(second.message);
    CHECK(second.passed);
    CHECK(second.elements == 2 + 3 + 6);  // the input, the seed and the parameter
    CHECK(w.to_vector<double>() == before.to_vector<double>());
    CHECK(w.grad().to_vector<double>() == std::vector<double>(6, 1.0));
    factor[1][2].fill_(2.001);
    CHECK(contains(gradcheck("parameters", f, {x}, {.parameters = {frozen, w}}).message,
                   "gradcheck of parameters: parameter 1 (2, 3) at (1, 2): expected "));
    const auto absent = gradcheck("parameters", f, {x}, {.parameters = {input({2})}});
    CHECK(contains(absent.message, "parameter 0 (2,): the gradient is absent"));
    refuses<DTypeError>("gradcheck of parameters: parameter 0 is float32",
                        [&] { gradcheck("parameters", f, {x}, {.parameters = {ones({2})}}); });
}

TEST_CASE("gradcheck of a function that takes a gradient itself", "[check]") {
    const Tensor w = input({2}, 2);
    const auto slope = [&](const Inputs& in) {
        Tensor leaf = in[0].detach().clone().requires_grad_();
        return grad({sum(tanh(w * leaf))}, {leaf}, {}, {.create_graph = true})[0];
    };
    const auto report = gradcheck("a slope", slope, {input({2}).detach()}, {.parameters = {w}});
    INFO(report.message);
    CHECK(report.passed);
    CHECK(report.elements == 2);
}

TEST_CASE("make gradcheck checks every module", "[check]") {
    const std::string program = markdown::read(markdown::root / "tests/table/gradcheck.cpp");
    const std::regex declaration(R"((?:struct|class) (\w+) : (?:public )?Module)");
    int modules = 0;
    for (const auto& header : markdown::files_in("include/weft", ".h")) {
        const std::string text = markdown::read(header);
        for (std::sregex_iterator at(text.begin(), text.end(), declaration), end; at != end; ++at) {
            const std::string name = (*at)[1];
            INFO(header << ": " << name);
            if (name == "Dropout" || name == "ModuleList")
                continue;  // random; holds modules and computes nothing
            CHECK((contains(program, "modules[\"nn::" + name + "\"]") ||
                   contains(program, "modules[\"nn::" + name + "<")));  // a template, of some class
            ++modules;
        }
    }
    CHECK(modules >= 11);
}

TEST_CASE("gradcheck refuses float32 and inputs of which none takes a gradient", "[check]") {
    const auto f = [](const Inputs& x) { return x[0] * 2; };
    refuses<DTypeError>("gradcheck of twice: input 0 is float32",
                        [&] { gradcheck("twice", f, {ones({2}).requires_grad_()}); });
    refuses<ValueError>("no input requires a gradient", [&] { gradcheck("twice", f, {ones({2}, float64)}); });
    refuses<DTypeError>("result is float32", [&] {
        gradcheck("to", [](const Inputs& x) { return x[0].to(float32); }, {input({2})});
    });
}

TEST_CASE("gradgradcheck passes right second derivatives", "[check]") {
    const auto report =
        gradgradcheck("a mixture", [](const Inputs& x) { return exp(sin(x[0])) * pow(x[1], 3); },
                      {input({2, 3}), input({3}, 2)});
    INFO(report.message);
    CHECK(report.passed);
    CHECK(report.elements == 6 + 3 + 6);  // the inputs and the seed
    CHECK(report.largest_error < 1e-9);
    CHECK(gradgradcheck("twice", [](const Inputs& x) { return x[0] * 2; }, {input({3})}).passed);
}

TEST_CASE("gradgradcheck finds a rule whose own derivative is wrong", "[check]") {
    const auto f = [](const Inputs& x) {
        Tensor y;
        {
            NoGrad off;
            y = pow(x[0], 3);
        }
        return record("cube", y, {x[0]}, {x[0]}, [](const Saved& saved, const Tensor& dy) {
            const Tensor x = saved[0].detach();  // the mistake: a constant for the second derivative
            return Grads{3 * x * x * dy};
        });
    };
    CHECK(gradcheck("cube", f, {input({3})}).passed);
    const auto report = gradgradcheck("cube", f, {input({3})});
    CHECK_FALSE(report.passed);
    CHECK(contains(report.message, "gradgradcheck of cube: input 0 (3,) at ("));
}
