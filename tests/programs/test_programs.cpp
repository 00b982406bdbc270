// The example programs, run as their users run them: what they learn, what they refuse, and with which exit
// code.
#include <algorithm>
#include <cstdlib>

#include "programs.h"
#include "weft/core.h"

#ifdef WEFT_PROGRAMS

using namespace weft;

namespace {

// Runs the tiny model on a file of these bytes.
Result train_on(const std::string& bytes, const std::string& arguments = "--steps 2") {
    const Scratch scratch;
    io::save_text(scratch / "text", bytes);
    return run(tiny + in(scratch) + "--text " + (scratch / "text").string() + " " + arguments);
}

}  // namespace

TEST_CASE("linear_regression finds the rule from Celsius to Fahrenheit", "[programs]") {
    const Result result = run("linear_regression");
    CHECK(result.code == 0);
    CHECK(contains(result.output, "F = 1.8000 C + 32.0000"));
}

TEST_CASE("xor is learned", "[programs]") {
    const Result result = run("xor");
    CHECK(result.code == 0);
    CHECK(contains(result.output, "0 xor 1 = 0.9"));
    CHECK(contains(result.output, "1 xor 1 = 0.0"));
}

TEST_CASE("programs after public descriptions learn what they are to", "[programs]") {
    const std::pair<const char*, const char*> programs[] = {
        {"sorting", "sorted rightly: "},
        {"lora", "the network itself on its first task: 0.000"},
        {"maml", "loss on a new sine after one step: "},
        {"pinn", "the largest distance from the solution: 0.0"},
        {"reinforce", "episode 60  balanced for "},
        {"diffusion", "mean distance from the circle: "},
    };
    for (const auto& [program, line] : programs) {
        const Result result = run(program);
        INFO(result.output);
        CHECK(result.code == 0);  // each returns 1 unless it has learned
        CHECK(contains(result.output, line));
    }
}

TEST_CASE("a chapter's program refuses a folder of figures that does not exist, with 2", "[programs][fault]") {
    int programs = 0;
    for (const auto& entry : std::filesystem::directory_iterator(places::programs())) {
        const std::string name = entry.path().filename().string();
        if (name.size() != 10 || !name.starts_with("chapter_")) continue;
        const Result result = run(name + " --figures /no/such/folder");
        CHECK(result.code == 2);
        CHECK(contains(result.output, name + ": --figures /no/such/folder: no such folder; create it first\n"));
        ++programs;
    }
    CHECK((programs == 0 || programs == 24));  // without the book there are none
}

TEST_CASE("toy_attention learns to copy, and a gradient reaches each of its parameters", "[programs]") {
    const Result result = run("toy_attention");
    CHECK(contains(result.output, "a gradient reached 12 of the 12 nodes of the graph"));
    CHECK(result.code == 0);
    for (const char* part :
         {"attention.W_qkv.weight", "attention.W_out.weight", "head.weight", "head.bias", "accuracy"})
        CHECK(contains(result.output, part));
}

TEST_CASE("train_gpt trains, saves, goes on and samples", "[programs]") {
    const Scratch scratch;
    io::save_text(scratch / "text", pangrams());
    const std::string text = "--text " + (scratch / "text").string() + " ";
    const Result first = run(tiny + in(scratch) + text + "--steps 30 --eval_interval 10 --prompt The");
    CHECK(first.code == 0);
    CHECK(contains(first.output, "2844 characters to train on, 316 for validation, 31 different"));
    CHECK(contains(first.output, "gradients reach all 9 parameter tensors"));
    CHECK(contains(first.output, "step 30/30"));
    CHECK(contains(first.output, "\nThe"));
    CHECK(first.output.find('\x1b') == std::string::npos);  // no control codes where there is no terminal

    const io::SafeTensors saved = io::load_safetensors(scratch / "model.safetensors");
    CHECK(saved.meta("step") == "30");
    CHECK(saved.at("token_embedding.weight").size(1) == 16);

    const std::string losses = io::load_text(scratch / "loss.csv");
    CHECK(losses.starts_with("step,learning_rate,loss,validation_loss\n0,"));
    CHECK(std::count(losses.begin(), losses.end(), '\n') == 32);  // names, 30 steps, the last evaluation

    const Result sampled = run(tiny + in(scratch) + "--sample-only --prompt Pack");
    CHECK(sampled.code == 0);
    CHECK(sampled.output.starts_with("Pack"));
    CHECK(run(tiny + in(scratch) + "--sample-only --prompt Pack").output == sampled.output);
}

