// What a report says about runs: facts, how far the run is, and the losses of other runs.
#include <limits>

#include "environment.h"
#include "refusal.h"
#include "report_reader.h"
#include "weft/weft.h"

using namespace weft;
using nlohmann::json;
using report::Report;

namespace {

Report run_of(double loss, std::int64_t steps = 3) {
    Report report("run");
    report.setting("lr", "0.1");
    for (std::int64_t step = 0; step < steps; ++step)
        report.loss(step, {.training = loss / static_cast<double>(step + 1), .validation = 2 * loss});
    return report;
}

void save(const Report& report, const std::filesystem::path& path) {
    std::filesystem::create_directories(path.parent_path());
    report.save(path);
}

}  // namespace

TEST_CASE("a report keeps facts and how far the run is, through files and truncation", "[viz][report]") {
    const Scratch scratch;
    Report report = run_of(1);
    report.fact("command", "train");
    report.fact("machine", std::string(5000, 'x'));
    report.fact("command", "train --lr 1");
    report.run({.steps = 10, .tokens = 320, .seconds = 2.5, .saved = 1'700'000'000, .next = 10});
    report.save(scratch / "report.html");
    Report loaded = Report::load(scratch / "report.html");
    CHECK(report_json(loaded.html()) == report_json(report.html()));
    loaded.truncate(1);
    const json data = report_data(loaded);
    CHECK(data["facts"][0] == json({"command", "train --lr 1"}));
    CHECK(data["facts"][1][1] == std::string(4000, 'x') + "…");
    CHECK(data["run"] ==
          json::parse(R"({"steps":10,"tokens":320,"saved":1700000000,"seconds":2.5,"next":10.0})"));
    CHECK(loaded.run().tokens == 320);
    CHECK(loaded.run().seconds == 2.5);
    const std::string before = report_json(loaded.html());
    constexpr double inf = std::numeric_limits<double>::infinity();
    for (const report::ReportRun& wrong :
         {report::ReportRun{.steps = -1}, report::ReportRun{.tokens = -1}, report::ReportRun{.seconds = -1},
          report::ReportRun{.seconds = inf}, report::ReportRun{.saved = (std::int64_t{1} << 53) + 1},
          report::ReportRun{.next = std::numeric_limits<double>::quiet_NaN()}})
        refuses<ValueError>("give numbers in 0 … 2^53", [&] { loaded.run(wrong); });
    CHECK(report_json(loaded.html()) == before);
}

TEST_CASE("a report lays the losses of other runs over its own", "[viz][report]") {
    const Scratch scratch;
    const auto folder = scratch.folder();
    Report long_run = run_of(3, 5000);  // whose steps are joined
    save(long_run, folder / "long/report.html");
    save(run_of(1), folder / "lr 3/report.html");
    save(run_of(7), folder / "seven.html");
    Report report = run_of(2);
    CHECK(report.compare(folder / "long") == (folder / "long").string());
    CHECK(report.compare(folder / "lr 3/./report.html") == (folder / "lr 3").string());
    CHECK(report.compare(folder / "seven.html") == (folder / "seven.html").string());
    const json data = report_data(report), other = report_data(long_run);
    REQUIRE(data["compared"].size() == 3);
    CHECK(data["compared"][0]["name"] == (folder / "long").string());
    CHECK(data["compared"][0]["settings"] == json::parse(R"([["lr","0.1"]])"));
    for (const char* series : {"training", "validation"})
        CHECK(data["compared"][0]["loss"][series] == other["loss"][series]);
    CHECK(data["loss"] == report_data(run_of(2))["loss"]);

    // The same run again replaces its losses, and a file keeps them.
    save(run_of(9), folder / "lr 3/report.html");
    report.compare(folder / "long/../lr 3/");
    CHECK(report_data(report)["compared"].size() == 3);
    CHECK(decoded_numbers<double>(report_data(report)["compared"][1]["loss"]["training"]["mean"])[0] == 9);
    report.save(folder / "report.html");
    CHECK(report_json(Report::load(folder / "report.html").html()) == report_json(report.html()));

    for (int i = 3; i < 8; ++i) {
        save(run_of(i), folder / std::to_string(i) / "report.html");
        report.compare(folder / std::to_string(i));
    }
    const std::string before = report_json(report.html());
    refuses<ValueError>(folder.string() + " is one run too many; compare with at most 8",
                        [&] { report.compare(folder); });
    io::save_text(folder / "notes.txt", "notes");
    CHECK(report_json(report.html()) == before);
}

TEST_CASE("a run that is compared from its own folder has the folder's name", "[viz][report]") {
    const Scratch scratch;
    struct Back {  // to the folder before
        std::filesystem::path folder = std::filesystem::current_path();
        ~Back() { std::filesystem::current_path(folder); }
    } const back;
    std::filesystem::current_path(scratch.folder());
    run_of(1).save("report.html");
    Report report("run");
    const std::string name = scratch.folder().filename().string();
    for (const char* path : {".", "report.html", "./report.html"}) CHECK(report.compare(path) == name);
    CHECK(report_data(report)["compared"].size() == 1);
}

TEST_CASE("a page without facts and runs, as the first format has it, is continued", "[viz][report]") {
    const Scratch scratch;
    Report report = run_of(1);
    std::string page = report.html();
    const std::string data = report_json(page);
    json first = json::parse(data);
    first["format"] = "weft report 1";
    for (const char* later : {"facts", "run", "compared"}) REQUIRE(first.erase(later) == 1);
    io::save_text(scratch / "report.html", page.replace(page.find(data), data.size(), first.dump()));
    Report loaded = Report::load(scratch / "report.html");
    CHECK(report_json(loaded.html()) == data);
    loaded.loss(3, {.training = 1.0});
    CHECK(report_data(loaded)["loss"]["training"]["steps"].size() == 4);
}

TEST_CASE("a report's facts and runs are checked, one by one", "[viz][report]") {
    const Scratch scratch;
    Report report = run_of(2);
    run_of(1).save(scratch / "report.html");
    report.compare(scratch.folder());
    const std::string page = report.html(), data = report_json(page);
    const auto with = [&](const std::string& pointer, const json& value) {
        json changed = json::parse(data);
        changed[json::json_pointer(pointer)] = value;
        std::string text = page;
        io::save_text(scratch / "report.html", text.replace(text.find(data), data.size(), changed.dump()));
        return message_of<IoError>([&] { Report::load(scratch / "report.html"); });
    };
    for (const char* place : {"/run/steps", "/run/tokens", "/run/saved"})
        for (const json& value : {json(-1), json(1.5), json("1"), json(), json((std::int64_t{1} << 53) + 1)})
            CHECK(contains(with(place, value), "instead of a whole number in 0 … "));
    for (const char* place : {"/run/seconds", "/run/next"})
        for (const json& value : {json(-0.5), json(1e300)})
            CHECK(contains(with(place, value), "a time that is not in 0 … 2^53"));
    CHECK(contains(with("/run/seconds", "1"), "number"));
    CHECK(contains(with("/facts", {1, 2}), "array"));
    CHECK(contains(with("/compared/0/loss/training/size", 0), "instead of a whole number"));
    CHECK(contains(with("/compared/0/loss/validation/mean", "AAAA"), "3 bytes instead of 3 numbers"));
    CHECK(contains(with("/compared/0/name", 1), "string"));
    json nine = json::array();
    for (int i = 0; i < 9; ++i) nine.push_back(json::parse(data)["compared"][0]);
    CHECK(contains(with("/compared", nine), "too many runs to compare"));
}
