// Generation: the same with and without what is kept, where it stops, what is shown of it, and what it refuses.
#include <cmath>
#include <filesystem>
#include <set>

#include "places.h"
#include "refusal.h"
#include "weft/weft.h"

using namespace weft;
using text::Ids;

namespace {

constexpr std::int64_t block = 12;

lm::GPT model_of(std::int64_t vocab_size, DType dtype = float32) {
    Rng rng(3);
    lm::GPT model({.vocab_size = vocab_size,
                   .block_size = block,
                   .num_layers = 2,
                   .num_heads = 2,
                   .d_model = 16,
                   .dropout = 0.2},
                  rng);
    NoGrad off;
    for (auto [name, parameter] : model.named_parameters()) parameter.mul_(3);  // so that what it says varies
    model.to(dtype);
    return model;
}

// A model over characters that says `next[i]` after character i, whatever came before.
lm::GPT model_that_says(const Ids& next) {
    const auto V = static_cast<std::int64_t>(next.size());
    Rng rng = Rng::skip_init();
    lm::GPT model({.vocab_size = V, .block_size = block, .num_layers = 1, .num_heads = 1, .d_model = 2 * V},
                  rng);
    NoGrad off;
    // Token i is seen in column i. The head, tied to the embedding, reads columns V … 2V: the mlp moves them
    // there.
    for (std::int64_t i = 0; i < V; ++i) {
        model.token_embedding.weight[i][i].fill_(1);
        model.token_embedding.weight[i][V + i].fill_(1e-3);
    }
    const nn::TransformerBlock& only = model.blocks[0];
    for (std::int64_t i = 0; i < V; ++i) {
        only.mlp.W_in.weight[i][i].fill_(1);
        only.mlp.W_out.weight[V + next[static_cast<std::size_t>(i)]][i].fill_(1e4);
    }
    return model;
}

// What is shown, call by call.
struct Shown {
    std::vector<std::string> calls;
    std::string all;
    std::function<bool(const std::string&)> write() {
        return [this](const std::string& text) {
            calls.push_back(text);
            all += text;
            return true;
        };
    }
};

const std::filesystem::path golden_folder = places::golden();

}  // namespace

TEST_CASE("generation with kept keys and values gives the tokens that it gives without", "[generate]") {
    Rng prompts(9);
    for (const DType dtype : {float32, float64})
        for (const double temperature : {0.0, 1.0}) {
            const lm::GPT model = model_of(40, dtype);
            for (const std::int64_t given : {std::int64_t{1}, std::int64_t{5}, block}) {
                const Ids prompt = randint(0, 40, {given}, prompts).to_vector<std::int64_t>();
                Rng a(5), b(5);
                const lm::GenerateOptions cached{
                    .max_new_tokens = 40,
                    .sampling = {.temperature = temperature, .top_k = 30, .rng = &a, .top_p = 0.95}};
                lm::GenerateOptions plain = cached;
                plain.use_cache = false, plain.sampling.rng = &b;
                const Ids found = lm::generate(model, prompt, cached);
                CHECK(found.size() == 40);
                CHECK(found == lm::generate(model, prompt, plain));
            }
        }
}

TEST_CASE("each generated token is sampled from what the model says of the last block", "[generate]") {
    lm::GPT model = model_of(40);
    Rng a(5), b(5);
    const Ids prompt{1, 2, 3};
    Ids all = prompt;
    const Ids found = lm::generate(model, prompt, {.max_new_tokens = 25, .sampling = {.rng = &a}});
    model.eval();
    for (const std::int64_t id : found) {
        const auto n = static_cast<std::int64_t>(all.size()), from = std::max<std::int64_t>(0, n - block);
        const Tensor seen = from_vector(Ids(all.begin() + from, all.end()), {n - from});
        REQUIRE(lm::sample(model(seen)[-1], {.rng = &b}) == id);
        all.push_back(id);
    }
}

TEST_CASE("of a prompt longer than the block the model sees the end", "[generate]") {
    lm::GPT model = model_of(40);
    Rng draw(2);
    const Ids prompt = randint(0, 40, {3 * block}, draw).to_vector<std::int64_t>();
    const Ids end(prompt.end() - block, prompt.end());
    for (const bool cache : {false, true}) {
        const lm::GenerateOptions greedy{
            .max_new_tokens = 10, .sampling = {.temperature = 0}, .use_cache = cache};
        const Ids found = lm::generate(model, prompt, greedy);
        CHECK(found == lm::generate(model, end, greedy));
        const Tensor all = model.generate(from_vector(prompt, {3 * block}), 10, {.temperature = 0});
        CHECK(all.slice(0, 3 * block, 3 * block + 10).to_vector<std::int64_t>() == found);
    }
}

