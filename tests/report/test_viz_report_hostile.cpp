// A report's page that was changed: it is refused by what is wrong with it, or goes on like any other.
#include <limits>

#include "environment.h"
#include "refusal.h"
#include "report_reader.h"
#include "weft/weft.h"

using namespace weft;
using nlohmann::json;
using report::Report;

namespace {

// A report of 30 steps, with bins of one value and no steps left out.
std::string page() {
    Report report("run");
    const nn::Linear model = [] {
        Rng rng(1);
        return nn::Linear(2, 2, rng);
    }();
    for (Tensor parameter : model.parameters()) parameter.set_grad(ones(parameter.shape()));
    const Tensor weights = full({1, 2, 2}, 0.5);
    for (std::int64_t step = 0; step < 30; ++step) {
        report.loss(step, {.training = 1.0, .validation = 2.0, .learning_rate = 0.1});
        report.gradients(step, model);
        if (step % 10 == 0)
            report.sample(step, "text", "prompt"), report.attention(step, {"a", "b"}, {weights});
    }
    report.parameters(model);
    return report.html();
}

class Changed {
public:
    // What Report::load says of the page with other data.
    std::string refusal(const std::string& data) const {
        write(data);
        const std::string start = "cannot read " + path_.string() + " as a report: ";
        const std::string message = message_of<IoError>([&] { Report::load(path_); });
        INFO(message);
        CHECK(message.starts_with(start));
        CHECK(message.size() < start.size() + 300);
        return message.substr(std::min(start.size(), message.size()));
    }
    // And with one value changed.
    std::string with(const std::string& pointer, const json& value) const {
        json data = json::parse(data_);
        data[json::json_pointer(pointer)] = value;
        return refusal(data.dump());
    }
    Report load(const json& data) const {
        write(data.dump());
        return Report::load(path_);
    }
    json data() const { return json::parse(data_); }

private:
    Scratch scratch_;
    std::filesystem::path path_ = scratch_ / "report.html";
    std::string page_ = page(), data_ = report_json(page_);

    void write(const std::string& data) const {
        std::string changed = page_;
        io::save_text(path_, changed.replace(changed.find(data_), data_.size(), data));
    }
};

}  // namespace

