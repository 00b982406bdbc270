// The report's data: the numbers in the page are the numbers that were given.
#include <cmath>
#include <limits>

#include "refusal.h"
#include "report_reader.h"
#include "weft/weft.h"

using namespace weft;
using nlohmann::json;
using report::Report;

namespace {

constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();
constexpr double inf = std::numeric_limits<double>::infinity();

// Two parameters, of norms 5 and 2.
struct Pair : nn::Module {
    nn::Parameter a = register_parameter("a", from_vector(std::vector<float>{3, 4}, {1, 2}));
    nn::Parameter b = register_parameter("b", full({4}, 1));
    Pair() : Module("Pair") {}
};

// The same values, NaN equal to NaN.
template <class T>
bool same(const std::vector<T>& a, const std::vector<T>& b) {
    return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0;
}

}  // namespace

TEST_CASE("base64 gives the words of RFC 4648, and back", "[viz][report]") {
    const std::vector<std::pair<std::string, std::string>> words = {{"", ""},
                                                                    {"f", "Zg=="},
                                                                    {"fo", "Zm8="},
                                                                    {"foo", "Zm9v"},
                                                                    {"foob", "Zm9vYg=="},
                                                                    {"fooba", "Zm9vYmE="},
                                                                    {"foobar", "Zm9vYmFy"},
                                                                    {std::string("\xff\x00\xfb", 3), "/wD7"}};
    for (const auto& [bytes, text] : words) {
        CHECK(report::base64(bytes) == text);
        std::string back;
        CHECK(report::from_base64(text, back));
        CHECK(back == bytes);
    }
    std::string ignored;
    for (const char* wrong : {"Zg", "Zg=", "Z===", "Zg==Zg==", "Zm9*", "=Zg=", "Zm=v"})
        CHECK_FALSE(report::from_base64(wrong, ignored));
}

TEST_CASE("a report holds every loss as it was measured, also NaN and infinities", "[viz][report]") {
    Report report("run");
    const std::vector<double> losses = {4.2, 1.0 / 3, not_a_number, inf, -inf, 1e-320};
    for (std::size_t i = 0; i < losses.size(); ++i)
        report.loss(static_cast<std::int64_t>(10 * i), {.training = losses[i]});
    report.loss(20, {.validation = 0.1, .learning_rate = 1e-3});
    const json loss = report_data(report)["loss"];
    CHECK(loss["training"]["steps"] == json({0, 10, 20, 30, 40, 50}));
    CHECK(same(decoded_numbers<double>(loss["training"]["mean"]), losses));
    CHECK(loss["validation"]["steps"] == json({20}));
    CHECK(decoded_numbers<double>(loss["validation"]["mean"]) == std::vector<double>{0.1});
    CHECK(decoded_numbers<double>(loss["learning_rate"]["mean"]) == std::vector<double>{1e-3});
}

TEST_CASE("a long curve joins neighbours: mean, lowest and highest of all that was given", "[viz][report]") {
    Report report("run");
    constexpr std::int64_t steps = 10'001;  // 2048 · 4 < 10,001 ≤ 2048 · 8
    const auto loss_at = [](std::int64_t step) { return std::sin(static_cast<double>(step)); };
    for (std::int64_t step = 0; step < steps; ++step) report.loss(step, {.training = loss_at(step)});
    const json curve = report_data(report)["loss"]["training"];
    REQUIRE(curve["size"] == 8);
    CHECK(curve["last"] == 1);
    CHECK(curve["end"] == steps - 1);
    const auto mean = decoded_numbers<double>(curve["mean"]), low = decoded_numbers<double>(curve["low"]),
               high = decoded_numbers<double>(curve["high"]);
    REQUIRE(mean.size() == 1251);
    for (std::size_t bin = 0; bin < mean.size(); ++bin) {
        double sum = 0, lowest = inf, highest = -inf, count = 0;
        for (auto step = static_cast<std::int64_t>(bin) * 8;
             step < std::min<std::int64_t>(steps, static_cast<std::int64_t>(bin) * 8 + 8); ++step) {
            const double value = loss_at(step);
            sum += value, ++count;
            lowest = std::min(lowest, value), highest = std::max(highest, value);
        }
        INFO("bin " << bin);
        REQUIRE(curve["steps"][bin] == bin * 8);
        REQUIRE(mean[bin] == Approx(sum / count).margin(1e-12));
        REQUIRE(low[bin] == lowest);
        REQUIRE(high[bin] == highest);
    }
}

