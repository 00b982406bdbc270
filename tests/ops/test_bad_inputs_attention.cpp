// Bad inputs of attention, normalisation and losses, and the values documented for them.
// B batch, H heads, T queries, S keys.
#include <cmath>
#include <functional>

#include "golden/golden.h"
#include "refusal.h"
#include "weft/core.h"

using namespace weft;

namespace {

using Doubles = std::vector<double>;

struct Qkv {
    Tensor q, k, v;
    Tensor attend(const Mask& mask = {}, const Tensor& bias = {}) const {
        AttentionOptions options;
        options.mask = mask;
        options.bias = bias;
        return scaled_dot_product_attention(q, k, v, options);
    }
    Tensor weights(const Mask& mask = {}) const {
        AttentionOptions options;
        options.mask = mask;
        return scaled_dot_product_attention_with_weights(q, k, v, options).weights;
    }
};

Qkv make(const Shape& q, const Shape& k, double scale = 1, DType dtype = float64) {
    Rng rng(11);
    const auto draw = [&](const Shape& shape) { return (randn(shape, rng, dtype) * scale).requires_grad_(); };
    Tensor a = draw(q), b = draw(k), c = draw(k);
    return {a, b, c};
}

Tensor all_false(const Shape& shape) { return zeros(shape, boolean); }

// Runs the fused kernel and the composed definition.
void both_ways(const std::function<void()>& test) {
    for (const bool composed : {false, true}) {
        INFO((composed ? "composed" : "fused"));
        const Plain mode(Plain::operations, composed);
        test();
    }
}

}  // namespace

TEST_CASE("log_softmax of a row of −inf has gradients of 0, along any axis", "[fault]") {
    for (int axis = 0; axis < 3; ++axis) {
        Rng rng(4);
        Tensor x = randn({2, 3, 4}, rng, float64);
        x.select(axis == 0 ? 1 : 0, 1).fill_(-INFINITY);  // the rows with this index on another axis
        x.requires_grad_();
        sum(masked_fill(log_softmax(x, axis), x.detach() == -INFINITY, 0.0)).backward();
        CHECK(all(where(x.detach() == -INFINITY, x.grad() == 0, isfinite(x.grad()))));
        CHECK(any(x.grad() != 0));
    }
}

TEST_CASE("a fully masked row has weights, output and gradients of exactly 0", "[fault][attention]") {
    both_ways([] {
        for (const DType dtype : {float32, float64}) {
            const Qkv x = make({2, 2, 4, 3}, {2, 2, 5, 3}, 1, dtype);
            Tensor blocked = all_false({2, 1, 4, 5});
            blocked.select(2, 1).fill_(1);  // query 1 of every sample
            blocked[1].fill_(1);            // the whole of sample 1
            const Mask mask = Mask::blocked(blocked);
            const Tensor y = x.attend(mask), w = x.weights(mask);
            CHECK(same_bits(y.select(2, 1), zeros({2, 2, 3}, dtype)));
            CHECK(same_bits(y[1], zeros({2, 4, 3}, dtype)));
            CHECK(same_bits(w.select(2, 1), zeros({2, 2, 5}, dtype)));
            CHECK(all(isfinite(y)));
            CHECK(distance(sum(w[0].slice(1, 2, 4), -1), ones({2, 2}, dtype)) < 1e-6);
            (sum(y) + sum(w * w)).backward();
            CHECK(same_bits(x.q.grad().select(2, 1), zeros({2, 2, 3}, dtype)));
            for (const Tensor& t : {x.q, x.k, x.v}) {
                CHECK(all(isfinite(t.grad())));
                CHECK(same_bits(t.grad()[1], zeros(t.grad()[1].shape(), dtype)));
                CHECK(any(t.grad()[0] != 0));
            }
        }
    });
}

TEST_CASE("nothing that is blocked has any influence, not by a bit", "[fault][attention]") {
    both_ways([] {
        const Qkv x = make({1, 2, 6, 4}, {1, 2, 6, 4}, 1, float32);
        for (const Mask& mask : {Mask::causal(), Mask::padding({3})}) {
            Qkv changed = {x.q.detach(), x.k.detach().clone(), x.v.detach().clone()};
            changed.k.slice(2, 3, 6).fill_(-3e38);  // products of them overflow
            changed.v.slice(2, 3, 6).fill_(3e38);
            const NoGrad off;
            const std::int64_t unaffected = mask.is_causal() ? 3 : 6;
            CHECK(same_bits(x.attend(mask).slice(2, 0, unaffected),
                            changed.attend(mask).slice(2, 0, unaffected)));
        }
    });
}

