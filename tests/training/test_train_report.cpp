// The report that train_gpt writes: its numbers are those of loss.csv and of the checkpoint, and it survives
// what a run survives.
#include <cmath>
#include <ctime>
#include <map>
#include <thread>

#include "catch.h"
#include "programs.h"
#include "report_reader.h"
#include "weft/weft.h"

#ifdef WEFT_PROGRAMS

using namespace weft;
using nlohmann::json;

namespace {

// Dropout, so that a look at the model that draws from its generators would be noticed.
const std::string common = "--dropout 0.1 --eval_interval 10 --save_interval 10 --steps 30 ";

json report_of(const Scratch& scratch) {
    return json::parse(report_json(io::load_text(scratch / "report.html")));
}

std::string text_in(const Scratch& scratch) {
    io::save_text(scratch / "text", pangrams());
    return "--text " + (scratch / "text").string() + " ";
}

// One of the columns of loss.csv: the steps where it is not empty, and the numbers there.
std::pair<std::vector<std::int64_t>, std::vector<double>> column(const std::string& csv, int wanted) {
    std::pair<std::vector<std::int64_t>, std::vector<double>> found;
    std::istringstream lines(csv);
    std::string line;
    std::getline(lines, line);  // names
    while (std::getline(lines, line)) {
        std::vector<std::string> fields(1);
        for (const char c : line) {
            if (c == ',')
                fields.emplace_back();
            else
                fields.back() += c;
        }
        const std::string& field = fields.at(static_cast<std::size_t>(wanted));
        if (field.empty()) continue;
        found.first.push_back(std::stoll(fields[0]));
        found.second.push_back(std::stod(field));
    }
    return found;
}

}  // namespace

TEST_CASE("the report of a training holds the losses of loss.csv and the attention of the checkpoint",
          "[programs][train][report]") {
    const Scratch scratch;
    const Result trained = run(tiny + in(scratch) + text_in(scratch) + common);
    REQUIRE(trained.code == 0);
    CHECK(contains(trained.output, "report.html"));
    const json report = report_of(scratch);
    const std::string csv = io::load_text(scratch / "loss.csv");
    const std::vector<std::pair<std::string, int>> columns = {
        {"learning_rate", 1}, {"training", 2}, {"validation", 3}};
    for (const auto& [name, at] : columns) {
        INFO(name);
        const auto [steps, values] = column(csv, at);
        CHECK(report["loss"][name]["steps"] == json(steps));
        CHECK(decoded_numbers<double>(report["loss"][name]["mean"]) == values);
    }
    CHECK(report["gradients"]["steps"].size() == 30);
    CHECK(report["samples"].size() == 4);  // at 0, 10, 20 and 30

    const io::SafeTensors saved = io::load_safetensors(scratch / "model.safetensors");
    lm::GPT model({.vocab_size = saved.at("token_embedding.weight").size(0),
                   .block_size = 16,
                   .num_layers = 1,
                   .num_heads = 2,
                   .d_model = 16,
                   .dropout = 0.1},
                  *std::make_unique<Rng>(1));
    model.load_state_dict(saved.tensors, /*strict=*/false);
    model.eval();
    const std::string vocabulary = saved.meta("vocabulary");
    REQUIRE(report["sentences"].size() == 2);  // the text has no others
    for (const json& sentence : report["sentences"]) {
        const std::string text = sentence["text"];
        INFO(text);
        CHECK(contains(pangrams(), text));
        std::vector<std::int64_t> ids;
        for (const char letter : text) ids.push_back(static_cast<std::int64_t>(vocabulary.find(letter)));
        const auto T = static_cast<std::int64_t>(ids.size());
        const Tensor weights =
            viz::attention_weights([&](const Tensor& x) { return model(x); }, from_vector(ids, {T}))[0];
        const json& last = sentence["snapshots"].back();
        REQUIRE(last["step"] == 30);
        REQUIRE(last["causal"] == true);
        const std::string bytes = decoded(last["weights"]);
        std::size_t at = 0;
        for (std::int64_t h = 0; h < 2; ++h)
            for (std::int64_t q = 0; q < T; ++q)
                for (std::int64_t k = 0; k <= q; ++k, ++at) {
                    const double w = weights.reshape({2, T, T}).at({h, q, k});
                    CHECK(std::abs(static_cast<unsigned char>(bytes[at]) - 255 * std::sqrt(w)) <= 0.51);
                }
        CHECK(at == bytes.size());
    }
}

