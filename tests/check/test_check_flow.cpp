// gradient_flow and check_finite.
#include <cmath>
#include <limits>

#include "refusal.h"
#include "weft/weft.h"

using namespace weft;

namespace {

struct Net : nn::Module {
    nn::Linear first, second;
    explicit Net(Rng& rng)
        : Module("Net"),
          first(register_module("first", nn::Linear(2, 2, rng))),
          second(register_module("second", nn::Linear(2, 1, rng))) {}
};

}  // namespace

TEST_CASE("gradient_flow gives each parameter's gradient norm", "[check]") {
    Rng rng(1);
    Net net(rng);
    net.first.weight.set_grad(tensor({{3.0, 0}, {0, 4}}));
    net.first.bias.set_grad(tensor({1.0, 0}));
    net.second.weight.set_grad(tensor({{5.0, 12}}));
    net.second.bias.set_grad(tensor({-2.0}));
    const auto flow = check::gradient_flow(net);
    REQUIRE(flow.rows.size() == 4);
    CHECK(flow.passed());
    CHECK(flow.rows[0].name == "first.weight");
    CHECK(flow.rows[0].shape == Shape{2, 2});
    CHECK(flow.rows[0].norm == 5);
    CHECK(flow.rows[1].norm == 1);
    CHECK(flow.rows[2].norm == 13);
    CHECK(flow.rows[3].norm == 2);
    CHECK(flow.str() ==
          "parameter      shape   gradient norm\n"
          "first.weight   (2, 2)  5              ok\n"
          "first.bias     (2,)    1              ok\n"
          "second.weight  (1, 2)  13             ok\n"
          "second.bias    (1,)    2              ok\n"
          "every one of 4 parameters has a gradient\n");
}

TEST_CASE("gradient_flow fails where a gradient is absent, zero or not finite", "[check]") {
    Rng rng(1);
    Net net(rng);
    net.first.weight.set_grad(zeros({2, 2}));
    net.first.bias.set_grad(tensor({1, std::nan("")}));
    net.second.weight.set_grad(tensor({{std::numeric_limits<double>::infinity(), 0}}));
    const auto flow = check::gradient_flow(net);
    CHECK_FALSE(flow.passed());
    CHECK(flow.rows[0].problem == "zero");
    CHECK(flow.rows[1].problem == "not finite");
    CHECK(flow.rows[2].problem == "not finite");
    CHECK(flow.rows[3].problem == "absent");
    CHECK(contains(flow.str(), "FAILED: the gradient is zero"));
    CHECK(contains(flow.str(), "4 of 4 parameters have no usable gradient"));
}

TEST_CASE("gradient_flow finds the branch that was cut off", "[check]") {
    Rng rng(1);
    Net net(rng);
    const Tensor x = ones({3, 2});
    sum(net.second(net.first(x).detach())).backward();
    const auto flow = check::gradient_flow(net);
    CHECK(flow.rows[0].problem == "absent");
    CHECK(flow.rows[2].problem.empty());
    net.zero_grad();
    sum(net.second(net.first(x))).backward();
    CHECK(check::gradient_flow(net).passed());
}

TEST_CASE("gradient_flow of a loss names an unregistered child, and in which module it is", "[check][flow]") {
    struct Block : nn::Module {
        nn::Linear fc = register_module("fc", nn::Linear(2, 2));
        Block() : Module("Block") {}
    };
    struct Forgetful : nn::Module {
        nn::Linear first = register_module("first", nn::Linear(2, 2, false));
        nn::Linear second = nn::Linear(2, 1);
        Block block;
        Forgetful() : Module("Forgetful") {}
        Tensor loss() const { return sum(second(block.fc(first(ones({3, 2}))))); }
    };
    const Forgetful net;
    const Tensor loss = net.loss();
    loss.backward();
    CHECK(check::gradient_flow(net).passed());  // it has no loss to compare the parameters with
    const auto flow = check::gradient_flow(net, loss);
    CHECK_FALSE(flow.passed());
    REQUIRE(flow.rows.size() == 5);
    for (std::size_t i = 1; i < 5; ++i) {
        CHECK(flow.rows[i].problem == "not registered");
        CHECK_FALSE(flow.rows[i].registered);
    }
    const std::string text = flow.str();
    CHECK(contains(text, "first.weight     (2, 2)"));
    CHECK(contains(text,
                   "\nLinear.weight    (1, 2)  -              FAILED: not registered\n"
                   "Linear.bias      (1,)    -              FAILED: not registered\n"
                   "Block.fc.weight  (2, 2)  -              FAILED: not registered\n"
                   "Block.fc.bias    (2,)    -              FAILED: not registered\n"
                   "every one of 1 parameters has a gradient\n"
                   "4 not registered: register_module() each child where it is declared, or freeze it\n"));
    for (Tensor parameter : net.block.parameters()) parameter.requires_grad_(false);
    CHECK(check::gradient_flow(net, net.loss()).rows.size() == 3);  // what is frozen is used on purpose
}

