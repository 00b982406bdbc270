// Bad inputs in every form of multi-head attention: what a mask hides, values at the edges, and what is refused
// by which message.
#include <cmath>
#include <type_traits>

#include "attention_forms.h"
#include "refusal.h"

using namespace weft;
using namespace attention_forms;
using source::difference;
using source::random;

namespace {

// Backward of Σ dy·y, then true when every gradient there is is finite.
bool finite_gradients(const Form& form, const Tensor& y, const std::vector<Tensor>& inputs) {
    for (Tensor parameter : form.parameters) parameter.zero_grad();
    y.backward(random(y.shape(), 77));
    for (const std::vector<Tensor>& list : {form.parameters, inputs})
        for (const Tensor& x : list)
            if (x.grad().defined() && !all(isfinite(x.grad()))) return false;
    return true;
}

static_assert(!std::is_convertible_v<Tensor, Mask> && !std::is_constructible_v<Mask, Tensor>,
              "a bare tensor is no mask; the name of its factory states its polarity");

}  // namespace

TEST_CASE("in every form of attention, fully masked rows give the output's bias and no gradient",
          "[nn][fault]") {
    CHECK(forms().size() == 58);
    for_each_form([](const Form& form) {
        Tensor x = random({B, T, C}, 1).requires_grad_(), y = random({B, S, C}, 2).requires_grad_();
        const Mask nothing = Mask::blocked(!all_false({T, form.keys()}));
        const Tensor out = form.attend(x, y, nothing);
        const Tensor bias = form.parameters.back().detach();  // W_out's
        REQUIRE(bias.shape() == Shape{C});
        CHECK(same_bits(out.detach(), bias.expand(out.shape()).contiguous()));
        if (form.is_cached) return;
        CHECK(finite_gradients(form, out, {x, y}));
        CHECK(max(abs(x.grad())).item() == 0);
        if (form.is_cross) CHECK(max(abs(y.grad())).item() == 0);
    });
}

TEST_CASE("in every form of attention, a fully masked row does not affect the others", "[nn][fault]") {
    for_each_form([](const Form& form) {
        const Tensor x = random({B, T, C}, 1), y = random({B, S, C}, 2);
        Tensor blocked = all_false({T, form.keys()});
        blocked[1].fill_(1);
        const Tensor with = form.attend(x, y, Mask::blocked(blocked)), without = form.attend(x, y);
        CHECK(distance(with.select(-2, 0), without.select(-2, 0)) < 1e-14);
        CHECK(distance(with.select(-2, 2), without.select(-2, 2)) < 1e-14);
        CHECK(distance(with.select(-2, 1), without.select(-2, 1)) > 1e-3);
    });
}

TEST_CASE("in every form of attention, a mask that does not fit is named with the scores' shape",
          "[nn][fault]") {
    for_each_form([](const Form& form) {
        const Tensor x = random({B, T, C}, 1), y = random({B, S, C}, 2);
        const std::int64_t n = form.keys(), batch = form.is_unbatched ? 1 : B;
        const std::vector<Shape> wrong{{T, n + 1},           {T + 1, n},        {n},
                                       {batch + 1, T, n},    {batch, T + 1, n}, {batch, H + 1, T, n},
                                       {batch + 1, H, T, n}, {1, 1, 1, T, n},   {batch, H, 2, n}};
        for (const Shape& shape : wrong) {
            const std::string message =
                message_of<ShapeError>([&] { return form.attend(x, y, Mask::blocked(all_false(shape))); });
            INFO(message);
            CHECK(contains(message, shape.str()));
            if (shape.rank() >= 2 && shape.rank() <= 4) CHECK(contains(message, form.shape_of_scores()));
            CHECK(contains(message, "per sample"));
        }
        for (const Shape& shape : {Shape{batch + 1, n}, Shape{n + 1}, Shape{batch, 1, n}}) {
            if (form.is_cached && shape.rank() == 1) continue;  // with a cache, a mask may have later tokens
            refuses<ShapeError>(shape.str(), [&] { return form.attend(x, y, Mask::keys(!all_false(shape))); });
        }
        const std::vector<std::int64_t> long_list(static_cast<std::size_t>(batch + 1), 1);
        refuses<ShapeError>(std::to_string(batch + 1) + " lengths for " + std::to_string(batch) + " samples",
                            [&] { return form.attend(x, y, Mask::padding(long_list)); });
        const std::vector<std::int64_t> too_long(static_cast<std::size_t>(batch), n + 1);
        refuses<ShapeError>("is more than the " + std::to_string(n) + " keys",
                            [&] { return form.attend(x, y, Mask::padding(too_long)); });
    });
}