TEST_CASE("a text, a folder's name and a sample do not steer the terminal", "[programs][fault]") {
    const Scratch scratch;
    const std::string title = "\x1b]0;title\x07";  // sets the title of the window
    io::save_text(scratch / "text", std::string(200, 'a') + title);
    std::string letters;
    for (int i = 0; i < 100; ++i) letters += title;
    io::save_text(scratch / "letters", letters);
    const auto on_terminal = [&](const std::string& arguments) {
        const Result result = run_on_terminal(arguments, 80);
        CHECK_FALSE(contains(result.output, "\x1b]0"));  // links are ours
        return result;
    };
    const std::string folder = "--out '" + (scratch / ("run" + title)).string() + "' ";
    const Result trained = on_terminal(tiny + folder + "--text " + (scratch / "letters").string() +
                                       " --steps 20 --lr 0.1 --prompt '" + title + "'");
    CHECK(trained.code == 0);
    CHECK(contains(trained.output, "\\x1b]0;title\\x07"));
    const Result generated = on_terminal("generate --model '" + (scratch / ("run" + title)).string() +
                                         "/model.safetensors' --max_new_tokens 60");
    CHECK(contains(generated.output, "\\x1b"));
    const Result refused = on_terminal("generate --model '" + (scratch / title).string() + "'");
    CHECK(refused.code == 1);
    CHECK(contains(refused.output, "\\x1b]0;title\\x07 does not exist"));
}

TEST_CASE("a run that was done goes on when it gets more steps, with the bits of one that had them",
          "[fault][programs]") {
    const Scratch whole, parts;
    io::save_text(whole / "text", pangrams());
    // A constant learning rate: a schedule would depend on how many steps there are to be.
    const std::string common = "--text " + (whole / "text").string() +
                               " --dropout 0.1 --eval_interval 10 --lr 1e-3 --min_lr 1e-3 --warmup_steps 0 ";
    REQUIRE(run(tiny + in(parts) + common + "--steps 10").code == 0);
    REQUIRE(run("train_gpt " + in(parts) + "--resume --steps 20").code == 0);
    REQUIRE(run(tiny + in(whole) + common + "--steps 20").code == 0);
    const io::SafeTensors a = io::load_safetensors(whole / "model.safetensors");
    const io::SafeTensors b = io::load_safetensors(parts / "model.safetensors");
    REQUIRE(a.tensors.size() == b.tensors.size());
    for (const auto& [name, tensor] : a.tensors) {
        INFO(name);
        CHECK(tensor.str() == b.at(name).str());
        if (tensor.dtype() == float32) CHECK(tensor.to_vector<float>() == b.at(name).to_vector<float>());
    }
    CHECK(io::load_text(whole / "loss.csv") == io::load_text(parts / "loss.csv"));
}

TEST_CASE("train_gpt --help names every setting and ends with 0", "[programs]") {
    const Result result = run("train_gpt --help");
    CHECK(result.code == 0);
    for (const char* flag : {"--text",      "--steps",         "--num_layers",   "--num_heads",
                             "--d_model",   "--block_size",    "--batch_size",   "--lr",
                             "--min_lr",    "--warmup_steps",  "--weight_decay", "--beta2",
                             "--grad_clip", "--dropout",       "--bias",         "--seed",
                             "--threads",   "--eval_interval", "--prompt",       "--max_new_tokens",
                             "--out",       "--resume",        "--sample_only",  "--save_interval",
                             "--stop_at",   "--best",          "--config",       "--quiet",
                             "--version"})
        CHECK(contains(result.output, flag));
}

TEST_CASE("train_gpt refuses an unknown flag with 2 and names the nearest one", "[fault][programs]") {
    check_refusal(run("train_gpt --num_layer 3"), 2, "unknown flag --num_layer; did you mean --num_layers?");
    check_refusal(run("train_gpt --wieght_decay=0.1"), 2, "did you mean --weight_decay?");
    check_refusal(run("train_gpt --blocksize 8"), 2, "did you mean --block_size?");
    check_refusal(run("train_gpt book.txt"), 2, "unexpected argument book.txt");
}

