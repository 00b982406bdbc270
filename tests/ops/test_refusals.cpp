// Refusals that the tests of their operations leave out, by their types and words; main.cpp sees to it that
// every one is reached somewhere.
#include <cmath>

#include "kernels/interface.h"
#include "refusal.h"
#include "weft/weft.h"

using namespace weft;

TEST_CASE("an error's message is its parts: texts, characters, shapes and numbers of every type", "[fault]") {
    const std::string text = "a";
    CHECK(std::string(ValueError(text, " is ", 0.5, ", not ", 2.0F, 'x', -3, ": ", Shape{2, 3}).what()) ==
          "a is 0.5, not 2x-3: (2, 3)");
}

TEST_CASE("refusals of types", "[fault]") {
    Tensor truths = zeros({2}, boolean);
    const Tensor numbers = zeros({2}, int64), x = zeros({2}), index = zeros({2}, int64);
    Rng rng(1);
    check_refusals<DTypeError>({
        {"add: bool has no arithmetic; use && || !", [&] { truths + truths; }},
        {"negative: bool has no arithmetic; use !", [&] { -truths; }},
        {"add_: bool tensors do not add", [&] { truths.add_(truths); }},
        {"mul_: bool tensors do not multiply", [&] { truths.mul_(truths); }},
        {"mul_: bool tensors do not multiply", [&] { truths.mul_(2); }},
        {"sum_to: bool does not add", [&] { sum_to(truths, {1}); }},
        {"cumsum: bool does not add", [&] { cumsum(truths, 0); }},
        {"scatter_add: bool does not add", [&] { scatter_add({2}, 0, index, truths); }},
        {"max: bool has no order", [&] { max(truths, 0); }},
        {"argmax: bool has no order", [&] { argmax(truths, 0); }},
        {"min: bool has no order", [&] { min(truths); }},
        {"clamp: takes float32 or float64, not int64", [&] { clamp(numbers, 0, 1); }},
        {"clamp: takes float32 or float64, not bool", [&] { clamp(truths, 0, 1); }},
        {"divide: takes float32 or float64, not int64", [&] { numbers / numbers; }},
        {"arange: counts in float32, float64 or int64, not bool", [] { arange(0, 2, 1, boolean); }},
        {"randn: draws float32 or float64, not int64", [&] { randn({2}, rng, int64); }},
        {"rand: draws float32 or float64, not bool", [&] { rand({2}, rng, boolean); }},
        {"where: the condition must be bool, not float32", [&] { where(x, x, x); }},
        {"&&: the left operand must be bool, not float32", [&] { x&& truths; }},
        {"&&: the right operand must be bool, not int64", [&] { truths&& numbers; }},
        {"||: the left operand must be bool, not float32", [&] { x || truths; }},
        {"||: the right operand must be bool, not int64", [&] { truths || numbers; }},
        {"set_data: a tensor that requires a gradient cannot become int64",
         [&] { zeros({2}).requires_grad_().set_data(numbers); }},
        {"requires_grad_: only float32 and float64 take a gradient, not int64",
         [&] { zeros({2}, int64).requires_grad_(); }},
        {"rotary: takes float32 or float64, not int64",
         [] {
             nn::rotary(zeros({2, 2}, int64));
         }},
    });
}

