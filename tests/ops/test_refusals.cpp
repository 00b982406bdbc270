// Refusals that the tests of their operations leave out, by their types and words; main.cpp sees to it that
// every one is reached somewhere.
#include <cmath>

#include "core/kernels.h"
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
    refuses<DTypeError>("add: bool has no arithmetic; use && || !", [&] { truths + truths; });
    refuses<DTypeError>("negative: bool has no arithmetic; use !", [&] { -truths; });
    refuses<DTypeError>("sum_to: bool does not add", [&] { sum_to(truths, {1}); });
    refuses<DTypeError>("cumsum: bool does not add", [&] { cumsum(truths, 0); });
    refuses<DTypeError>("scatter_add: bool does not add", [&] { scatter_add({2}, 0, index, truths); });
    refuses<DTypeError>("max: bool has no order", [&] { max(truths, 0); });
    refuses<DTypeError>("argmax: bool has no order", [&] { argmax(truths, 0); });
    refuses<DTypeError>("min: bool has no order", [&] { min(truths); });
    refuses<DTypeError>("clamp: takes float32 or float64, not int64", [&] { clamp(numbers, 0, 1); });
    refuses<DTypeError>("clamp: takes float32 or float64, not bool", [&] { clamp(truths, 0, 1); });
    refuses<DTypeError>("divide: takes float32 or float64, not int64", [&] { numbers / numbers; });
    refuses<DTypeError>("arange: counts in float32, float64 or int64, not bool",
                        [] { arange(0, 2, 1, boolean); });
    refuses<DTypeError>("where: the condition must be bool, not float32", [&] { where(x, x, x); });
    refuses<DTypeError>("&&: the left operand must be bool, not float32", [&] { x&& truths; });
    refuses<DTypeError>("&&: the right operand must be bool, not int64", [&] { truths&& numbers; });
    refuses<DTypeError>("||: the left operand must be bool, not float32", [&] { x || truths; });
    refuses<DTypeError>("||: the right operand must be bool, not int64", [&] { truths || numbers; });
}

