// Refusals of the composed operations, and what they do with nothing, with NaN and at the edges.
#include <cmath>

#include "refusal.h"
#include "weft/weft.h"

using namespace weft;

TEST_CASE("arguments that change nothing give a copy, which is outside the graph under NoGrad", "[more]") {
    const Tensor x = ones({1, 1}).requires_grad_();
    using OpEntry = Tensor (*)(const Tensor&);
    for (const OpEntry op :
         {OpEntry([](const Tensor& t) { return prod(t, 0); }),
          OpEntry([](const Tensor& t) { return prod(t, 1, true); }),
          OpEntry([](const Tensor& t) { return cumprod(t, 0); }),
          OpEntry([](const Tensor& t) { return pad(t, {}); }), OpEntry([](const Tensor& t) {
              return pad(t, {0, 0});
          }),
          OpEntry([](const Tensor& t) { return roll(t, 1, 0); }), OpEntry([](const Tensor& t) {
              return repeat(t, {1, 1});
          }),
          OpEntry([](const Tensor& t) { return repeat(t[0][0], {}); })}) {
        CHECK(op(x).requires_grad());
        const NoGrad guard;
        const Tensor y = op(x);
        CHECK_FALSE(y.shares_storage(x));
        CHECK_FALSE(y.requires_grad());
    }
    CHECK_FALSE(roll(zeros({0}), 1, 0).shares_storage(zeros({0})));
}

TEST_CASE("refusals of the composed operations: types", "[fault][more]") {
    const Tensor truths = zeros({2}, boolean), numbers = zeros({2}, int64), x = zeros({2});
    refuses<DTypeError>("silu: takes", [&] { silu(numbers); });
    refuses<DTypeError>("softplus: takes float32 or float64, not int64", [&] { softplus(numbers); });
    refuses<DTypeError>("elu: takes float32 or float64, not bool", [&] { elu(truths); });
    refuses<DTypeError>("allclose: float32 and int64 do not mix",
                        [&] { static_cast<void>(allclose(x, numbers)); });
    refuses<DTypeError>("all: x must be bool, not float32", [&] { all(x, 0); });
    refuses<DTypeError>("any: x must be bool, not int64", [&] { any(numbers, 0); });
    refuses<DTypeError>("std: takes float32 or float64, not int64", [&] { weft::std(numbers); });
    refuses<DTypeError>("norm: takes float32 or float64, not int64", [&] { norm(numbers); });
    refuses<DTypeError>("prod: bool has no arithmetic", [&] { prod(truths); });
    refuses<DTypeError>("cumprod: bool has no arithmetic", [&] { cumprod(truths, 0); });
    refuses<DTypeError>("argsort: bool has no arithmetic", [&] { argsort(truths); });
    refuses<DTypeError>("linspace: makes float32 or float64, not int64", [] { linspace(0, 1, 3, int64); });
    refuses<DTypeError>("one_hot: the ids must be int64, not float32", [&] { one_hot(x); });
    refuses<DTypeError>("masked_select: the mask must be bool, not int64", [&] { masked_select(x, numbers); });
    refuses<DTypeError>("einsum: float32 and int64 do not mix", [&] { einsum("i,i", {x, numbers}); });
    refuses<DTypeError>("nll_loss: the targets must be int64, not float32", [&] {
        nll_loss(zeros({2, 3}), x);
    });
    refuses<DTypeError>("max_pool2d: takes float32 or float64, not int64", [] {
        max_pool2d(zeros({1, 1, 2, 2}, int64), {});
    });
    refuses<DTypeError>("batch_norm: takes float32 or float64, not int64", [] {
        batch_norm(zeros({2, 2}, int64), {});
    });
}