TEST_CASE("a report keeps the command lines, the time and the compared run when the run is resumed",
          "[programs][train][report]") {
    const Scratch other, scratch;
    const std::string text = text_in(other);
    REQUIRE(run(tiny + in(other) + text + common + "--lr 0.01").code == 0);
    const std::string start = tiny + in(scratch) + text + common +
                              "--stop_at 12 --prompt 'The quick' --compare " + other.folder().string();
    REQUIRE(run(start).code == 0);
    const json first = report_of(scratch);
    REQUIRE(run("train_gpt --resume " + in(scratch) + "--max_new_tokens 5").code == 0);
    const json last = report_of(scratch);
    REQUIRE(last["compared"].size() == 1);
    CHECK(last["compared"][0]["name"] == other.folder().string());
    CHECK(last["compared"][0]["loss"]["training"] == report_of(other)["loss"]["training"]);
    const auto pairs = last["facts"].get<std::vector<std::pair<std::string, std::string>>>();
    std::map<std::string, std::string> facts(pairs.begin(), pairs.end());
    CHECK(facts["command"] == start);
    CHECK(facts["resumed with"] == "train_gpt --resume " + in(scratch) + "--max_new_tokens 5");
    CHECK(facts["folder"] == scratch.folder().filename().string());
    for (const char* fact : {"Weft", "processor", "threads", "system"}) CHECK(facts[fact].size() > 0);
    CHECK(first["run"]["tokens"] == 12 * 4 * 16);
    CHECK(last["run"]["tokens"] == 30 * 4 * 16);
    CHECK(last["run"]["steps"] == 30);
    CHECK(last["run"]["seconds"].get<double>() > first["run"]["seconds"].get<double>());
    CHECK(std::abs(last["run"]["saved"].get<double>() - static_cast<double>(std::time(nullptr))) < 600);
    CHECK(first["run"]["next"] == 0);  // it stopped
    CHECK(last["run"]["next"] == 0);

    // A run that is done takes another one to compare.
    REQUIRE(
        run("train_gpt --resume --compare " + (scratch / "report.html").string() + " " + in(scratch)).code ==
        0);
    CHECK(report_of(scratch)["compared"].size() == 2);
    CHECK(report_of(scratch)["loss"] == last["loss"]);
    check_refusal(run(tiny + in(scratch) + text + common + "--compare " + (other / "text").string()), 1,
                  (other / "text").string() + " as a report: it contains no report data");
    check_refusal(run("train_gpt --compare ''"), 2,
                  "--compare: the name is empty; give one, or leave out --compare");
}

TEST_CASE("the report of a run says that it is still training, also when it was killed",
          "[programs][train][report]") {
    const Scratch scratch;
    Running running(
        tiny + in(scratch) + text_in(scratch) + "--eval_interval 1000 --save_interval 2 --steps 1000000",
        scratch / "log");
    for (int i = 0; i < 1000 && !std::filesystem::exists(scratch / "report.html"); ++i)
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
    running.send(SIGKILL);
    running.wait();
    const json about = report_of(scratch)["run"];
    CHECK(about["next"].get<double>() >= 10);
    CHECK(about["steps"] == 1000000);
}

TEST_CASE("a disk that is full for the report costs a warning, an error at the end, and no checkpoint",
          "[fault][programs][train]") {
    const Scratch scratch;
    const std::string arguments =
        "train_gpt --num_layers 1 --num_heads 1 --d_model 4 --block_size 8 --batch_size 2 --max_new_tokens 5 " +
        in(scratch) + text_in(scratch) + "--steps 6 --save_interval 3 ";
    const Result full = run(arguments, "ulimit -f 50");  // 25 or 50 KiB; the page alone has more
    CHECK(full.code == 1);
    CHECK(contains(full.output, "train_gpt: warning: cannot write " + (scratch / "report.html").string()));
    CHECK(contains(full.output, "step 6/6"));
    CHECK_FALSE(std::filesystem::exists(scratch / "report.html"));
    CHECK(io::load_safetensors(scratch / "model.safetensors").meta("step") == "6");
    // With room again, a resumed run has a whole report: the losses are those of loss.csv.
    CHECK(run("train_gpt --resume --max_new_tokens 5 " + in(scratch)).code == 0);
    CHECK(report_of(scratch)["loss"]["training"]["steps"] == json({0, 1, 2, 3, 4, 5}));
}

TEST_CASE("a report that is damaged costs a resumed run a warning, and begins anew",
          "[programs][train][report]") {
    const Scratch scratch;
    REQUIRE(run(tiny + in(scratch) + text_in(scratch) + common + "--stop_at 10").code == 0);
    io::save_text(scratch / "report.html", "<html>");
    const Result resumed = run("train_gpt --resume " + in(scratch));
    CHECK(resumed.code == 0);
    CHECK(contains(resumed.output, "report.html as a report: it contains no report data; it begins anew"));
    CHECK(report_of(scratch)["loss"]["training"]["steps"].size() == 30);
}

#endif