TEST_CASE("refusals of shapes", "[fault]") {
    const Tensor x = zeros({2, 3}), scalar = zeros({});
    check_refusals<ShapeError>({
        {"expand: (2, 3) to (3,): fewer axes", [&] { x.expand({3}); }},
        {"expand: (2, 3) to (-1, 2, 3): -1 keeps a size",
         [&] {
             x.expand({-1, 2, 3});
         }},
        {"expand: (2, 3) to (-2, 3): negative size -2",
         [&] {
             x.expand({-2, 3});
         }},
        {"broadcast_to: (2, 3) does not broadcast to (1, 3)",
         [&] {
             broadcast_to(x, {1, 3});
         }},
        {"reshape: (2, 3) to (-2, 3): negative size -2",
         [&] {
             x.reshape({-2, 3});
         }},
        {"permute: (0, 0) is not a permutation of the axes of (2, 3)",
         [&] {
             x.permute({0, 0});
         }},
        {"index_select: indices of shape (1, 2)",
         [&] {
             index_select(x, 0, zeros({1, 2}, int64));
         }},
        {"scatter_add: an index of shape (2, 3) for a source of (2, 2)",
         [&] {
             scatter_add({2, 3}, 1, zeros({2, 3}, int64), zeros({2, 2}));
         }},
        {"scatter_add: an index of shape (2, 2) for a source of (2, 3)",
         [&] {
             scatter_add({2, 3}, 1, zeros({2, 2}, int64), x);
         }},
        {"max: axis 1 of (2, 0) is empty",
         [] {
             max(zeros({2, 0}), 1);
         }},
        {"min: a tensor of shape (2, 0) is empty",
         [] {
             min(zeros({2, 0}));
         }},
        {"cross_entropy: logits (2, 3) and targets (3,) do not fit",
         [&] { cross_entropy(x, zeros({3}, int64)); }},
        {"matmul: a scalar has no rows or columns", [&] { matmul(scalar, x); }},
        {"matmul: a scalar has no rows or columns", [&] { matmul(x, scalar); }},
        {"matmul: (2, 4, 3) @ (3, 3, 4)",
         [] {
             matmul(zeros({2, 4, 3}), zeros({3, 3, 4}));
         }},
        {"from_vector: 2 values for shape (3,), which holds 3",
         [] {
             from_vector(std::vector<double>{1, 2}, {3});
         }},
        {"Linear: the weight must be (out, in), not (3,)", [] { nn::Linear(zeros({3})); }},
        {"embedding: a table of shape (2,)", [] { embedding(zeros({2}), zeros({1}, int64)); }},
        {"layer_norm: a scalar has no axis to normalise", [&] { layer_norm(scalar, {}); }},
        {"masked_fill: a mask of shape (2, 2, 3) does not broadcast to x, (2, 3)",
         [&] {
             masked_fill(x, zeros({2, 2, 3}, boolean), 0);
         }},
        {"sum_to: (2, 1, 3) does not broadcast to (2, 3); use a shape that the tensor's was broadcast from",
         [&] {
             sum_to(x, {2, 1, 3});
         }},
        {"triu: a tensor of shape (2,) is not a matrix", [] { triu(zeros({2})); }},
        {"tril: a tensor of shape () is not a matrix", [&] { tril(scalar); }},
        {"cannot add an axis to (1, 1, 1, 1, 1, 1, 1, 1), because a tensor has at most 8",
         [] {
             zeros({1, 1, 1, 1, 1, 1, 1, 1}).unsqueeze(0);
         }},
        {"multi_head_attention: the last axis of (3, 25) does not divide into 6 equal parts",
         [] {
             multi_head_attention(zeros({3, 25}), 2);
         }},
        {"multi_head_attention: the last axis of (3, 24) does not divide into 0 equal parts",
         [] {
             multi_head_attention(zeros({3, 24}), 0);
         }},
        {"multi_head_attention: takes (B, T, C) or (T, C), not (24,)",
         [] { multi_head_attention(zeros({24}), 2); }},
        {"is more than BLAS can count", [] { kernels::check_gemm_sizes("matmul", 1, 1LL << 31, 2); }},
    });
    CHECK_NOTHROW(kernels::check_gemm_sizes("matmul", 1, (1LL << 31) - 1, 2));
    CHECK_THROWS_AS(kernels::check_gemm_sizes("matmul", 1LL << 31, 1, 1), ShapeError);
    CHECK_THROWS_AS(kernels::check_gemm_sizes("matmul", 1, 1, 1LL << 31), ShapeError);
}

TEST_CASE("refusals of values", "[fault]") {
    Rng rng(1);
    const Tensor x = zeros({2, 3});
    check_refusals<ValueError>({
        {"arange: steps of", [] { arange(0, 2, 0); }},
        {"arange: steps of", [] { arange(0, 2, -1); }},
        {"arange: steps of", [] { arange(0, INFINITY); }},
        {"categorical: no weight is above 0",
         [&] {
             rng.categorical({0, 0});
         }},
        {"categorical: no weight is above 0", [&] { rng.categorical({}); }},
        {"categorical: a weight is",
         [&] {
             rng.categorical({1, -1});
         }},
        {"categorical: a weight is",
         [&] {
             rng.categorical({1, INFINITY});
         }},
        {"categorical: a weight is",
         [&] {
             rng.categorical({1, NAN});
         }},
        {"randint: the range [3, 3) is empty", [&] { rng.randint(3, 3); }},
        {"randint: the range [3, 3) is empty", [&] { randint(3, 3, {2}, rng); }},
        {"split: a part of size -1",
         [&] {
             split(x, {-1, 3});
         }},
        {"dropout: p is ", [&] { dropout(x, 1, rng); }},
        {"dropout: p is ", [&] { dropout(x, -0.1, rng); }},
        {"dropout: p is ", [&] { dropout(x, NAN, rng); }},
        {"layer_norm: eps = ", [&] { layer_norm(x, {}, {}, 0); }},
        {"layer_norm: eps = ", [&] { layer_norm(x, {}, {}, NAN); }},
        {"clamp: low ", [&] { clamp(x, 1, 0); }},
        {"clamp: low ", [&] { clamp(x, NAN, 0); }},
        {"set_num_threads: 0 threads; use 1 to 1024", [] { set_num_threads(0); }},
        {"set_num_threads: 1025 threads; use 1 to 1024", [] { set_num_threads(1025); }},
        {"set_float32_matmul_precision: \"high\"; use \"highest\" or \"medium\"",
         [] { set_float32_matmul_precision("high"); }},
        {"rotary: first_position must be at least 0, not -1",
         [] {
             nn::rotary(zeros({2, 2}), -1);
         }},
        {"rotary: the base is 0; it must be finite and above 0",
         [] {
             nn::rotary(zeros({2, 2}), 0, 0);
         }},
    });
    CHECK(clamp(x, 1, 1).to_vector<float>() == std::vector<float>(6, 1));
    CHECK(arange(2, 2).numel() == 0);
    CHECK(rng.categorical({0, 1e-300, 0}) == 1);
}