TEST_CASE("a report's data that is nested, doubled or no JSON is refused", "[viz][report]") {
    const Changed report;
    for (const auto& [open, close] : {std::pair("[", "]"), std::pair("{\"a\":[", "]}")}) {
        std::string deep;
        for (int i = 0; i < 60'000; ++i) deep += open;
        for (int i = 0; i < 60'000; ++i) deep += close;
        CHECK(contains(report.refusal("{\"format\":" + deep + "}"), "its data is nested too deeply"));
        CHECK(contains(report.refusal(deep), "its data is nested too deeply"));
    }
    CHECK(contains(report.refusal("[]"), "its data is not a JSON object"));
    CHECK(contains(report.refusal("{\"format\":1,\"format\":1}"), "its data has \"format\" twice"));
    CHECK(contains(report.refusal("{\"format\":\"\x1b[2J\"}"), "its data is not valid JSON"));
    CHECK(contains(report.refusal(std::string("{}\0", 3)), "a zero byte"));
    CHECK(contains(report.refusal("{}"), "key 'format' not found"));
    CHECK(contains(report.with("/format", std::string(1'000'000, 'x')), "its format is \"xxxx"));
}

TEST_CASE("a report's counts and steps are checked, one by one", "[viz][report]") {
    const Changed report;
    constexpr std::int64_t far = std::int64_t{1} << 53;
    const auto no_number = [](const std::string& message) {
        return contains(message, "instead of a whole number in ");
    };
    // No whole numbers of their range.
    for (const char* place : {"/loss/training/size", "/gradients/size", "/sampled/stride", "/attended/stride",
                              "/sentences/0/heads/0"}) {
        INFO(place);
        for (const json& value : {json(0), json(-1), json(far + 1), json(1.5), json(1e300), json("1"), json(),
                                  json(std::numeric_limits<std::uint64_t>::max())})
            CHECK(no_number(report.with(place, value)));
    }
    for (const char* place :
         {"/loss/validation/last", "/loss/training/steps/3", "/gradients/steps/0", "/sampled/kept/0/0",
          "/attended/kept/1/1", "/samples/0/step", "/sentences/0/snapshots/0/step", "/attention_bytes",
          "/parameters/0/count", "/parameters/0/shape/1"})
        for (const json& value :
             {json(-1), json(1.5), json("1"), json(std::numeric_limits<std::uint64_t>::max())})
            CHECK(no_number(report.with(place, value)));
    CHECK(no_number(report.with("/loss/training/end", -2)));
    CHECK(contains(report.with("/parameters/0/norm", "1"), "instead of a number"));

    // Numbers that do not go together.
    for (const char* series : {"/loss/training", "/loss/learning_rate", "/gradients"}) {
        INFO(series);
        const std::string of = series;
        for (const auto& [place, value] : std::vector<std::pair<std::string, json>>{{"/size", 2},
                                                                                    {"/last", 0},
                                                                                    {"/end", 28},
                                                                                    {"/end", 30},
                                                                                    {"/end", -1},
                                                                                    {"/steps/5", 4},
                                                                                    {"/steps/5", 6},
                                                                                    {"/steps", json::array()}})
            CHECK(contains(report.with(of + place, value), "steps that do not fit their bins"));
        json many = json::array();
        for (int i = 0; i < 2049; ++i) many.push_back(i);
        CHECK(contains(report.with(of + "/steps", many), "steps that do not fit their bins"));
    }
    CHECK(contains(report.with("/loss/training/mean", "AAAA"), "3 bytes instead of 30 numbers"));
    CHECK(contains(report.with("/gradients/rows", json::array()), "bytes instead of 0 numbers"));
    json norms = report.data();
    CHECK(
        contains(report.with("/gradients/norms", "AADAwA" + std::string(norms["gradients"]["norms"]).substr(6)),
                 "a norm below 0"));  // −6 in front
    for (const char* line : {"/sampled", "/attended"}) {
        const std::string of = line;
        for (const auto& [place, value] : std::vector<std::pair<std::string, json>>{
                 {"/stride", 2}, {"/kept/1/0", 0}, {"/kept/1/1", 0}, {"/kept/1/1", 11}, {"/kept/2/0", 10}})
            CHECK(contains(report.with(of + place, value), "steps that do not fit their stride"));
    }
    json kept = json::array();
    for (int i = 0; i < 25; ++i) kept.push_back({i, i});
    CHECK(contains(report.with("/sampled/kept", kept), "too many samples"));
    CHECK(contains(report.with("/samples/1/step", 11), "a sample of a step that is not listed"));
    for (const json& heads : {json::array(), json({2}), json({1, 1}), json({INT32_MAX, INT32_MAX})})
        CHECK(contains(report.with("/sentences/0/heads", heads),
                       "the number of weights does not fit the sentence"));
    CHECK(contains(report.with("/sentences/0/bytes", json::array()), "the number of weights does not fit"));
    CHECK(contains(report.with("/sentences/0/snapshots/0/causal", true), "the number of weights does not fit"));
    CHECK(contains(report.with("/sentences/0/snapshots/1/step", 5), "weights of a step that is not listed"));
    CHECK(contains(report.with("/sentences/0/snapshots/1/step", 0), "weights of a step that is not listed"));
    CHECK(contains(report.with("/sentences/0/snapshots", json::array()), "a sentence without weights"));
    CHECK(contains(report.with("/attention_bytes", 11), "more weights than its attention_bytes allows"));
}

TEST_CASE("a report with the largest strides and bins accepts more steps", "[viz][report]") {
    const Changed changed;
    json data = changed.data();
    constexpr std::int64_t stride = std::int64_t{1} << 52;
    for (const char* line : {"sampled", "attended"}) {
        data[line]["stride"] = stride;
        data[line]["kept"] = {{0, 0}, {stride, stride}, {stride + 1, stride + 1}};
    }
    data["attention_bytes"] = 12;  // as much as it holds: the next weights make room
    for (int i = 0; i < 3; ++i)
        data["samples"][i]["step"] = data["sentences"][0]["snapshots"][i]["step"] =
            data["sampled"]["kept"][i][0];
    data["loss"]["training"] = {{"size", stride},
                                {"last", 1},
                                {"end", stride},
                                {"steps", {0, stride}},
                                {"mean", "AAAAAAAA8D8AAAAAAADwPw=="},
                                {"low", "AAAAAAAA8D8AAAAAAADwPw=="},
                                {"high", "AAAAAAAA8D8AAAAAAADwPw=="}};
    Report report = changed.load(data);
    for (std::int64_t step = stride + 2; step < stride + 40; ++step) {
        report.sample(step, "text");
        report.attention(step, {"a", "b"}, {full({1, 2, 2}, 0.5)});
        report.loss(step, {.training = 1.0});
    }
    const json after = report_data(report);
    CHECK(after["samples"].size() == after["sampled"]["kept"].size());
    CHECK(after["loss"]["training"]["end"] == stride + 39);
    refuses<ValueError>("count steps from 0 to 2^53",
                        [&] { report.loss((stride << 1) + 1, {.training = 1.0}); });
}