TEST_CASE("refusals of the composed operations: shapes", "[fault][more]") {
    const Tensor x = zeros({2, 3}), v = zeros({3}), image = zeros({1, 2, 4, 5});
    refuses<ShapeError>("repeat: (2,) has fewer numbers than (2, 3) has axes; give one for each",
                        [&] { repeat(x, {2}); });
    refuses<ShapeError>(
        "pad: 3 numbers for a tensor of shape (2, 3); give two for each padded axis, the last axis first", [&] {
            pad(x, {1, 2, 3});
        });
    refuses<ShapeError>("pad: 6 numbers for a tensor of shape (2, 3)", [&] { pad(x, {1, 1, 1, 1, 1, 1}); });
    refuses<ShapeError>("pad: axis 1 of (2, 3) cannot be cut by 2 and 2; cut no more than it has", [&] {
        pad(x, {-2, -2});
    });
    refuses<ShapeError>("diag: a tensor of shape (); it must be (n,) or (m, n)", [] { diag(ones({})); });
    refuses<ShapeError>("outer: tensors of shape (2, 3) and (3,); both must be vectors", [&] { outer(x, v); });
    refuses<ShapeError>("dot: tensors of shape (3,) and (2, 3); both must be vectors of one length",
                        [&] { dot(v, x); });
    refuses<ShapeError>("unfold: a tensor of shape (2, 3); it must be (N, C, H, W)", [&] { unfold(x, {}); });
    refuses<ShapeError>("unfold: a window of 5 does not fit an image of (4, 5), padding included",
                        [&] { unfold(image, {.kernel_height = 3, .kernel_width = 3, .dilation = 2}); });
    refuses<ShapeError>("fold: columns of shape (2, 3); they must be (N, C·4, 12)",
                        [&] { fold(x, 4, 5, {.kernel_height = 2, .kernel_width = 2}); });
    refuses<ShapeError>("conv2d: x (1, 2, 4, 5), weight (3, 3, 2, 2), 1 groups; x must be (N, C, H, W)", [&] {
        conv2d(image, zeros({3, 3, 2, 2}));
    });
    refuses<ShapeError>("conv2d: x (1, 2, 4, 5), weight (3, 1, 2, 2), 2 groups", [&] {
        conv2d(image, zeros({3, 1, 2, 2}), {}, {.groups = 2});
    });
    refuses<ShapeError>("conv2d: a bias of shape (2,); it must be (3,)", [&] {
        conv2d(image, zeros({3, 2, 2, 2}), zeros({2}));
    });
    refuses<ShapeError>("avg_pool2d: a tensor of shape (2, 3); it must be (N, C, H, W)",
                        [&] { avg_pool2d(x, {}); });
    refuses<ShapeError>("batch_norm: a tensor of shape (3,); it must be (N, C, …)", [&] { batch_norm(v, {}); });
    refuses<ShapeError>("batch_norm: statistics, weight and bias must be (3,), not (2, 3)",
                        [&] { batch_norm(x, {}, x, {}, {.training = true}); });
    refuses<ShapeError>("kl_div: prediction (2, 3) and target (3,) must have one shape", [&] { kl_div(x, v); });
    refuses<ShapeError>("scatter: an index of shape (2, 1) for a source of (2, 3); they must be equal", [&] {
        scatter(x, 1, zeros({2, 1}, int64), x);
    });
    refuses<ShapeError>("scatter: an index of shape (3, 1) does not fit (2, 3) along axis 1", [&] {
        scatter(x, 1, zeros({3, 1}, int64), 1);
    });
    refuses<ShapeError>("repeat_interleave: repeats of shape (2,) for 3 elements; they must be (3,)", [&] {
        repeat_interleave(x, tensor({1, 2}), 1);
    });
    refuses<ShapeError>("trace: a tensor of shape (3,) is not a matrix; it needs two axes", [&] { trace(v); });
    refuses<ShapeError>(
        "tensordot: the axes of (2, 3) and (2, 3) do not fit; name as many of both, with equal sizes",
        [&] { tensordot(x, x, 1); });
    refuses<ShapeError>("vstack: the list is empty; give at least one tensor", [] { vstack({}); });
    refuses<ShapeError>("hstack: the list is empty; give at least one tensor", [] { hstack({}); });
    refuses<ShapeError>("l1_loss: prediction (2, 3) and target (3,) must have one shape",
                        [&] { l1_loss(x, v); });
    refuses<ShapeError>(
        "cross_entropy: logits (2, 5, 4) and targets (2, 4) do not fit; logits are (…, classes), targets "
        "(…): move the classes behind, with movedim(x, 1, -1)",
        [] {
            cross_entropy(zeros({2, 5, 4}), zeros({2, 4}, int64));
        });
    refuses<ShapeError>("nll_loss: predictions (2, 3) and targets (3,) do not fit",
                        [&] { nll_loss(x, zeros({3}, int64)); });
    refuses<ShapeError>("cross_entropy: class weights of shape (2,) for 3 classes; they must be (3,)",
                        [&] { cross_entropy(x, zeros({2}, int64), {.weight = ones({2})}); });
}

