// Bad shapes, indices and products.
#include <climits>
#include <cmath>
#include <functional>

#include "golden/golden.h"
#include "refusal.h"
#include "weft/core.h"

using namespace weft;

namespace {

using Doubles = std::vector<double>;

Tensor leaf(const Nested& values) { return tensor(values, float64).requires_grad_(); }
Tensor ids(const Nested& values) { return tensor(values, int64); }

}  // namespace

TEST_CASE("an index beyond its axis is refused", "[fault]") {
    const Tensor x = ones({2, 3});
    refuses<IndexError>("select: index 2…axis 0…(2, 3)…-2 to 1", [&] { return x[2]; });
    refuses<IndexError>("index 3…axis 1", [&] { return x.select(1, 3); });
    refuses<IndexError>("at…index 3…axis 1…(2, 3)", [&] { x.at({0, 3}); });
    refuses<IndexError>("index_select…index 2…position (1,)…size 2", [&] {
        (void)index_select(x, 0, ids({0, 2}));
    });
    refuses<IndexError>("gather…index 3…size 3", [&] { (void)gather(x, 1, ids({{0, 1}, {2, 3}})); });
    refuses<IndexError>("scatter_add…index 5…position (1,)…size 2", [&] {
        (void)scatter_add({2}, 0, ids({0, 5}), ones({2}));
    });
    refuses<IndexError>("empty", [&] { return zeros({0, 3})[0]; });
    for (const auto& use : std::vector<std::function<void()>>{
             [&] { return x.select(2, 0); }, [&] { return x.slice(2, 0, 1); },
             [&] { return x.transpose(0, 2); }, [&] { return x.unsqueeze(3); }, [&] { return x.squeeze(-3); },
             [&] { return softmax(x, 2); }, [&] { return cumsum(x, -3); },
             [&] {
                 (void)cat({x, x}, 2);
             },
             [&] { return flip(x, 2); },
             [&] {
                 (void)stack({x, x}, 3);
             },
             [&] { return chunk(x, 1, 2); }, [&] { return argmax(x, 2); }})
        refuses<IndexError>("axis", use);
}

TEST_CASE("a negative index wraps once and no further", "[fault]") {
    const Tensor x = tensor({10.0, 20, 30});
    CHECK(x[-3].item() == 10);
    refuses<IndexError>("index -4…-3 to 2", [&] { return x[-4]; });
    CHECK_THROWS_AS(x.at({-4}), IndexError);
    CHECK(index_select(x, 0, ids({-1, -3})).to_vector<float>() == std::vector<float>{30, 10});
    CHECK_THROWS_AS(index_select(x, 0, ids({-4})), IndexError);
    CHECK_THROWS_AS(gather(x, 0, ids({-4})), IndexError);
    CHECK_THROWS_AS(x[INT64_MIN], IndexError);
}

TEST_CASE("an empty slice has size 0 and a zero gradient", "[fault]") {
    const Tensor x = leaf({{1, 2}, {3, 4}});
    const Tensor y = x.slice(0, 1, 1);
    CHECK(y.shape() == Shape{0, 2});
    CHECK(x.slice(1, 5, 9).shape() == Shape{2, 0});
    CHECK(x.slice(0, 2, 0).shape() == Shape{0, 2});
    sum(y).backward();
    CHECK(x.grad().to_vector<double>() == Doubles{0, 0, 0, 0});
}

TEST_CASE("a slice with a step of 0 or less is refused", "[fault]") {
    const Tensor x = ones({4});
    refuses<ValueError>("slice…step is 0", [&] { return x.slice(0, 0, 4, 0); });
    refuses<ValueError>("step is -1…flip", [&] { return x.slice(0, 4, 0, -1); });
    for (const double step : {0.0, -1.0})
        refuses<ValueError>("arange: steps of " + to_chars(step), [&] { arange(0, 3, step); });
    for (const double end : {double(NAN), double(INFINITY)})
        refuses<ValueError>("arange: steps of 1", [&] { arange(0, end); });
}

TEST_CASE("reshape refuses two sizes of −1, one that does not divide, and one that could be anything",
          "[fault]") {
    const Tensor x = ones({2, 3});
    refuses<ShapeError>("reshape: (2, 3) to (-1, -1): two sizes are -1, so neither is known", [&] {
        return x.reshape({-1, -1});
    });
    refuses<ShapeError>("view", [&] { return x.view({-1, 1, -1}); });
    refuses<ShapeError>("reshape: (2, 3) to (4, -1): 6 elements are not a multiple of 4", [&] {
        return x.reshape({4, -1});
    });
    refuses<ShapeError>("reshape: (2, 3) to (2, 2): 6 elements do not fit 4", [&] {
        return x.reshape({2, 2});
    });
    CHECK_THROWS_AS(x.reshape({}), ShapeError);
    CHECK_THROWS_AS(x.reshape({0, -1}), ShapeError);
    refuses<ShapeError>("reshape…0…-1", [] { return zeros({0, 3}).reshape({0, -1}); });
    CHECK(zeros({0, 3}).reshape({3, -1}).shape() == Shape{3, 0});
}

