// The small layers: numbers by hand, first values, refusals.
#include <cmath>

#include "refusal.h"
#include "weft/weft.h"

using namespace weft;

namespace {

using Floats = std::vector<float>;

double largest(const Tensor& x) { return max(abs(x)).item(); }

}  // namespace

TEST_CASE("Linear multiplies by the transposed weight and adds the bias", "[nn]") {
    Rng rng(1);
    nn::Linear layer(2, 3, rng);
    layer.load_state_dict({{"weight", tensor({{1.0, 2}, {3, 4}, {5, 6}})}, {"bias", tensor({10.0, 20, 30})}});
    CHECK(layer(tensor({{1.0, 1}, {2, -1}})).to_vector<float>() == Floats{13, 27, 41, 10, 22, 34});
    CHECK(layer(zeros({4, 5, 2})).shape() == Shape{4, 5, 3});
    refuses<ShapeError>("linear", [&] { return layer(zeros({4, 3})); });
}

TEST_CASE("Linear starts uniform within one over the root of its inputs", "[nn]") {
    Rng rng(1);
    const nn::Linear layer(100, 400, rng);
    for (const Tensor& x : {layer.weight, layer.bias}) {
        CHECK(largest(x) <= 0.1);
        CHECK(largest(x) > 0.099);
    }
    CHECK(std::abs(mean(layer.weight).item()) < 0.002);  // 5.8 deviations of 0.0577/200
    CHECK(std::sqrt(var(layer.weight).item()) == Approx(0.1 / std::sqrt(3)).epsilon(0.02));
    Rng again(1);
    CHECK(nn::Linear(100, 400, again).weight.to_vector<float>() == layer.weight.to_vector<float>());
    CHECK_FALSE(nn::Linear(2, 3, rng, false).bias.defined());
}

TEST_CASE("Embedding gives a row for each id and refuses ids outside its table", "[nn]") {
    Rng rng(1);
    nn::Embedding layer(3, 2, rng);
    layer.load_state_dict({{"weight", tensor({{1.0, 2}, {3, 4}, {5, 6}})}});
    CHECK(layer(tensor({{2, 0}, {1, 2}}, int64)).to_vector<float>() == Floats{5, 6, 1, 2, 3, 4, 5, 6});
    const std::string high = message_of<IndexError>([&] { return layer(tensor({{0, 1}, {2, 3}}, int64)); });
    CHECK(high == "embedding: token id 3 at position (1, 1) is outside the vocabulary of 3 (0 to 2)");
    const std::string low = message_of<IndexError>([&] { return layer(tensor({0, -1}, int64)); });
    CHECK(low == "embedding: token id -1 at position (1,) is outside the vocabulary of 3 (0 to 2)");
}

TEST_CASE("LayerNorm brings each token to mean 0 and variance 1, then scales and shifts", "[nn]") {
    nn::LayerNorm layer(2, {.eps = 1e-30});
    CHECK(layer(tensor({{1.0, 3}, {10, 2}})).to_vector<float>() == Floats{-1, 1, 1, -1});
    layer.load_state_dict({{"weight", tensor({2.0, 3})}, {"bias", tensor({10.0, 20})}});
    CHECK(layer(tensor({1.0, 3})).to_vector<float>() == Floats{8, 23});
    CHECK(nn::LayerNorm(4, {.bias = false}).num_parameters() == 4);
    refuses<ValueError>("eps must be above 0", [] { nn::LayerNorm(4, {.eps = 0}); });
}

TEST_CASE("LayerNorm of a constant row is its bias, with a finite gradient", "[nn]") {
    nn::LayerNorm layer(3);
    layer.load_state_dict({{"weight", tensor({1.0, 2, 3})}, {"bias", tensor({4.0, 5, 6})}});
    Tensor x = full({1, 3}, 7).requires_grad_();
    const Tensor y = layer(x);
    CHECK(y.to_vector<float>() == Floats{4, 5, 6});
    sum(y * tensor({1.0, 0, 0})).backward();
    CHECK(all(isfinite(x.grad())));
}

