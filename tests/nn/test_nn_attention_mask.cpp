// The causal mask that causal attention makes when it is asked for it, and then reads.
#include "refusal.h"
#include "source.h"

using namespace weft;
using source::difference;
using source::in_double;
using source::random;

namespace {

constexpr std::int64_t B = 2, T = 5, C = 12, H = 6, max_seq_len = 8;

nn::Attention make(bool grouped, double dropout = 0) {
    Rng rng(1);
    nn::AttentionConfig options{.causal = true, .max_seq_len = max_seq_len, .bias = true, .dropout = dropout};
    if (grouped) options.num_kv_heads = 2, options.rotary_base = 100;
    return in_double(nn::Attention(C, H, rng, options));
}

// Every way to run the module on x (B, T, C).
std::vector<std::pair<std::string, std::function<Tensor(const Tensor&)>>> modes(const nn::Attention& a) {
    return {{"fused", [a](const Tensor& x) { return a(x); }},
            {"composed",
             [a](const Tensor& x) {
                 const Plain composed(Plain::operations);
                 return a(x);
             }},
            {"weights", [a](const Tensor& x) { return a.with_weights(x).output; }},
            {"unbatched",
             [a](const Tensor& x) {
                 return stack({a(x[0]), a(x[1])}, 0);
             }},
            {"cached",
             [a](const Tensor& x) {
                 const NoGrad off;
                 nn::KeyValueCache cache;
                 return cat({a(x.slice(1, 0, 2), cache), a(x.slice(1, 2, T), cache)}, 1);
             }},
            {"composed, cached", [a](const Tensor& x) {
                 const NoGrad off;
                 const Plain composed(Plain::operations);
                 nn::KeyValueCache cache;
                 return cat({a(x.slice(1, 0, 2), cache), a(x.slice(1, 2, T), cache)}, 1);
             }}};
}

}  // namespace

TEST_CASE("asking for the causal mask changes nothing; one that is set is one tensor of all copies",
          "[nn][attention][mask]") {
    const nn::Attention attention = make(false);
    nn::Attention copy = attention;
    const Tensor x = random({B, T, C}), before = attention(x);
    Tensor mask = copy.mask();
    CHECK(all(mask == (triu(ones({max_seq_len, max_seq_len}), 1) != 0)));
    mask.zero_();  // a tensor of the caller's
    CHECK(same_bits(attention(x), before));
    CHECK(attention.named_buffers().empty());
    copy.set_mask(mask);
    REQUIRE(attention.named_buffers().size() == 1);
    CHECK(attention.named_buffers()[0].first == "mask");
    CHECK(attention.named_buffers()[0].second.handle() == copy.mask().handle());
    CHECK(attention.mask().handle() == copy.mask().handle());
    mask.fill_(1);  // set_mask has copied it
    CHECK(max(attention.mask().to(float32)).item() == 0);
    CHECK(difference(attention(x), before) > 1e-3);
    const Tensor held = attention.mask();
    copy.set_mask(mask);  // into the same buffer
    CHECK(attention.mask().handle() == held.handle());
    CHECK(all(held));
}

TEST_CASE("attention that is not asked for its mask holds nothing of that size", "[nn][attention][mask]") {
    Rng rng(1);
    // The mask would have 2⁵⁰ elements.
    const nn::Attention attention(C, H, rng, {.causal = true, .max_seq_len = std::int64_t(1) << 25});
    const Tensor x = random({B, T, C}, 3, float32);
    CHECK(attention(x).shape() == x.shape());
    CHECK(attention.with_weights(x).weights.shape() == Shape{B, H, T, T});
    const NoGrad off;
    nn::KeyValueCache cache;
    CHECK(attention(x, cache).shape() == x.shape());
}

