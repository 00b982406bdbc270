// The program inside, with a small random model in a folder as published ones are.
#include <regex>

#include "markdown.h"
#include "places.h"
#include "programs.h"
#include "weft/base/text.h"
#include "weft/weft.h"

#ifdef WEFT_PROGRAMS

using namespace weft;

namespace {

constexpr std::int64_t L = 3, H = 2;

// The folder, and two prompts of T tokens of which the last alone differs and that the model continues
// otherwise.
struct Published {
    Scratch scratch;
    std::string prompt = "a b", other;
    text::Ids ids, other_ids;

    Published() {
        const auto tokens = std::filesystem::path(places::golden()) / "tokenizers/gpt2.json";
        const auto tokenizer = text::PreTrainedTokenizer::load(tokens);
        Rng rng(5);
        const lm::Decoder model({.vocab_size = tokenizer.vocab_size(),
                                 .num_layers = L,
                                 .num_heads = H,
                                 .d_model = 16,
                                 .dim_feedforward = 32},
                                rng);
        const NoGrad off;
        for (auto& [name, p] : model.named_parameters()) Tensor(p).add_(randn(p.shape(), rng), 0.3);
        lm::save_pretrained(scratch / "model", model);
        std::filesystem::copy(tokens, scratch / "model/tokenizer.json");
        ids = tokenizer.encode(prompt);
        for (char last = 'c'; last <= 'z' && other.empty(); ++last) {
            const std::string text = std::string("a ") + last;
            other_ids = tokenizer.encode(text);
            if (other_ids.size() == ids.size() && best(model, other_ids) != best(model, ids)) other = text;
        }
        REQUIRE_FALSE(other.empty());
    }
    static std::int64_t best(const lm::Decoder& model, const text::Ids& ids) {
        return static_cast<std::int64_t>(argmax(lm::logit_lens(model, ids)[-1], 0).item());
    }
    std::string call() const { return "inside --model " + (scratch / "model").string() + " "; }
    std::string prompts() const { return "--prompt '" + prompt + "' --other '" + other + "' "; }
};

std::vector<double> numbers_of(const std::string& line) {
    static const std::regex number(R"((^|\s)(-?\d+(\.\d+)?)(?=\s|$))");
    std::vector<double> found;
    for (std::sregex_iterator at(line.begin(), line.end(), number), end; at != end; ++at)
        found.push_back(std::stod((*at)[2]));
    return found;
}

}  // namespace

TEST_CASE("inside prints and draws what the library finds, in 80 columns", "[lm][programs]") {
    const Published published;
    const lm::Pretrained loaded = lm::load_language(published.scratch / "model");
    const lm::Decoder& model = loaded.model;
    const std::int64_t answer = Published::best(model, published.ids),
                       other_answer = Published::best(model, published.other_ids);
    const std::filesystem::path picture = published.scratch / "heads.svg";
    const Result result = run(published.call() + published.prompts() + "--picture " + picture.string());
    REQUIRE(result.code == 0);
    const std::vector<std::string> lines = markdown::lines_of(result.output);
    for (const std::string& line : lines) CHECK(display_width(line) <= 80);
    const auto after = [&](const std::string& begin) {  // the line of numbers that follows one
        const auto found = std::ranges::find_if(lines, [&](auto& line) { return line.starts_with(begin); });
        REQUIRE(found != lines.end());
        return found + 1;
    };

    const Tensor p = softmax(lm::logit_lens(model, published.ids), 1);  // (L, V)
    for (std::int64_t l = 0; l < L; ++l) {
        const std::vector<double> row = numbers_of(after("After")[1 + l]);
        REQUIRE(row.size() >= 4);  // pieces may be numbers, too
        CHECK(row.front() == static_cast<double>(l));
        CHECK(row.back() == Approx(p[l].topk(3).values[2].item()).margin(6e-4));
    }

    const Tensor effects = lm::head_effects(model, published.ids, answer);
    const Tensor order = argsort(abs(effects).reshape({L * H}), -1, true);
    for (std::int64_t i = 0; i < L * H; ++i) {
        const auto at = static_cast<std::int64_t>(order[i].item());
        const double effect = effects.at({at / H, at % H});
        const std::vector<double> row = numbers_of(after("layer  head")[i]);
        REQUIRE(row.size() == 4);
        CHECK(row[2] == Approx(effect).margin(6e-3));
        CHECK(row[3] == Approx(p[-1][answer].item() * std::exp(effect)).margin(6e-4));
    }

    const Tensor moved = lm::patch_effects(model, published.ids, published.other_ids, answer, other_answer);
    for (std::int64_t l = 0; l < L; ++l) {
        const std::vector<double> row = numbers_of(after("layer  \"")[l]);
        REQUIRE(row.size() == 2);  // the one position where the prompts differ
        CHECK(row[1] == Approx(moved[l][-1].item()).margin(6e-3));
    }

    const std::string svg = io::load_text(picture);
    CHECK(svg.starts_with("<svg"));
    CHECK(contains(svg, "without a head"));
}

TEST_CASE("inside shows what comes next without one head", "[lm][programs]") {
    const Published published;
    const lm::Pretrained loaded = lm::load_language(published.scratch / "model");
    const nn::ForwardHook off = loaded.model.hook("layers[2].self_attn.heads", [](const Tensor& y) {
        Tensor without = y.clone();
        without.slice(2, 8, 16).fill_(0);
        return without;
    });
    const Tensor p = softmax(lm::logit_lens(loaded.model, published.ids)[-1], 0);
    const Result result = run(published.call() + "--prompt '" + published.prompt + "' --layer 2 --head 1");
    CHECK(result.code == 0);
    const std::vector<std::string> lines = markdown::lines_of(result.output);
    REQUIRE(lines.size() == 4);
    CHECK(numbers_of(lines[3]).back() == Approx(p.topk(3).values[2].item()).margin(6e-4));
    CHECK(lines[2] != lines[3]);
}

TEST_CASE("inside refuses what it cannot look at before it prints", "[lm][programs]") {
    const Published published;
    const auto refused = [](const Result& result, int code, const std::string& message) {
        check_refusal(result, code, message);
        CHECK(result.output.starts_with("inside: "));
    };
    const std::string call = published.call();
    refused(run("inside"), 2, "--model");
    refused(run("inside --model ''"), 2, "--model: the name is empty");
    refused(run("inside --model /no/such/model"), 1, "/no/such/model");
    refused(run(call + "--layer 1"), 2, "--layer and --head belong together");
    refused(run(call + "--head 1"), 2, "--layer and --head belong together");
    refused(run(call + "--layer 3 --head 0"), 2, "the model has the layers 0 to 2 with the heads 0 to 1");
    refused(run(call + "--layer 0 --head 2"), 2, "the model has the layers 0 to 2 with the heads 0 to 1");
    refused(run(call + "--layer -1 --head 0"), 2, "--layer: ");
    refused(run(call + "--prompt ''"), 2, "--prompt: the prompt has no tokens");
    refused(run(call + "--prompt a --other ''"), 2, "--other: the prompt has no tokens");
    refused(run(call + "--prompt 'a b' --other 'a b'"), 2, "give two of one length");
    refused(run(call + "--prompt 'a b' --other 'a b c d e f'"), 2, "give two of one length");
    refused(run(call + "--promt a"), 2, "did you mean --prompt?");
    const Result result = run(call + published.prompts() + "--picture /no/such/folder/x.svg");
    check_refusal(result, 1, "/no/such/folder/x.svg");
    CHECK(contains(run("inside --help").output, "--picture"));
}

#endif
