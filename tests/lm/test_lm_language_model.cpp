// LanguageModel: structs that are no GPT generate, are evaluated, trained and reported, and a GPT behind the
// handle is that GPT. B batch, T tokens, V vocabulary, C width.
#include <tuple>

#include "environment.h"
#include "programs.h"
#include "refusal.h"
#include "report_reader.h"
#include "weft/weft.h"

using namespace weft;
using text::Ids;

namespace {

// A tuple of a handle is no model, and can be made and copied.
static_assert(!lm::CausalModel<std::tuple<const lm::LanguageModel&>>);
static_assert(std::is_copy_constructible_v<std::tuple<lm::LanguageModel>>);

// No module: after token i comes i + 1, after the last one 0.
struct Next {
    struct {
        std::int64_t vocab_size = 3, block_size = 4;
    } config;
    std::int64_t width = 3;  // of its logits
    std::shared_ptr<std::vector<Shape>> seen =
        std::make_shared<std::vector<Shape>>();  // what it was called with
    Tensor operator()(const Tensor& ids) const {
        seen->push_back(ids.shape());
        return embedding(9 * tensor({{0.0, 1, 0}, {0, 0, 1}, {1, 0, 0}}).slice(1, 0, width), ids);
    }
};

// A module with attention of two heads, rotary positions, dropout and a cache; no block, and no norm.
struct Attending : nn::Module {
    struct {
        std::int64_t vocab_size, block_size;
    } config;
    nn::Embedding embed;
    nn::Attention attn;
    nn::Dropout drop;
    nn::Linear head;
    explicit Attending(std::int64_t V, std::int64_t C = 8, Rng&& rng = Rng(1))
        : nn::Module("Attending"),
          config{V, 8},
          embed(register_module("embed", nn::Embedding(V, C, rng))),
          attn(register_module(
              "attn", nn::Attention(C, 2, rng, {.causal = true, .max_seq_len = 8, .rotary_base = 100}))),
          drop(register_module("drop", nn::Dropout(0.1, rng))),
          head(register_module("head", nn::Linear(C, V, rng))) {}
    Tensor operator()(const Tensor& ids) const {
        const Tensor x = embed(ids);
        return head(drop(x + attn(x)));
    }
    Tensor operator()(const Tensor& ids, std::vector<nn::KeyValueCache>& caches) const {
        const Tensor x = traced("new", embed(ids));
        return head(drop(x + attn(x, caches[0])));
    }
    std::vector<nn::KeyValueCache> make_caches() const { return std::vector<nn::KeyValueCache>(1); }
};

// Its cached logits lack one of V.
struct Short : Attending {
    using Attending::Attending;
    Tensor operator()(const Tensor& ids) const { return Attending::operator()(ids); }
    Tensor operator()(const Tensor& ids, std::vector<nn::KeyValueCache>& caches) const {
        return Attending::operator()(ids, caches).slice(-1, 1, config.vocab_size);
    }
};

// Traces weights of a shape that the report cannot show.
struct Pooled {
    struct {
        std::int64_t vocab_size, block_size = 8;
    } config;
    Shape shape;
    Tensor operator()(const Tensor& ids) const {
        (void)traced("weights", ones(shape));
        Shape logits = ids.shape();
        logits.push_back(config.vocab_size);
        return zeros(logits);
    }
};

lm::GPT small_gpt(std::int64_t V) {
    Rng rng(3);
    return lm::GPT(
        {.vocab_size = V, .block_size = 8, .num_layers = 2, .num_heads = 3, .d_model = 12, .dropout = 0.2},
        rng);
}

const lm::GenerateOptions greedy{.max_new_tokens = 6, .sampling = {.temperature = 0}};

// The report's page after it showed one evaluation of a run.
report::Report reported(const lm::LanguageModel& model) {
    const Scratch scratch;
    const text::Characters letters(pangrams());
    training::RunReport report(scratch / "report.html", {.prompt = "a"}, model, letters,
                               letters.encode(pangrams()));
    report.gradients(0);
    report.measured({0, 1e-3, 3.0, 3.1});
    report.evaluated(0);
    report.save();
    return report::Report::load(scratch / "report.html");
}

}  // namespace

TEST_CASE("a struct that is no module generates ids and text, and sees its last block_size tokens", "[lm]") {
    const Next next;
    CHECK(lm::generate(next, {1}, greedy) == Ids{2, 0, 1, 2, 0, 1});
    CHECK(*next.seen == std::vector<Shape>{{1, 1}, {1, 2}, {1, 3}, {1, 4}, {1, 4}, {1, 4}});
    CHECK(lm::generate_text(next, text::Characters("abc"), "ab", {.generate = greedy, .stop = "b"}).text ==
          "ca");
    CHECK_THROWS_AS(lm::generate(next, {3}, greedy), IndexError);
    refuses<ValueError>("the tokeniser has 2 tokens and the model 3", [&] {
        (void)lm::generate_text(next, text::Characters("ab"), "a", {.generate = greedy});
    });
}