TEST_CASE("train_gpt refuses values that are no numbers, or out of range, with 2", "[fault][programs]") {
    check_refusal(run("train_gpt --lr 0,001"), 2, "--lr: \"0,001\" is not a number");
    check_refusal(run("train_gpt --lr nan"), 2, "--lr: nan is out of range; use at least 0");
    check_refusal(run("train_gpt --lr 1e999"), 2, "--lr: 1e999 is out of range; use at least 0");
    check_refusal(run("train_gpt --steps 99999999999999999999"), 2,
                  "--steps: 99999999999999999999 is out of range; use at least 1");
    check_refusal(run("train_gpt --steps 2.5"), 2, "--steps: \"2.5\" is not a whole number");
    check_refusal(run("train_gpt --steps ''"), 2, "--steps: \"\" is not a whole number");
    check_refusal(run("train_gpt --d_model 10 --num_heads 3"), 2,
                  "--d_model 10 is not divisible by --num_heads 3");
    check_refusal(run("train_gpt --lr 0.1 --min_lr 0.2"), 2, "--min_lr 0.2 is above --lr 0.1");
}

TEST_CASE("train_gpt refuses a text that is missing, a directory or unreadable with 1", "[fault][programs]") {
    const Scratch scratch;
    check_refusal(run(tiny + in(scratch) + "--text /no/such/file"), 1,
                  "cannot read /no/such/file: no such file");
    check_refusal(run(tiny + in(scratch) + "--text " + scratch.folder().string()), 1, "it is a directory");
    // Its first page is never there to be read, not even for root.
    check_refusal(run(tiny + in(scratch) + "--text /proc/self/mem"), 1,
                  "cannot read /proc/self/mem: reading failed");
    io::save_text(scratch / "secret", pangrams());
    std::filesystem::permissions(scratch / "secret", std::filesystem::perms::none);
    if (const auto by = without_privilege("a text that may not be read"))
        check_refusal(run(tiny + in(scratch) + "--text " + (scratch / "secret").string(), ":", *by), 1,
                      "cannot be opened");
}

TEST_CASE("train_gpt refuses a text that is empty or too short, naming the minimum", "[fault][programs]") {
    check_refusal(train_on(""), 1, "it is empty");
    check_refusal(train_on(std::string(80, 'a') + std::string(80, 'b')), 1,
                  "the text has 160 tokens; a block_size of 16 needs at least 161");
    CHECK(train_on(std::string(81, 'a') + std::string(80, 'b')).code == 0);
}

TEST_CASE("a learning rate of 0 is no reason to stop at the first step", "[programs]") {
    const Result result = train_on(std::string(100, 'a') + std::string(100, 'b'), "--steps 2 --lr 0");
    CHECK(result.code == 0);
    CHECK(contains(result.output, "gradients reach all 9 parameter tensors\n"));
}

TEST_CASE("train_gpt learns from a text of one character", "[fault][programs]") {
    const Result result = train_on(std::string(200, 'a'), "--steps 2 --max_new_tokens 5");
    CHECK(result.code == 0);
    // Its loss is 0, and so, rightly, is every gradient: this is said, and no error.
    CHECK(contains(result.output,
                   "gradients reach all 9 parameter tensors, and are exactly 0 for token_embedding.weight "));
    CHECK(contains(result.output, "aaaaaa\n"));
}

TEST_CASE("train_gpt refuses a prompt that the model cannot read before it trains", "[fault][programs]") {
    const Result result = train_on(std::string(200, 'a'), "--prompt aaß");
    check_refusal(result, 1, "--prompt: Characters: \"ß\" at position 2 of the text is not one of the 1");
    CHECK_FALSE(contains(result.output, "step"));
}

TEST_CASE("train_gpt refuses to go on from what is no checkpoint, or with another model", "[programs]") {
    const Scratch scratch;
    check_refusal(run("train_gpt --resume " + in(scratch)), 1, "model.safetensors: no such file");
    io::save_text(scratch / "model.safetensors", "1234567");
    check_refusal(run("train_gpt --sample-only " + in(scratch)), 1, "it has 7 bytes");
    io::save_text(scratch / "text", pangrams());
    REQUIRE(run(tiny + in(scratch) + "--steps 1 --text " + (scratch / "text").string()).code == 0);
    check_refusal(run("train_gpt --resume --num_layers 2 " + in(scratch)), 2,
                  "--num_layers 2; the checkpoint has 1");
}

#endif
