// The model that a report's page carries: its values at 16 bits, and pages that were changed.
#include <cmath>
#include <limits>

#include "catch.h"
#include "report_reader.h"
#include "scratch.h"
#include "weft/weft.h"

using namespace weft;
using nlohmann::json;
using report::Report;

namespace {

const std::string letters = "abcdef <&>\né漢🧵";  // 14

lm::GPT small_gpt() {
    Rng rng(3);
    return lm::GPT({.vocab_size = 14,
                    .block_size = 8,
                    .num_layers = 2,
                    .num_heads = 3,
                    .d_model = 12,
                    .bias = true,
                    .dim_feedforward = 10,
                    .layer_norm_eps = 1e-3},
                   rng);
}

Report with_model(const lm::GPT& gpt) {
    Report report("run");
    report.model(gpt, text::Characters(letters));
    return report;
}

// What the page has in place of the values, which are put into a (8, 12) tensor.
std::vector<float> carried(std::vector<float> values) {
    lm::GPT gpt = small_gpt();
    const std::size_t count = values.size();
    values.resize(8 * 12);
    const NoGrad no_grad;
    gpt.position_embedding.weight.copy_(from_vector(values, {8, 12}));
    std::vector<float> found = with_model(gpt).model().gpt.position_embedding.weight.to_vector<float>();
    found.resize(count);
    return found;
}

const std::string mark = "<script type=\"application/json\" id=\"model\">";

json model_json(const std::string& page) {
    const std::size_t start = page.find(mark) + mark.size();
    return json::parse(page.substr(start, page.find("</script>", start) - start));
}

// What Report::load says of the page with another model.
std::string refusal(const std::string& model) {
    const Scratch folder;
    std::string page = with_model(small_gpt()).html();
    const std::size_t start = page.find(mark) + mark.size();
    page.replace(start, page.find("</script>", start) - start, model);
    io::save_text(folder / "report.html", page);
    const std::string message = message_of<IoError>([&] { Report::load(folder / "report.html"); });
    CHECK(message.size() < 500);
    return message;
}
std::string refusal(const std::string& pointer, const json& value) {
    json model = model_json(with_model(small_gpt()).html());
    model[json::json_pointer(pointer)] = value;
    return refusal(model.dump());
}

}  // namespace

TEST_CASE("the values of a page's model are the nearest halves, ties to even", "[viz][report]") {
    const auto next = [](float x, int ulps) { return x + static_cast<float>(ulps) * 0x1p-11F; };
    CHECK(carried({1, next(1, 1), next(1, 3), std::nextafterf(next(1, 1), 2), -0.1F, 65504}) ==
          std::vector<float>{1, 1, next(1, 4), next(1, 2), -0x1.998p-4F, 65504});
    // the largest below 2 rounds up into the next exponent; subnormal halves are multiples of 2⁻²⁴
    CHECK(carried({std::nextafterf(2, 0), 0x1p-24F, 0x1.8p-24F, 0x1p-25F, -0x1.01p-25F, 0}) ==
          std::vector<float>{2, 0x1p-24F, 0x1p-23F, 0, -0x1p-24F, 0});
    Rng rng(1);
    const std::vector<float> drawn = randn({96}, rng).to_vector<float>(), once = carried(drawn);
    for (std::size_t i = 0; i < drawn.size(); ++i)
        CHECK(std::fabs(once[i] - drawn[i]) <= 0x1p-11F * std::fabs(drawn[i]));
    CHECK(carried(once) == once);
}

TEST_CASE("a tensor that halves cannot hold keeps its float32 values", "[viz][report]") {
    const float inf = std::numeric_limits<float>::infinity();
    for (const std::vector<float>& values :
         {std::vector<float>{65505, 0.1F}, {0x0.ffp-14F, 1e-9F}, {inf, 0.1F}, {-1e30F, 1e-30F}})
        CHECK(carried(values) == values);
    CHECK(std::isnan(carried({0.1F, std::nanf(""), 3})[1]));
    CHECK(carried({0.1F, std::nanf(""), 3})[0] == 0.1F);
    CHECK(carried({0, 0}) == std::vector<float>{0, 0});
    const json model = model_json(with_model(small_gpt()).html());
    for (const json& tensor : model["tensors"]) CHECK(tensor["type"] == "float16");
}

TEST_CASE("a page's model computes with the page's values, and stays when the page is loaded",
          "[viz][report]") {
    const Scratch folder;
    const lm::GPT gpt = small_gpt();
    const Report report = with_model(gpt);
    report.save(folder / "report.html");
    const Report loaded = Report::load(folder / "report.html");
    CHECK(loaded.html() == report.html());
    const report::PageModel page = loaded.model();
    CHECK(page.tokenizer.vocabulary() == text::Characters(letters).vocabulary());
    CHECK(page.gpt.config.layer_norm_eps == 1e-3);
    CHECK_FALSE(page.gpt.training());
    const Tensor ids = from_vector(page.tokenizer.encode("fade 漢🧵"), {7});  // (7,)
    const NoGrad no_grad;
    const std::vector<float> ours = gpt(ids).to_vector<float>(), theirs = page.gpt(ids).to_vector<float>();
    double worst = 0;
    for (std::size_t i = 0; i < ours.size(); ++i)
        worst = std::max(worst, std::fabs(static_cast<double>(ours[i]) - theirs[i]));
    CHECK(worst > 0);
    CHECK(worst < 5e-3);
    CHECK(with_model(page.gpt).html() == report.html());  // rounding again changes nothing
}

