// Masks: polarity by name, meaning by rank, combination by |, and errors that name the shapes.
// B samples, H heads, T queries, S keys.
#include <functional>

#include "refusal.h"
#include "source.h"

using namespace source;

namespace {

constexpr std::int64_t B = 2, H = 3, T = 4, S = 5;

Tensor some_bools(const Shape& shape, std::uint64_t seed = 1) { return random(shape, seed) > 0; }

bool blocks(const Mask& mask, std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t j) {
    return mask.materialize(B, H, T, S).expand({B, H, T, S}).at({b, h, i, j}) == 1;
}

// Calls check(b, h, i, j) for every place.
template <class Check>
void everywhere(Check check) {
    for (std::int64_t b = 0; b < B; ++b)
        for (std::int64_t h = 0; h < H; ++h)
            for (std::int64_t i = 0; i < T; ++i)
                for (std::int64_t j = 0; j < S; ++j) check(b, h, i, j);
}

}  // namespace

TEST_CASE("a default mask blocks nothing", "[mask]") {
    CHECK(Mask().blocks_nothing());
    CHECK_FALSE(any(Mask().materialize(B, H, T, S)));
    CHECK_FALSE((Mask() | Mask()).is_causal());
    CHECK_FALSE(Mask::causal().blocks_nothing());
}

TEST_CASE("the causal mask lets the last query see every key, whatever the lengths", "[mask]") {
    everywhere(
        [](auto b, auto h, auto i, auto j) { CHECK(blocks(Mask::causal(), b, h, i, j) == (j > i + S - T)); });
    // S < T: the first T − S queries see nothing at all
    const Tensor short_of_keys = Mask::causal().materialize(1, 1, 4, 2).reshape({4, 2});
    CHECK(short_of_keys.to_vector<bool>() == std::vector<bool>{1, 1, 1, 1, 0, 1, 0, 0});
    const Tensor q = random({4, 3}), k = random({2, 3}, 2), v = random({2, 3}, 3);
    const Tensor y = scaled_dot_product_attention(q, k, v, {.mask = Mask::causal()});
    CHECK(max(abs(y.slice(0, 0, 2))).item() == 0);
    CHECK(difference(y[2], v[0]) < 1e-15);
}

TEST_CASE("padding blocks the keys from each sample's length on", "[mask]") {
    const Mask mask = Mask::padding({3, 5});
    everywhere([&](auto b, auto h, auto i, auto j) { CHECK(blocks(mask, b, h, i, j) == (b == 0 && j >= 3)); });
    CHECK(all(Mask::padding({0, 0}).materialize(B, H, T, S)));
}

TEST_CASE("rank says the meaning: (T, S) for all, (B, T, S) per sample, (B, H, T, S) per head", "[mask]") {
    const Tensor rank2 = some_bools({T, S}), rank3 = some_bools({B, T, S}, 2),
                 rank4 = some_bools({B, H, T, S}, 3);
    everywhere([&](auto b, auto h, auto i, auto j) {
        CHECK(blocks(Mask::blocked(rank2), b, h, i, j) == (rank2.at({i, j}) == 1));
        CHECK(blocks(Mask::blocked(rank3), b, h, i, j) == (rank3.at({b, i, j}) == 1));
        CHECK(blocks(Mask::blocked(rank4), b, h, i, j) == (rank4.at({b, h, i, j}) == 1));
        CHECK(blocks(Mask::blocked(rank4.slice(0, 0, 1)), b, h, i, j) == (rank4.at({0, h, i, j}) == 1));
        CHECK(blocks(Mask::blocked(rank4.slice(1, 0, 1)), b, h, i, j) == (rank4.at({b, 0, i, j}) == 1));
    });
}

TEST_CASE("an axis of one query serves all queries, per sample and per head, but not in a mask of rank 2",
          "[mask]") {
    const Tensor rank3 = some_bools({B, 1, S}, 2), rank4 = some_bools({B, H, 1, S}, 3);
    everywhere([&](auto b, auto h, auto i, auto j) {
        CHECK(blocks(Mask::blocked(rank3), b, h, i, j) == (rank3.at({b, 0, j}) == 1));
        CHECK(blocks(Mask::allowed(rank4), b, h, i, j) == (rank4.at({b, h, 0, j}) == 0));
        CHECK(blocks(Mask::blocked(rank4.slice(1, 0, 1)), b, h, i, j) == (rank4.at({b, 0, 0, j}) == 1));
    });
    refuses<ShapeError>("keys alone, (B, S), are Mask::keys", [&] {
        (void)Mask::blocked(zeros({1, S}, boolean)).materialize(B, H, T, S);
    });
}

