// Chats as tokens, and how well a model predicts a text.
// A real model, SmolLM2-135M-Instruct in blocks of four bits, against transformers
// (tests/golden/make_smollm2_golden.py): where `make smollm` has fetched it.
#include <cmath>
#include <nlohmann/json.hpp>

#include "catch.h"
#include "environment.h"
#include "places.h"
#include "refusal.h"
#include "source.h"
#include "weft/io/json.h"

using namespace weft;
using text::Ids;
namespace fs = std::filesystem;

namespace {

text::PreTrainedTokenizer tokenizer_of(const std::string& name) {
    return text::PreTrainedTokenizer::load(std::filesystem::path(places::golden()) / "tokenizers" /
                                           (name + ".json"));
}

std::string chatml_jinja() { return io::load_text(fs::path(places::golden()) / "chatml.jinja"); }

}  // namespace

TEST_CASE("each form makes of a chat what the templates do that have it", "[lm][chat]") {
    const nlohmann::json golden = io::load_json(fs::path(places::golden()) / "chats.json");
    std::string names;
    for (const auto& [name, renderings] : golden["forms"].items()) {
        lm::ChatTemplate form = lm::ChatTemplate::named(name);
        CHECK(form.name() == name);
        form.date = "{date}";
        for (std::size_t i = 0; i < golden["chats"].size(); ++i) {
            std::vector<lm::ChatMessage> chat;
            const auto texts = golden["chats"][i].get<std::vector<std::string>>();
            if (texts[0] != "-") chat.push_back({"system", texts[0]});
            for (std::size_t t = 1; t < texts.size(); ++t)
                chat.push_back({t % 2 == 1 ? "user" : "assistant", texts[t]});
            INFO(name << ": " << golden["chats"][i]);
            if (renderings[i] == false) continue;  // the template writes a page of its own
            if (renderings[i].is_null())           // the template refuses the chat
                refuses<ValueError>("ChatTemplate: " + name + " has no place for a message of the system",
                                    [&] { (void)form.render(chat); });
            else
                CHECK(form.render(chat) == renderings[i].get<std::string>());
        }
    }
    CHECK(golden["forms"].size() ==
          static_cast<std::size_t>(std::ranges::count(lm::ChatTemplate::names(), ',')) + 1);
}

TEST_CASE("a template has a form where that was proved, and no other has one", "[lm][chat]") {
    const std::string jinja = chatml_jinja(), names = lm::ChatTemplate::names();
    CHECK(lm::ChatTemplate::of(jinja).name() == "chatml");
    CHECK(lm::ChatTemplate::of(jinja.substr(0, jinja.size() - 1)).name() ==
          "chatml");  // Jinja drops the last \n
    for (const std::string& other : {" " + jinja, jinja + "\n", jinja.substr(1), jinja + std::string(1, '\0'),
                                     std::string(), std::string("{{ messages }}"),
                                     std::string("'<|im_start|>system\\n' …"), std::string(100'000'000, '{')})
        refuses<ValueError>(
            "ChatTemplate: the model's template (" +
                std::to_string(other.size() - (other.ends_with('\n') ? 1 : 0)) +
                " bytes) is none of those whose form is known; name the form that the model was trained on "
                "(ChatTemplate::named, or --form NAME): " +
                names,
            [&] { (void)lm::ChatTemplate::of(other); });
    for (const std::string& name : {std::string("alpaca"), std::string("chatml\0", 7), std::string()})
        refuses<ValueError>("\" is none of " + names, [&] { (void)lm::ChatTemplate::named(name); });
}

TEST_CASE("what user and assistant say in turn is a chat, with a message of the system before it",
          "[lm][chat]") {
    const lm::ChatTemplate form = lm::ChatTemplate::named("qwen2");
    CHECK(form.render({{"user", "x"}})
              .starts_with("<|im_start|>system\nYou are a helpful assistant.<|im_end|>\n"));
    lm::ChatTemplate silent = form;
    silent.system = "";
    CHECK(silent.render({{"user", "x"}}) == "<|im_start|>user\nx<|im_end|>\n<|im_start|>assistant\n");
    const std::string rule =
        "; after the system's, if there is one, user and assistant take turns, and the user's is the last";
    const std::vector<std::pair<std::vector<lm::ChatMessage>, std::string>> wrong = {
        {{}, "0 is missing"},
        {{{"system", "a"}}, "1 is missing"},
        {{{"user", "a"}, {"assistant", "b"}}, "2 is missing"},
        {{{"assistant", "a"}}, "0 is of the assistant"},
        {{{"user", "a"}, {"user", "b"}}, "1 is of the user"},
        {{{"user", "a"}, {"system", "b"}, {"user", "c"}}, "1 is of the system"}};
    for (const auto& [chat, problem] : wrong)
        refuses<ValueError>("ChatTemplate: message " + problem + rule,
                            [&, chat = chat] { (void)form.render(chat); });
    const lm::ChatTemplate today = lm::ChatTemplate::named("llama3.2");
    CHECK(today.date.size() == std::string("07 Mar 2025").size());
    CHECK(contains(today.render({{"user", "x"}}), "Today Date: " + today.date + "\n\n<|eot_id|>"));
}

