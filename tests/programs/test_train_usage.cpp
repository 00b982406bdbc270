// What the programs say to a command line that cannot be, and to files that are not what they should be: what
// is wrong, by its name, and what to do. Wrong usage ends with 2, everything else with 1.
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

// A folder with the tiny model after one step, and the text that it learned from.
struct Trained {
    Scratch scratch;
    std::string text = "--text " + (scratch / "text").string() + " ",
                named = "--model " + scratch.folder().string() + " ";
    Trained() {
        io::save_text(scratch / "text", pangrams());
        REQUIRE(run(tiny + text + in(scratch) + "--steps 2 --max_new_tokens 0").code == 0);
    }
    fs::path model() const { return scratch / "model.safetensors"; }
};

// The refusal is one line, whole, with nothing before or after.
void check_says(const std::string& arguments, int code, const std::string& line) {
    const Result result = run(arguments);
    CHECK(result.code == code);
    CHECK(result.output == line + "\n");
}

}  // namespace

TEST_CASE("a flag is true by itself or with =true, false with =false, and takes no other value",
          "[programs][train]") {
    const Scratch scratch;
    io::save_text(scratch / "text", pangrams());
    const auto bias_of = [&](const std::string& flags) {
        REQUIRE(
            run(tiny + in(scratch) + "--steps 1 --text " + (scratch / "text").string() + " " + flags).code ==
            0);
        return io::load_safetensors(scratch / "model.safetensors").meta("bias");
    };
    CHECK(bias_of("--bias") == "true");
    CHECK(bias_of("--bias=true") == "true");
    CHECK(bias_of("--bias=false") == "false");
    CHECK(bias_of("--bias --bias=false") == "false");

    const std::string none = " /no/such/file";  // should it be taken
    for (const char* flag :
         {"train_gpt --bias", "train_gpt --resume", "train_gpt --sample_only", "train_gpt --best",
          "generate --no_cache", "generate --ignore_eos", "generate --stats", "generate --random"}) {
        const std::string command = flag, program = command.substr(0, command.find(' ')),
                          name = command.substr(command.find("--"));
        for (const char* value : {"maybe", "", "2", "True"})
            check_says(command + "=" + value +
                           (program == "generate" ? " --max_new_tokens 0 --model" : " --text") + none,
                       2,
                       program + ": " + name + ": \"" + value + "\" is neither true nor false; write " + name +
                           " or " + name + "=false");
    }
    // What is false is not done.
    const std::string out = in(scratch);
    CHECK(run("train_gpt --sample-only --resume=false --best=false --max_new_tokens 3 " + out).code == 0);
    check_refusal(run("train_gpt --sample-only=false --best " + out), 2, "--best needs --sample_only");
    const std::string model = "generate --max_new_tokens 3 --model " + scratch.folder().string() + " ";
    CHECK(run(model + "--random=false --stats=false").output.size() == 4);
    CHECK_FALSE(contains(run(model + "--stats=false").output, "MiB"));
}

TEST_CASE("a flag without its value, or with one out of its range, is named with what it takes",
          "[programs][train]") {
    check_says("train_gpt --steps", 2, "train_gpt: --steps needs a value; write --steps VALUE");
    check_says("generate --model gpt2 --top-k", 2, "generate: --top_k needs a value; write --top_k VALUE");
    check_says("train_gpt --steps 0", 2,
               "train_gpt: --steps: 0 is out of range; use at least 1 and at most 1000000000");
    check_says("train_gpt --seed -1", 2,
               "train_gpt: --seed: -1 is out of range; use at least 0 and at most 1000000000000000");
    check_says("train_gpt --dropout 1", 2,
               "train_gpt: --dropout: 1 is out of range; use at least 0 and less than 1");
    check_says("generate --top-p 0", 2,
               "generate: --top_p: 0 is out of range; use at least 0.000000001 and at most 1");
}

TEST_CASE("a file or a folder with an empty name is refused, and nothing is trained", "[programs][train]") {
    const Scratch scratch;
    for (const char* program : {"train_gpt --text", "train_gpt --out", "generate --model"}) {
        const std::string command = program, name = command.substr(command.find("--"));
        const Result result = run(command + " '' --max_new_tokens 0" + (name == "--model" ? "" : " --steps 1"),
                                  "cd " + scratch.folder().string());
        check_refusal(
            result, 2,
            ": " + name + ": the name is empty; give one, or leave out " + name + " for its default\n");
    }
    CHECK(fs::is_empty(scratch.folder()));
}

TEST_CASE("a model that no memory holds is refused in words", "[programs][train]") {
    const Scratch scratch;
    io::save_text(scratch / "text", std::string(200, 'a'));
    const Result result =
        run(tiny + in(scratch) + "--d_model 1000000 --block_size 1 --text " + (scratch / "text").string(),
            "export ASAN_OPTIONS=allocator_may_return_null=1");
    check_refusal(result, 1,
                  "train_gpt: out of memory: reduce --d_model, --num_layers, --block_size or --batch_size\n");
}

TEST_CASE("a safetensors file that train_gpt did not save is said to be that", "[programs][train]") {
    const Scratch scratch;
    const std::string model = (scratch / "model.safetensors").string();
    io::save_safetensors(model, {{"wte.weight", zeros({3, 2})}}, {{"format", "pt"}});
    for (const char* how : {"--resume ", "--sample_only "})
        check_says("train_gpt " + std::string(how) + in(scratch), 1,
                   "train_gpt: cannot continue from " + model +
                       ": train_gpt did not save it: it contains none of a run's settings; set --out to the "
                       "folder of a run");
    check_says("generate --model " + scratch.folder().string(), 1,
               "generate: " + model +
                   " was not saved by train_gpt: it contains neither characters nor sizes; for a GPT-2, set "
                   "--model to the folder with its config.json");
}

TEST_CASE("settings that do not fit together are the checkpoint's fault when it holds them",
          "[programs][train]") {
    const Trained trained;
    const auto with = [&](const std::string& key, const std::string& value) {
        io::SafeTensors file = io::load_safetensors(trained.model());
        file.metadata.at(key) = value;
        io::save_safetensors(trained.model(), file.tensors, file.metadata);
    };
    const std::string go_on = "train_gpt --resume " + in(trained.scratch);
    const std::string start =
        "train_gpt: cannot continue from " + trained.model().string() + ": its settings do not fit together: ";
    with("min_lr", "0.5");
    check_says(go_on, 1, start + "--min_lr 0.5 is above --lr 0.001");
    const std::string rest = "; what the command line does not give is the checkpoint's";
    check_says(go_on + " --lr 0.1", 2, "train_gpt: --min_lr 0.5 is above --lr 0.1" + rest);
    with("min_lr", "0.0001");
    with("micro_batch", "2");
    check_says(go_on + " --batch_size 3", 2,
               "train_gpt: --batch_size 3 is not a multiple of --micro_batch 2" + rest);
    with("precision", "low");
    check_says(go_on, 1, start + "--precision: \"low\" is neither highest nor medium");
    with("precision", "highest");
    with("num_heads", "3");
    check_says(go_on, 1, start + "--d_model 16 is not divisible by --num_heads 3");
    check_says(go_on + " --lr 0.1", 1, start + "--d_model 16 is not divisible by --num_heads 3");
}

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
        const Result goes_on = run("generate " + flags + trained.named + errors);
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