TEST_CASE("polarity is in the name", "[fault][attention]") {
    const Qkv x = make({1, 1, 2, 3}, {1, 1, 2, 3});
    const Tensor upper = tensor({{0, 1}, {0, 0}}, boolean);
    CHECK(same_bits(x.weights(Mask::blocked(upper)), x.weights(Mask::allowed(!upper))));
    CHECK(same_bits(x.weights(Mask::blocked(upper))[0][0][0], tensor({1, 0}, float64)));
    CHECK(same_bits(x.weights(Mask::allowed(upper))[0][0], tensor({{0, 1}, {0, 0}}, float64)));
    const Mask both = Mask::causal() | Mask::blocked(tensor({{1, 0}, {1, 0}}, boolean));
    CHECK(same_bits(x.weights(both)[0][0], tensor({{0, 0}, {0, 1}}, float64)));
}

TEST_CASE("a bias with NaN or +inf is refused; −inf blocks", "[fault][attention]") {
    const Qkv x = make({1, 1, 2, 3}, {1, 1, 2, 3});
    for (const double bad : {double(NAN), double(INFINITY)}) {
        refuses<ValueError>("the bias holds NaN or +inf…-inf", [&] {
            (void)x.attend({}, tensor({{0.0, bad}, {0.0, 0.0}}, float64));
        });
    }
    const Tensor blocking = tensor({{0.0, -INFINITY}, {0.0, 0.0}}, float64);
    CHECK(distance(x.attend({}, blocking), x.attend(Mask::causal())) < 1e-15);
    refuses<ShapeError>("(3, 3)", [&] { return x.attend({}, zeros({3, 3}, float64)); });
    CHECK_THROWS_AS(x.attend({}, zeros({2, 2})), DTypeError);
    const Tensor nothing = full({2, 2}, -INFINITY, float64);
    CHECK(same_bits(x.attend({}, nothing), zeros({1, 1, 2, 3}, float64)));
}

TEST_CASE("T = 0, S = 0 or B = 0 gives empty or zero results, and zero gradients", "[fault][attention]") {
    both_ways([] {
        for (const auto& [q, k] : std::vector<std::pair<Shape, Shape>>{{{2, 2, 0, 3}, {2, 2, 4, 3}},
                                                                       {{2, 2, 4, 3}, {2, 2, 0, 3}},
                                                                       {{0, 2, 4, 3}, {0, 2, 4, 3}},
                                                                       {{0, 0, 3}, {0, 0, 3}}}) {
            for (const Mask& mask : {Mask(), Mask::causal()}) {
                const Qkv x = make(q, k);
                INFO("q " << q.str() << ", k " << k.str());
                const Tensor y = x.attend(mask);
                CHECK(same_bits(y, zeros(q, float64)));
                CHECK(x.weights(mask).numel() == 0);
                sum(y).backward();
                for (const Tensor& t : {x.q, x.k, x.v}) CHECK(same_bits(t.grad(), zeros(t.shape(), float64)));
            }
        }
    });
}

TEST_CASE("with a causal mask the last query sees the last key", "[fault][attention]") {
    both_ways([] {
        const Tensor more = make({1, 1, 2, 3}, {1, 1, 5, 3}).weights(Mask::causal())[0][0];  // T 2, S 5
        CHECK(same_bits(more > 0, tensor({{1, 1, 1, 1, 0}, {1, 1, 1, 1, 1}}, boolean)));
        const Qkv x = make({1, 1, 4, 3}, {1, 1, 2, 3});  // T 4, S 2: two queries see nothing
        CHECK(
            same_bits(x.weights(Mask::causal())[0][0] > 0, tensor({{0, 0}, {0, 0}, {1, 0}, {1, 1}}, boolean)));
        CHECK(same_bits(x.attend(Mask::causal())[0][0].slice(0, 0, 2), zeros({2, 3}, float64)));
    });
}