TEST_CASE("Mask::keys takes true for keys that may be attended to, of each sample or of all, for any queries",
          "[mask]") {
    const Tensor allowed = some_bools({B, S});
    const Mask each = Mask::keys(allowed), same = Mask::keys(allowed[1]);
    everywhere([&](auto b, auto h, auto i, auto j) {
        CHECK(blocks(each, b, h, i, j) == (allowed.at({b, j}) == 0));
        CHECK(blocks(same, b, h, i, j) == (allowed.at({1, j}) == 0));
    });
    for (const std::int64_t queries : {0, 1, 2, 9})  // one object, any number of queries
        CHECK(all(each.materialize(B, H, queries, S) ==
                  (!allowed).unsqueeze(1).unsqueeze(1).expand({B, 1, queries, S})));
    // As PyTorch's key_padding_mask, which has true for blocked.
    const Tensor padding = arange(S) >= tensor({{3}, {5}}, int64);
    CHECK(all(Mask::keys(!padding).materialize(B, H, T, S) == Mask::padding({3, 5}).materialize(B, H, T, S)));
    Tensor later = ones({B, S}, boolean);
    const Mask made = Mask::keys(later);
    later.zero_();
    CHECK_FALSE(any(made.materialize(B, H, T, S)));  // it has a tensor of its own
}

TEST_CASE("Mask::documents lets tokens attend to those of their id, the queries being the last tokens",
          "[mask]") {
    const Tensor ids = tensor({{7, 7, -2, 7, -2}, {0, 0, 0, 1, 1}}, int64);
    const Mask each = Mask::documents(ids), same = Mask::documents(ids[0]);
    everywhere([&](auto b, auto h, auto i, auto j) {
        CHECK(blocks(each, b, h, i, j) == (ids.at({b, i + S - T}) != ids.at({b, j})));
        CHECK(blocks(same, b, h, i, j) == (ids.at({0, i + S - T}) != ids.at({0, j})));
    });
    CHECK(each.materialize(B, H, 0, S).shape() == Shape{B, 1, 0, S});
    CHECK_FALSE(any(Mask::documents(ids[1]).materialize(1, 1, 1, S)[0][0][0].slice(0, 3, S)));
    CHECK(each.rest(B, H, T, S).empty());
    CHECK_FALSE(each.blocks_nothing());
    CHECK_FALSE((Mask::causal() | each).only_causal());
    Tensor later = ids.clone();
    const Mask made = Mask::documents(later);
    later.zero_();
    CHECK(all(made.materialize(B, H, T, S) == each.materialize(B, H, T, S)));  // it has a tensor of its own
}

TEST_CASE("first_keys cuts masks of keys and documents that have more tokens, and leaves others", "[mask]") {
    const Tensor allowed = some_bools({B, S + 2}), ids = tensor({0, 0, 1, 1, 0, 0, 1}, int64);
    const Mask both = Mask::keys(allowed) | Mask::documents(ids) | Mask::causal() | Mask::padding({3, 5});
    const Mask cut = Mask::keys(allowed.slice(1, 0, S)) | Mask::documents(ids.slice(0, 0, S)) | Mask::causal() |
                     Mask::padding({3, 5});
    CHECK_THROWS_AS(both.materialize(B, H, T, S), ShapeError);
    CHECK(all(both.first_keys(S).materialize(B, H, T, S) == cut.materialize(B, H, T, S)));
    CHECK(all(cut.first_keys(S + 1).materialize(B, H, T, S) == cut.materialize(B, H, T, S)));
    CHECK_THROWS_AS(Mask::blocked(zeros({T, S + 1}, boolean)).first_keys(S).materialize(B, H, T, S),
                    ShapeError);
}

