// The report's page: what a user's text may do to it, its size, the file, and going on with one.
#include "environment.h"
#include "refusal.h"
#include "report_reader.h"
#include "weft/weft.h"

using namespace weft;
using nlohmann::json;
using report::Report;

namespace {

std::size_t count(const std::string& text, const std::string& part) {
    std::size_t n = 0;
    for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++n;
    return n;
}

struct One : nn::Module {
    nn::Parameter weight = register_parameter("weight", ones({2}));
    One() : Module("One") { weight.set_grad(ones({2})); }
};

// Steps from … to of a run that measures something of everything.
void run(Report& report, int from, int to) {
    const One model;
    for (int step = from; step < to; ++step) {
        Rng rng(static_cast<std::uint64_t>(step) + 1);
        const double x = randn({1}, rng).item();
        report.loss(step, {.training = x, .learning_rate = x * x});
        report.gradients(step, model);
        if (step % 10 != 0) continue;
        report.loss(step, {.validation = x});
        report.sample(step, "sample " + std::to_string(step));
        for (const char* last : {"b", "\xff"}) report.attention(step, {"a", last}, {full({2, 2, 2}, 0.5)});
    }
    report.parameters(model);
}

}  // namespace

TEST_CASE("nothing in a user's text ends the page's data or is lost", "[viz][report]") {
    const std::vector<std::string> texts = {"</script><script>alert(1)</script>",
                                            "<!--<script>",
                                            "]]>",
                                            "\"quoted\\\" and 'single'",
                                            "&lt;&amp;",
                                            "line\nbreak\ttab\r\x01\x1f",
                                            "\u2028\u2029",
                                            "🧵 and 👩‍👩‍👧",
                                            "שלום עולם",
                                            "\u202Etsrif",
                                            std::string("nul\0nul", 7)};
    const std::string plain = Report("x").html();
    for (const std::string& text : texts) {
        INFO(text);
        Report report(text);
        report.setting(text, text);
        report.sample(0, text, text);
        report.attention(0, {text, "b"}, {full({2, 2, 2}, 0.5)});
        const std::string page = report.html();
        CHECK(count(page, "<script") == count(plain, "<script"));
        CHECK(count(page, "</script") == count(plain, "</script"));
        const std::string written = report_json(page);
        for (const char letter : written)
            REQUIRE((letter >= ' ' && letter <= '~' && letter != '<' && letter != '>'));
        const json data = json::parse(written);
        CHECK(data["title"] == text);
        CHECK(data["settings"][0] == json({text, text}));
        CHECK(data["samples"][0]["text"] == text);
        CHECK(data["samples"][0]["prompt"] == text);
        CHECK(data["sentences"][0]["text"] == text + "b");
        CHECK(decoded(data["sentences"][0]["bytes"][0]) == text);
    }
}

TEST_CASE("bytes that are no UTF-8 are shown as such, and the page stays one", "[viz][report]") {
    Report report("a\xff");
    report.attention(0, {"\xc3", "\xa9"}, {full({2, 2, 2}, 0.5)});  // é in two tokens
    const json data = report_data(report);
    CHECK(data["title"] == "a\uFFFD");
    CHECK(data["sentences"][0]["tokens"] == json({"\\xc3", "\\xa9"}));
    CHECK(data["sentences"][0]["text"] == "é");
}