TEST_CASE("permute refuses an axis that is missing or named twice", "[fault]") {
    const Tensor x = ones({2, 3, 4});
    refuses<ShapeError>("permute: (0, 1, 1) is not a permutation of the axes of (2, 3, 4)", [&] {
        (void)x.permute({0, 1, 1});
    });
    refuses<ShapeError>("permute…(0, 1)", [&] { return x.permute({0, 1}); });
    CHECK_THROWS_AS(x.permute({0, 1, 2, 0}), ShapeError);
    CHECK_THROWS_AS(x.permute({0, -3, 1}), ShapeError);  // −3 is axis 0 again
    CHECK_THROWS_AS(x.permute({0, 1, 3}), Error);
    refuses<ShapeError>("T:…(2, 3, 4)…transpose", [&] { return x.T(); });
}

TEST_CASE("squeeze refuses an axis whose size is not 1", "[fault]") {
    refuses<ShapeError>("squeeze…axis 0…(2, 1, 3)…size 2", [] { (void)ones({2, 1, 3}).squeeze(0); });
    CHECK_THROWS_AS(zeros({0}).squeeze(0), ShapeError);
    refuses<ShapeError>("expand…(2, 3)…(4, 3)", [] { return ones({2, 3}).expand({4, 3}); });
    refuses<ShapeError>("broadcast_to…(2, 3)…(3,)", [] { (void)broadcast_to(ones({2, 3}), {3}); });
}

TEST_CASE("a scalar flattens along its own axes only, and an empty axis has as many chunks as others",
          "[shape]") {
    const Tensor x = tensor(3.0).requires_grad_();
    CHECK(flatten(x).shape() == Shape{1});
    CHECK(flatten(x, -1, 0).requires_grad());
    for (const auto& [first, last] : std::vector<std::pair<int, int>>{{5, -7}, {1, -1}, {0, 1}, {-2, 0}})
        refuses<IndexError>("flatten: axis", [&, f = first, l = last] { (void)flatten(x, f, l); });
    for (const auto& part : {chunk(zeros({0}), 3), chunk(zeros({2, 0}), 3, 1)}) CHECK(part.size() == 3);
    CHECK(chunk(zeros({2, 0}), 3, -1)[2].shape() == Shape{2, 0});
    refuses<ValueError>("chunk: 9223372036854775807 parts of an empty axis; use at most 2147483647",
                        [] { (void)chunk(zeros({0}), INT64_MAX); });
    const Tensor truths = zeros({2, 3}, boolean);
    refuses<IndexError>("any: axis -2 is named twice", [&] { (void)any(truths, {0, -2}); });
    refuses<IndexError>("all: axis 1 is named twice", [&] { (void)all(truths, {1, 1}); });
}

TEST_CASE("concatenating tensors that do not fit, or none, is refused", "[fault]") {
    const Tensor a = ones({2, 3}), b = ones({2, 4});
    refuses<ShapeError>("cat…tensor 1…(2, 4)…(2, 3)…axis 0", [&] { (void)cat({a, b}, 0); });
    CHECK(cat({a, b}, 1).shape() == Shape{2, 7});
    refuses<ShapeError>("stack…tensor 1…(2, 4)…(2, 3)", [&] { return stack({a, b}); });
    refuses<ShapeError>("cat…empty", [] { return cat({}); });
    refuses<ShapeError>("stack…empty", [] { return stack({}); });
    CHECK_THROWS_AS(cat({a, ones({2})}), ShapeError);
    CHECK_THROWS_AS(cat({a, a.to(int64)}), DTypeError);
    refuses<ShapeError>("split…3…(2, 3)", [&] { (void)split(a, std::vector<std::int64_t>{1, 1}, 1); });
    CHECK_THROWS_AS(split(a, 0, 1), ValueError);
    CHECK_THROWS_AS(chunk(a, 0, 1), ValueError);
    refuses<ValueError>("split: a part of size -1", [&] { split(a, {4, -1}, 1); });
    CHECK(split(a, std::vector<std::int64_t>{0, 3}, 1)[0].shape() == Shape{2, 0});
}