TEST_CASE("logits of ±1e4 stay finite, forward and backward", "[fault][attention]") {
    both_ways([] {
        for (const DType dtype : {float32, float64}) {
            const Qkv x = make({1, 2, 4, 8}, {1, 2, 4, 8}, 100, dtype);
            const Tensor y = x.attend(Mask::causal());
            sum(y).backward();
            CHECK(all(isfinite(y)));
            for (const Tensor& t : {x.q, x.k, x.v}) CHECK(all(isfinite(t.grad())));
            const Tensor logits = tensor({{1e4, -1e4, 0}, {-1e4, -1e4, -1e4}}, dtype).requires_grad_();
            const Tensor p = softmax(logits, -1);
            CHECK(p[0].to(float64).to_vector<double>() == Doubles{1, 0, 0});
            CHECK(distance(p[1], full({3}, 1.0 / 3, dtype)) < 1e-6);
            const Tensor loss =
                cross_entropy(logits, tensor({1, 0}, int64)) + sum(log_softmax(logits, -1)) * 1e-4;
            loss.backward();
            CHECK(all(isfinite(loss)));
            CHECK(all(isfinite(logits.grad())));
        }
    });
}

TEST_CASE("logsumexp at the ends of the numbers, over −INFINITY alone and over nothing", "[fault]") {
    for (const DType dtype : {float32, float64}) {
        INFO(name(dtype));
        const Tensor x =
            tensor({{1e4, 1e4}, {-1e4, -INFINITY}, {-INFINITY, -INFINITY}}, dtype).requires_grad_();  // (3, 2)
        const Tensor y = logsumexp(x, -1);                                                            // (3,)
        CHECK(y.at({0}) == Approx(1e4 + std::log(2)).epsilon(1e-7));
        CHECK(y.at({1}) == -1e4);
        CHECK(y.at({2}) == -INFINITY);
        sum(y.slice(0, 0, 2)).backward();
        CHECK(x.grad().to(float64).to_vector<double>() == std::vector<double>{0.5, 0.5, 1, 0, 0, 0});
    }
    const Tensor x = tensor({{-INFINITY, -INFINITY}, {0, 0}}, float64).requires_grad_();
    logsumexp(x).backward();
    CHECK(x.grad().to_vector<double>() == std::vector<double>{0, 0, 0.5, 0.5});
    CHECK(logsumexp(tensor({1, INFINITY})).item() == INFINITY);
    CHECK(std::isnan(logsumexp(tensor({1, NAN})).item()));
    CHECK(logsumexp(tensor(3.0), Axes{}, keepdim).item() == 3);
    CHECK(logsumexp(zeros({2, 0}), 1).to_vector<float>() == std::vector<float>(2, -INFINITY));
    CHECK(logsumexp(zeros({2, 0}), 0, keepdim).shape() == Shape{1, 0});
    refuses<DTypeError>("logsumexp", [] { return logsumexp(ones({2}, int64)); });
    refuses<IndexError>("named twice", [] { return logsumexp(ones({2}), {0, -1}); });
}

TEST_CASE("queries, keys and values that do not fit each other are refused", "[fault][attention]") {
    const auto refused = [](const std::string& words, const Shape& q, const Shape& k, const Shape& v) {
        refuses<ShapeError>("scaled_dot_product_attention: …" + words,
                            [&] { scaled_dot_product_attention(ones(q), ones(k), ones(v)); });
    };
    const Shape q{2, 3, 4, 5}, k{2, 3, 6, 5};
    refused("(2, 3, 6, 5)…(2, 3, 7, 5)…6 keys for 7 values", q, k, {2, 3, 7, 5});
    refused("d_k is 5 for queries and 4 for keys", {4, 5}, {6, 4}, {6, 4});
    for (const Shape& rank : {Shape{3, 6, 5}, Shape{1, 2, 3, 6, 5}}) {
        refused("all three must have the same rank", q, rank, k);
        refused("all three must have the same rank", q, k, rank);
        refused("all three must have the same rank", q, rank, rank);
    }
    refused("rank", {5}, {5}, {5});
    refused("axis 0 differs; samples must be equal", q, {1, 3, 6, 5}, k);
    refused("axis 0 differs; samples must be equal", q, k, {1, 3, 6, 5});
    refused("axis 0 differs; samples must be equal", q, {1, 3, 6, 5}, {1, 3, 6, 5});
    refused("as many heads as the queries", q, {2, 0, 6, 5}, {2, 0, 6, 5});
    refused("as many heads as the queries", q, {2, 2, 6, 5}, {2, 2, 6, 5});
    refused("as many heads as the queries", {2, 0, 4, 5}, k, k);
    CHECK_THROWS_AS(scaled_dot_product_attention(ones({2, 3}), ones({2, 3}), ones({2, 3}, float64)),
                    DTypeError);
}