TEST_CASE("generation calls on_token for each token and stops when it returns false", "[generate]") {
    const lm::GPT model = model_of(40);
    const lm::GenerateOptions options{.max_new_tokens = 30, .sampling = {.temperature = 0}};
    Ids told;
    const Ids all = lm::generate(model, {7}, options, [&](std::int64_t id) {
        told.push_back(id);
        return true;
    });
    CHECK(told == all);
    told.clear();
    const Ids some = lm::generate(model, {7}, options, [&](std::int64_t id) {
        told.push_back(id);
        return told.size() < 4;
    });
    CHECK(some == Ids(all.begin(), all.begin() + 4));
    CHECK(told == some);
    CHECK(lm::generate(model, {7}, {.max_new_tokens = 0, .sampling = {.temperature = 0}}).empty());
}

TEST_CASE("the seed decides what is generated, and every mode comes back", "[generate]") {
    lm::GPT model = model_of(40);
    nn::TransformerBlock frozen = model.blocks[1];
    frozen.eval();
    const auto with_seed = [&](std::uint64_t seed) {
        Rng rng(seed);
        return lm::generate(model, {1, 2}, {.max_new_tokens = 30, .sampling = {.rng = &rng}});
    };
    CHECK(with_seed(1) == with_seed(1));
    CHECK(with_seed(1) != with_seed(2));
    CHECK(model.training());
    CHECK_FALSE(frozen.drop.training());
    CHECK(is_grad_enabled());
}

TEST_CASE("top_p keeps the likeliest whose probabilities first sum to p, of those that top_k keeps",
          "[sample]") {
    Rng rng(1);
    const Tensor logits = log(tensor({0.1, 0.4, 0.2, 0.3}));
    const auto shares = [&](double top_p, std::int64_t top_k = 0, double temperature = 1) {
        std::vector<double> count(4, 0);
        for (int i = 0; i < 4000; ++i)
            count[static_cast<std::size_t>(lm::sample(
                logits, {.temperature = temperature, .top_k = top_k, .rng = &rng, .top_p = top_p}))] +=
                1.0 / 4000;
        return count;
    };
    const auto half = shares(0.5);  // 0.4, then 0.3 reaches it
    CHECK(half[0] + half[2] == 0);
    CHECK(half[1] == Approx(4.0 / 7).margin(0.03));
    const auto most = shares(0.75);
    CHECK(most[0] == 0);
    CHECK(most[2] == Approx(2.0 / 9).margin(0.03));
    CHECK(shares(0.39)[1] == Approx(1));
    CHECK(shares(1e-9)[1] == Approx(1));
    CHECK(shares(0.95)[0] == Approx(0.1).margin(0.02));
    const auto both = shares(0.75, 3);  // the first two of 4/9, 3/9, 2/9
    CHECK(both[0] + both[2] == 0);
    CHECK(both[3] == Approx(3.0 / 7).margin(0.03));
    CHECK(shares(0.6, 0, 0.5)[3] == Approx(9.0 / 25).margin(0.03));  // the first two of 16/30, 9/30, 4/30, 1/30
    CHECK(lm::sample(tensor({1.0, 1, 1}), {.rng = &rng, .top_p = 0.1}) == 0);  // the first of equals
    for (int i = 0; i < 50; ++i)                                               // two reach a half exactly
        CHECK(lm::sample(tensor({1.0, 1, 1, 1}), {.rng = &rng, .top_p = 0.5}) < 2);
    // Sums that rounding leaves below p, in both types.
    for (const auto& p : {std::vector{0.7, 0.2, 0.1}, {0.5, 0.3, 0.2}, {0.4, 0.3, 0.2, 0.1}, {0.6, 0.3, 0.1}})
        for (const DType dtype : {float32, float64})
            for (std::size_t k = 1; k < p.size(); ++k) {
                double sum = 0;
                for (std::size_t i = 0; i < k; ++i) sum += p[i];
                const double decimal = std::round(sum * 10) / 10;
                const Tensor z = log(from_vector(p, {std::ssize(p)})).to(dtype);
                for (int i = 0; i < 60; ++i)
                    CHECK(lm::sample(z, {.temperature = 3, .rng = &rng, .top_p = 0.1}) == 0);
                for (int i = 0; i < 60; ++i)
                    CHECK(lm::sample(z, {.rng = &rng, .top_p = decimal}) < static_cast<std::int64_t>(k));
            }
}

