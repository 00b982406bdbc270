// Multi-head attention: layout of heads, counts, identities, masks, refusals.
#include <cmath>

#include "refusal.h"
#include "weft/weft.h"

using namespace weft;

namespace {

constexpr std::int64_t B = 2, T = 5, C = 12, H = 3;

double distance(const Tensor& a, const Tensor& b) { return max(abs(a.detach() - b.detach())).item(); }

Tensor input(std::uint64_t seed = 9, const Shape& shape = {B, T, C}) {
    Rng rng(seed);
    return randn(shape, rng, float64);
}

template <class M>
M in_double(M module) {
    module.to(float64);
    return module;
}

std::vector<double> row(const Tensor& x, std::int64_t b, std::int64_t t) { return x[b][t].to_vector<double>(); }

}  // namespace

TEST_CASE("head h owns the columns from h d_k on, and merging brings them back", "[nn][attention]") {
    const Tensor x = arange(0, 8).reshape({2, 4});  // (T, C)
    const Tensor heads = nn::split_heads(x, 2);     // (H, T, d_k)
    CHECK(heads.shape() == Shape{2, 2, 2});
    CHECK(heads.to_vector<float>() == std::vector<float>{0, 1, 4, 5, 2, 3, 6, 7});
    CHECK(nn::merge_heads(heads).to_vector<float>() == x.to_vector<float>());

    const Tensor batch = input();
    CHECK(nn::split_heads(batch, H).shape() == Shape{B, H, T, C / H});
    CHECK(nn::merge_heads(nn::split_heads(batch, H)).to_vector<double>() == batch.to_vector<double>());
}

TEST_CASE("split_qkv takes Q, K and V from the first, second and third block of columns", "[nn][attention]") {
    const Tensor qkv = input(3, {B, T, 3 * C});
    const auto parts = nn::split_qkv(qkv, H);
    for (std::int64_t i = 0; i < 3; ++i) {
        const Tensor block = qkv.slice(2, i * C, (i + 1) * C);
        CHECK(parts[static_cast<std::size_t>(i)].to_vector<double>() ==
              nn::split_heads(block, H).to_vector<double>());
        const Tensor one = nn::split_qkv(qkv[1], H)[static_cast<std::size_t>(i)];  // unbatched
        CHECK(one.to_vector<double>() == nn::split_heads(block, H)[1].to_vector<double>());
    }
    refuses<ShapeError>("9 equal parts", [&] { nn::split_qkv(zeros({T, C + 1}), H); });
    refuses<ShapeError>("(12,)", [&] { return nn::split_heads(zeros({C}), H); });
    refuses<ShapeError>("(5, 12)", [&] { return nn::merge_heads(zeros({T, C})); });
}

TEST_CASE("gradients pass through splitting and merging unchanged", "[nn][attention]") {
    Tensor qkv = input(3, {B, T, 3 * C}).requires_grad_();
    const auto [q, k, v] = nn::split_qkv(qkv, H);
    const Tensor seed = input(4, {B, T, 3 * C});
    const Tensor all = cat({nn::merge_heads(q), nn::merge_heads(k), nn::merge_heads(v)}, -1);
    all.backward(seed);
    CHECK(qkv.grad().to_vector<double>() == seed.to_vector<double>());
}

TEST_CASE("parameter counts of 768 / 12 with and without biases", "[nn][attention]") {
    Rng rng(1);
    const nn::CausalMultiHeadAttention plain(768, 12, rng, {.max_seq_len = 8});
    CHECK(plain.W_qkv.num_parameters() == 1769472);
    CHECK(plain.W_out.num_parameters() == 589824);
    CHECK(plain.num_parameters() == 2359296);
    CHECK(nn::CausalMultiHeadAttention(768, 12, rng, {.max_seq_len = 8, .bias = true}).num_parameters() ==
          2362368);
    CHECK(nn::MultiHeadAttention(768, 12, rng).num_parameters() == 2359296);
    CHECK(nn::MultiHeadAttention(768, 12, rng, {.bias = true, .fused = false}).num_parameters() == 2362368);
    CHECK(plain.d_k == 64);
}