TEST_CASE("Dropout drops a share p in training, scales the rest, and is the identity in evaluation", "[nn]") {
    Rng rng(1);
    nn::Dropout layer(0.25, rng);
    const Tensor x = ones({100, 100});
    const std::vector<float> y = layer(x).to_vector<float>();
    std::size_t dropped = 0;
    for (const float value : y) {
        dropped += value == 0 ? 1 : 0;
        CHECK((value == 0 || value == 1 / 0.75f));
    }
    CHECK(std::abs(static_cast<double>(dropped) - 2500) < 5 * std::sqrt(10000 * 0.25 * 0.75));
    CHECK(layer(x).to_vector<float>() != y);  // another draw
    layer.eval();
    CHECK(layer(x).to_vector<float>() == x.to_vector<float>());
}

TEST_CASE("Dropout with p = 0 is the identity bit for bit", "[nn]") {
    Rng rng(1);
    const auto before = rng.state();
    const nn::Dropout layer(0, rng);
    const Tensor x = randn({50}, rng);
    CHECK(layer(x).to_vector<float>() == x.to_vector<float>());
    CHECK(before.position == 0);
    CHECK(layer.named_generators().empty());
}

TEST_CASE("Dropout's generator outlives the one it was seeded from, and can be wound back", "[nn]") {
    const auto make = [] {
        Rng rng(7);
        return nn::Dropout(0.5, rng);
    };
    nn::Dropout layer = make(), other = make();
    const Tensor x = ones({64});
    const auto first = layer(x).to_vector<float>();
    CHECK(other(x).to_vector<float>() == first);
    const auto generators = layer.named_generators();
    REQUIRE(generators.size() == 1);
    CHECK(generators[0].first == "rng");
    const Rng::State state = generators[0].second->state();
    const auto second = layer(x).to_vector<float>();
    generators[0].second->set_state(state);
    CHECK(layer(x).to_vector<float>() == second);
    CHECK(first != second);
}

TEST_CASE("Sequential runs modules and functions in order and numbers its children", "[nn]") {
    Rng rng(1);
    nn::Sequential net{nn::Linear(2, 2, rng), relu, nn::Linear(2, 1, rng, false),
                       [](const Tensor& x) { return x + 100; }};
    net.load_state_dict({{"0.weight", tensor({{1.0, 0}, {0, 1}})},
                         {"0.bias", tensor({-1.0, -1})},
                         {"2.weight", tensor({{10.0, 1}})}});
    CHECK(net(tensor({3.0, 0})).to_vector<float>() == Floats{120});  // relu(2, −1) = (2, 0)
    CHECK(net.size() == 4);
    CHECK(net.num_parameters() == 8);
    CHECK(nn::Sequential{}(tensor({1.0, 2})).to_vector<float>() == Floats{1, 2});
}

TEST_CASE("a ModuleList numbers its modules, and its copies share them", "[nn]") {
    Rng rng(1);
    nn::ModuleList<nn::Linear> list;
    const nn::ModuleList<nn::Linear> copy = list;
    list.append(nn::Linear(2, 3, rng));
    list.append(nn::Linear(3, 4, rng));
    CHECK(copy.size() == 2);
    CHECK(copy.named_parameters().at(2).first == "1.weight");
    CHECK(copy[1].weight.shape() == Shape{4, 3});
    CHECK(copy.num_parameters() == 9 + 16);
}

TEST_CASE("MLP is four times as wide inside, with GELU's tanh form between", "[nn]") {
    Rng rng(1);
    nn::MLP mlp(1, rng, {.dim_feedforward = 2});
    mlp.load_state_dict({{"W_in.weight", tensor({{1.0}, {-1}})},
                         {"W_in.bias", tensor({0.0, 0})},
                         {"W_out.weight", tensor({{1.0, 10}})},
                         {"W_out.bias", tensor({0.5})}});
    const auto gelu_of = [](double x) {
        return x / 2 * (1 + std::tanh(std::sqrt(2 / 3.14159265358979323846) * (x + 0.044715 * x * x * x)));
    };
    CHECK(mlp(tensor({1.5})).item() == Approx(gelu_of(1.5) + 10 * gelu_of(-1.5) + 0.5).epsilon(1e-5));
    CHECK(nn::MLP(8, rng).num_parameters() == 8 * 32 + 32 + 32 * 8 + 8);
    CHECK(nn::MLP(8, rng, {.bias = false}).num_parameters() == 2 * 8 * 32);
}
