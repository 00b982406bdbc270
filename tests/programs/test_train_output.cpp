// What the programs do when their output cannot be written, when they are interrupted, and with prompts that
// are longer than what the model sees.
#include <fcntl.h>
#include <sys/stat.h>

#include <chrono>
#include <thread>

#include "places.h"
#include "programs.h"
#include "weft/weft.h"

#ifdef WEFT_PROGRAMS

using namespace weft;
namespace fs = std::filesystem;

namespace {

struct Trained {
    Scratch scratch;
    std::string text = "--text " + (scratch / "text").string() + " ";
    Trained() {
        io::save_text(scratch / "text", pangrams());
        REQUIRE(run(tiny + text + in(scratch) + "--steps 2 --max_new_tokens 0").code == 0);
    }
    std::string model() const { return "--model " + scratch.folder().string() + " "; }
};

}  // namespace

TEST_CASE("output that cannot be written ends every program with 1 and a message, the checkpoint saved",
          "[programs][train]") {
    const Trained trained;
    const Result full = run("train_gpt --resume --steps 4 " + in(trained.scratch) + ">/dev/full");
    CHECK(full.code == 1);
    CHECK(full.output == "train_gpt: cannot write to standard output: No space left on device\n");
    CHECK(io::load_safetensors(trained.scratch / "model.safetensors").meta("step") == "4");
    for (const char* program : {"train_gpt --help", "generate --help", "tensor_story", "first_steps"}) {
        const std::string name = program;
        if (!fs::exists(fs::path(places::programs()) / name.substr(0, name.find(' ')))) continue;
        const Result result = run(name + " >/dev/full");
        CHECK(result.code == 1);
        CHECK(
            result.output.starts_with(name.substr(0, name.find(' ')) + ": cannot write to standard output: "));
    }
    // Another code stays.
    check_refusal(run("train_gpt --steps 0 >/dev/full"), 2, "--steps: 0 is out of range");
    // A reader that goes away, or that never was, is no failure of a training.
    const std::string code = (trained.scratch / "code").string();
    run("train_gpt --resume --steps 40 --eval_interval 1 " + in(trained.scratch) + "; echo $? >" + code +
        "; } | { true");
    CHECK(io::load_text(code) == "0\n");
    CHECK(run("train_gpt --resume --steps 41 --max_new_tokens 0 " + in(trained.scratch) + ">&-").code == 0);
    CHECK(run("train_gpt --resume --steps 42 " + in(trained.scratch) + " <&- >&- 2>&-").code == 0);
    CHECK(io::load_safetensors(trained.scratch / "model.safetensors").meta("step") == "42");
    CHECK(fs::file_size(trained.scratch / "loss.csv") > 0);
    CHECK(io::load_text(trained.scratch / "loss.csv").starts_with("step,"));
}

TEST_CASE("Ctrl-C ends generate at once, also while it reads the model", "[programs][fault]") {
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
        const Scratch scratch;
        const fs::path pipe = scratch / "config.json";
        REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
        Running running("generate --model " + scratch.folder().string(), scratch / "log");
        int writer = -1;  // there once generate waits for what the file says
        while ((writer = ::open(pipe.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC)) < 0) {
            REQUIRE_FALSE(running.ended());
            std::this_thread::sleep_for(std::chrono::milliseconds(2));
        }
        running.send(signal);
        // One that does not end reads on until now, and fails.
        for (int i = 0; i < 100 && !running.ended(); ++i)
            std::this_thread::sleep_for(std::chrono::milliseconds(10));
        ::close(writer);
        CHECK(running.wait() == 128 + signal);
        CHECK(io::load_text(scratch / "log").empty());
    }
}

TEST_CASE("of a prompt longer than the block both programs see the end, and say so", "[programs][fault]") {
    const Trained trained;
    const std::string prompt = "The quick brown fox jumps over the lazy dog";  // 43 characters
    const auto both = [&](const std::string& prompt, const std::string& errors) {
        const std::string flags = "--prompt '" + prompt + "' --max_new_tokens 12 --temperature 0 ";
        const Result trains = run("train_gpt --sample_only " + flags + in(trained.scratch) + errors);
        const Result goes_on = run("generate " + flags + trained.model() + errors);
        CHECK(trains.code == 0);
        CHECK(goes_on.code == 0);
        return std::pair(trains.output, goes_on.output);
    };
    const auto [a, b] = both(prompt, "2>/dev/null");
    CHECK(a == b);
    CHECK(a.size() == 43 + 12 + 1);
    CHECK(a.starts_with(prompt));
    CHECK(a.substr(43) == both(prompt.substr(43 - 16), "2>&1").first.substr(16));
    const auto [c, d] = both(prompt, "2>&1 >/dev/null");
    CHECK(c == "train_gpt: the prompt has 43 characters, of which the model sees the last 16\n");
    CHECK(d == "generate: the prompt has 43 tokens, of which the model sees the last 16\n");
}

#endif
