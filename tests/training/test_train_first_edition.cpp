// Runs that earlier editions of train_gpt left (golden/first_edition and golden/second_edition, stopped at step
// 3 of 6) go on. In the first edition dropout drew other masks, so its later losses are only close.
#include "places.h"
#include "programs.h"
#include "report_reader.h"
#include "weft/io/gzip.h"
#include "weft/weft.h"

#ifdef WEFT_PROGRAMS

using namespace weft;
namespace fs = std::filesystem;

TEST_CASE("a run of an earlier edition goes on to losses close to those that edition measured",
          "[programs][train]") {
    for (const std::string edition : {"first_edition", "second_edition"}) {
        INFO(edition);
        const fs::path golden = fs::path(places::golden()) / edition;
        const Scratch scratch, data;
        for (const char* name : {"model.safetensors", "loss.csv"}) fs::copy_file(golden / name, scratch / name);
        const fs::path page = golden / "report.html.gz";
        io::save_text(scratch / "report.html", io::unpacked(io::load_text(page), page));
        io::save_text(data / "text", pangrams());
        const Result result = run("train_gpt --resume --max_new_tokens 20 --text " + (data / "text").string() +
                                  " " + in(scratch));
        REQUIRE(result.code == 0);
        if (edition == "first_edition")
            CHECK(contains(result.output,
                           "warning: the checkpoint was written by a version of Weft whose random numbers or "
                           "rounding differ"));
        const auto expected = training::History::load(golden / "finished.csv", 100).rows;
        const auto found = training::History::load(scratch / "loss.csv", 100).rows;
        REQUIRE(expected.size() == 7);
        REQUIRE(found.size() == 7);
        for (std::size_t i = 0; i < 7; ++i) {
            const double off = i < 3 ? 1e-5 : 0.01;
            CHECK(found[i].step == expected[i].step);
            CHECK(found[i].learning_rate == expected[i].learning_rate);
            CHECK(found[i].loss.has_value() == expected[i].loss.has_value());
            CHECK(found[i].loss.value_or(0) == Approx(expected[i].loss.value_or(0)).epsilon(off));
            CHECK(found[i].validation_loss.value_or(0) ==
                  Approx(expected[i].validation_loss.value_or(0)).epsilon(off));
        }
        const auto report = nlohmann::json::parse(report_json(io::load_text(scratch / "report.html")));
        CHECK(report["loss"]["training"]["steps"].size() == 6);
        CHECK(report["samples"].size() == 4);
        CHECK(run("train_gpt --sample_only --max_new_tokens 3 " + in(scratch)).code == 0);
        CHECK(run("generate --max_new_tokens 3 --model " + scratch.folder().string()).code == 0);
    }
}

#endif