TEST_CASE("the page asks nothing of a network", "[viz][report]") {
    const std::string page = Report("x").html();
    CHECK(contains(page, "default-src 'none'"));
    const std::size_t names = count(page, "http://www.w3.org/");  // of SVG, which nobody fetches
    CHECK(names > 0);
    CHECK(count(page, "http:") == names);
    CHECK(count(page, "https:") == 0);
    CHECK(count(page, " src=") == 0);
    CHECK(count(page, "@import") == 0);
    CHECK(count(page, "{{") == 0);  // every part was put in its place
    CHECK(page.size() < 140'000);
}

TEST_CASE("a run of 2000 steps takes at most two megabytes", "[viz][report]") {
    Rng rng(1);
    const lm::GPT model({.vocab_size = 65, .block_size = 64, .num_layers = 4, .num_heads = 4, .d_model = 16},
                        rng);
    for (const auto& [name, parameter] : model.named_parameters())
        Tensor(parameter).set_grad(ones(parameter.shape()));
    Report report("run");
    const Tensor weights =
        softmax(masked_fill(randn({1, 4, 32, 32}, rng), Mask::causal().materialize(1, 4, 32, 32), -1e30), -1);
    for (std::int64_t step = 0; step <= 2000; ++step) {
        report.loss(step, {.training = 1.0 / 3, .learning_rate = 1.0 / 3});
        if (step % 8 == 0) report.gradients(step, model);
        if (step % 50 != 0) continue;
        report.sample(step, std::string(300, 'x'));
        for (int s = 0; s < 12; ++s) {
            std::vector<std::string> tokens(32, "x");
            tokens[0] = std::to_string(s);
            report.attention(step, tokens, {weights, weights, weights, weights});
        }
    }
    const std::size_t bytes = report.html().size();
    CHECK(bytes < 2'000'000);
    CHECK(bytes > 900'000);  // the room is used
}

TEST_CASE("a report that was saved and loaded is the same, and goes on as if it had never stopped",
          "[viz][report]") {
    const Scratch scratch;
    // 2500 steps: curves, gradients, samples and attention are all thinned on the way
    Report whole("run", 60), parts("run", 60);
    run(whole, 0, 2500);
    for (int from = 0; from < 2500; from += 500) {
        run(parts, from, from + 500);
        parts.save(scratch / "report.html");
        Report loaded = Report::load(scratch / "report.html");
        REQUIRE(report_json(loaded.html()) == report_json(parts.html()));
        parts = std::move(loaded);
    }
    CHECK(report_json(parts.html()) == report_json(whole.html()));
}

TEST_CASE("a report truncated at a step keeps only earlier steps", "[viz][report]") {
    Report cut("run"), straight("run");
    run(straight, 0, 105);
    run(cut, 0, 130);
    cut.truncate(105);
    CHECK(report_json(cut.html()) == report_json(straight.html()));
    run(cut, 105, 130);
    run(straight, 105, 130);
    CHECK(report_json(cut.html()) == report_json(straight.html()));
    for (const int step : {1, 2}) {
        cut.truncate(step);
        run(cut, step, 130);
        CHECK(report_json(cut.html()) == report_json(straight.html()));
    }
    cut.truncate(0);
    CHECK(report_data(cut)["samples"].empty());
    CHECK(report_data(cut)["loss"]["training"]["steps"].empty());
}

TEST_CASE("what is no report is refused with its path", "[viz][report]") {
    const Scratch scratch;
    const auto path = scratch / "report.html";
    const auto refused = [&](const std::string& bytes) {
        io::save_text(path, bytes);
        const std::string message = message_of<IoError>([&] { Report::load(path); });
        CHECK(contains(message, path.string()));
        return message;
    };
    refuses<IoError>("no such file", [&] { Report::load(scratch / "none.html"); });
    CHECK(contains(refused(""), "it contains no report data"));
    CHECK(contains(refused("<html></html>"), "it contains no report data"));
    Report report("run");
    run(report, 0, 20);
    const std::string page = report.html(), data = report_json(page);
    const std::size_t start = page.find(data);
    refused(page.substr(0, start + data.size() / 2));
    const auto with = [&](const std::string& from, const std::string& to) {
        std::string changed = page;
        const std::size_t at = changed.find(from, start);
        REQUIRE(at != std::string::npos);
        return refused(changed.replace(at, from.size(), to));
    };
    CHECK(contains(with("weft report 2", "weft report 9"), "its format is \"weft report 9\""));
    CHECK(contains(with("\"mean\":\"", "\"mean\":\"AAAA"), "bytes instead of"));
    CHECK(contains(with("\"weights\":\"", "\"weights\":\"AAAA"), "the number of weights does not fit"));
    CHECK(contains(with("\"weights\":\"", "\"weights\":\"A*A"), "base64"));
    CHECK(contains(with("\"settings\":", "\"setting\":"), "settings"));
    CHECK(contains(with("\"stride\":1", "\"stride\":0"), "it has 0 instead of a whole number in 1 … "));
    CHECK(
        contains(with("\"steps\":[0,", "\"steps\":[\"0\","), "it has \"0\" instead of a whole number in 0 … "));
}