TEST_CASE("a mask as it was changes no result, and an edited one changes that of every mode",
          "[nn][attention][mask]") {
    const Tensor x = random({B, T, C});
    for (const bool grouped : {false, true}) {
        const nn::Attention attention = make(grouped);
        for (const auto& [name, run] : modes(attention)) {
            INFO(name << (grouped ? ", grouped and rotary" : ""));
            const Tensor before = run(x);
            nn::Attention asked = make(grouped);
            asked.set_mask(asked.mask());
            Tensor mask = asked.mask();
            for (const auto& [same, run_asked] : modes(asked))
                if (same == name) {
                    CHECK(difference(run_asked(x), before) < 1e-14);
                    mask[T - 1].slice(0, 0, 1).fill_(1);  // the last token no longer attends to the first
                    const Tensor after = run_asked(x);
                    CHECK(same_bits(after.slice(1, 0, T - 2), before.slice(1, 0, T - 2)));
                    CHECK(difference(after.slice(1, 0, T - 1), before.slice(1, 0, T - 1)) < 1e-14);
                    CHECK(difference(after.slice(1, T - 1, T), before.slice(1, T - 1, T)) > 1e-3);
                    const Plain composed(Plain::operations);
                    CHECK(difference(asked(x), after) < 1e-14);  // all modes read the same mask
                }
        }
    }
}

TEST_CASE("dropout and extra masks keep to an edited mask", "[nn][attention][mask]") {
    auto attention = make(false, 0.5);
    Tensor mask = zeros({max_seq_len, max_seq_len}, boolean);
    mask.slice(1, 0, 1).fill_(1);  // every token sees all but the first
    attention.set_mask(mask);
    const Tensor x = random({B, T, C});
    const Tensor weights = attention.with_weights(x, Mask::padding({T, T - 1})).weights;  // (B, H, T, T)
    CHECK(max(abs(weights.select(3, 0))).item() == 0);
    CHECK(max(abs(triu(weights, 1))).item() > 0);
    CHECK(max(abs(weights[1].select(2, T - 1))).item() == 0);
}

TEST_CASE("tokens read the rows and columns of the mask that are theirs; more than it has are refused",
          "[nn][attention][mask]") {
    nn::Attention attention = make(false);
    const Tensor x = random({B, max_seq_len + 1, C}), first = x.slice(1, 0, T), before = attention(first);
    Tensor mask = attention.mask();
    mask.slice(0, T, max_seq_len).fill_(1);  // outside the first T rows and columns
    mask.slice(1, T, max_seq_len).fill_(1);
    attention.set_mask(mask);
    CHECK(difference(attention(first), before) < 1e-14);
    const Tensor full = attention(x.slice(1, 0, max_seq_len));
    CHECK(difference(full.slice(1, 0, T), before) < 1e-14);
    for (std::int64_t t = T; t < max_seq_len; ++t)  // fully masked rows: the output bias
        CHECK(same_bits(full[0][t], attention.W_out.bias.detach()));
    refuses<ShapeError>("max_seq_len is 8", [&] { return attention(x); });
}

TEST_CASE("the mask is no state: not saved, not wanted, and bool in a module of any type",
          "[nn][attention][mask]") {
    auto attention = make(false);
    const nn::NamedTensors before = attention.state_dict();
    attention.set_mask(attention.mask());
    const Tensor mask = attention.mask();
    CHECK(attention.state_dict().size() == before.size());
    CHECK(attention.parameters().size() == 4);
    attention.load_state_dict(before);
    attention.to(float32);
    CHECK(attention.mask().handle() == mask.handle());
    CHECK(attention.mask().dtype() == boolean);
    CHECK(attention(random({B, T, C}, 4, float32)).dtype() == float32);

    Rng rng(1);
    nn::TransformerBlock block(C, H, rng, {.max_seq_len = 3});
    CHECK(block.named_buffers().empty());
    block.attn.set_mask(block.attn.mask());
    REQUIRE(block.named_buffers().size() == 1);
    CHECK(block.named_buffers()[0].first == "attn.mask");
}

TEST_CASE("a mask that is edited between forward and backward is refused by backward",
          "[nn][attention][mask]") {
    nn::Attention attention = make(false);
    attention.set_mask(attention.mask());
    Tensor mask = attention.mask();
    const Tensor loss = sum(attention(random({B, T, C})));
    mask.zero_();
    refuses<GraphError>("changed in place", [&] { loss.backward(); });
}
