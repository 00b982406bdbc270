// A real model, SmolLM2-135M-Instruct in blocks of four bits, against transformers
// (tests/golden/make_smollm2_golden.py): where `make smollm` has fetched it.
#include <nlohmann/json.hpp>

#include "catch.h"
#include "places.h"
#include "sanitized.h"
#include "skipped.h"
#include "source.h"
#include "weft/io/json.h"

using namespace weft;
namespace fs = std::filesystem;

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