TEST_CASE("refusals of the composed operations: values", "[fault][more]") {
    const Tensor x = zeros({2, 3}), image = zeros({1, 2, 4, 5});
    refuses<ValueError>("norm: p is 0; use a p above 0", [&] { norm(x, 0); });
    refuses<ValueError>("norm: p is nan", [&] { norm(x, NAN); });
    refuses<ValueError>("topk: k is 4, but axis 1 of (2, 3) has 3 elements; use 0 to 3", [&] { topk(x, 4); });
    refuses<ValueError>("topk: k is -1", [&] { topk(x, -1, 0); });
    refuses<ValueError>("linspace: -1 steps; use 0 or more", [] { linspace(0, 1, -1); });
    refuses<ValueError>("one_hot: -2 classes; use 0 or more", [] { one_hot(zeros({2}, int64), -2); });
    refuses<ValueError>("flatten: the first axis, 1, comes after the last, 0; exchange them",
                        [&] { flatten(x, 1, 0); });
    refuses<ValueError>("repeat: -1 times; use 0 or more", [&] { repeat(x, {1, -1}); });
    refuses<ValueError>("pad: -4 at axis 1 of (2, 3); use -3 to 2147483647", [&] { pad(x, {-4, 0}); });
    refuses<ValueError>("pad: 9223372036854775807 at axis 1", [&] { pad(x, {INT64_MAX, INT64_MAX}); });
    refuses<ValueError>("unfold: kernel (0, 1), stride 1 and dilation 1 must be 1 to 2147483647",
                        [&] { unfold(image, {.kernel_height = 0}); });
    refuses<ValueError>("max_pool2d: a kernel of (2, 3) is not square; give a stride",
                        [&] { max_pool2d(image, {.kernel_height = 2, .kernel_width = 3}); });
    refuses<ValueError>("max_pool2d: padding is -1; use 0 to 2147483647",
                        [&] { max_pool2d(image, {.padding = -1}); });
    refuses<ValueError>("fold: an image of (0, 3); use sizes of 1 to 2147483647", [] {
        fold(zeros({1, 1, 1}), 0, 3, {});
    });
    refuses<ValueError>("batch_norm: eps = 0; it must be above 0",
                        [&] { batch_norm(x, {}, {}, {}, {.training = true, .eps = 0}); });
    refuses<ValueError>("batch_norm: evaluation needs the running mean and variance; pass them, or train",
                        [&] { batch_norm(x, {}); });
    refuses<ValueError>("cross_entropy: label_smoothing is 1.5; use 0 to 1",
                        [&] { cross_entropy(x, zeros({2}, int64), {.label_smoothing = 1.5}); });
    refuses<ValueError>("huber_loss: delta is 0; it must be above 0", [&] { huber_loss(x, x, 0); });
    refuses<ValueError>("smooth_l1_loss: beta is -1; it must be finite, 0 or more",
                        [&] { smooth_l1_loss(x, x, -1); });
    refuses<ValueError>(
        "binary_cross_entropy: prediction 2.0 at position (0, 1) is no probability; of logits, take "
        "binary_cross_entropy_with_logits",
        [] {
            binary_cross_entropy(tensor({{1.0, 2}}), ones({1, 2}));
        });
    refuses<ValueError>("binary_cross_entropy: prediction nan at position (1,) is no probability", [] {
        binary_cross_entropy(tensor({1, NAN}), ones({2}));
    });
    refuses<ValueError>("repeat_interleave: -1 times; use 0 or more", [&] { repeat_interleave(x, -1); });
    refuses<ValueError>("tensordot: 3 axes of (2, 3) and (2, 3); use 0 or more, at most as many as both have",
                        [&] { tensordot(x, x, 3); });
    const auto refuses_einsum = [&](const std::string& equation, const std::string& words,
                                    const std::vector<Tensor>& tensors) {
        refuses<ValueError>("einsum: \"" + equation + "\": " + words, [&] { einsum(equation, tensors); });
    };
    refuses_einsum("i1->i", "'1' is no index; use letters, ... once for each tensor, commas and ->", {x});
    refuses_einsum("ij,jk", "2 groups of indices for 1 tensors; give one for each", {x});
    refuses_einsum("ijk", "tensor 0 of shape (2, 3) needs one index for each axis, not \"ijk\"", {x});
    refuses_einsum("ii", "index 'i' has size 2 and 3; each index needs one size", {x});
    refuses_einsum("ij->ik", "the result names 'k', which must be an index, once", {x});
    refuses_einsum("ij->ii", "the result names 'i'", {x});
    refuses_einsum("...ijk", "tensor 0 of shape (2, 3) needs one index for each axis, not \"...ijk\"", {x});
    refuses_einsum("...i...", "'...' is no index", {x});
    refuses_einsum("..i", "'.' is no index", {x});
    refuses_einsum("...,...", "index '...' has size 2 and 3; each index needs one size", {x, x.T()});
    refuses_einsum("...i->...i...", "the result names '...'", {x});
    refuses_einsum("...i->1", "the result names '1'", {x});
    refuses<IndexError>("diagonal: axis 1 is named twice; name two axes", [&] { diagonal(x, 0, 1, -1); });
    refuses<IndexError>("tensordot: axis 0 is named twice; name each axis once", [&] {
        tensordot(ones({2, 2}), ones({2, 2}), {{0, 0}, {0, 1}});
    });
    refuses<IndexError>("scatter: index 3 at position (0, 0) is out of range for size 3; use -3 to 2", [&] {
        scatter(x, 1, full({2, 1}, 3, int64), 1);
    });
    refuses<IndexError>("one_hot: id 3 at position (1,) is outside the 3 classes (0 to 2)",
                        [] { one_hot(arange(2) * 3, 3); });
    refuses<IndexError>("one_hot: id -1 at position (0,)", [] { one_hot(arange(1) - 1, 3); });
    refuses<IndexError>(
        "nll_loss: target 3 at flat position 1 is outside the 3 classes (0 to 2, or ignore_index -100)",
        [&] { nll_loss(x, arange(2) * 3); });
}

