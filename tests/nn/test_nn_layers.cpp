// The small layers: numbers by hand, first values, refusals.
// Modules for images: Conv2d and BatchNorm.
#include <cmath>

#include "golden/golden.h"
#include "refusal.h"
#include "weft/weft.h"

using namespace weft;

namespace {

using Floats = std::vector<float>;

double largest(const Tensor& x) { return max(abs(x)).item(); }

using Names = std::vector<std::string>;

Names names_of(const nn::NamedTensors& tensors) {
    Names names;
    for (const auto& [name, value] : tensors) names.push_back(name);
    return names;
}

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

TEST_CASE("Conv2d starts uniform within one over the root of its fan-in", "[nn]") {
    Rng rng(1);
    const nn::Conv2d layer(16, 100, 5, rng, {.groups = 4});  // fan-in 4 · 5 · 5
    for (const Tensor& x : {layer.weight, layer.bias}) {
        const double largest = max(abs(x)).item();
        CHECK(largest <= 0.1);
        CHECK(largest > 0.098);
    }
    CHECK(weft::std(layer.weight).item() == Approx(0.1 / std::sqrt(3)).epsilon(0.02));
}

TEST_CASE("Conv2d refuses images and strides that do not fit", "[nn]") {
    Rng rng(1);
    refuses<ShapeError>("conv2d", [&] { nn::Conv2d(3, 4, 1, rng)(zeros({1, 2, 5, 5})); });
    refuses<ValueError>("stride 0", [&] { nn::Conv2d(1, 1, 1, rng, {.stride = 0})(zeros({1, 1, 2, 2})); });
}

TEST_CASE("BatchNorm goes through training and evaluation as PyTorch's", "[golden][nn]") {
    const Golden golden("modules.safetensors");
    for (const DType dtype : {float64, float32}) {
        const double tolerance = dtype == float64 ? 1e-12 : 1e-6;
        nn::BatchNorm norm(3, 1e-3, 0.2);
        norm.to(dtype);
        for (Tensor p : norm.parameters()) CHECK(p.requires_grad());
        norm.load_state_dict({{"weight", golden("batch_norm/state/weight").to(dtype)},
                              {"bias", golden("batch_norm/state/bias").to(dtype)}},
                             /*strict=*/false);
        for (int i = 0; i < 4; ++i) {
            const std::string number = std::to_string(i);
            norm.train(i < 3);
            const Tensor y = norm(golden("batch_norm/x" + number).to(dtype));
            CHECK(distance(y, golden("batch_norm/y" + number)) <= tolerance);
        }
        const auto state = norm.state_dict();
        CHECK(names_of(state) == Names{"weight", "bias", "running_mean", "running_var", "num_batches_tracked"});
        for (const auto& [name, value] : state)
            CHECK(distance(value, golden("batch_norm/state/" + name)) <= tolerance);
        CHECK(norm.num_batches_tracked.item() == 3);
        CHECK(norm.num_batches_tracked.dtype() == int64);
    }
}

TEST_CASE("BatchNorm refuses what it cannot normalise, and its statistics stay as they were", "[nn]") {
    refuses<ValueError>("BatchNorm: num_features must be at least 1, not 0", [] { nn::BatchNorm(0); });
    refuses<ValueError>("BatchNorm: eps must be above 0, not 0", [] { nn::BatchNorm(2, 0); });
    const nn::BatchNorm norm(2);
    CHECK_THROWS_AS(norm(ones({4, 3})), ShapeError);
    CHECK_THROWS_AS(norm(ones({1, 2})), ValueError);
    refuses<DTypeError>("batch_norm: float64 and float32", [&] { norm(ones({4, 2}, float64)); });
    CHECK(norm.num_batches_tracked.item() == 0);
    CHECK(all(norm.running_mean == 0));
    CHECK(all(norm.running_var == 1));
}

TEST_CASE("batch_norm refuses to change running statistics that are in the graph, or share memory", "[nn]") {
    const Tensor x = tensor({{1.0, 2}, {3, 5}}), leaf = zeros({2}).requires_grad_(), plain = ones({2});
    const BatchNormOptions training{.training = true};
    for (const Tensor& wrong : {leaf, leaf * 2, zeros({1}).expand({2})})
        for (const bool is_mean : {false, true}) {
            const BatchNormStats running =
                is_mean ? BatchNormStats{wrong, plain} : BatchNormStats{plain, wrong};
            refuses<GraphError>(wrong.requires_grad() ? "batch_norm: in-place operations are not recorded"
                                                      : "batch_norm: elements of an expanded tensor",
                                [&] { batch_norm(x, running, {}, {}, training); });
            CHECK(all(plain == 1));
            CHECK(all(wrong == 0));
        }
    {
        const NoGrad off;  // as `mean += 1` is allowed there
        batch_norm(x, {leaf, plain}, {}, {}, training);
    }
    CHECK(distance(leaf, tensor({0.2, 0.35})) < 1e-6);
    CHECK(batch_norm(x, {leaf, plain}).requires_grad());  // evaluation reads them
}

TEST_CASE("functions and lambdas are steps between convolutions; parameters keep PyTorch's names", "[nn]") {
    Rng rng(4);
    const auto pool = [](const Tensor& x) { return max_pool2d(x, {.kernel_height = 2, .kernel_width = 2}); };
    const nn::Sequential net{
        nn::Conv2d(1, 4, 3, rng), nn::BatchNorm(4), relu, pool, [](const Tensor& x) { return flatten(x, 1); },
        nn::Linear(36, 2, rng)};
    CHECK(net(randn({3, 1, 8, 8}, rng)).shape() == Shape{3, 2});
    CHECK(names_of(net.state_dict()) == Names{"0.weight", "0.bias", "1.weight", "1.bias", "1.running_mean",
                                              "1.running_var", "1.num_batches_tracked", "5.weight", "5.bias"});
}