TEST_CASE("gradient_flow of a loss knows what is tied, frozen, or in another part of the model",
          "[check][flow]") {
    Rng rng(1);
    struct Shared : nn::Module {
        nn::Embedding table = register_module("table", nn::Embedding(4, 2));
        nn::Linear same = nn::Linear(table.weight);  // not registered, and trained as the table
        nn::Linear frozen = register_module("frozen", nn::Linear(2, 2));
        Net part;
        explicit Shared(Rng& rng) : part(register_module("part", Net(rng))) {}
        Tensor loss() const {
            return sum(same(table(tensor({1, 2}, int64)))) + sum(part.second(part.first(frozen(ones({1, 2})))));
        }
    };
    Shared net(rng);
    for (Tensor parameter : net.frozen.parameters()) parameter.requires_grad_(false);
    const Tensor loss = net.loss();
    loss.backward();
    CHECK(check::gradient_flow(net, loss).passed());
    CHECK(check::gradient_flow(net, loss).str() == check::gradient_flow(net).str());
    CHECK(check::gradient_flow(net.part, loss).str() == check::gradient_flow(net.part).str());
    CHECK(check::gradient_flow(net.part.first, loss).rows.size() == 2);
}

TEST_CASE("gradient_flow of a loss tells an input from a parameter", "[check][flow]") {
    Rng rng(1);
    const Net net(rng);
    const Tensor x = ones({3, 2}).requires_grad_();
    const Tensor loss = sum(net.second(net.first(exp(x))));
    loss.backward();
    const auto flow = check::gradient_flow(net, loss);
    CHECK(flow.passed());
    REQUIRE(flow.rows.size() == 5);
    CHECK(flow.rows[4].name == "exp");
    CHECK(flow.rows[4].shape == Shape{3, 2});
    CHECK(flow.rows[4].problem.empty());
    CHECK(contains(flow.str(),
                   "\nexp            (3, 2)  -              an input, in no module\n"
                   "every one of 4 parameters has a gradient\n"));
    const Tensor made_on_the_way = sum(nn::Linear(1, 1, rng)(net.second(net.first(ones({3, 2})))));
    CHECK(check::gradient_flow(net, made_on_the_way).rows[4].problem == "not registered");
    CHECK_THROWS_AS(check::gradient_flow(net, Tensor()), GraphError);
}

TEST_CASE("a norm whose squares overflow or vanish is still a norm", "[check]") {
    struct One : nn::Module {
        nn::Parameter w = register_parameter("w", zeros({2}, float64));
    } one;
    one.w.set_grad(tensor({3e200, 4e200}, float64));
    CHECK(check::gradient_flow(one).rows[0].norm == Approx(5e200));
    one.w.set_grad(tensor({3e-300, 4e-300}, float64));
    CHECK(check::gradient_flow(one).rows[0].norm == Approx(5e-300).margin(0));
    CHECK(check::gradient_flow(one).passed());
}

TEST_CASE("gradient_flow of a parameter of one element, and of none", "[check]") {
    struct Few : nn::Module {
        nn::Parameter one = register_parameter("one", zeros({1})),
                      none = register_parameter("none", zeros({0}));
    } few;
    few.one.set_grad(zeros({1}));
    few.none.set_grad(zeros({0}));
    const auto rows = check::gradient_flow(few).rows;
    CHECK(rows[0].problem == "zero");
    CHECK(rows[1].problem.empty());  // there is nothing that could change
}

TEST_CASE("check_finite names the first value that is not", "[check]") {
    const double inf = std::numeric_limits<double>::infinity();
    check::check_finite(tensor({{1.0, 2}, {3, 4}}), "x");
    check::check_finite(tensor({1, 2}, int64), "ids");
    check::check_finite(zeros({0}), "empty");
    CHECK(message_of<ValueError>([&] {
              check::check_finite(tensor({{1, 2}, {-inf, std::nan("")}}), "loss");
          }) == "loss: -inf at (1, 0) of (2, 2) is not finite");
    refuses<ValueError>("inf at (1, 1)", [&] { check::check_finite(tensor({{1, 2}, {3, inf}}).T(), "x"); });
}