TEST_CASE("a chat's texts are text, its answers the ids that were generated", "[lm][chat]") {
    const text::PreTrainedTokenizer tokenizer = tokenizer_of("qwen2");
    const lm::ChatTemplate form = lm::ChatTemplate::named("chatml");
    const auto plain = [&](const std::string& text) {
        return tokenizer.encode(text, {.add_special_tokens = false});
    };
    const auto join = [](const std::vector<Ids>& parts) {
        Ids all;
        for (const Ids& part : parts) all.insert(all.end(), part.begin(), part.end());
        return all;
    };
    const Ids start{*tokenizer.id_of("<|im_start|>")}, end{*tokenizer.id_of("<|im_end|>")};
    // A text that names a special token does not end its turn, and neighbouring texts are encoded as one.
    CHECK(form.encode(tokenizer, {{"user", "a <|im_end|> b"}}) ==
          join({start, plain("user\na <|im_end|> b"), end, plain("\n"), start, plain("assistant\n")}));
    CHECK(std::ranges::count(form.encode(tokenizer, {{"user", "<|im_end|>"}}), end[0]) == 1);
    // What was generated stays as it was, even where it would be encoded otherwise.
    const Ids odd{300, 5, 5};
    const Ids two = form.encode(tokenizer, {{"user", "a"}, {"assistant", "whatever", odd}, {"user", "b"}});
    const Ids one = form.encode(tokenizer, {{"user", "a"}});
    CHECK(std::equal(one.begin(), one.end(), two.begin()));
    CHECK(
        Ids(two.begin() + static_cast<std::ptrdiff_t>(one.size()), two.end()) ==
        join({odd, end, plain("\n"), start, plain("user\nb"), end, plain("\n"), start, plain("assistant\n")}));
    // Unless the form leaves out what was thought.
    const lm::ChatTemplate thinking = lm::ChatTemplate::named("qwen3");
    CHECK(thinking.encode(tokenizer,
                          {{"user", "a"}, {"assistant", "<think>x</think>\n\nb", odd}, {"user", "c"}}) ==
          form.encode(tokenizer, {{"user", "a"}, {"assistant", "b"}, {"user", "c"}}));
    CHECK(thinking.encode(tokenizer, {{"user", "a"}, {"assistant", "<think>", odd}, {"user", "b"}}) ==
          form.encode(tokenizer, {{"user", "a"}, {"assistant", "", odd}, {"user", "b"}}));
    refuses<ValueError>("the tokeniser has no token <|start_header_id|>, which llama3 needs", [&] {
        (void)lm::ChatTemplate::named("llama3").encode(tokenizer, {{"user", "a"}});
    });
    refuses<ValueError>("a role \"tool\"; roles are system, user and assistant", [&] {
        (void)form.encode(tokenizer, {{"tool", "a"}});
    });
}

TEST_CASE("the ids of a chat are those of its text, as transformers makes them", "[lm][chat]") {
    const std::vector<lm::ChatMessage> chat{
        {"user", " Hi there\n"}, {"assistant", "\nYes, 2 of them. "}, {"user", "ab\n\nc"}};
    const std::vector<std::tuple<std::string, std::string, std::vector<const char*>>> known = {
        {"qwen2", "<|endoftext|>", {"chatml", "hermes", "smollm2", "qwen2.5", "qwen3", "qwen3-thinking"}},
        {"llama2", "<s>", {"llama2", "mistral-v0.1", "mistral-v0.2", "mistral-v1", "zephyr", "deepseek"}},
        {"metaspace", "<s>", {"llama2", "mistral-v0.1", "mistral-v0.2", "mistral-v1", "zephyr", "deepseek"}}};
    for (const auto& [name, bos, forms] : known) {
        const Scratch scratch;
        fs::copy_file(fs::path(places::golden()) / "tokenizers" / (name + ".json"), scratch / "tokenizer.json");
        io::save_text(scratch / "tokenizer_config.json", R"({"bos_token": ")" + bos + R"("})");
        const auto tokenizer = text::PreTrainedTokenizer::load(scratch / "tokenizer.json");
        REQUIRE(tokenizer.bos_token_id());
        REQUIRE(tokenizer.eos_token_id());
        for (const std::string form : forms) {
            std::string text = lm::ChatTemplate::named(form).render(chat);
            for (const auto& [mark, id] :
                 {std::pair("{bos}", tokenizer.bos_token_id()), {"{eos}", tokenizer.eos_token_id()}})
                for (std::size_t at; (at = text.find(mark)) != text.npos;)
                    text.replace(at, 5, tokenizer.piece(*id));
            INFO(name << ", " << form << ": " << text);
            CHECK(lm::ChatTemplate::named(form).encode(tokenizer, chat) ==
                  tokenizer.encode(text, {.add_special_tokens = false, .parse_special = true}));
        }
    }
}

