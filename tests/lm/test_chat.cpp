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

// The template of SmolLM2 and, with another message, of Qwen 2.
std::string chatml_jinja(const std::string& line_break) {
    return "{% for message in messages %}{% if loop.first and messages[0]['role'] != 'system' %}{{ "
           "'<|im_start|>system" +
           line_break + "You are a loom." + line_break + "Weave<|im_end|>" + line_break +
           "' }}{% endif %}…{% endfor %}";
}

}  // namespace

TEST_CASE("each form writes a chat as the models that have it were trained", "[lm][chat]") {
    const std::vector<lm::ChatMessage> chat{
        {"system", "Be brief."}, {"user", " Hi\n"}, {"assistant", "Hello! "}, {"user", "Bye"}};
    CHECK(lm::ChatTemplate::named("chatml").render(chat) ==
          "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\n "
          "Hi\n<|im_end|>\n<|im_start|>assistant\nHello! "
          "<|im_end|>\n<|im_start|>user\nBye<|im_end|>\n<|im_start|>assistant\n");
    CHECK(lm::ChatTemplate::named("llama3").render(chat) ==
          "<|begin_of_text|><|start_header_id|>system<|end_header_id|>\n\nBe "
          "brief.<|eot_id|><|start_header_id|>user"
          "<|end_header_id|>\n\nHi<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\nHello!<|eot_id|>"
          "<|start_header_id|>user<|end_header_id|>\n\nBye<|eot_id|><|start_header_id|>assistant<|end_header_"
          "id|>\n\n");
    CHECK(lm::ChatTemplate::named("gemma").render(chat) ==
          "<bos><start_of_turn>user\nBe brief.\n\n Hi<end_of_turn>\n<start_of_turn>model\nHello!<end_of_turn>\n"
          "<start_of_turn>user\nBye<end_of_turn>\n<start_of_turn>model\n");
    CHECK(lm::ChatTemplate::named("mistral").render(chat) ==
          "<s>[INST] Be brief.\n\n Hi [/INST]Hello!</s>[INST] Bye [/INST]");
}

TEST_CASE("a model's own template is known by its special tokens, with its own message of the system",
          "[lm][chat]") {
    for (const char* line_break : {"\n", "\\n"}) {
        const lm::ChatTemplate form = lm::ChatTemplate::of(chatml_jinja(line_break));
        CHECK(form.name() == "chatml");
        CHECK(form.system == "You are a loom.\nWeave");
        CHECK(form.render({{"user", "x"}})
                  .starts_with("<|im_start|>system\nYou are a loom.\nWeave<|im_end|>\n<|im_start|>user"));
        CHECK(form.render({{"system", "y"}, {"user", "x"}})
                  .starts_with("<|im_start|>system\ny<|im_end|>\n<|im_start|>user"));
    }
    CHECK(lm::ChatTemplate::of("'<|im_start|>system\\n' + message['content'] + '<|im_end|>'").system.empty());
    CHECK(lm::ChatTemplate::of("… '<|start_header_id|>' …").name() == "llama3");
    CHECK(lm::ChatTemplate::of("… '<start_of_turn>' …").name() == "gemma");
    CHECK(lm::ChatTemplate::of("… '[INST] ' …").name() == "mistral");
    refuses<ValueError>(
        "the model's template is none that Weft knows; name the one to use: chatml, llama3, gemma or mistral",
        [] { (void)lm::ChatTemplate::of("{{ messages }}"); });
    refuses<ValueError>("none that Weft knows", [] { (void)lm::ChatTemplate::of("<|im_start|> [INST]"); });
    refuses<ValueError>("\"alpaca\" is none of chatml, llama3, gemma or mistral",
                        [] { (void)lm::ChatTemplate::named("alpaca"); });
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
    refuses<ValueError>("the tokeniser has no token <|begin_of_text|>, which llama3 needs", [&] {
        (void)lm::ChatTemplate::named("llama3").encode(tokenizer, {{"user", "a"}});
    });
    refuses<ValueError>("a role \"tool\"; roles are system, user and assistant", [&] {
        (void)form.encode(tokenizer, {{"tool", "a"}});
    });
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
