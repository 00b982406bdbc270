// Bad inputs in every form of multi-head attention: what is refused, and the messages that say so.
#include <cmath>

#include "attention_forms.h"

using namespace weft;
using namespace attention_forms;
using source::random;

TEST_CASE("in every causal form of attention, more tokens than max_seq_len are refused, never cut",
          "[nn][fault]") {
    for_each_form(
        [](const Form& form) {
            const Tensor x = random({B, max_seq_len + 1, C}, 1);
            const std::string message = message_of<ShapeError>([&] { return form(x); });
            const std::string shape = form.is_unbatched ? "(7, 8)" : "(2, 7, 8)";
            CHECK(
                contains(message, "CausalMultiHeadAttention: 7 tokens in " + shape + ", but max_seq_len is 6"));
            CHECK(contains(message, "make it with a larger one, or give fewer tokens"));
            CHECK(form(x.slice(1, 0, max_seq_len)).size(-2) == max_seq_len);
        },
        [](const Form& form) { return form.is_causal; });
}

TEST_CASE("in every cross form of attention, keys and values of different lengths or batches are refused",
          "[nn][fault]") {
    for_each_form(
        [](const Form& form) {
            const Tensor x = random({B, T, C}, 1), y = random({B, S, C}, 2), z = random({B, S + 1, C}, 3);
            const std::string message = message_of<ShapeError>([&] { return form.run(x, y, z, {}); });
            const std::string q = form.is_unbatched ? "q (4, 3, 2), k (" : "q (2, 4, 3, 2), k (2, ";
            CHECK(message.starts_with("MultiHeadAttention: " + q));
            CHECK(contains(message, ", 5, 2), v ("));
            CHECK(contains(message, "5 keys for 6 values; there must be one value for each key"));
            if (form.is_unbatched) return;
            for (const Tensor& other : {y.slice(0, 0, 1), y[0], cat({y, y}, 0)}) {
                for (const auto& [key, value] : {std::pair{other, other}, {other, y}, {y, other}}) {
                    const std::string samples = message_of<ShapeError>(
                        [&, &key = key, &value = value] { return form.run(x, key, value, {}); });
                    CHECK(samples.starts_with("MultiHeadAttention: q (2, 4, 3, 2), k ("));
                    CHECK(contains(samples, other.rank() == 2 ? "all three must have the same rank"
                                                              : "axis 0 differs; samples must be equal"));
                }
            }
        },
        [](const Form& form) { return form.is_cross; });
}

TEST_CASE("every form refuses tokens of another width, rank or type by name", "[nn][fault]") {
    for_each_form([](const Form& form) {
        const Tensor x = random({B, T, C}, 1);
        const std::string what = form.is_causal ? "x must be" : "query must be";
        for (const Shape& shape : {Shape{B, T, C + 1}, Shape{B, T, 1, C}}) {
            const Tensor wrong = zeros(shape, float64);
            const Tensor seen = form.is_unbatched ? wrong[0] : wrong;
            if (form.is_unbatched && shape.rank() == 4) continue;  // without its first axis it is a batch
            const std::string message = message_of<ShapeError>([&] { return form(wrong); });
            CHECK(contains(message, what + " (B, T, 8) or (T, 8), not " + seen.shape().str()));
        }
        CHECK_THROWS_AS(form(x.to(float32)), DTypeError);
        CHECK_THROWS_AS(form(zeros({B, T, C}, int64)), DTypeError);
    });
}

TEST_CASE("dropout of 0 is the identity, bit for bit, also in training", "[nn][fault]") {
    Rng rng(1);
    nn::MultiHeadAttention a(C, H, rng, {.dropout = 0});
    nn::CausalMultiHeadAttention b(C, H, rng, {.dropout = 0});
    const Tensor x = random({B, T, C}, 1, float32), trained = a(x).detach(), trained_causal = b(x).detach();
    a.eval(), b.eval();
    CHECK(same_bits(a(x).detach(), trained));
    CHECK(same_bits(b(x).detach(), trained_causal));
}

TEST_CASE("a block of constant rows has finite outputs and gradients", "[nn][fault]") {
    Rng rng(1);
    for (const bool bias : {false, true}) {
        auto block = in_double(nn::TransformerBlock(C, H, rng, {.max_seq_len = 8, .bias = bias}));
        for (const double value : {0.0, 3.0, 1e6}) {
            Tensor x = full({B, T, C}, value, float64).requires_grad_();
            const Tensor y = block(x);
            CHECK(all(isfinite(y)));
            block.zero_grad();
            y.backward(random(y.shape(), 5));
            CHECK(all(isfinite(x.grad())));
            for (const Tensor& parameter : block.parameters()) CHECK(all(isfinite(parameter.grad())));
            const NoGrad off;
            nn::KeyValueCache cache;
            CHECK(same_bits(block(x.detach(), cache), y.detach()));
        }
    }
}