TEST_CASE("S3.18 rank alone decides, also where B = H, B = 1 or T = H", "[S3.18][source][mask]") {
    const auto full = [](const Mask& mask, std::int64_t b, std::int64_t h, std::int64_t t) {
        return mask.materialize(b, h, t, t).expand({b, h, t, t});
    };
    const Tensor per_sample = some_bools({3, 4, 4});
    const Tensor as_samples = full(Mask::blocked(per_sample), 3, 3, 4);  // B = H = 3
    for (std::int64_t h = 0; h < 3; ++h) CHECK(all(as_samples.select(1, h) == per_sample));
    CHECK_THROWS_AS(full(Mask::blocked(per_sample), 1, 3, 4), ShapeError);  // B = 1 is not three samples,
    CHECK_THROWS_AS(full(Mask::blocked(per_sample.slice(0, 0, 1)), 3, 3, 4), ShapeError);  // nor one three
    const Tensor per_head = some_bools({1, 3, 4, 4}, 2), as_heads = full(Mask::blocked(per_head), 3, 3, 4);
    for (std::int64_t b = 0; b < 3; ++b) CHECK(all(as_heads[b] == per_head[0]));
    const Tensor square = some_bools({3, 3}, 3), for_all = full(Mask::blocked(square), 2, 3, 3);  // T = H
    for (std::int64_t b = 0; b < 2; ++b)
        for (std::int64_t h = 0; h < 3; ++h) CHECK(all(for_all[b][h] == square));
    // (3, 1, 3) is (B, 1, S) with three samples, and refused for any other number of them
    const Tensor of_keys = full(Mask::blocked(square.unsqueeze(1)), 3, 3, 3);
    for (std::int64_t b = 0; b < 3; ++b) CHECK(all(of_keys[b] == square[b]));
    CHECK_THROWS_AS(full(Mask::blocked(square.unsqueeze(1)), 2, 3, 3), ShapeError);
}

TEST_CASE("polarity is in the name: allowed is the opposite of blocked", "[mask]") {
    const Tensor mask = some_bools({B, T, S});
    everywhere([&](auto b, auto h, auto i, auto j) {
        CHECK(blocks(Mask::allowed(mask), b, h, i, j) != blocks(Mask::blocked(mask), b, h, i, j));
        CHECK(blocks(Mask::allowed(mask), b, h, i, j) == (mask.at({b, i, j}) == 0));
    });
    // allowed as PyTorch's attention takes it: true may be seen
    const Tensor one = eye(2), y = scaled_dot_product_attention(
                                   one, one, one, {.mask = Mask::allowed(tensor({{1, 0}, {0, 1}}, boolean))});
    CHECK(same_bits(y, one));
}

TEST_CASE("a | b blocks where either does, in any order and of any ranks", "[mask]") {
    const std::vector<Mask> masks{Mask(),
                                  Mask::causal(),
                                  Mask::padding({3, 5}),
                                  Mask::blocked(some_bools({T, S})),
                                  Mask::allowed(some_bools({B, T, S}, 2)),
                                  Mask::blocked(some_bools({1, H, T, S}, 3)),
                                  Mask::blocked(some_bools({B, 1, S}, 4)),
                                  Mask::keys(some_bools({B, S}, 5)),
                                  Mask::documents(tensor({0, 1, 0, 1, 1}, int64)),
                                  Mask::documents(tensor({{0, 0, 0, 2, 2}, {3, 1, 1, 3, 1}}, int64))};
    for (const Mask& a : masks)
        for (const Mask& b : masks) {
            const Tensor either = (a.materialize(B, H, T, S) || b.materialize(B, H, T, S)).expand({B, H, T, S});
            CHECK(all((a | b).materialize(B, H, T, S).expand({B, H, T, S}) == either));
        }
    Mask all_of_them;
    for (const Mask& mask : masks) all_of_them = all_of_them | mask;
    everywhere([&](auto b, auto h, auto i, auto j) {
        bool any_blocks = false;
        for (const Mask& mask : masks) any_blocks = any_blocks || blocks(mask, b, h, i, j);
        CHECK(blocks(all_of_them, b, h, i, j) == any_blocks);
    });
    CHECK((Mask::causal() | masks[3]).is_causal());
    CHECK_FALSE((Mask::causal() | masks[3]).only_causal());
    CHECK((Mask::causal() | Mask()).only_causal());
}