TEST_CASE("composed operations of nothing", "[more]") {
    const Tensor none = zeros({0, 3}).requires_grad_();
    CHECK(prod(none, 0).to_vector<float>() == std::vector<float>{1, 1, 1});
    CHECK(cumprod(none, 0).shape() == Shape{0, 3});
    CHECK(sort(none, 0).values.shape() == Shape{0, 3});
    CHECK(topk(none, 0, 0).values.shape() == Shape{0, 3});
    CHECK(norm(none).item() == 0);
    CHECK(repeat(ones({2}), {0}).numel() == 0);
    CHECK(repeat(none, {2, INT64_MAX / 8}).shape() == Shape{0, INT64_MAX / 8 * 3});
    CHECK(linspace(2, 3, 0).numel() == 0);
    CHECK(linspace(2, 3, 1).item() == 2);
    const Tensor far = linspace(-1.5e308, 1.5e308, 5, float64);  // end − start overflows
    CHECK(far.to_vector<double>() == std::vector<double>{-1.5e308, -7.5e307, 0, 7.5e307, 1.5e308});
    CHECK(linspace(1.5e308, -1.5e308, 2, float64).to_vector<double>() ==
          std::vector<double>{1.5e308, -1.5e308});
    CHECK(nonzero(none).shape() == Shape{0, 2});
    CHECK(masked_select(none, none > 0).numel() == 0);
    CHECK(one_hot(zeros({0}, int64)).shape() == Shape{0, 0});
    CHECK(diag(zeros({0}), 2).shape() == Shape{2, 2});
    CHECK(diag(zeros({2, 3}), INT64_MIN).numel() == 0);
    CHECK(einsum("ij,ij->j", {none, none}).to_vector<float>() == std::vector<float>{0, 0, 0});
    CHECK(nll_loss(zeros({0, 3}), zeros({0}, int64)).item() == 0);
    CHECK(nll_loss(zeros({2, 3}), full({2}, -100, int64)).item() == 0);
}

