// The transformer block, the language model, and sampling.
#include <cmath>

#include "refusal.h"
#include "weft/weft.h"

using namespace weft;

namespace {

const lm::GPTConfig small{.vocab_size = 11, .block_size = 6, .num_layers = 2, .num_heads = 2, .d_model = 8};

double distance(const Tensor& a, const Tensor& b) { return max(abs(a.detach() - b.detach())).item(); }

lm::GPT model_in_double(const lm::GPTConfig& config = small) {
    Rng rng(1);
    lm::GPT model(config, rng);
    model.to(float64);
    return model;
}

Tensor ids_of(const Shape& shape) {
    Rng rng(2);
    return randint(0, small.vocab_size, shape, rng);
}

using Ids = std::vector<std::int64_t>;

}  // namespace

TEST_CASE("GPT has the parameters that its sizes say, its head tied to the token embedding", "[nn][gpt]") {
    Rng rng(1);
    const lm::GPT model({.vocab_size = 65, .block_size = 64, .num_layers = 4, .num_heads = 4, .d_model = 128},
                        rng);
    const std::int64_t C = 128, block = 3 * C * C + C * C + 8 * C * C + 2 * C;
    CHECK(model.num_parameters() == 65 * C + 64 * C + 4 * block + C);
    CHECK(model.head.weight.handle() == model.token_embedding.weight.handle());
    const lm::GPT biased(
        {.vocab_size = 65, .block_size = 64, .num_layers = 1, .num_heads = 4, .d_model = 128, .bias = true},
        rng);
    CHECK(biased.num_parameters() == 65 * C + 64 * C + block + (3 * C + C + 4 * C + C) + 2 * C + C + C);
}

TEST_CASE("GPT takes attention's config: grouped heads, widths, and angles instead of learned positions",
          "[nn][gpt][cache]") {
    lm::GPTConfig config = small;
    config.num_heads = 4;
    config.attention = {.bias = true, .num_kv_heads = 2, .d_k = 4, .d_v = 3, .rotary_base = 100};
    const lm::GPT model = model_in_double(config);
    CHECK_FALSE(model.position_embedding.weight.defined());
    CHECK(model.blocks[1].attn.W_in[0].weight.shape() == Shape{4 * 4 + 2 * (4 + 3), 8});
    CHECK(model.blocks[1].attn.W_in[0].bias.defined());
    CHECK_FALSE(model.blocks[1].mlp.W_in.bias.defined());

    const Tensor ids = ids_of({2, 6});
    Tensor x = model.token_embedding(ids);
    for (const nn::TransformerBlock& block : model.blocks) x = block(x);
    const Tensor y = model(ids);
    CHECK(distance(y, model.head(model.norm(x))) == 0);
    {
        const NoGrad off;
        std::vector<nn::KeyValueCache> caches = model.make_caches();
        const Tensor steps = cat({model(ids.slice(1, 0, 4), caches), model(ids.slice(1, 4, 6), caches)}, 1);
        CHECK(distance(steps, y) < 1e-13);
        // The order of the tokens counts although no position is learned.
        const Tensor turned = cat({ids.slice(1, 1, 2), ids.slice(1, 0, 1), ids.slice(1, 2, 6)}, 1);
        CHECK(distance(model(turned).slice(1, 2, 6), y.slice(1, 2, 6)) > 1e-4);
    }
    Rng other(5);
    lm::GPT loaded(config, other);
    lm::check_state_dict(config, loaded.state_dict());
    refuses<ValueError>("position_embedding.weight", [&] { lm::check_state_dict(small, loaded.state_dict()); });
    loaded.to(float64);
    loaded.load_state_dict(model.state_dict());
    CHECK(distance(loaded(ids), y) == 0);
}

TEST_CASE("GPT starts with projections that keep the size of what they read", "[nn][gpt]") {
    Rng rng(1);
    const lm::GPT model(
        {.vocab_size = 200, .block_size = 64, .num_layers = 2, .num_heads = 4, .d_model = 64, .bias = true},
        rng);
    for (const auto& [name, parameter] : model.named_parameters()) {
        INFO(name);
        if (parameter.rank() == 2) {
            const double keeps_size = 1 / std::sqrt(static_cast<double>(parameter.size(1)));
            const double wanted = name.ends_with("embedding.weight") ? 0.02
                                  : name.ends_with("W_out.weight")   ? keeps_size / 2  // √(2 · 2 layers) = 2
                                                                     : keeps_size;
            CHECK(std::sqrt(var(parameter).item()) == Approx(wanted).epsilon(0.05));
            CHECK(std::abs(mean(parameter).item()) < 0.1 * wanted);
        } else {
            CHECK(distance(parameter,
                           name.ends_with(".bias") ? zeros(parameter.shape()) : ones(parameter.shape())) == 0);
        }
    }
    const double loss =
        cross_entropy(model(randint(0, 200, {4, 64}, rng)), randint(0, 200, {4, 64}, rng)).item();
    CHECK(loss == Approx(std::log(200)).epsilon(0.02));
}