TEST_CASE("a reduction over an axis out of range or named twice is refused", "[fault]") {
    const Tensor x = ones({2, 3});
    const std::vector<std::pair<std::string, std::function<void(const Axes&)>>> reductions = {
        {"sum", [&](const Axes& axes) { return sum(x, axes); }},
        {"mean", [&](const Axes& axes) { return mean(x, axes); }},
        {"var", [&](const Axes& axes) { return var(x, axes); }}};
    for (const auto& [operation, reduce] : reductions) {
        refuses<IndexError>(operation + ": axis 2…-2 to 1", [&reduce = reduce] { reduce(2); });
        refuses<IndexError>(operation + ": axis -3", [&reduce = reduce] { reduce(-3); });
        refuses<IndexError>(operation + "…twice", [&reduce = reduce] { reduce({0, -2}); });
    }
}

TEST_CASE("max over an empty axis is an error, sum is 0", "[fault]") {
    const Tensor x = zeros({2, 0});
    refuses<ShapeError>("max: axis 1 of (2, 0) is empty", [&] { return max(x, 1); });
    refuses<ShapeError>("min: axis 1 of (2, 0) is empty", [&] { return min(x, -1); });
    refuses<ShapeError>("argmax: axis 1 of (2, 0) is empty", [&] { return argmax(x, 1); });
    refuses<ShapeError>("max: a tensor of shape (2, 0) is empty", [&] { max(x); });
    refuses<ShapeError>("min: a tensor of shape (2, 0) is empty", [&] { min(x); });
    CHECK(max(x, 0).values.shape() == Shape{0});
    CHECK(sum(x).item() == 0);
    CHECK(sum(x, 1).to_vector<float>() == std::vector<float>{0, 0});
    CHECK(std::isnan(mean(x, 1).at({0})));
    CHECK(std::isnan(var(ones({1})).item()));  // n − 1 = 0
    CHECK(var(ones({1}), {}, false, 0).item() == 0);
}

TEST_CASE("gradients of repeated indices add up", "[fault]") {
    const Tensor x = leaf({1, 2, 3});
    sum(gather(x, 0, ids({2, 2, 0, 2})) * tensor({1, 10, 100, 1000}, float64)).backward();
    CHECK(x.grad().to_vector<double>() == Doubles{100, 0, 1011});
    const Tensor table = leaf({{1, 2}, {3, 4}});
    sum(embedding(table, ids({1, 1, 1}))).backward();
    CHECK(table.grad().to_vector<double>() == Doubles{0, 0, 3, 3});
    const Tensor y = leaf({{1, 2}});
    sum(index_select(y, 1, ids({0, 0, -2}))).backward();
    CHECK(y.grad().to_vector<double>() == Doubles{3, 0});
    CHECK_THROWS_AS(gather(x, 0, tensor({0.0, 1.0})), DTypeError);
    refuses<ShapeError>("rank", [&] { return gather(x, 0, ids({{0}})); });
    CHECK_THROWS_AS(gather(ones({2, 3}), 1, ids({{0}, {1}, {2}})), ShapeError);
}

TEST_CASE("a product with inner sizes that differ is refused", "[fault]") {
    refuses<ShapeError>("matmul…(2, 3)…(4, 5)…3 against 4", [] { (void)matmul(ones({2, 3}), ones({4, 5})); });
    CHECK_THROWS_AS(matmul(ones({3}), ones({4})), ShapeError);
    CHECK_THROWS_AS(matmul(ones({2, 3}), ones({2})), ShapeError);
    CHECK_THROWS_AS(matmul(ones({2, 2}, int64), ones({2, 2}, int64)), DTypeError);
    refuses<ShapeError>("linear…(2, 3)…(5, 4)", [] { (void)linear(ones({2, 3}), ones({5, 4})); });
    for (const auto& [x, weight] :
         {std::pair{ones({}), ones({1, 1})}, {ones({2, 3}), ones({3})}, {ones({2, 3}), ones({2, 3, 4})}})
        refuses<ShapeError>("linear…" + x.shape().str() + "…" + weight.shape().str(),
                            [&x = x, &weight = weight] { (void)linear(x, weight); });
    refuses<ShapeError>("linear…(4,)", [] { (void)linear(ones({2, 3}), ones({5, 3}), ones({4})); });
    refuses<ShapeError>("layer_norm…(4,)", [] { return layer_norm(ones({2, 3}), ones({4})); });
}