TEST_CASE(
    "the causal mask is bool, above the diagonal; one that is set is a buffer, neither parameter nor state",
    "[nn][attention]") {
    Rng rng(1);
    nn::CausalMultiHeadAttention attention(C, H, rng, {.max_seq_len = 3});
    CHECK(attention.mask().to_vector<bool>() == std::vector<bool>{0, 1, 1, 0, 0, 1, 0, 0, 0});
    CHECK(attention.named_buffers().empty());
    attention.set_mask(attention.mask());
    REQUIRE(attention.named_buffers().size() == 1);
    CHECK(attention.named_buffers()[0].first == "mask");
    CHECK(attention.state_dict().size() == 2);
    CHECK(attention.parameters().size() == 2);
}

TEST_CASE("composed attention reads the mask buffer and agrees with the fused path", "[nn][attention]") {
    Rng rng(1);
    auto attention = in_double(nn::CausalMultiHeadAttention(C, H, rng, {.max_seq_len = T}));
    const Tensor x = input(), fused = attention(x);
    const Composed composed;
    CHECK(distance(attention(x), fused) < 1e-14);
    attention.set_mask(zeros({T, T}, boolean));  // nothing is blocked any more
    CHECK(distance(attention(x), fused) > 1e-3);
}

TEST_CASE("token i of causal attention depends on the tokens up to i alone, to the last bit",
          "[nn][attention]") {
    Rng rng(1);
    const auto attention = in_double(nn::CausalMultiHeadAttention(C, H, rng));
    const Tensor x = input(), y = attention(x);
    for (std::int64_t seen = 1; seen < T; ++seen) {
        Tensor other = x.clone();
        other.slice(1, seen, T).fill_(1e6);
        const Tensor changed = attention(other);
        for (std::int64_t b = 0; b < B; ++b) {
            for (std::int64_t t = 0; t < seen; ++t) CHECK(row(changed, b, t) == row(y, b, t));
            CHECK(row(changed, b, seen) != row(y, b, seen));
        }
        CHECK(distance(attention(x.slice(1, 0, seen)), y.slice(1, 0, seen)) <
              1e-14);  // the pass over the prefix
    }
}

TEST_CASE("one fused projection equals three separate ones that hold its blocks", "[nn][attention]") {
    Rng rng(1);
    auto fused = in_double(nn::MultiHeadAttention(C, H, rng, {.bias = true}));
    auto separate = in_double(nn::MultiHeadAttention(C, H, rng, {.bias = true, .fused = false}));
    const Tensor weight = fused.W_qkv->weight.detach(), bias = fused.W_qkv->bias.detach();
    nn::NamedTensors state{{"W_out.weight", fused.W_out.weight}, {"W_out.bias", fused.W_out.bias}};
    const char* blocks[] = {"W_q", "W_k", "W_v"};
    for (std::int64_t i = 0; i < 3; ++i) {
        state.emplace_back(std::string(blocks[i]) + ".weight", weight.slice(0, i * C, (i + 1) * C));
        state.emplace_back(std::string(blocks[i]) + ".bias", bias.slice(0, i * C, (i + 1) * C));
    }
    separate.load_state_dict(state);
    const Tensor x = input(), y = input(5, {B, T + 2, C});
    CHECK(distance(fused(x), separate(x)) < 1e-14);
    CHECK(distance(fused(x, y, y), separate(x, y, y)) < 1e-14);
    CHECK(distance(fused(x, x.clone(), x.clone()), fused(x)) < 1e-14);

    sum(fused(x, y, y) * x).backward();
    sum(separate(x, y, y) * x).backward();
    const Tensor together =
        cat({separate.W_q->weight.grad(), separate.W_k->weight.grad(), separate.W_v->weight.grad()});
    CHECK(distance(fused.W_qkv->weight.grad(), together) < 1e-13);
    CHECK(distance(fused.W_qkv->bias.grad(), cat({separate.W_q->bias.grad(), separate.W_k->bias.grad(),
                                                  separate.W_v->bias.grad()})) < 1e-13);
}