TEST_CASE("masks of keys are joined without an axis of queries, and other masks are left alone", "[mask]") {
    const Tensor keys = some_bools({1, H, 1, S}), pairs = some_bools({T, S}, 2),
                 samples = some_bools({B, T, S}, 3);
    const auto rest = [](const Mask& mask) { return mask.rest(B, H, T, S); };
    const auto is = [](const Tensor& a, const Shape& shape) { return a.shape() == shape; };
    CHECK(rest(Mask::causal()).empty());
    const auto joined =
        rest(Mask::causal() | Mask::padding({3, 5}) | Mask::padding({5, 4}) |
             Mask::blocked(keys.expand({1, H, T, S})) | Mask::blocked(keys) | Mask::keys(keys[0][1][0]));
    REQUIRE(joined.size() == 1);
    CHECK(is(joined[0], {B, H, 1, S}));
    const auto parts = rest(Mask::padding({3, 5}) | Mask::blocked(pairs) | Mask::blocked(samples));
    REQUIRE(parts.size() == 3);
    CHECK((is(parts[0], {1, 1, T, S}) && parts[0].data<bool>() == pairs.data<bool>()));
    CHECK((is(parts[1], {B, 1, T, S}) && parts[1].data<bool>() == samples.data<bool>()));
    CHECK(is(parts[2], {B, 1, 1, S}));
    CHECK(is(rest(Mask::allowed(keys.expand({1, H, T, S})))[0], {1, H, 1, S}));
}

TEST_CASE("a mask that does not fit is refused with both shapes and the meaning of ranks", "[mask]") {
    const Tensor q = random({B, H, T, 3}), k = random({B, H, S, 3});
    const auto attend = [&](const Mask& mask) { scaled_dot_product_attention(q, k, k, {.mask = mask}); };
    for (const Shape& wrong : {Shape{T, S + 1}, Shape{S, T}, Shape{B + 1, T, S}, Shape{H, T, S}, Shape{1, T, S},
                               Shape{B, 2, T, S}, Shape{H, B, T, S}, Shape{1, S}, Shape{H, 1, S},
                               Shape{1, 1, S}, Shape{B, 1, T + 1, S}, Shape{B, H, T, 1}}) {
        const Mask mask = Mask::blocked(zeros(wrong, boolean));
        const std::string words = wrong.str() + "…(2, 3, 4, 5)…(B, T|1, S) per sample";
        refuses<ShapeError>(words, [&] { mask.materialize(B, H, T, S); });
        refuses<ShapeError>(words, [&] { attend(mask); });
    }
    for (const Shape& right :
         {Shape{T, S}, Shape{B, T, S}, Shape{B, H, T, S}, Shape{1, H, T, S}, Shape{B, 1, T, S},
          Shape{1, 1, T, S}, Shape{B, 1, S}, Shape{B, H, 1, S}, Shape{1, 1, 1, S}})
        CHECK_NOTHROW(attend(Mask::allowed(ones(right, boolean))));
}

TEST_CASE("a mask of rank 0, 1 or 5, or that is not bool, is refused where it is made", "[mask]") {
    for (const Shape& wrong : {Shape{}, Shape{S}, Shape{1, B, H, T, S}})
        for (const bool allowed : {false, true}) {
            const Tensor mask = zeros(wrong, boolean);
            refuses<ShapeError>((allowed ? "Mask::allowed…" : "Mask::blocked…") + wrong.str(),
                                [&] { allowed ? Mask::allowed(mask) : Mask::blocked(mask); });
        }
    for (const DType type : {float32, int64}) {
        const std::string words = ": the mask must be bool, not " + std::string(name(type));
        refuses<DTypeError>("Mask::blocked" + words, [&] { Mask::blocked(zeros({T, S}, type)); });
        refuses<DTypeError>("Mask::allowed" + words, [&] { Mask::allowed(zeros({T, S}, type)); });
    }
}