TEST_CASE("the log-likelihood of a text counts each token once, whatever the windows", "[lm][likelihood]") {
    Rng rng(2);
    lm::Decoder decoder({.vocab_size = 17, .block_size = 20, .num_layers = 2, .d_model = 16}, rng);
    decoder.to(float64);
    const lm::LanguageModel model = decoder;
    Ids ids;
    for (int i = 0; i < 15; ++i) ids.push_back(rng.randint(0, 17));
    const auto logp = [&](std::int64_t begin, std::int64_t at) {  // of token `at`, in a window from `begin`
        const NoGrad off;
        const Tensor logits = decoder(from_vector(Ids(ids.begin() + begin, ids.begin() + at), {at - begin}));
        return log_softmax(logits[at - begin - 1], 0)[ids[static_cast<std::size_t>(at)]].item();
    };
    double whole = 0;
    for (std::int64_t at = 1; at < 15; ++at) whole -= logp(0, at);
    const lm::Likelihood all = lm::log_likelihood(model, ids);
    CHECK(all.tokens == 14);
    CHECK(all.nats == Approx(whole).epsilon(1e-12));
    CHECK(all.mean() == Approx(whole / 14).epsilon(1e-12));
    // Windows of 6 tokens, 4 apart: 0 … 5, 4 … 9, 8 … 13, 12 … 14.
    double windows = 0;
    for (std::int64_t at = 1; at < 15; ++at) windows -= logp(at < 6 ? 0 : at < 10 ? 4 : at < 14 ? 8 : 12, at);
    const lm::Likelihood short_ones = lm::log_likelihood(model, ids, 6, 4);
    CHECK(short_ones.tokens == 14);
    CHECK(short_ones.nats == Approx(windows).epsilon(1e-12));
    refuses<ValueError>("log_likelihood: 1 tokens; the first is given",
                        [&] { (void)lm::log_likelihood(model, {1}); });
    refuses<ValueError>("a window of 21 tokens; use 2 to 20",
                        [&] { (void)lm::log_likelihood(model, ids, 21); });
    refuses<ValueError>("a stride of 6 tokens; use 1 to 5",
                        [&] { (void)lm::log_likelihood(model, ids, 6, 6); });
    refuses<IndexError>("17", [&] { (void)lm::log_likelihood(model, {1, 17, 2}); });
}

TEST_CASE("SmolLM2's ids, logits, likelihoods and greedy texts are those of transformers",
          "[lm][pretrained][smollm2]") {
    const fs::path file = fs::path(places::source()) / "build/smollm2/SmolLM2-135M-Instruct.Q4_1.gguf";
    if (!fs::exists(file)) return skip("SmolLM2 is not there (make smollm fetches it): a real model's logits");
    if (sanitized) return;  // minutes, and the same code that smaller models run
    const nlohmann::json golden = io::load_json(fs::path(places::golden()) / "smollm2.json");
    const lm::Pretrained published = lm::load_language(file);
    const lm::LanguageModel model = published.model;
    CHECK(model.num_parameters() == 134'515'008);
    const NoGrad off;
    for (const auto& text : golden["texts"]) {
        INFO(text["text"].get<std::string>());
        const auto ids = text["ids"].get<text::Ids>();
        CHECK(published.tokenizer.encode(text["text"].get<std::string>()) == ids);
        const Tensor logits = model(from_vector(ids, {static_cast<std::int64_t>(ids.size())}))[-1];
        const auto top = text["top"].get<text::Ids>();
        for (std::size_t i = 0; i < 10; ++i)
            CHECK(std::abs(logits[top[i]].item() - text["logits"][i].get<double>()) < 1e-3);
        CHECK(lm::log_likelihood(model, ids).nats == Approx(text["nats"].get<double>()).epsilon(1e-4));
        CHECK(lm::generate(model, ids, {.max_new_tokens = 12, .sampling = {.temperature = 0}}) ==
              text["greedy"].get<text::Ids>());
    }
    const auto form = lm::ChatTemplate::of(published.chat_template);
    const std::vector<lm::ChatMessage> chat{{"user", "What is the capital of France?"}};
    const text::Ids ids = form.encode(published.tokenizer, chat);
    CHECK(form.render(chat) == golden["chat"]["text"].get<std::string>());
    CHECK(ids == golden["chat"]["ids"].get<text::Ids>());
    CHECK(lm::generate(model, ids,
                       {.max_new_tokens = 16,
                        .sampling = {.temperature = 0},
                        .end_ids = published.tokenizer.end_token_ids()}) ==
          golden["chat"]["answer"].get<text::Ids>());
}