TEST_CASE("composed operations keep what is not finite where it belongs", "[more]") {
    const double inf = INFINITY;
    CHECK(isnan(tensor({1, NAN, inf}).to(float32)).to_vector<bool>() == std::vector<bool>{false, true, false});
    CHECK(isinf(tensor({1, NAN, -inf})).to_vector<bool>() == std::vector<bool>{false, false, true});
    CHECK(std::isnan(prod(tensor({0, NAN})).item()));
    CHECK(norm(tensor({3e30, 4e30})).item() == Approx(5e30));  // whose squares are beyond float32
    CHECK(norm(tensor({3e-30, 4e-30})).item() == Approx(5e-30));
    CHECK(norm(tensor({1, -inf})).item() == inf);
    CHECK(norm(tensor({1, inf}), 3).item() == inf);
    CHECK(std::isnan(norm(tensor({NAN, inf}), 3).item()));
    CHECK(rsqrt(tensor({0.0, -0.0, inf})).to_vector<float>() == std::vector<float>{INFINITY, -INFINITY, 0});
    CHECK(all(isnan(rsqrt(tensor({-1, -inf})))));
    const Tensor sorted = sort(tensor({NAN, 1, inf})).values;
    CHECK(sorted.at({0}) == 1);
    CHECK(std::isnan(sorted.at({2})));
    CHECK(max_pool2d(full({1, 1, 1, 1}, -5), {.kernel_height = 3, .kernel_width = 3, .padding = 1}).item() ==
          -5);
    const Tensor ignored = cross_entropy(tensor({{0, 0}, {NAN, NAN}}).to(float32), tensor({1, -100}, int64),
                                         {.label_smoothing = 0.5});
    CHECK(ignored.item() == Approx(std::log(2.0)));
}

TEST_CASE("random permutations and samples are what their names say", "[more]") {
    Rng rng(3);
    const Tensor order = randperm(50, rng);
    CHECK(all(sort(order).values == arange(50)));
    CHECK_FALSE(all(order == arange(50)));
    const Tensor weights = tensor({{1.0, 0, 3}, {0, 2, 2}}).to(float64);
    const Tensor drawn = multinomial(weights, 4000, rng, true);
    const Tensor counts = sum(one_hot(drawn, 3), 1);  // (2, 3)
    CHECK(counts.at({0, 1}) == 0);
    CHECK(counts.at({1, 0}) == 0);
    CHECK(std::abs(counts.at({0, 2}) - 3000) < 120);  // 4.4 standard deviations
    CHECK(std::abs(counts.at({1, 1}) - 2000) < 140);
    const Tensor without = multinomial(weights, 2, rng);
    CHECK(all(sort(without).values == tensor({{0, 2}, {1, 2}}, int64)));
}

