// Modules for images: Conv2d and BatchNorm.
#include <cmath>

#include "golden/golden.h"
#include "refusal.h"
#include "weft/weft.h"

using namespace weft;

namespace {

using Names = std::vector<std::string>;

Names names_of(const nn::NamedTensors& tensors) {
    Names names;
    for (const auto& [name, value] : tensors) names.push_back(name);
    return names;
}

}  // namespace

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
