// Generation with a PromptCache, several prompts, end ids, penalties, what changes logits, and min-p.
#include <cmath>
#include <set>

#include "catch.h"
#include "refusal.h"
#include "source.h"

using namespace weft;
using text::Ids;

namespace {

constexpr std::int64_t V = 23, block = 24;

lm::Decoder model_of(lm::DecoderConfig config = {}) {
    Rng rng(5);
    config.vocab_size = V, config.block_size = block, config.num_layers = 2, config.d_model = 16;
    lm::Decoder model(config, rng);
    NoGrad off;
    for (auto [name, parameter] : model.named_parameters())
        if (parameter.rank() == 2) parameter.mul_(4);  // so that what it says varies
    model.to(float64);
    return model;
}

const lm::SampleOptions greedy{.temperature = 0};

Ids joined(Ids a, const Ids& b) {
    a.insert(a.end(), b.begin(), b.end());
    return a;
}

}  // namespace

TEST_CASE("a PromptCache gives the same text, and computes only what it does not hold", "[lm][generate]") {
    const lm::LanguageModel model = model_of();
    const Ids prompt{3, 1, 4, 1, 5, 9, 2, 6};
    lm::PromptCache kept;
    const lm::GenerateOptions fresh{.max_new_tokens = 4, .sampling = greedy},
        with_kept{.max_new_tokens = 4, .sampling = greedy, .kept = &kept};
    const Ids answer = lm::generate(model, prompt, fresh);
    CHECK(std::set<std::int64_t>(answer.begin(), answer.end()).size() > 1);
    CHECK(lm::generate(model, prompt, with_kept) == answer);
    CHECK(kept.ids == joined(prompt, {answer.begin(), answer.end() - 1}));
    CHECK(kept.caches[0].length() == 11);

    const Ids turn = joined(joined(prompt, answer), {7, 7});
    Ids first, second;
    const auto whole = source::multiply_adds([&] { first = lm::generate(model, turn, fresh); });
    const auto rest = source::multiply_adds([&] { second = lm::generate(model, turn, with_kept); });
    CHECK(first == second);
    CHECK(rest < 0.55 * static_cast<double>(whole));  // 6 of 17 tokens pass through the model

    // Another ending of the prompt: what differs is computed anew; and the same prompt again.
    Ids other = prompt;
    other[5] = 0;
    CHECK(lm::generate(model, other, with_kept) == lm::generate(model, other, fresh));
    CHECK(lm::generate(model, other, with_kept) == lm::generate(model, other, fresh));
    // Beyond the context, where the window slides.
    const lm::GenerateOptions many{.max_new_tokens = 30, .sampling = greedy},
        many_kept{.max_new_tokens = 30, .sampling = greedy, .kept = &kept};
    CHECK(lm::generate(model, prompt, many_kept) == lm::generate(model, prompt, many));
    CHECK(lm::generate(model, prompt, with_kept) == answer);
    // After an error it holds nothing that it does not know.
    const lm::GenerateOptions fails{
        .max_new_tokens = 4,
        .sampling = greedy,
        .kept = &kept,
        .logits = [](const Tensor&, const Ids&) -> Tensor { throw ValueError("no"); }};
    CHECK_THROWS_AS(lm::generate(model, other, fails), ValueError);
    CHECK(lm::generate(model, prompt, with_kept) == answer);
    // A function that is called may generate with it, too.
    Ids inner;
    const auto nested = [&](std::int64_t) { return inner = lm::generate(model, other, with_kept), true; };
    CHECK(lm::generate(model, prompt, with_kept, nested) == answer);
    CHECK(inner == lm::generate(model, other, fresh));
    CHECK(lm::generate(model, prompt, with_kept) == answer);
}

TEST_CASE("a model whose angles change with the length is computed anew where its caches do not apply",
          "[lm][generate]") {
    lm::DecoderConfig config;
    config.layers = {{.rotary = nn::RotaryOptions{}}};
    config.layers[0].rotary->scaling = {.kind = nn::RotaryScaling::longrope,
                                        .original_length = 10,
                                        .short_factor = {1, 1},
                                        .long_factor = {2, 3}};
    config.head_dim = 4;
    const lm::Decoder decoder = model_of(config);
    const lm::LanguageModel model = decoder;
    lm::PromptCache kept;
    const Ids prompt{3, 1, 4, 1, 5, 9, 2, 6};
    const Ids slow = lm::generate(model, prompt, {.max_new_tokens = 8, .sampling = greedy, .use_cache = false});
    CHECK(lm::generate(model, prompt, {.max_new_tokens = 8, .sampling = greedy}) == slow);
    CHECK(lm::generate(model, prompt, {.max_new_tokens = 8, .sampling = greedy, .kept = &kept}) == slow);
    CHECK(lm::generate(model, prompt, {.max_new_tokens = 8, .sampling = greedy, .kept = &kept}) == slow);
    CHECK_FALSE(decoder.caches_apply(9, 11));
    CHECK(decoder.caches_apply(9, 10));
    CHECK(decoder.caches_apply(11, 20));
}