TEST_CASE("multi-head attention equals its heads one by one, concatenated and projected", "[nn][attention]") {
    Rng rng(1);
    const auto attention = in_double(nn::MultiHeadAttention(C, H, rng, {.bias = true, .fused = false}));
    const Tensor x = input();
    const std::int64_t d_k = C / H;
    std::vector<Tensor> heads;
    for (std::int64_t h = 0; h < H; ++h) {
        const auto part = [&](const nn::Linear& W) {
            const Tensor weight = W.weight.slice(0, h * d_k, (h + 1) * d_k);  // (d_k, C)
            return matmul(x, weight.T()) + W.bias.slice(0, h * d_k, (h + 1) * d_k);
        };
        const Tensor scores =
            matmul(part(*attention.W_q), part(*attention.W_k).transpose(-2, -1)) / 2;  // √d_k = 2
        heads.push_back(matmul(softmax(scores, -1), part(*attention.W_v)));
    }
    const Tensor expected = matmul(cat(heads, -1), attention.W_out.weight.T()) + attention.W_out.bias;
    CHECK(distance(attention(x), expected) < 1e-14);
}

TEST_CASE("a single sample without a batch axis gives what it gives in a batch", "[nn][attention]") {
    Rng rng(1);
    const auto attention = in_double(nn::MultiHeadAttention(C, H, rng));
    const auto causal = in_double(nn::CausalMultiHeadAttention(C, H, rng));
    const Tensor x = input(), y = input(5, {B, T + 2, C});
    CHECK(distance(attention(x[1]), attention(x)[1]) < 1e-14);
    CHECK(distance(attention(x[1], y[1], y[1]), attention(x, y, y)[1]) < 1e-14);
    CHECK(distance(causal(x[1]), causal(x)[1]) < 1e-14);
    const auto [output, weights] = causal.with_weights(x[1]);
    CHECK(weights.shape() == Shape{H, T, T});
    CHECK(distance(weights, causal.with_weights(x).weights[1]) < 1e-14);
}

TEST_CASE("weights of each head sum to 1, are 0 where blocked, and make the output", "[nn][attention]") {
    Rng rng(1);
    const auto attention = in_double(nn::CausalMultiHeadAttention(C, H, rng));
    const Tensor x = input();
    const auto [output, weights] = attention.with_weights(x);  // (B, H, T, T)
    CHECK(distance(sum(weights, -1), ones({B, H, T}, float64)) < 1e-14);
    CHECK(max(abs(triu(weights, 1))).item() == 0);
    CHECK(distance(output, attention(x)) < 1e-14);
    const Tensor v = nn::split_qkv(attention.W_qkv(x), H)[2];
    CHECK(distance(attention.W_out(nn::merge_heads(matmul(weights, v))), output) < 1e-14);
}

TEST_CASE("a mask of each sample hides its padding and leaves the others as they are", "[nn][attention]") {
    Rng rng(1);
    const auto attention = in_double(nn::MultiHeadAttention(C, H, rng));
    const Tensor x = input(), y = attention(x, Mask::padding({3, 5}));
    Tensor other = x.clone();
    other[0].slice(0, 3, 5).fill_(1e6);
    const Tensor changed = attention(other, Mask::padding({3, 5}));
    for (std::int64_t t = 0; t < 3; ++t) CHECK(row(changed, 0, t) == row(y, 0, t));
    CHECK(distance(y[0].slice(0, 0, 3), attention(x[0].slice(0, 0, 3))) < 1e-14);
    CHECK(distance(y[1], attention(x[1])) < 1e-14);
}