TEST_CASE("multinomial draws what one categorical after another draws", "[more]") {
    Rng rng(3);
    for (const std::int64_t n : {1, 2, 3, 7, 64, 100}) {
        const Tensor weights = floor(8 * rand({n}, rng, float64)) + (arange(n) == n / 2).to(float64);
        std::vector<double> w = weights.to_vector<double>();
        const std::int64_t possible = n - static_cast<std::int64_t>(std::ranges::count(w, 0.0));
        for (const bool replacement : {true, false}) {
            Rng one(5), other(5);
            const std::int64_t samples = replacement ? 200 : possible;
            const Tensor drawn = multinomial(weights, samples, one, replacement);
            for (std::int64_t i = 0; i < samples; ++i) {
                const std::int64_t expected = other.categorical(w);
                CHECK(drawn[i].item() == static_cast<double>(expected));
                if (!replacement) w[static_cast<std::size_t>(expected)] = 0;
            }
            CHECK(one.state().position == other.state().position);
        }
    }
}

TEST_CASE("multinomial keeps small weights beside large ones, and their proportions where the sum overflows",
          "[more]") {
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        Rng rng(seed);
        const Tensor drawn = multinomial(tensor({1.0, 1e300, 1, 0}, float64), 3, rng);
        CHECK(drawn[0].item() == 1);
        CHECK(all(sort(drawn).values == arange(3)));
    }
    Rng rng(1);
    const Tensor drawn = multinomial(tensor({1e308, 1e308, 1e308, 0}, float64), 3000, rng, true);
    const Tensor counts = sum(one_hot(drawn, 4), 0);
    std::vector<std::int64_t> single(4);
    for (int i = 0; i < 3000; ++i)
        ++single[static_cast<std::size_t>(rng.categorical({1e308, 1e308, 1e308, 0}))];
    for (const int i : {0, 1, 2}) {
        CHECK(std::abs(counts[i].item() - 1000) < 120);  // 4.6 standard deviations
        CHECK(std::abs(static_cast<double>(single[static_cast<std::size_t>(i)]) - 1000) < 120);
    }
    CHECK(counts[3].item() == 0);
    CHECK(single[3] == 0);
}

TEST_CASE("batch_norm in training moves its running statistics", "[more]") {
    const Tensor x = tensor({{1.0, 2}, {3, 6}, {5, 10}}).to(float64);  // means 3 and 6, variances 4 and 16
    const BatchNormStats running{zeros({2}, float64), ones({2}, float64)};
    const Tensor y = batch_norm(x, running, {}, {}, {.training = true});
    CHECK(y.at({0, 0}) == Approx(-2 / std::sqrt(8.0 / 3 + 1e-5)));
    CHECK(running.mean.at({0}) == Approx(0.3));
    CHECK(running.mean.at({1}) == Approx(0.6));
    CHECK(running.var.at({0}) == Approx(0.9 + 0.4));
    CHECK(running.var.at({1}) == Approx(0.9 + 1.6));
    // Two parts of one memory are two tensors.
    const Tensor both = ones({2, 2}, float64);
    (void)batch_norm(x, {both[0], both[1]}, {}, {}, {.training = true});
    CHECK(both.at({0, 1}) == Approx(0.9 + 0.6));
}

TEST_CASE("the second derivative of a norm is right where an element is 0", "[more]") {
    const Tensor x = tensor({3, 0, 4}, float64).requires_grad_();
    const Tensor dx = grad({norm(x)}, {x}, {}, {.create_graph = true})[0];  // x / ‖x‖
    CHECK(grad({dx[1]}, {x})[0].at({1}) == Approx(1.0 / 5));  // (δ_ij − x_i x_j / ‖x‖²) / ‖x‖
}