TEST_CASE("refusals of the graph", "[fault]") {
    const Tensor x = zeros({2}), leaf = zeros({2}).requires_grad_();
    Tensor y = leaf * 2;
    check_refusals<GraphError>({
        {"tensor: this tensor is undefined", [] { Tensor().shape(); }},
        {"record needs a new tensor, but y is one of the inputs",
         [&] { record("mine", leaf, {leaf}, {}, [](const Saved&, const Tensor& dy) { return Grads{dy}; }); }},
        {"record needs a new tensor, but y is already in the graph",
         [&] { record("mine", y, {leaf}, {}, [](const Saved&, const Tensor& dy) { return Grads{dy}; }); }},
        {"register_hook: this tensor does not require a gradient",
         [&] { Tensor(x).register_hook([](const Tensor& g) { return g; }); }},
        {"set_grad: this tensor does not require a gradient", [&] { Tensor(x).set_grad(x); }},
        {"set_data: a tensor made by multiply cannot take new values", [&] { y.set_data(x); }},
        {"requires_grad_: a tensor made by multiply requires a gradient", [&] { y.requires_grad_(false); }},
    });
}

TEST_CASE("refusals of attention and its cache", "[fault]") {
    const Tensor q = zeros({1, 2, 3, 4});
    Rng rng(1);
    const auto attend = [&](const AttentionOptions& options) {
        scaled_dot_product_attention(q, q, q, options);
    };
    check_refusals<ValueError>({
        {"the bias holds NaN or +inf",
         [&] {
             attend({.bias = full({3, 3}, NAN)});
         }},
        {"the bias holds NaN or +inf",
         [&] {
             attend({.bias = full({3, 3}, INFINITY)});
         }},
        {"a scale of ", [&] { attend({.scale = NAN}); }},
        {": dropout is ", [&] { attend({.dropout = 1, .rng = &rng}); }},
        {": dropout is ", [&] { attend({.dropout = -0.1, .rng = &rng}); }},
        {"KeyValueCache: cannot truncate to 1 tokens", [] { nn::KeyValueCache().truncate(1); }},
        {"KeyValueCache: capacity must be at least 1", [] { nn::KeyValueCache(0); }},
    });
    CHECK_NOTHROW(attend({.bias = full({3, 3}, -INFINITY)}));
    check_refusals<ShapeError>({
        {"a bias of shape (2, 1, 3, 3) does not broadcast to the scores",
         [&] {
             attend({.bias = zeros({2, 1, 3, 3})});
         }},
        {"generate: ids must be (T,) or (B, T) with T ≥ 1",
         [&] {
             lm::GPT model({.vocab_size = 5, .block_size = 4, .num_layers = 1, .num_heads = 1, .d_model = 4},
                           rng);
             model.generate(zeros({0}, int64), 1, {.temperature = 0});
         }},
        {"sample: logits must be (V,) with V ≥ 1, not (2, 3)",
         [] {
             lm::sample(zeros({2, 3}), {.temperature = 0});
         }},
        {"sample: logits must be (V,) with V ≥ 1, not (0,)",
         [] { lm::sample(zeros({0}), {.temperature = 0}); }},
        {"mask_oracle: takes scores (S,) or (T, S), not ()",
         [] { check::mask_oracle(zeros({}), Mask::causal()); }},
    });
    nn::KeyValueCache cache;
    cache.append(q, q);
    const Tensor wanted = zeros({1, 2, 3, 4}).requires_grad_(), wide = zeros({1, 2, 3, 4}, float64);
    CHECK(contains(message_of<DTypeError>([&] { cache.append(wide, wide); }),
                   "KeyValueCache: holds float32, not float64"));
    CHECK(contains(message_of<GraphError>([&] { cache.append(wanted, q); }),
                   "keys or values require a gradient"));
    CHECK(contains(message_of<GraphError>([&] { cache.append(q, wanted); }),
                   "keys or values require a gradient"));
    CHECK(cache.length() == 3);
}