TEST_CASE("a fully masked sample gives the output bias and a finite gradient", "[nn][attention]") {
    Rng rng(1);
    const auto attention = in_double(nn::CausalMultiHeadAttention(C, H, rng, {.bias = true}));
    Tensor x = input().requires_grad_();
    const auto [y, weights] = attention.with_weights(x, Mask::padding({0, 5}));
    CHECK(max(abs(weights[0])).item() == 0);
    for (std::int64_t t = 0; t < T; ++t) CHECK(row(y, 0, t) == attention.W_out.bias.to_vector<double>());
    sum(y * input(5)).backward();
    CHECK(max(abs(x.grad()[0])).item() == 0);
    CHECK(max(abs(x.grad()[1])).item() > 0);
    for (const Tensor& parameter : attention.parameters()) CHECK(all(isfinite(parameter.grad())));
}

TEST_CASE("empty batches and empty sequences give empty outputs and zero gradients", "[nn][attention]") {
    Rng rng(1);
    auto attention = in_double(nn::CausalMultiHeadAttention(C, H, rng));
    for (const Shape& shape : {Shape{0, T, C}, Shape{B, 0, C}}) {
        Tensor x = zeros(shape, float64).requires_grad_();
        const Tensor y = attention(x);
        CHECK(y.shape() == shape);
        attention.zero_grad();
        sum(y).backward();
        CHECK(x.grad().shape() == shape);
        for (const Tensor& parameter : attention.parameters()) CHECK(max(abs(parameter.grad())).item() == 0);
    }
}

TEST_CASE("inputs of another width, rank or length are refused by name", "[nn][attention]") {
    Rng rng(1);
    const nn::MultiHeadAttention attention(C, H, rng);
    const Tensor x = zeros({B, T, C});
    refuses<ShapeError>("query must be (B, T, 12)", [&] { (void)attention(zeros({B, T, C + 1})); });
    refuses<ShapeError>("key must be", [&] { return attention(x, zeros({C}), x); });
    CHECK_THROWS_AS(attention(x, zeros({B, T, C}), zeros({B, T + 1, C})), ShapeError);
    CHECK_THROWS_AS(attention(x, Mask::blocked(full({T, T + 1}, 0, boolean))), ShapeError);
}

TEST_CASE("MultiHeadAttention's dropout acts in training only", "[nn][attention]") {
    Rng rng(1), same(1);
    auto attention = in_double(nn::MultiHeadAttention(C, H, rng, {.dropout = 0.5}));
    const auto without = in_double(nn::MultiHeadAttention(C, H, same));
    const Tensor x = input(), plain = without(x);
    CHECK(distance(attention(x), plain) > 1e-3);
    CHECK(distance(attention(x), attention(x)) > 1e-3);
    attention.eval();
    CHECK(distance(attention(x), plain) < 1e-14);
}

TEST_CASE("attention dropout acts on the weights in training only", "[nn][attention]") {
    Rng rng(1);
    auto attention = in_double(nn::CausalMultiHeadAttention(C, H, rng, {.dropout = 0.5}));
    const Tensor x = input();
    const auto first = attention(x).to_vector<double>();
    CHECK(attention(x).to_vector<double>() != first);
    const Tensor weights = attention.with_weights(x).weights;
    const Tensor kept = weights * (weights > 0).to(float64);
    attention.eval();
    const Tensor plain = attention.with_weights(x).weights;
    CHECK(attention(x).to_vector<double>() == attention(x).to_vector<double>());
    std::int64_t dropped = 0;
    const auto kept_values = kept.to_vector<double>(), plain_values = plain.to_vector<double>();
    for (std::size_t i = 0; i < plain_values.size(); ++i) {
        if (plain_values[i] == 0) continue;
        if (kept_values[i] == 0)
            ++dropped;
        else
            CHECK(kept_values[i] == Approx(2 * plain_values[i]));
    }
    CHECK(dropped > 20);  // about 45 of 90
    CHECK(dropped < 70);
}