TEST_CASE("masks of tokens of a wrong rank or type, or that do not fit, are refused with the way out",
          "[mask]") {
    for (const Shape& wrong : {Shape{}, Shape{B, 1, S}, Shape{B, H, T, S}}) {
        refuses<ShapeError>("Mask::keys: takes (B, S), or (S,) for all samples, not " + wrong.str() +
                                "…use Mask::blocked or Mask::allowed",
                            [&] { return Mask::keys(zeros(wrong, boolean)); });
        refuses<ShapeError>("Mask::documents: takes (B, S)",
                            [&] { return Mask::documents(zeros(wrong, int64)); });
    }
    for (const DType type : {float32, float64, int64})
        refuses<DTypeError>("Mask::keys: the mask must be bool, not " + std::string(name(type)), [&] {
            return Mask::keys(zeros({B, S}, type));
        });
    for (const DType type : {float32, float64, boolean})
        refuses<DTypeError>("Mask::documents: ids must be int64, not " + std::string(name(type)), [&] {
            return Mask::documents(zeros({B, S}, type));
        });
    const Tensor q = random({B, H, T, 3}), k = random({B, H, S, 3});
    for (const Shape& wrong :
         {Shape{S + 1}, Shape{T}, Shape{B, T}, Shape{1, S}, Shape{B + 1, S}, Shape{S, B}}) {
        CAPTURE(wrong);
        for (const bool composed : {false, true}) {
            const Plain path(Plain::operations, composed);
            CHECK(message_of<ShapeError>([&] {
                      (void)scaled_dot_product_attention(q, k, k, {.mask = Mask::keys(ones(wrong, boolean))});
                  }) == "scaled_dot_product_attention: Mask::keys: " + wrong.str() +
                            " for 2 samples of 5 keys; give one for each key, those in a cache included, as "
                            "(B, S) or (S,)");
            refuses<ShapeError>(
                "scaled_dot_product_attention: Mask::documents: " + wrong.str() + " for 2 samples of 5", [&] {
                    const Mask mask = Mask::documents(zeros(wrong, int64));
                    (void)scaled_dot_product_attention(q, k, k, {.mask = mask});
                });
        }
    }
    refuses<ShapeError>("Mask::documents: 5 queries for 4 keys; the queries are the last tokens", [&] {
        const Mask mask = Mask::documents(zeros({T}, int64));
        (void)scaled_dot_product_attention(k, q, q, {.mask = mask});
    });
}

TEST_CASE("padding lengths that are negative, too many, too few or too long are refused", "[mask]") {
    refuses<ValueError>("length -1 of sample 1", [] { return Mask::padding({3, -1}); });
    refuses<ShapeError>("1 lengths for 2 samples", [] { return Mask::padding({3}).materialize(B, H, T, S); });
    refuses<ShapeError>("3 lengths", [] { (void)Mask::padding({3, 3, 3}).materialize(B, H, T, S); });
    refuses<ShapeError>("length 6 of sample 1 is more than the 5 keys", [] {
        (void)Mask::padding({3, 6}).materialize(B, H, T, S);
    });
}

TEST_CASE("a mask, or one part of several, changed before backward is refused, to either order",
          "[mask][order]") {
    using Make = std::function<Mask(const Tensor& part)>;
    const std::pair<const char*, Make> masks[] = {
        {"one part", [](const Tensor& part) { return Mask::blocked(part); }},
        {"with causal", [](const Tensor& part) { return Mask::causal() | Mask::blocked(part); }},
        {"with padding", [](const Tensor& part) { return Mask::blocked(part) | Mask::padding({3}); }},
        {"with another", [](const Tensor& part) {
             return Mask::blocked(some_bools({4, 4})) | Mask::blocked(part);
         }}};
    for (const auto& [name, make] : masks)
        for (const bool with_bias : {false, true})
            for (const bool packed : {false, true})
                for (const bool create_graph : {false, true}) {
                    CAPTURE(name, with_bias, packed, create_graph);
                    Tensor part = zeros({4, 4}, boolean), qkv = random({1, 4, 6}).requires_grad_();
                    AttentionOptions options{.mask = make(part)};
                    if (with_bias)  // whose −∞ is one more part
                        options.bias = masked_fill(random({4, 4}, 2), some_bools({4, 4}, 3), -INFINITY);
                    const auto attend = [&] {
                        if (packed) return sum(multi_head_attention(qkv, 1, options));
                        const auto [q, k, v] = nn::split_qkv(qkv, 1);
                        return sum(scaled_dot_product_attention(q, k, v, options));
                    };
                    const Tensor y = attend();
                    part.fill_(1);
                    refuses<GraphError>("attention…changed in place",
                                        [&] { return grad({y}, {qkv}, {}, {.create_graph = create_graph}); });
                }
}
