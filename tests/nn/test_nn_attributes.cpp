// What Python's modules do to their registry: names are registered again in their place, or no longer.
#include "catch.h"
#include "nn/registry.h"
#include "weft/weft.h"

using namespace weft;
using A = nn::Attributes;
using Names = std::vector<std::string>;

namespace {

struct Net : nn::Module {
    Net() : Module("Net") {
        (void)register_parameter("a", ones({1}));
        (void)register_parameter("b", ones({2}));
        (void)register_module("first", nn::Linear(2, 2));
        (void)register_module("last", nn::Linear(2, 2));
        (void)register_buffer("mean", zeros({1}));
        (void)register_buffer("cache", zeros({1}), /*persistent=*/false);
        (void)register_buffer("var", ones({1}));
    }
};

template <class List>
Names names_of(const List& list) {
    Names names;
    for (const auto& [name, value] : list) names.push_back(name);
    return names;
}
Tensor named(const nn::NamedTensors& tensors, const std::string& name) {
    for (const auto& [key, value] : tensors)
        if (key == name) return value;
    return {};
}

}  // namespace

TEST_CASE("an attribute that is set again takes the place of the old one", "[nn][attributes]") {
    Net net;
    const Names state = names_of(net.state_dict()), children = names_of(net.named_children()),
                buffers = names_of(net.named_buffers());
    CHECK(A::set_parameter(net, "a", full({3}, 2).requires_grad_()).requires_grad());
    A::set_buffer(net, "mean", ones({4}), {});
    A::set_buffer(net, "cache", ones({4}), {});
    A::set_child(net, "first", nn::Linear(2, 2));
    CHECK(names_of(net.state_dict()) == state);
    CHECK(names_of(net.named_children()) == children);
    CHECK(names_of(net.named_buffers()) == buffers);
    CHECK(named(net.state_dict(), "a").shape() == Shape{3});
    CHECK(named(net.state_dict(), "mean").shape() == Shape{4});
    CHECK(named(net.named_buffers(), "cache").shape() == Shape{4});
    A::set_buffer(net, "cache", ones({4}), true);
    CHECK(named(net.state_dict(), "cache").defined());
}

TEST_CASE("a frozen parameter is in the state and stays frozen", "[nn][attributes]") {
    Net net;
    CHECK_FALSE(A::set_parameter(net, "b", ones({2})).requires_grad());
    CHECK(names_of(net.named_parameters())[1] == "b");
    CHECK_FALSE(named(net.state_dict(), "b").requires_grad());
    A::set_parameter(net, "new", ones({2, 3}).T()).requires_grad_();
    CHECK(names_of(net.named_parameters())[2] == "new");
    CHECK(named(net.named_parameters(), "new").is_contiguous());
}

TEST_CASE("an attribute can become another kind, or go", "[nn][attributes]") {
    Net net;
    (void)A::set_parameter(net, "mean", ones({1}).requires_grad_());
    CHECK(A::kind(net, "mean") == "parameter");
    A::set_child(net, "a", nn::Linear(1, 1));
    CHECK(A::kind(net, "a") == "child");
    CHECK(names_of(net.named_children()) == Names{"first", "last", "a"});
    A::remove(net, "last");
    A::remove(net, "var");
    CHECK(A::kind(net, "last") == "");
    CHECK(names_of(net.state_dict()) == Names{"b", "mean", "first.weight", "first.bias", "a.weight", "a.bias"});
    (void)A::set_parameter(net, "last", ones({1}));  // the name is free
}

TEST_CASE("what was a child has no parent left", "[nn][attributes]") {
    Net net;
    const nn::Module old = net.named_children()[0].second;
    const nn::Linear next(2, 2);
    CHECK(old.path() == "Net.first");
    A::set_child(net, "first", next);
    CHECK(old.path() == "Linear");
    CHECK(next.path() == "Net.first");
    A::set_child(net, "first", next);  // itself
    CHECK(next.path() == "Net.first");
    A::remove(net, "first");
    CHECK(next.path() == "Linear");
}

TEST_CASE("nothing has changed when an attribute is refused", "[nn][attributes]") {
    Net net;
    const Names state = names_of(net.state_dict());
    const nn::Module old = net.named_children()[0].second;
    CHECK_THROWS_AS(A::set_child(net, "first", net), ValueError);
    CHECK_THROWS_AS(A::set_parameter(net, "a", ones({1}).requires_grad_() * 2), GraphError);
    CHECK_THROWS_AS(A::set_parameter(net, "first", arange(3)), DTypeError);
    CHECK_THROWS_AS(A::set_buffer(net, "mean", Tensor(), {}), GraphError);
    CHECK_THROWS_AS(A::set_buffer(net, "a.b", ones({1}), {}), ValueError);
    CHECK(names_of(net.state_dict()) == state);
    CHECK(old.path() == "Net.first");
}
