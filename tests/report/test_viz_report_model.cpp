// The model that a report's page carries: its values at 16 bits, and pages that were changed.
#include <cmath>
#include <limits>

#include "catch.h"
#include "environment.h"
#include "report_reader.h"
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

struct Next {  // a model of its own kind
    struct {
        std::int64_t vocab_size = 14, block_size = 8;
    } config;
    Tensor operator()(const Tensor& ids) const { return one_hot(ids, 14).to(float32); }  // (B, T) → (B, T, V)
};

Report with_model(const lm::LanguageModel& model) {
    Report report("run");
    report.model(model, text::Characters(letters));
    return report;
}

// What the page has in place of the values, which are put into a (8, 12) tensor.
std::vector<float> carried(std::vector<float> values) {
    lm::GPT gpt = small_gpt();
    const std::size_t count = values.size();
    values.resize(8 * 12);
    const NoGrad no_grad;
    gpt.position_embedding.weight.copy_(from_vector(values, {8, 12}));
    std::vector<float> found = with_model(gpt).model().decoder.embed_positions.weight.to_vector<float>();
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
    CHECK(page.decoder.config.norm_eps == 1e-3);
    CHECK_FALSE(page.decoder.training());
    const Tensor ids = from_vector(page.tokenizer.encode("fade 漢🧵"), {7});  // (7,)
    const NoGrad no_grad;
    const std::vector<float> ours = gpt(ids).to_vector<float>(), theirs = page.decoder(ids).to_vector<float>();
    double worst = 0;
    for (std::size_t i = 0; i < ours.size(); ++i)
        worst = std::max(worst, std::fabs(static_cast<double>(ours[i]) - theirs[i]));
    CHECK(worst > 0);
    CHECK(worst < 5e-3);
    CHECK(with_model(page.decoder).html() == report.html());  // rounding again changes nothing
}

TEST_CASE("a page's Decoder has its options again, and computes the same", "[viz][report]") {
    Rng rng(4);
    lm::DecoderConfig config{.vocab_size = 14,
                             .block_size = 8,
                             .num_layers = 2,
                             .num_heads = 4,
                             .num_kv_heads = 2,
                             .d_model = 16,
                             .norm = lm::NormKind::rms_plus_one,
                             .norm_place = lm::NormPlace::around,
                             .qk_norm = true,
                             .layers = {{.window = 3}, {.rotary = std::nullopt}},
                             .attention_scale = 0.3,
                             .attention_softcap = 20,
                             .activation = lm::Activation::gelu,
                             .tied_head = false};
    nn::RotaryScaling& scaling = config.layers[0].rotary->scaling;
    scaling = {
        .kind = nn::RotaryScaling::longrope, .factor = 4, .original_length = 300, .short_factor = {1, 2}};
    scaling.long_factor = {3, 4}, scaling.attention_factor = 1.25;
    const lm::Decoder decoder(config, rng);
    const Scratch folder;
    const Report report = with_model(decoder);
    report.save(folder / "report.html");
    const Report loaded = Report::load(folder / "report.html");
    CHECK(loaded.html() == report.html());
    const report::PageModel page = loaded.model();
    CHECK(page.decoder.config == decoder.config);
    const Tensor ids = from_vector(page.tokenizer.encode("fade 漢🧵"), {7});  // (7,)
    const NoGrad no_grad;
    const std::vector<float> ours = decoder(ids).to_vector<float>(),
                             theirs = page.decoder(ids).to_vector<float>();
    for (std::size_t i = 0; i < ours.size(); ++i) CHECK(std::fabs(ours[i] - theirs[i]) < 5e-3F);
    // Weights of half size and in blocks are values like others; float16 holds those of the page exactly.
    const nn::NamedTensors state = decoder.state_dict();
    nn::NamedTensors half;
    for (const auto& [name, value] : state)
        half.emplace_back(name, value.rank() == 2 ? value.to(float16) : value);
    CHECK(with_model(lm::Decoder(config, half)).html() == report.html());
}

TEST_CASE("weights above the limit are left out, and the page says so", "[viz][report]") {
    const Scratch folder;
    const lm::GPT gpt = small_gpt();
    Report report("run");
    CHECK(model_json(report.html()) == json::object());
    CHECK(report_data(report)["has_model"] == false);
    CHECK(message_of<ValueError>([&] { report.model(); }) ==
          "report: the page carries no weights; add them with model(model, tokenizer, max_parameters)");
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
    CHECK(message_of<ValueError>([&] { report.model(Next{}, text::Characters(letters)); }) ==
          "report: the page runs a GPT or a Decoder; leave another model out");
    Rng rng(1);
    nn::RotaryOptions changing{
        .scaling = {.kind = nn::RotaryScaling::dynamic, .factor = 2, .original_length = 255}};
    lm::DecoderConfig config{.vocab_size = 14, .num_layers = 1, .layers = {{.rotary = changing}}};
    CHECK(message_of<ValueError>([&] { report.model(lm::Decoder(config, rng), text::Characters(letters)); }) ==
          "report: the page computes up to 256 tokens, among which the rotary angles of this model change with "
          "the length; leave the model out");
    config.layers[0].rotary->scaling.original_length = 256;
    CHECK_NOTHROW(Report("").model(lm::Decoder(config, rng), text::Characters(letters)));
    CHECK(model_json(report.html())["tensors"].size() == gpt.named_parameters().size());  // the one before
}

TEST_CASE("a page whose model was changed is refused by what is wrong with it", "[viz][report][refusals]") {
    CHECK(contains(refusal("/format", "weft model 3"), "its format is \"weft model 3\", not \"weft model 2\""));
    CHECK(contains(refusal("/config/num_layers", -1), "it has -1 instead of a whole number in 1 … 2147483647"));
    CHECK(contains(refusal("/config/d_model", 1e300), "instead of a whole number"));
    CHECK(contains(refusal("/config/num_layers", 2'000'000'000), "too few for 2000000000 layers"));
    CHECK(contains(refusal("/config/vocab_size", 2'000'000'000), "embed_tokens.weight"));
    CHECK(contains(refusal("/config/block_size", 9), "embed_positions.weight"));
    CHECK(contains(refusal("/config/num_heads", 5), "5 query heads cannot share 3"));
    CHECK(contains(refusal("/config/norm_eps", -1), "eps"));
    const json layer = model_json(with_model(small_gpt()).html())["config"]["layers"][0];
    CHECK(contains(refusal("/config/norm", "batch"), "it has \"batch\" as norm, which is none of the options"));
    CHECK(contains(refusal("/config/layers", json(3, layer)), "options of 3 layers for 2 blocks"));
    CHECK(contains(refusal("/config/layers/0/window", 0), "it has 0 instead of a whole number in 1"));
    CHECK(contains(refusal("/config/attention_scale", "wide"), "type must be number"));
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
    CHECK(page.decoder.embed_tokens.weight.to_vector<float>() == std::vector<float>(14 * 12, 0.25F));
    CHECK_THROWS_AS(saved(text::Characters(letters), 10).model(), ValueError);
    CHECK(report_data(saved(text::Bytes(), 4'000'000))["has_model"] == false);  // not of characters
}