TEST_CASE("a struct that is no module is evaluated, and is a module without parameters", "[lm]") {
    const lm::LanguageModel model = Next{};
    Ids counted;
    for (std::int64_t i = 0; i < 60; ++i) counted.push_back(i % 3);
    const training::Corpus corpus(counted, {.block_size = 2});
    const double loss = training::evaluate(corpus.validation_batches(), [&](const training::Batch& batch) {
        return cross_entropy(model(batch.inputs), batch.targets);
    });
    CHECK(loss == Approx(std::log(1 + 2 * std::exp(-9.0))));
    CHECK(model.vocab_size() == 3);
    CHECK(model.context_length() == 4);
    CHECK(model.num_parameters() == 0);
    CHECK(model.kind() == "LanguageModel");
}

TEST_CASE("a module with caches behind the handle generates with them what it generates without", "[lm]") {
    const lm::LanguageModel model = Attending(5);
    for (const std::int64_t given : {1, 3, 8}) {
        lm::GenerateOptions options = greedy;
        options.max_new_tokens = 12;  // beyond the context
        const Trace trace;
        const Ids found = lm::generate(model, Ids(static_cast<std::size_t>(given), 2), options);
        std::vector<std::int64_t> computed;
        for (const auto& [name, x] : trace.entries())
            if (name == "new") computed.push_back(x.size(1));
        std::vector<std::int64_t> expected(static_cast<std::size_t>(9 - given), 1);
        expected[0] = given;
        CHECK(computed == expected);
        options.use_cache = false;
        CHECK(found == lm::generate(model, Ids(static_cast<std::size_t>(given), 2), options));
    }
}

TEST_CASE("a GPT behind the handle is that GPT: values, parameters, modes and caches", "[lm]") {
    const lm::GPT gpt = small_gpt(5);
    const lm::LanguageModel model = gpt;
    lm::LanguageModel copy = model;
    CHECK(model.vocab_size() == 5);
    CHECK(model.context_length() == 8);
    copy.eval();
    CHECK_FALSE(gpt.training());
    CHECK(model.kind() == "GPT");
    CHECK(model.num_parameters() == gpt.num_parameters());
    const NoGrad off;
    copy.parameters()[0].mul_(2);
    const Tensor ids = tensor({{1, 2, 3}, {4, 0, 1}});
    CHECK(model(ids).to_vector<float>() == gpt(ids).to_vector<float>());
    CHECK(model(ids[0]).shape() == Shape{3, 5});
    std::vector<nn::KeyValueCache> mine = model.make_caches(), its = gpt.make_caches();
    CHECK(mine.size() == 2);
    for (int i = 0; i < 2; ++i) CHECK(model(ids, mine).to_vector<float>() == gpt(ids, its).to_vector<float>());
    CHECK(mine[1].length() == 6);
}

TEST_CASE("the model behind a handle is found by its type alone", "[lm]") {
    struct Derived : lm::GPT {
        using lm::GPT::GPT;
    };
    const lm::GPT gpt = small_gpt(5);
    const lm::LanguageModel model = gpt, derived = Derived(gpt.config), next = Next{};
    REQUIRE(model.target<lm::GPT>() != nullptr);
    CHECK(model.target<lm::GPT>()->head.weight.data<float>() == gpt.head.weight.data<float>());
    CHECK(derived.target<lm::GPT>() == nullptr);
    CHECK(derived.has_caches());
    CHECK(next.target<lm::GPT>() == nullptr);
    CHECK(next.target<Next>() != nullptr);
}

TEST_CASE("a handle refuses sizes below 1, logits of a wrong shape, and caches that the model has not",
          "[lm]") {
    CHECK(message_of<ValueError>([] {
              return lm::LanguageModel(Next{{3, 0}});
          }) == "LanguageModel: config.block_size must be at least 1, not 0");
    CHECK(message_of<ValueError>([] {
              return lm::LanguageModel(Next{{-1, 4}});
          }) == "LanguageModel: config.vocab_size must be at least 1, not -1");
    const lm::LanguageModel narrow = Next{{}, 2};
    CHECK(message_of<ShapeError>([&] {
              return lm::generate(narrow, {0, 1}, greedy);
          }) ==
          "LanguageModel: ids (1, 2) gave logits (1, 2, 2), not (1, 2, 3); return config.vocab_size logits for "
          "each token");
    CHECK_FALSE(narrow.has_caches());
    const std::string refused =
        "LanguageModel: the model has no caches; call it with all ids, or give it make_caches() and "
        "operator()(ids, caches)";
    std::vector<nn::KeyValueCache> caches;
    CHECK(message_of<ValueError>([&] { return narrow(tensor({{0}}), caches); }) == refused);
    CHECK(message_of<ValueError>([&] { return narrow.make_caches(); }) == refused);

    const lm::LanguageModel wrong = Short(5);  // only with caches
    const NoGrad off;
    CHECK(message_of<ValueError>([&] { return wrong.make_caches(bfloat16); }) ==
          "LanguageModel: the model's make_caches() takes no type");
    caches = wrong.make_caches();
    refuses<ShapeError>("Attending: ids (1, 2) gave logits (1, 2, 4), not (1, 2, 5)", [&] {
        return wrong(tensor({{1, 2}}), caches);
    });
    CHECK(caches[0].length() == 0);
    refuses<IndexError>("Attending.embed: embedding", [&] { return wrong(tensor({{5}})); });
}