TEST_CASE("an inner size of 0 gives exact zeros, and zero-size gradients", "[fault]") {
    const Tensor a = zeros({2, 0}, float64).requires_grad_(), b = zeros({0, 3}, float64).requires_grad_();
    const Tensor y = matmul(a, b);
    CHECK(same_bits(y, zeros({2, 3}, float64)));
    sum(y).backward();
    CHECK(a.grad().shape() == Shape{2, 0});
    CHECK(same_bits(matmul(zeros({4, 2, 0}), zeros({0, 3})), zeros({4, 2, 3})));
    CHECK(matmul(zeros({0}), zeros({0})).item() == 0);
    CHECK(matmul(zeros({0, 3}), ones({3, 2})).shape() == Shape{0, 2});
    CHECK(same_bits(linear(zeros({2, 0}), zeros({3, 0}), ones({3})), ones({2, 3})));
}

TEST_CASE("a product with leading axes that do not broadcast is refused", "[fault]") {
    refuses<ShapeError>(
        "matmul: (2, 3, 4) @ (3, 4, 5): leading axes: (2,) and (3,) do not broadcast: axis -1 has 2 against 3",
        [] {
            (void)matmul(ones({2, 3, 4}), ones({3, 4, 5}));
        });
    CHECK_THROWS_AS(matmul(ones({2, 5, 3, 4}), ones({2, 2, 4, 5})), ShapeError);
}

TEST_CASE("transposed and sliced operands give the bits of contiguous ones", "[fault]") {
    Rng rng(2);
    for (const DType dtype : {float32, float64}) {
        const Tensor a = randn({7, 9}, rng, dtype), b = randn({9, 5}, rng, dtype);
        const Tensor expected = matmul(a, b);
        CHECK(distance(matmul(a.T().contiguous().T(), b), expected) < 1e-6);
        CHECK(distance(matmul(a, b.T().contiguous().T()), expected) < 1e-6);
        CHECK(distance(matmul(strided_copy(a), strided_copy(b)), expected) < 1e-6);
        const Tensor wide = randn({7, 30}, rng, dtype);
        CHECK(same_bits(matmul(wide.slice(1, 3, 12), b), matmul(wide.slice(1, 3, 12).contiguous(), b)));
        CHECK(distance(matmul(a.slice(0, 0, 7, 3), b), expected.slice(0, 0, 7, 3)) < 1e-6);
        const Tensor flat = a[0].expand({4, 9});
        CHECK(distance(matmul(flat, b), expected[0].expand({4, 5})) < 1e-6);
        CHECK(distance(matmul(b.T(), a.T()), expected.T()) < 1e-6);
    }
}

TEST_CASE("the same memory on both sides is right, forward and backward", "[fault]") {
    // y = x xᵀ:  dx = (dy + dyᵀ) x
    const Tensor x = leaf({{1, 2, 3}, {4, 5, 6}});
    const Tensor y = matmul(x.slice(0, 0, 2), x.T());
    CHECK(y.to_vector<double>() == Doubles{14, 32, 32, 77});
    const Tensor dy = tensor({{1, 2}, {3, 4}}, float64);
    y.backward(dy);
    CHECK(distance(x.grad(), matmul(dy + dy.T(), x.detach())) < 1e-15);
    const Tensor s = tensor({{1, 2}, {3, 4}}, float64);
    CHECK(matmul(s, s).to_vector<double>() == Doubles{7, 10, 15, 22});
    CHECK(matmul(s[0], s[0]).item() == 5);
}

TEST_CASE("a size above INT_MAX is refused, rather than cut to 32 bits", "[fault]") {
    const std::int64_t large = std::int64_t(INT_MAX) + 1;
    const Tensor wide = ones({1, 1}).expand({1, large});
    const Tensor tall = ones({1, 1}).expand({large, 1});
    refuses<ShapeError>("matmul…2147483648…2147483647", [&] { return matmul(wide, tall); });
    CHECK_THROWS_AS(matmul(tall, ones({1, 2})), ShapeError);
    CHECK_THROWS_AS(linear(tall, ones({2, 1})), ShapeError);
}

TEST_CASE("0 × NaN is NaN in every product", "[fault]") {
    const Tensor zero = zeros({2, 2}), bad = tensor({{NAN, 1}, {INFINITY, 1}});
    CHECK(std::isnan((zero * bad).at({0, 0})));
    const Tensor y = matmul(zero, bad);
    CHECK(std::isnan(y.at({0, 0})));
    CHECK(y.at({0, 1}) == 0);
    CHECK(std::isnan(matmul(zeros({9, 40}), full({40, 9}, INFINITY)).at({8, 8})));
    CHECK(std::isnan(linear(zero, bad).at({0, 0})));
}