TEST_CASE("GPT's dropout also acts on the embeddings, in training only", "[nn][gpt]") {
    lm::GPTConfig config = small;
    config.dropout = 0.5;
    lm::GPT model = model_in_double(config);
    NoGrad off;
    for (auto [name, parameter] : model.named_parameters())
        if (name.ends_with("W_out.weight")) parameter.zero_();  // every block is the identity now
    const Tensor ids = ids_of({3, 4});
    CHECK(distance(model(ids), model(ids)) > 1e-3);
    model.eval();
    CHECK(distance(model(ids), model(ids)) == 0);
}

TEST_CASE("temperature 0 takes the first of the largest logits", "[fault][nn][sample]") {
    CHECK(lm::sample(tensor({1.0, 5, 5, 2}), {.temperature = 0}) == 1);
}

TEST_CASE("samples follow the softmax of logits over temperature", "[nn][sample]") {
    Rng rng(1);
    const Tensor logits = log(tensor({0.1, 0.2, 0.7}));
    const auto shares = [&](lm::SampleOptions options) {
        options.rng = &rng;
        std::vector<double> count(3, 0);
        for (int i = 0; i < 20000; ++i)
            count[static_cast<std::size_t>(lm::sample(logits, options))] += 1.0 / 20000;
        return count;
    };
    const auto plain = shares({});
    CHECK(plain[0] == Approx(0.1).margin(0.012));
    CHECK(plain[1] == Approx(0.2).margin(0.016));
    const auto cold = shares({.temperature = 0.5});  // p² / Σp²
    CHECK(cold[0] == Approx(0.01 / 0.54).margin(0.006));
    CHECK(cold[2] == Approx(0.49 / 0.54).margin(0.012));
    const auto two = shares({.top_k = 2});
    CHECK(two[0] == 0);
    CHECK(two[1] == Approx(0.2 / 0.9).margin(0.016));
}

TEST_CASE("top_k of 1 is greedy, of equals the first; more than the vocabulary is all of it",
          "[fault][nn][sample]") {
    Rng rng(1), same(1), all(1);
    for (int i = 0; i < 50; ++i) CHECK(lm::sample(tensor({1.0, 5, 5, 2}), {.top_k = 1, .rng = &rng}) == 1);
    const Tensor logits = tensor({1.0, 2, 3});
    for (int i = 0; i < 50; ++i)
        CHECK(lm::sample(logits, {.top_k = 1000, .rng = &same}) == lm::sample(logits, {.rng = &all}));
}

TEST_CASE("temperatures that underflow or logits that are far apart still sample", "[nn][sample]") {
    Rng rng(1);
    CHECK(lm::sample(tensor({1.0, 2}), {.temperature = 1e-300, .rng = &rng}) == 1);
    CHECK(lm::sample(tensor({-1e4, 1e4}), {.rng = &rng}) == 1);
}

TEST_CASE("generate is the same for the same seed and leaves every mode as it was", "[nn][gpt]") {
    lm::GPTConfig config = small;
    config.dropout = 0.5;
    lm::GPT model = model_in_double(config);
    nn::TransformerBlock frozen = model.blocks[1];
    frozen.eval();
    Rng a(5), b(5), c(6);
    const auto first = model.generate(ids_of({4}), 40, {.rng = &a}).to_vector<std::int64_t>();
    CHECK(model.generate(ids_of({4}), 40, {.rng = &b}).to_vector<std::int64_t>() == first);
    CHECK(model.generate(ids_of({4}), 40, {.rng = &c}).to_vector<std::int64_t>() != first);
    CHECK(model.training());
    CHECK(model.blocks[0].drop.training());
    CHECK_FALSE(frozen.drop.training());
    CHECK(is_grad_enabled());
    CHECK_THROWS_AS(model.generate(ids_of({4}), 1, {.temperature = -1}), ValueError);
    CHECK(model.training());
}
