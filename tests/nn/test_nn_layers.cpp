// The small layers: numbers by hand, first values, refusals.
#include <cmath>

#include "refusal.h"
#include "weft/weft.h"

using namespace weft;

namespace {

using Floats = std::vector<float>;

double largest(const Tensor& x) { return max(abs(x)).item(); }

}  // namespace

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