TEST_CASE("top_k and top_p keep the same of a large vocabulary as a full sort", "[sample]") {
    Rng draw(4);
    const Tensor logits = (randn({600}, draw, float64) * 20.0).to(int64).to(float64) / 8.0;  // with ties
    const std::vector<double> values = logits.to_vector<double>();
    std::vector<std::int64_t> order(values.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<std::int64_t>(i);
    const auto value = [&](std::int64_t i) { return values[static_cast<std::size_t>(i)]; };
    std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return value(a) > value(b); });
    double total = 0, sum = 0;
    for (const double v : values) total += std::exp(v / 4);
    std::size_t nucleus = 0;
    while (sum < 0.9 * total) sum += std::exp(value(order[nucleus++]) / 4);
    REQUIRE(nucleus > 200);
    Rng rng(6);
    std::set<std::int64_t> by_k, by_p;
    for (int i = 0; i < 1500; ++i) {
        by_k.insert(lm::sample(logits, {.temperature = 1e9, .top_k = 100, .rng = &rng}));
        by_p.insert(lm::sample(logits, {.temperature = 4, .rng = &rng, .top_p = 0.9}));
    }
    CHECK(by_k == std::set<std::int64_t>(order.begin(), order.begin() + 100));
    const std::set<std::int64_t> allowed(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(nucleus));
    CHECK(std::includes(allowed.begin(), allowed.end(), by_p.begin(), by_p.end()));
    CHECK(by_p.size() > nucleus / 2);
}

TEST_CASE("generate_text goes on until its length or a stop, which it leaves out", "[generate]") {
    const text::Tokenizer letters = text::Characters("abcdef");
    const lm::GPT model = model_that_says({1, 2, 3, 4, 5, 0});  // abcdefabcdef…
    const auto with_stop = [&](const std::string& stop, std::int64_t length = 20) {
        Shown shown;
        const lm::GeneratedText result =
            lm::generate_text(model, letters, "a",
                              {.generate = {.max_new_tokens = length, .sampling = {.temperature = 0}},
                               .stop = stop,
                               .write = shown.write()});
        CHECK(shown.all == result.text);
        CHECK(letters.decode(result.ids).starts_with(result.text));
        return result;
    };
    CHECK(with_stop("").text == "bcdefabcdefabcdefabc");
    CHECK(with_stop("").finish_reason == lm::GeneratedText::length);
    CHECK(with_stop("fab").text == "bcde");
    CHECK(with_stop("fab").finish_reason == lm::GeneratedText::stop);
    CHECK(with_stop("fab").ids.size() == 7);
    CHECK(with_stop("b").text.empty());
    CHECK(with_stop("efabcdefx").text == "bcdefabcdefabcdefabc");  // held back, and given at the end
    CHECK(with_stop("ab").text == "bcdef");                        // the prompt is not searched
    CHECK(with_stop("ef", 4).text == "bcde");
}

TEST_CASE("text that may begin the stop sequence is withheld until it cannot", "[generate]") {
    const text::Tokenizer letters = text::Characters("ab");
    const lm::GPT model = model_that_says({1, 0});
    Shown shown;
    lm::generate_text(model, letters, "a",
                      {.generate = {.max_new_tokens = 5, .sampling = {.temperature = 0}},
                       .stop = "abb",
                       .write = shown.write()});
    CHECK(shown.calls == std::vector<std::string>{"b", "", "", "ab", "", "ab"});
}

TEST_CASE("characters of several tokens are shown when they are whole", "[generate]") {
    Ids next(256, 0);
    const std::string thread = "\xF0\x9F\xA7\xB5";
    for (std::size_t i = 0; i < 4; ++i)
        next[static_cast<unsigned char>(thread[i])] = static_cast<unsigned char>(thread[(i + 1) % 4]);
    next['x'] = 0xF0;
    const lm::GPT model = model_that_says(next);
    Shown shown;
    const auto result = lm::generate_text(
        model, text::Bytes(), "x",
        {.generate = {.max_new_tokens = 6, .sampling = {.temperature = 0}}, .write = shown.write()});
    CHECK(shown.calls == std::vector<std::string>{"", "", "", thread, "", "", "\xEF\xBF\xBD"});
    CHECK(result.text == thread + "\xF0\x9F");
}

TEST_CASE("text that is withheld at the end follows the bytes before it", "[generate]") {
    // What is shown when the model says `bytes` after x, and the stop text has only begun.
    const auto shown_at_the_end = [](const std::string& bytes, const std::string& stop) {
        Ids next(256, 0);
        std::int64_t last = 'x';
        for (const char c : bytes) last = next[static_cast<std::size_t>(last)] = static_cast<unsigned char>(c);
        Shown shown;
        lm::generate_text(model_that_says(next), text::Bytes(), "x",
                          {.generate = {.max_new_tokens = std::ssize(bytes), .sampling = {.temperature = 0}},
                           .stop = stop,
                           .write = shown.write()});
        return shown.all;
    };
    CHECK(shown_at_the_end("\xC3"
                           "a",
                           "ab") ==
          "\xEF\xBF\xBD"
          "a");
    CHECK(shown_at_the_end("\xC3\xA9", "\xA9z") == "\xC3\xA9");  // one character, é
}