TEST_CASE("a module that is no GPT is trained by a Run, reported with its attention, and resumed",
          "[lm][train]") {
    const Scratch scratch;
    const text::Characters letters(pangrams());
    training::Corpus corpus(letters.encode(pangrams()), {.block_size = 8, .batch_size = 4, .seed = 1});
    const lm::LanguageModel model = Attending(letters.vocab_size());
    optim::AdamW optimizer(model, {});
    training::RunState state;
    training::RunReport report(scratch / "report.html", {.steps = 20, .eval_interval = 10, .prompt = "a"},
                               model, letters, corpus.validation());
    training::Run run(
        model, optimizer, report, state,
        {.folder = scratch.folder(), .rate = {.lr = 1e-2, .steps = 20}, .eval_interval = 10, .quiet = true});
    const auto loss_of = [&](const training::Batch& batch) {
        return cross_entropy(model(batch.inputs), batch.targets);
    };
    std::vector<double> losses;
    run.train(
        [&](std::int64_t step) {
            const Tensor loss = loss_of(corpus.training_batch(step));
            loss.backward();
            return loss.item();
        },
        [&] { return losses.emplace_back(training::evaluate(corpus.validation_batches(), loss_of)); });
    CHECK(losses.back() < losses.front() - 0.1);
    const report::Report page = report::Report::load(scratch / "report.html");
    const nlohmann::json data = report_data(page);
    REQUIRE_FALSE(data["sentences"].empty());
    CHECK(data["sentences"][0]["heads"] == nlohmann::json({2}));
    CHECK(data["has_model"] == false);

    lm::LanguageModel loaded = Attending(letters.vocab_size(), 8, Rng(2));
    CHECK(training::Checkpoint::load(scratch / "model.safetensors").restore(loaded, optimizer) == 20);
    const Tensor ids = corpus.training_batch(0).inputs;
    const nn::EvalMode eval_mode;
    CHECK(loaded(ids).to_vector<float>() == model(ids).to_vector<float>());
}

TEST_CASE("the report of a model without attention, or with weights of another kind, shows its samples",
          "[lm]") {
    const std::int64_t V = text::Characters(pangrams()).vocab_size();
    const nlohmann::json gpt = report_data(reported(small_gpt(V)));
    CHECK(gpt["sentences"][0]["heads"] == nlohmann::json({3, 3}));
    CHECK(gpt["has_model"] == true);
    const lm::GPT alone({.vocab_size = V, .block_size = 1, .num_layers = 1, .num_heads = 1, .d_model = 4});
    CHECK(report_data(reported(alone))["sentences"].empty());
    for (const Shape& shape : {Shape{2, 2}, {2, 3, 2}, {2, 4, 1}, {2, 3, 2, 2}}) {
        const nlohmann::json pooled = report_data(reported(Pooled{{V}, shape}));
        CHECK(pooled["sentences"].empty());
        CHECK(pooled["has_model"] == false);
        CHECK(pooled["samples"].size() == 1);
    }
}

TEST_CASE("a report that counts heads draws no number", "[lm]") {
    const Scratch scratch;
    const text::Characters letters(pangrams());
    const lm::GPT gpt = small_gpt(letters.vocab_size());
    const auto positions = [&] {
        std::vector<std::uint64_t> all;
        for (const auto& [name, rng] : gpt.named_generators()) all.push_back(rng->state().position);
        return all;
    };
    const std::vector<std::uint64_t> before = positions();
    const training::RunReport report(scratch / "report.html", {}, gpt, letters, letters.encode(pangrams()));
    CHECK(positions() == before);
    CHECK(before.size() >= 3);
}

TEST_CASE("a run of a GPT that the page cannot compute is reported without its weights", "[lm]") {
    const Scratch scratch;
    const text::Characters letters(pangrams());
    const auto has_model = [&](const nn::AttentionConfig& attention) {
        Rng rng(1);
        const lm::GPT gpt({.vocab_size = letters.vocab_size(), .block_size = 8, .attention = attention}, rng);
        training::RunReport report(scratch / "report.html", {.steps = 1, .prompt = "a"}, gpt, letters,
                                   letters.encode(pangrams()));
        report.evaluated(1);
        report.save();
        return report_data(report.page)["has_model"] == true;
    };
    CHECK(has_model({}));
    CHECK(has_model({.rotary_base = 100}));
    CHECK_FALSE(has_model({.d_k = 4, .d_v = 8}));
}