TEST_CASE("weights above the limit are left out, and the page says so", "[viz][report]") {
    const Scratch folder;
    const lm::GPT gpt = small_gpt();
    Report report("run");
    CHECK(model_json(report.html()) == json::object());
    CHECK(report_data(report)["has_model"] == false);
    CHECK(message_of<ValueError>([&] { report.model(); }) ==
          "report: the page carries no weights; add them with model(gpt, tokenizer, max_parameters)");
    report.model(gpt, text::Characters(letters), gpt.num_parameters() - 1);
    const json model = model_json(report.html());
    CHECK(model["tensors"].empty());
    CHECK(model["parameters"] == gpt.num_parameters());
    CHECK(model["max_parameters"] == gpt.num_parameters() - 1);
    CHECK(report_data(report)["has_model"] == true);
    CHECK_THROWS_AS(report.model(), ValueError);
    report.save(folder / "report.html");
    CHECK(Report::load(folder / "report.html").html() == report.html());
    report.model(gpt, text::Characters(letters), gpt.num_parameters());
    CHECK(model_json(report.html())["tensors"].size() == gpt.named_parameters().size());
    CHECK(
        message_of<ValueError>([&] { report.model(gpt, text::Characters("abc")); }) ==
        "report: the tokenizer has 3 characters, but the model's vocab_size is 14; give the tokenizer that the "
        "model was trained with");
    Rng rng(1);
    const lm::GPT turned({.vocab_size = 14, .attention = {.rotary_base = 100}}, rng);
    CHECK(message_of<ValueError>([&] { report.model(turned, text::Characters(letters)); }) ==
          "report: the page computes attention of as many heads of keys as of queries, with learned positions; "
          "leave the model out, or make the GPT without config.attention");
    CHECK(model_json(report.html())["tensors"].size() == gpt.named_parameters().size());  // the one before
}

TEST_CASE("a page whose model was changed is refused by what is wrong with it", "[viz][report][refusals]") {
    CHECK(contains(refusal("/format", "weft model 2"), "its format is \"weft model 2\", not \"weft model 1\""));
    CHECK(contains(refusal("/config/num_layers", -1), "it has -1 instead of a whole number in 1 … 2147483647"));
    CHECK(contains(refusal("/config/d_model", 1e300), "instead of a whole number"));
    CHECK(contains(refusal("/config/num_layers", 2'000'000'000), "too few for 2000000000 layers"));
    CHECK(contains(refusal("/config/vocab_size", 2'000'000'000), "token_embedding.weight"));
    CHECK(contains(refusal("/config/block_size", 9), "position_embedding.weight"));
    CHECK(contains(refusal("/config/num_heads", 5), "d_model 12"));
    CHECK(contains(refusal("/config/layer_norm_eps", -1), "eps"));
    CHECK(contains(refusal("/vocabulary", "abc"), "the tokenizer has 3 characters"));
    CHECK(contains(refusal("/tensors/0/values", "AAAA"), "3 bytes instead of 168 numbers"));
    CHECK(contains(refusal("/tensors/0/values", "*"), "invalid base64"));
    CHECK(contains(refusal("/tensors/0/shape", json({1, 2, 3})), "336 bytes instead of 6 numbers"));
    CHECK(contains(refusal("/tensors/0/shape", json({0, 3})), "instead of a whole number"));
    CHECK(contains(refusal("/tensors/1/name", "other"), "other"));
    CHECK(contains(refusal("/tensors", 7), "cannot use at() with number"));
    CHECK(contains(refusal(std::string("{\"format\":")), "its weights is not valid JSON"));
}

TEST_CASE("the page of a run carries the model as it is when it is saved", "[viz][report]") {
    const Scratch folder;
    lm::GPT gpt = small_gpt();
    const auto saved = [&](const text::Tokenizer& tokenizer, std::int64_t max_parameters) {
        training::RunReport run(folder / "report.html",
                                {.title = "run", .prompt = "a", .max_parameters = max_parameters}, gpt,
                                tokenizer, tokenizer.encode("fade abcd"));
        const NoGrad no_grad;
        gpt.token_embedding.weight.fill_(0.25);  // as a step of training would
        run.save();
        return Report::load(folder / "report.html");
    };
    const report::PageModel page = saved(text::Characters(letters), 4'000'000).model();
    CHECK(page.gpt.token_embedding.weight.to_vector<float>() == std::vector<float>(14 * 12, 0.25F));
    CHECK_THROWS_AS(saved(text::Characters(letters), 10).model(), ValueError);
    CHECK(report_data(saved(text::Bytes(), 4'000'000))["has_model"] == false);  // not of characters
}