TEST_CASE("prompts of several lengths give together what each gives alone", "[lm][generate]") {
    const std::vector<Ids> prompts{{3, 1, 4, 1, 5}, {2}, {9, 2, 6}};
    const lm::GenerateOptions options{.max_new_tokens = 7, .sampling = greedy};
    lm::GPT gpt({.vocab_size = V, .block_size = block, .num_layers = 1, .d_model = 16});
    for (const lm::LanguageModel& model : {lm::LanguageModel(model_of()), lm::LanguageModel(gpt)}) {
        const std::vector<Ids> together = lm::generate_batch(model, prompts, options);
        for (std::size_t b = 0; b < prompts.size(); ++b) {
            CHECK(together[b] == lm::generate(model, prompts[b], options));
            // Each ends at its own end.
            lm::GenerateOptions ends = options;
            ends.end_ids = {together[0][2], together[1][4]};
            Ids alone = lm::generate(model, prompts[b], ends);
            CHECK(lm::generate_batch(model, prompts, ends)[b] == alone);
            CHECK((alone.size() == 7 || alone.back() == ends.end_ids[0] || alone.back() == ends.end_ids[1]));
        }
        // Past the context.
        lm::GenerateOptions many = options;
        many.max_new_tokens = 25;
        CHECK(lm::generate_batch(model, prompts, many)[1] == lm::generate(model, prompts[1], many));
    }
    const lm::LanguageModel model = model_of();
    refuses<ValueError>("generate_batch: there are no prompts",
                        [&] { (void)lm::generate_batch(model, {}, options); });
    refuses<ValueError>("generate_batch: a prompt is empty", [&] {
        (void)lm::generate_batch(model, {{1}, {}}, options);
    });
    refuses<ValueError>("generate: a PromptCache is of one prompt, not of 2", [&] {
        lm::PromptCache kept;
        (void)lm::generate_batch(model, {{1}, {2}}, {.kept = &kept});
    });
    refuses<ValueError>("takes no attention_mask", [&] {
        const lm::LanguageModel plain = gpt;
        auto caches = plain.make_caches();
        const NoGrad off;
        (void)plain.last_logits(tensor({{1, 2}}), caches, ones({1, 2}, boolean));
    });
}

TEST_CASE("a repetition penalty, end ids and a function of the logits act on what is drawn", "[lm][generate]") {
    const lm::Decoder decoder = model_of();
    const lm::LanguageModel model = decoder;
    const Ids prompt{3, 1, 4};
    Ids seen;
    Tensor raw, changed;
    const auto first = [&](double penalty) {
        (void)lm::generate(model, prompt,
                           {.max_new_tokens = 1,
                            .sampling = greedy,
                            .repetition_penalty = penalty,
                            .logits = [&](const Tensor& z, const Ids& ids) {
                                (penalty == 1 ? raw : changed) = z.clone();
                                seen = ids;
                                return z;
                            }});
    };
    first(1);
    first(1.5);
    CHECK(seen == prompt);
    const NoGrad off;
    CHECK(source::difference(raw, decoder(tensor({3, 1, 4}))[2]) < 1e-12);
    for (std::int64_t id = 0; id < V; ++id) {
        const double z = raw[id].item(), y = changed[id].item();
        const bool is_seen = id == 3 || id == 1 || id == 4;
        CHECK(y == Approx(!is_seen ? z : z > 0 ? z / 1.5 : z * 1.5));
    }
    const auto only = [](std::int64_t id) {
        return
            [id](const Tensor& z, const Ids&) { return where(arange(V) == id, z, zeros_like(z) - INFINITY); };
    };
    CHECK(lm::generate(model, prompt, {.max_new_tokens = 3, .logits = only(8)}) == Ids{8, 8, 8});
    CHECK(lm::generate(model, prompt, {.max_new_tokens = 3, .end_ids = {5, 8}, .logits = only(8)}) == Ids{8});
    refuses<ValueError>("repetition_penalty must be finite and above 0, not 0",
                        [&] { (void)lm::generate(model, prompt, {.repetition_penalty = 0}); });
    refuses<ValueError>("min_p must be at least 0 (all) and at most 1, not 2",
                        [&] { (void)lm::sample(ones({3}), {.min_p = 2}); });
}

TEST_CASE("min_p keeps what is likely enough beside the likeliest", "[lm][generate]") {
    const Tensor logits = log(tensor({0.5, 0.24, 0.2, 0.06}));
    std::vector<std::int64_t> counts(4);
    Rng rng(1);
    for (int i = 0; i < 2000; ++i)
        ++counts[static_cast<std::size_t>(lm::sample(logits, {.rng = &rng, .min_p = 0.39}))];
    CHECK(counts[3] == 0);
    CHECK(std::abs(counts[0] / 2000.0 - 0.5 / 0.94) < 0.05);
    CHECK(std::abs(counts[2] / 2000.0 - 0.2 / 0.94) < 0.05);
    for (int i = 0; i < 20; ++i) CHECK(lm::sample(logits, {.rng = &rng, .min_p = 1}) == 0);
}