TEST_CASE("in every form of attention, masks of keys and of documents are the matrices that they stand for",
          "[nn][fault]") {
    for_each_form([](const Form& form) {
        const Tensor x = random({B, T, C}, 1), y = random({B, S, C}, 2);
        const std::int64_t n = form.keys(), batch = form.is_unbatched ? 1 : B;
        const Tensor allowed =
                         tensor({{0, 1, 1, 0, 1}, {1, 0, 1, 1, 0}}, boolean).slice(0, 0, batch).slice(1, 0, n),
                     ids = tensor({{3, 0, 0, 3, 0}, {1, 1, 2, 2, 2}}, int64).slice(0, 0, batch).slice(1, 0, n);
        for (const Mask& mask : {Mask::keys(allowed), Mask::documents(ids), Mask::keys(allowed[0]),
                                 Mask::documents(ids[0]), Mask::keys(allowed) | Mask::documents(ids)}) {
            const Tensor matrix = mask.materialize(batch, H, T, n).expand({batch, 1, T, n}).contiguous();
            CHECK(
                same_bits(form.attend(x, y, mask).detach(), form.attend(x, y, Mask::blocked(matrix)).detach()));
            CHECK(distance(form.attend(x, y, mask), form.attend(x, y)) > 1e-3);
        }
        CHECK(same_bits(form.attend(x, y, Mask::keys(allowed)).detach(),
                        form.attend(x, y, Mask::allowed(allowed.unsqueeze(1))).detach()));  // (B, 1, S)
    });
}

TEST_CASE("in every form of attention, no samples or no tokens give empty outputs and zero gradients",
          "[nn][fault]") {
    for_each_form([](const Form& form) {
        for (const Shape& shape : {Shape{0, T, C}, Shape{B, 0, C}}) {
            if (form.is_unbatched && shape[0] == 0) continue;
            Tensor x = zeros(shape, float64).requires_grad_(), y = random({shape[0], S, C}, 2).requires_grad_();
            const Tensor out = form.attend(x, y);
            CHECK(out.shape() == (form.is_unbatched ? Shape{0, C} : shape));
            if (form.is_cached) continue;
            CHECK(finite_gradients(form, out, {x, y}));
            for (const Tensor& parameter : form.parameters)
                CHECK((parameter.grad().defined() && !any(parameter.grad() != 0)));
        }
    });
    for_each_form(
        [](const Form& form) {  // queries but no keys: nothing is seen
            const Tensor x = random({B, T, C}, 1), none = zeros({B, 0, C}, float64);
            const Tensor out = form.run(x, none, none, {}), bias = form.parameters.back().detach();
            CHECK(same_bits(out.detach(), bias.expand(out.shape()).contiguous()));
        },
        [](const Form& form) { return form.is_cross; });
}

TEST_CASE("in every cross form of attention, a causal mask lets the last query see every key", "[nn][fault]") {
    for_each_form(
        [](const Form& form) {
            const Tensor x = random({B, T, C}, 1), y = random({B, S, C}, 2);
            Tensor aligned = all_false({T, S});  // query i sees keys up to i + (S − T)
            for (std::int64_t i = 0; i < T; ++i) aligned[i].slice(0, i + S - T + 1, S).fill_(1);
            CHECK(distance(form.attend(x, y, Mask::causal()), form.attend(x, y, Mask::blocked(aligned))) <
                  1e-14);
            const Tensor more = random({B, T + 2, C}, 3), fewer = random({B, T, C}, 4);  // S < T
            const Tensor out = form.run(more, fewer, fewer, Mask::causal()),
                         bias = form.parameters.back().detach();
            for (std::int64_t i = 0; i < 2; ++i) {  // the first T − S queries see nothing
                const Tensor row = out.detach().select(-2, i);
                CHECK(same_bits(row.contiguous(), bias.expand(row.shape()).contiguous()));
            }
            CHECK(distance(out.select(-2, 2), bias.expand(out.select(-2, 2).shape())) > 1e-3);
        },
        [](const Form& form) { return form.is_cross; });
}

TEST_CASE("in every causal form of attention, more tokens than max_seq_len are refused, never cut",
          "[nn][fault]") {
    for_each_form(
        [](const Form& form) {
            const Tensor x = random({B, max_seq_len + 1, C}, 1);
            const std::string message = message_of<ShapeError>([&] { return form(x); });
            const std::string shape = form.is_unbatched ? "(7, 8)" : "(2, 7, 8)";
            CHECK(contains(message, "Attention: 7 tokens in " + shape + ", but max_seq_len is 6"));
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
            CHECK(message.starts_with(
                (form.name.starts_with("Multi") ? "MultiHeadAttention: " : "Attention: ") + q));
            CHECK(contains(message, ", 5, 2), v ("));
            CHECK(contains(message, "5 keys for 6 values; there must be one value for each key"));
            if (form.is_unbatched) return;
            for (const Tensor& other : {y.slice(0, 0, 1), y[0], cat({y, y}, 0)}) {
                for (const auto& [key, value] : {std::pair{other, other}, {other, y}, {y, other}}) {
                    const std::string samples = message_of<ShapeError>(
                        [&, &key = key, &value = value] { return form.run(x, key, value, {}); });
                    CHECK(contains(samples, "Attention: q (2, 4, 3, 2), k ("));
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