TEST_CASE("a report tells each parameter's gradient norm, and those that are absent or not finite",
          "[viz][report]") {
    Report report("run");
    Pair model;
    model.a.set_grad(from_vector(std::vector<float>{6, 8}, {1, 2}));
    report.gradients(0, model);
    model.b.set_grad(from_vector(std::vector<float>{1, 1, 1, static_cast<float>(inf)}, {4}));
    report.gradients(1, model);
    const json told = report_data(report)["gradients"];
    CHECK(told["rows"] == json({"a", "b"}));
    CHECK(told["steps"] == json({0, 1}));
    const auto norms = decoded_numbers<float>(told["norms"]);
    REQUIRE(norms.size() == 4);
    CHECK(norms[0] == 10);
    CHECK(norms[1] == -1);  // absent
    CHECK(norms[2] == 10);
    CHECK(std::isnan(norms[3]));
}

TEST_CASE("gradients of many steps are columns of their root mean square", "[viz][report]") {
    Report report("run");
    Pair model;
    for (std::int64_t step = 0; step < 300; ++step) {
        model.a.set_grad(full({1, 2}, static_cast<double>(step)));
        if (step != 1) model.b.set_grad(ones({4}));
        if (step == 1) model.b.zero_grad();
        report.gradients(step, model);
    }
    const json told = report_data(report)["gradients"];
    REQUIRE(told["size"] == 2);
    const auto norms = decoded_numbers<float>(told["norms"]);
    REQUIRE(norms.size() == 2 * 150);
    for (std::size_t column = 0; column < 150; ++column) {
        const double s = static_cast<double>(2 * column), t = s + 1;  // two elements: ‖g‖² = 2 step²
        CHECK(norms[2 * column] == Approx(std::sqrt((2 * s * s + 2 * t * t) / 2)));
        CHECK(norms[2 * column + 1] == 2);
    }
}

TEST_CASE("a report's parameters have name, shape, count, and the norm now and at first", "[viz][report]") {
    Report report("run");
    Pair model;
    report.parameters(model);
    {
        NoGrad off;
        model.a.mul_(2);
    }
    report.parameters(model);
    const json rows = report_data(report)["parameters"];
    REQUIRE(rows.size() == 2);
    CHECK(rows[0] ==
          json({{"name", "a"}, {"shape", {1, 2}}, {"count", 2}, {"norm", 10.0}, {"first_norm", 5.0}}));
    CHECK(rows[1]["norm"] == 2.0);
}

TEST_CASE("a setting given again keeps its position", "[viz][report]") {
    Report report("run");
    report.setting("b", "1");
    report.setting("a", "2");
    report.setting("b", "3");
    CHECK(report_data(report)["settings"] == json::parse(R"([["b","3"],["a","2"]])"));
}

TEST_CASE("samples keep their text; of many steps every second goes and the last stays", "[viz][report]") {
    Report report("run");
    for (std::int64_t step = 0; step < 50; ++step)
        report.sample(step * 10, "text " + std::to_string(step), "> ");
    const json samples = report_data(report)["samples"];
    std::vector<int> steps;
    for (const json& sample : samples) {
        steps.push_back(sample["step"]);
        CHECK(sample["text"] == "text " + std::to_string(steps.back() / 10));
        CHECK(sample["prompt"] == "> ");
    }
    CHECK(steps == std::vector<int>{0, 40, 80, 120, 160, 200, 240, 280, 320, 360, 400, 440, 480, 490});
}

TEST_CASE("a long sample is cut between characters", "[viz][report]") {
    Report report("run");
    std::string text = "a";
    for (int i = 0; i < 2000; ++i) text += "é";  // two bytes; the limit of 4000 falls into one
    report.sample(0, text);
    const std::string kept = report_data(report)["samples"][0]["text"];
    CHECK(kept == text.substr(0, 3999) + "…");
}

TEST_CASE("an empty report is a page whose data say so", "[viz][report]") {
    const json data = report_data(Report("nothing"));
    CHECK(data["title"] == "nothing");
    CHECK(data["loss"]["training"]["steps"].empty());
    CHECK(data["sentences"].empty());
    CHECK(data["samples"].empty());
}