TEST_CASE("generate_text stops when write returns false, and at the end-of-text token", "[generate]") {
    const text::Tokenizer letters = text::Characters("ab");
    int calls = 0;
    const auto told = lm::generate_text(model_that_says({1, 0}), letters, "a",
                                        {.generate = {.max_new_tokens = 50, .sampling = {.temperature = 0}},
                                         .stop = "bb",
                                         .write = [&](const std::string&) { return ++calls < 3; }});
    CHECK(told.finish_reason == lm::GeneratedText::cancelled);
    CHECK(told.text == "bab");
    CHECK(calls == 3);

    const text::Tokenizer pairs = text::BytePairs::train("", 257);
    Ids next(257, 256);
    next[pairs.encode("a")[0]] = pairs.encode("b")[0];
    const lm::GPT model = model_that_says(next);
    const lm::GenerateOptions greedy{.max_new_tokens = 4, .sampling = {.temperature = 0}};
    const auto ended = lm::generate_text(model, pairs, "a", {.generate = greedy});
    CHECK(ended.finish_reason == lm::GeneratedText::end_of_text);
    CHECK(ended.text == "b");
    CHECK(ended.ids.size() == 2);
    const auto on = lm::generate_text(model, pairs, "a", {.generate = greedy, .stop_at_eos = false});
    CHECK(on.text == "b<|endoftext|><|endoftext|><|endoftext|>");
}

TEST_CASE("generate_text refuses a tokeniser that does not fit, and what is wrong with a prompt",
          "[generate]") {
    const lm::GPT model = model_of(40);
    const lm::GenerateTextOptions greedy{.generate = {.max_new_tokens = 3, .sampling = {.temperature = 0}}};
    refuses<ValueError>("the tokeniser has 256 tokens and the model 40",
                        [&] { lm::generate_text(model, text::Bytes(), "a", greedy); });
    const text::Characters forty("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMN");
    refuses<ValueError>("prompt is empty", [&] { lm::generate_text(model, forty, "", greedy); });
    refuses<ValueError>("\"!\" at position 3 of the text is not one of the 40",
                        [&] { lm::generate_text(model, forty, "abc!", greedy); });
    refuses<ValueError>("offset 2", [&] { lm::generate_text(model, forty, "ab\xFF", greedy); });
}

TEST_CASE("ids that a model has and its tokeniser lacks say nothing", "[generate]") {
    const text::Tokenizer tokenizer = text::PreTrainedTokenizer::load(golden_folder / "tokenizers/qwen2.json");
    const std::int64_t V = tokenizer.vocab_size(), padded = V + 5;
    const lm::GPT model = model_of(padded);
    Shown shown;
    const auto only = [&](const Tensor&, const Ids& ids) {  // a padding id and a letter in turn
        Tensor z = full({padded}, -INFINITY);
        z[ids.size() % 2 == 0 ? V + 3 : tokenizer.encode("x")[0]].fill_(0);
        return z;
    };
    const auto result =
        lm::generate_text(model, tokenizer, tokenizer.encode("a"),
                          {.generate = {.max_new_tokens = 4, .logits = only}, .write = shown.write()});
    CHECK(result.text == "xx");
    CHECK(shown.all == "xx");
    CHECK(std::ranges::count(result.ids, V + 3) == 2);
    CHECK(tokenizer.decode(result.ids) == "xx");
    const lm::GPT small = model_of(V - 1);
    refuses<ValueError>("use the tokeniser that the model was trained with",
                        [&] { lm::generate_text(small, tokenizer, "a", {}); });
}

TEST_CASE("GPT-2's checkpoint and tokeniser generate text together", "[generate][gpt2]") {
    const lm::GPT model = lm::load_gpt2(golden_folder / "gpt2");
    const text::Tokenizer tokenizer = text::BytePairs::load(golden_folder / "gpt2");
    Shown shown;
    const auto result = lm::generate_text(
        model, tokenizer, "The loom",
        {.generate = {.max_new_tokens = 30, .sampling = {.temperature = 0}}, .write = shown.write()});
    CHECK(result.ids == lm::generate(model, tokenizer.encode("The loom"),
                                     {.max_new_tokens = 30, .sampling = {.temperature = 0}}));
    CHECK(result.text == tokenizer.decode(result.ids));
    CHECK_FALSE(shown.all.empty());
}
