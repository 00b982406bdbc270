// The folder of a run: tried before the training, held by one run at a time, and left as it is by a run that
// has nothing to do.
// Runs that earlier editions of train_gpt left (golden/first_edition and golden/second_edition, stopped at step
// 3 of 6) go on. In the first edition dropout drew other masks, so its later losses are only close.
#include <sys/stat.h>
#include <chrono>
#include <thread>

#include "places.h"
#include "programs.h"
#include "report_reader.h"
#include "weft/io/files.h"
#include "weft/weft.h"

#ifdef WEFT_PROGRAMS

using namespace weft;
namespace fs = std::filesystem;

namespace {

struct Text {
    Scratch scratch;
    std::string flag = "--text " + (scratch / "text").string() + " ";
    Text() { io::save_text(scratch / "text", pangrams()); }
};

void wait_for(const Running& running, const fs::path& log, const std::string& words) {
    while (!contains(io::load_text(log), words)) {
        INFO(io::load_text(log));
        REQUIRE_FALSE(running.ended());
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
}

// Every file of a folder with its bytes.
std::map<std::string, std::string> files_of(const fs::path& folder) {
    std::map<std::string, std::string> files;
    for (const auto& entry : fs::directory_iterator(folder))
        files[entry.path().filename().string()] = io::load_text(entry.path());
    return files;
}

}  // namespace

TEST_CASE("a folder that cannot be written to is refused before the training, and nothing is left behind",
          "[programs][train]") {
    const Text text;
    const Scratch out;
    io::save_text(out / "file", "");
    fs::create_directories(out / "taken" / "model.safetensors");
    fs::create_directory_symlink("nowhere", out / "lost");
    const auto refused = [&](const std::string& folder, const std::string& why, const std::string& before = ":",
                             const std::string& by = "") {
        const Result result = run(tiny + text.flag + "--steps 3 --out " + folder, before, by);
        CHECK(result.code == 1);
        CHECK(result.output ==
              "train_gpt: cannot write to the folder " + folder + ": " + why + "; choose another folder\n");
    };
    refused((out / "file").string(), "Not a directory");
    refused((out / "file" / "a").string(), "Not a directory");
    if (fs::exists("/proc"))
        refused("/proc/weft", "No such file or directory");
    else
        skip("there is no /proc: a folder in which not even root makes files");
    refused((out / "taken").string(), "its model.safetensors is a folder, not a file");
    refused((out / "full" / "a").string(), "File too large", "ulimit -f 0");
    fs::create_directory(out / "closed");
    fs::permissions(out / "closed", fs::perms::owner_read | fs::perms::owner_exec);
    if (const auto by = without_privilege("a folder that may not be written to"))
        refused((out / "closed").string(), "Permission denied", ":", *by);
    CHECK_FALSE(fs::exists(out / "full"));
    CHECK(fs::directory_iterator(out / "taken") != fs::directory_iterator());
    CHECK_FALSE(fs::exists(out / "taken" / "train.lock"));
    // Nor is anything left of a run that comes to nothing for another reason.
    CHECK(run(tiny + "--text /no/such/file --out " + (out / "new" / "a").string()).code == 1);
    CHECK(run("train_gpt --resume --out " + (out / "new").string()).code == 1);
    CHECK_FALSE(fs::exists(out / "new"));
}

TEST_CASE("a second run in the folder of one that trains is refused; reading it is not", "[programs][train]") {
    const Text text;
    const Scratch out;
    const std::string train =
        tiny + text.flag + in(out) + "--steps 1000000 --save_interval 1 --eval_interval 5 ";
    Running running(train, text.scratch / "log");
    wait_for(running, text.scratch / "log", "\nstep       5/");
    const std::string taken = "another run trains in " + out.folder().string();
    const std::string refusal = "train_gpt: warning: " + taken +
                                "; waiting 10 s for its end\ntrain_gpt: " + taken +
                                "; wait until it has ended, or choose another folder\n";
    Running again(train + "--stop_at 1", text.scratch / "again"),  // should it be let in
        resumed("train_gpt --stop_at 1 --resume " + in(out), text.scratch / "resumed");
    CHECK(again.wait() == 1);
    CHECK(resumed.wait() == 1);
    CHECK(io::load_text(text.scratch / "again") == refusal);
    CHECK(io::load_text(text.scratch / "resumed") == refusal);
    CHECK(run("train_gpt --sample_only --max_new_tokens 3 " + in(out)).code == 0);
    CHECK(run("generate --max_new_tokens 3 --model " + out.folder().string()).code == 0);
    CHECK_FALSE(running.ended());
    // Killed, it holds nothing any more, and what went on is one run. Who came before its end has waited.
    Running next("train_gpt --resume --stop_at 1000000 --steps 1 --max_new_tokens 0 " + in(out),
                 text.scratch / "next");
    wait_for(next, text.scratch / "next", "waiting 10 s");
    running.send(SIGKILL);
    CHECK(running.wait() == 128 + SIGKILL);
    CHECK(fs::exists(out / "train.lock"));
    CHECK(next.wait() == 0);
    const std::int64_t step = std::stoll(io::load_safetensors(out / "model.safetensors").meta("step"));
    CHECK(run("train_gpt --resume --max_new_tokens 0 --stop_at " + std::to_string(step + 2) + " " + in(out))
              .code == 0);
    CHECK_FALSE(fs::exists(out / "train.lock"));
}

TEST_CASE("a run that has made its steps says so when it is to go on, and writes no file",
          "[programs][train]") {
    const Text text;
    const Scratch out;
    REQUIRE(run(tiny + text.flag + in(out) + "--steps 4 --eval_interval 2").code == 0);
    const auto before = files_of(out.folder());
    const auto resumed = [&](const std::string& flags) { return run("train_gpt --resume " + flags + in(out)); };
    const std::string start =
        "nothing to train: the checkpoint in " + out.folder().string() + " is at step 4 and ";
    for (const std::string flags : {"", "--steps 4 ", "--steps 3 ", "--stop_at 2 ", "--steps 9 --stop_at 4 "}) {
        INFO(flags);
        const bool stop = flags.find("stop_at") != std::string::npos;
        const std::string last = flags.empty() ? "4" : flags.substr(flags.size() - 2, 1);
        const Result result = resumed("--max_new_tokens 5 " + flags);
        CHECK(result.code == 0);
        CHECK(result.output.starts_with(start + (stop ? "--stop_at" : "--steps") + " is " + last +
                                        "; give a larger one\n\n\n"));
        CHECK_FALSE(contains(result.output, "wrote"));
        CHECK(files_of(out.folder()) == before);
    }
    CHECK(contains(resumed("--steps 6 --max_new_tokens 0 ").output,
                   "wrote " + (out / "model.safetensors").string()));
    // One that was interrupted after its last step, before it was measured, has something to do.
    const std::string losses = io::load_text(out / "loss.csv");
    io::save_text(out / "loss.csv", losses.substr(0, losses.rfind("\n6,") + 1));
    CHECK(contains(resumed("--max_new_tokens 0 ").output, "step 6/6"));
    CHECK(io::load_text(out / "loss.csv") == losses);
    CHECK(contains(resumed("--max_new_tokens 0 ").output, "nothing to train"));
}

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