TEST_CASE("refusals of shapes", "[fault]") {
    const Tensor x = zeros({2, 3}), scalar = zeros({});
    refuses<ShapeError>("expand: (2, 3) to (3,): fewer axes", [&] { x.expand({3}); });
    refuses<ShapeError>("expand: (2, 3) to (-1, 2, 3): -1 keeps a size", [&] { x.expand({-1, 2, 3}); });
    refuses<ShapeError>("expand: (2, 3) to (-2, 3): negative size -2", [&] { x.expand({-2, 3}); });
    refuses<ShapeError>("broadcast_to: (2, 3) does not broadcast to (1, 3)", [&] { broadcast_to(x, {1, 3}); });
    refuses<ShapeError>("reshape: (2, 3) to (-2, 3): negative size -2", [&] { x.reshape({-2, 3}); });
    refuses<ShapeError>("index_select: indices of shape (1, 2)", [&] {
        index_select(x, 0, zeros({1, 2}, int64));
    });
    refuses<ShapeError>("scatter_add: an index of shape (2, 3) for a source of (2, 2)", [&] {
        scatter_add({2, 3}, 1, zeros({2, 3}, int64), zeros({2, 2}));
    });
    refuses<ShapeError>("scatter_add: an index of shape (2, 2) for a source of (2, 3)", [&] {
        scatter_add({2, 3}, 1, zeros({2, 2}, int64), x);
    });
    refuses<ShapeError>("matmul: a scalar has no rows or columns", [&] { matmul(scalar, x); });
    refuses<ShapeError>("matmul: a scalar has no rows or columns", [&] { matmul(x, scalar); });
    refuses<ShapeError>("Linear: the weight must be (out, in), not (3,)", [] { nn::Linear(zeros({3})); });
    refuses<ShapeError>("embedding: a table of shape (2,)", [] { embedding(zeros({2}), zeros({1}, int64)); });
    refuses<ShapeError>("layer_norm: a scalar has no axis to normalise", [&] { layer_norm(scalar, {}); });
    refuses<ShapeError>("masked_fill: a mask of shape (2, 2, 3) does not broadcast to x, (2, 3)", [&] {
        masked_fill(x, zeros({2, 2, 3}, boolean), 0);
    });
    refuses<ShapeError>(
        "sum_to: (2, 1, 3) does not broadcast to (2, 3); use a shape that the tensor's was broadcast from",
        [&] {
            sum_to(x, {2, 1, 3});
        });
    refuses<ShapeError>("triu: a tensor of shape (2,) is not a matrix", [] { triu(zeros({2})); });
    refuses<ShapeError>("tril: a tensor of shape () is not a matrix", [&] { tril(scalar); });
    refuses<ShapeError>("multi_head_attention: the last axis of (3, 25) does not divide into 6 equal parts",
                        [] {
                            multi_head_attention(zeros({3, 25}), 2);
                        });
    refuses<ShapeError>("multi_head_attention: the last axis of (3, 24) does not divide into 0 equal parts",
                        [] {
                            multi_head_attention(zeros({3, 24}), 0);
                        });
    for (const std::int64_t d_k : {9, 13})
        refuses<ShapeError>("multi_head_attention: the last axis of (3, 24) is not 3 · " + std::to_string(d_k) +
                                " columns of queries and keys, and values in 1 equal parts; change the sizes",
                            [&] {
                                multi_head_attention(zeros({3, 24}), {2, 1, d_k});
                            });
    refuses<ShapeError>("multi_head_attention: takes (B, T, C) or (T, C), not (24,)",
                        [] { multi_head_attention(zeros({24}), 2); });
    refuses<ShapeError>("is more than BLAS can count",
                        [] { kernels::check_gemm_sizes("matmul", 1, 1LL << 31, 2); });
    CHECK_NOTHROW(kernels::check_gemm_sizes("matmul", 1, (1LL << 31) - 1, 2));
    CHECK_THROWS_AS(kernels::check_gemm_sizes("matmul", 1LL << 31, 1, 1), ShapeError);
    CHECK_THROWS_AS(kernels::check_gemm_sizes("matmul", 1, 1, 1LL << 31), ShapeError);
}

TEST_CASE("refusals of values", "[fault]") {
    Rng rng(1);
    const Tensor x = zeros({2, 3});
    refuses<ValueError>("layer_norm: eps = ", [&] { layer_norm(x, {}, {}, 0); });
    refuses<ValueError>("layer_norm: eps = ", [&] { layer_norm(x, {}, {}, NAN); });
    refuses<ValueError>("clamp: low ", [&] { clamp(x, NAN, 0); });
    refuses<ValueError>("set_num_threads: 0 threads; use 1 to 1024", [] { set_num_threads(0); });
    refuses<ValueError>("set_num_threads: 1025 threads; use 1 to 1024", [] { set_num_threads(1025); });
    refuses<ValueError>("set_float32_matmul_precision: \"high\"; use \"highest\" or \"medium\"",
                        [] { set_float32_matmul_precision("high"); });
    CHECK(clamp(x, 1, 1).to_vector<float>() == std::vector<float>(6, 1));
    CHECK(arange(2, 2).numel() == 0);
    CHECK(rng.categorical({0, 1e-300, 0}) == 1);
}

TEST_CASE("refusals of attention and its cache", "[fault]") {
    const Tensor q = zeros({1, 2, 3, 4});
    const auto attend = [&](const AttentionOptions& options) {
        scaled_dot_product_attention(q, q, q, options);
    };
    refuses<ValueError>("a scale of ", [&] { attend({.scale = NAN}); });
    refuses<ShapeError>("a bias of shape (2, 1, 3, 3) does not broadcast to the scores", [&] {
        attend({.bias = zeros({2, 1, 3, 3})});
    });
}