TEST_CASE("a constant row in layer_norm gives the bias, with finite gradients", "[fault]") {
    both_ways([] {
        for (const DType dtype : {float32, float64}) {
            const Tensor x = tensor({{3, 3, 3, 3}, {1, 2, 3, 4}}, dtype).requires_grad_();
            const Tensor weight = tensor({1, 2, 3, 4}, dtype).requires_grad_();
            const Tensor bias = tensor({0.5, -0.5, 0.25, 0}, dtype).requires_grad_();
            const Tensor y = layer_norm(x, weight, bias);
            CHECK(same_bits(y[0], bias.detach()));
            sum(y * y).backward();
            for (const Tensor& t : {x, weight, bias}) CHECK(all(isfinite(t.grad())));
            CHECK(all(isfinite(layer_norm(zeros({1, 1}, dtype), {}))));
        }
    });
}

TEST_CASE("a token id outside the vocabulary is named with its value and its position", "[fault]") {
    const Tensor table = ones({7, 2}).requires_grad_();
    for (const int id : {7, 8, -1, -7}) {
        Tensor ids = full({2, 5}, 3, int64);
        ids[1].slice(0, 4, 5).fill_(id);
        refuses<IndexError>("embedding: token id " + std::to_string(id) +
                                " at position (1, 4) is outside the vocabulary of 7 (0 to 6)",
                            [&] { embedding(table, ids); });
    }
    refuses<IndexError>("token id 9 at position ()", [&] { embedding(table, full({}, 9, int64)); });
    CHECK_FALSE(table.grad().defined());
    CHECK(embedding(table, tensor({0, 6}, int64)).shape() == Shape{2, 2});  // both ends are inside
}

TEST_CASE("a loss whose every target is ignored is 0, with gradient 0", "[fault]") {
    both_ways([] {
        const Tensor logits = ones({2, 3, 5}, float64).requires_grad_();
        const Tensor loss = cross_entropy(logits, full({2, 3}, -100, int64));
        CHECK(loss.item() == 0);
        loss.backward();
        CHECK(same_bits(logits.grad(), zeros({2, 3, 5}, float64)));
        CHECK(cross_entropy(zeros({0, 5}), zeros({0}, int64)).item() == 0);
        CHECK(cross_entropy(ones({1, 5}), tensor({2}, int64), 2).item() == 0);
    });
}

TEST_CASE("targets that do not fit the logits are refused", "[fault]") {
    both_ways([] {
        const Tensor logits = ones({2, 3, 5});
        for (const Shape& shape : {Shape{2, 4}, {6}, {2, 3, 5}})
            refuses<ShapeError>("cross_entropy: logits (2, 3, 5) and targets " + shape.str() + " do not fit",
                                [&] { return cross_entropy(logits, zeros(shape, int64)); });
        CHECK_THROWS_AS(cross_entropy(ones({}), zeros({}, int64)), ShapeError);
        refuses<DTypeError>("int64", [&] { return cross_entropy(logits, zeros({2, 3})); });
        CHECK_THROWS_AS(cross_entropy(ones({1, 5}, int64), zeros({1}, int64)), DTypeError);
        for (const int bad : {7, 5, -1})
            refuses<IndexError>(
                "cross_entropy: target " + std::to_string(bad) +
                    " at flat position 2 is outside the 5 classes (0 to 4, or ignore_index -100)",
                [&] {
                    cross_entropy(ones({3, 5}), tensor({0, 4, double(bad)}, int64));
                });
        refuses<ShapeError>("mse_loss…(2, 3)…(3,)", [] { return mse_loss(ones({2, 3}), ones({3})); });
    });
}
