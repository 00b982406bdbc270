// What may go wrong in an evening's training: signals, a terminal that is gone, weights and settings that do
// not fit, a training that diverges.
#include <cmath>
#include <thread>

#include "environment.h"
#include "programs.h"
#include "weft/weft.h"

#ifdef WEFT_PROGRAMS

using namespace weft;
namespace fs = std::filesystem;

namespace {

// A folder with a checkpoint of the tiny model at step 2, and the text that it learned from.
struct Trained {
    Scratch scratch, data;
    std::string text = "--text " + (data / "text").string() + " ";
    Trained() {
        io::save_text(data / "text", pangrams());
        REQUIRE(run(tiny + text + out() + "--dropout 0.1 --steps 4 --stop_at 2").code == 0);
    }
    std::string out() const { return in(scratch); }
    fs::path model() const { return scratch / "model.safetensors"; }

    // The checkpoint written again after `change`.
    template <class Change>
    void rewrite(Change change) const {
        io::SafeTensors file = io::load_safetensors(model());
        change(file);
        io::save_safetensors(model(), file.tensors, file.metadata);
    }
    // And with one entry of its metadata changed: the old one.
    std::string change(const std::string& key, const std::string& value) const {
        std::string before;
        rewrite([&](io::SafeTensors& file) { before = std::exchange(file.metadata[key], value); });
        return before;
    }
};

void wait_for(const Running& running, const fs::path& log, const std::string& words) {
    while (!contains(io::load_text(log), words)) {
        INFO(io::load_text(log));
        REQUIRE_FALSE(running.ended());
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
}

}  // namespace

TEST_CASE("Ctrl-C and the other requests to end save, say how to go on, and end with 128 + the signal",
          "[fault][programs][train]") {
    const Scratch data;
    io::save_text(data / "text", pangrams());
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
        INFO("signal " << signal);
        const Scratch scratch;
        Running running(
            tiny + in(scratch) + "--steps 1000000 --eval_interval 5 --text " + (data / "text").string(),
            data / "log");
        wait_for(running, data / "log", "\nstep       5/");
        running.send(signal);
        CHECK(running.wait() == 128 + signal);
        const std::string log = io::load_text(data / "log");
        INFO(log);
        const std::string step = io::load_safetensors(scratch / "model.safetensors").meta("step");
        CHECK(contains(log, "interrupted after " + step + " of "));
        CHECK(io::load_text(scratch / "loss.csv").find("\n" + std::to_string(std::stoll(step) - 1) + ",") !=
              std::string::npos);
        CHECK(run("train_gpt --resume --max_new_tokens 5 --stop_at " + std::to_string(std::stoll(step) + 1) +
                  " " + in(scratch))
                  .code == 0);
    }
}

TEST_CASE("interrupted in an evaluation, a run does not wait for its end", "[fault][programs][train]") {
    const Scratch scratch, data;
    std::string text;
    for (int i = 0; i < 4000; ++i) text += pangrams();  // so that an evaluation takes its time
    io::save_text(data / "text", text.substr(0, 2'000'000));
    Running running(
        "train_gpt --num_layers 4 --num_heads 2 --d_model 64 --block_size 256 --batch_size 12 --text " +
            (data / "text").string() + " " + in(scratch),
        data / "log");
    wait_for(running, data / "log", "parameters\n");  // what is said before the first evaluation
    running.send(SIGINT);
    CHECK(running.wait() == 130);
    CHECK(io::load_safetensors(scratch / "model.safetensors").meta("step") == "0");
    CHECK(io::load_text(scratch / "loss.csv") == "step,learning_rate,loss,validation_loss\n");
}

TEST_CASE("a signal that is ignored stays ignored, as under nohup", "[fault][programs][train]") {
    const Trained trained;
    const Result result =
        run("train_gpt --resume --max_new_tokens 5 " + trained.out(), "trap '' HUP; kill -HUP $$");
    CHECK(result.code == 0);
    CHECK(contains(result.output, "step 4/4"));
}

TEST_CASE("a checkpoint of another architecture: every difference is listed, and nothing is changed",
          "[fault][programs][train]") {
    const Trained trained;
    const std::string before = io::load_text(trained.model());
    const Result other = run(
        "train_gpt --resume --num_layers 2 --num_heads 4 --d_model 32 --block_size 8 --dropout 0.2 --bias " +
        trained.out());
    check_refusal(other, 2, "the settings differ from the checkpoint's model:");
    for (const char* line : {"--num_layers 2; the checkpoint has 1", "--num_heads 4; the checkpoint has 2",
                             "--d_model 32; the checkpoint has 16", "--block_size 8; the checkpoint has 16",
                             "--dropout 0.2; the checkpoint has 0.1", "--bias true; the checkpoint has false",
                             "leave these flags out, or choose another --out"})
        CHECK(contains(other.output, line));
    CHECK(io::load_text(trained.model()) == before);
    // What makes the training, and not the model, may be another.
    CHECK(run("train_gpt --resume --lr 1e-4 --batch_size 3 --num_layers 1 --max_new_tokens 5 " + trained.out())
              .code == 0);
}

TEST_CASE("a checkpoint whose tensors do not fit its settings: all of them are listed",
          "[fault][programs][train]") {
    const Trained trained;
    trained.rewrite([](io::SafeTensors& file) {
        file.metadata["d_model"] = "20";
        file.metadata["num_layers"] = "2";
        file.tensors.emplace_back("stranger", zeros({3}));
    });
    const Result result = run("train_gpt --sample_only " + trained.out());
    check_refusal(result, 1,
                  "cannot continue from " + trained.model().string() + ": load_state_dict: the state does");
    for (const char* line : {"unexpected: stranger (3,)", "missing: blocks.1.attn.W_qkv.weight (60, 20)",
                             "token_embedding.weight: shape (31, 16), but the module's is (31, 20)",
                             "blocks.0.mlp.W_in.weight: shape (64, 16), but the module's is (80, 20)"})
        CHECK(contains(result.output, line));
}

TEST_CASE("a checkpoint that lacks something, or holds nonsense, is refused by its name",
          "[fault][programs][train]") {
    const Trained trained;
    const std::string before = io::load_text(trained.model());
    const auto why = [&](auto change) {
        trained.rewrite(change);
        const Result result = run("train_gpt --resume " + trained.out());
        CHECK(result.code == 1);
        CHECK(contains(result.output, "cannot continue from " + trained.model().string()));
        io::save_text(trained.model(), before);
        return result.output;
    };
    const auto without = [&](const std::string& key) {
        return why([&](io::SafeTensors& file) { REQUIRE(file.metadata.erase(key) == 1); });
    };
    const auto with = [&](const std::string& key, const std::string& value) {
        return why([&](io::SafeTensors& file) { file.metadata.at(key) = value; });
    };
    CHECK(contains(without("num_layers"), "it does not say its num_layers"));
    CHECK(contains(without("step"), "it does not say its step"));
    CHECK(contains(without("vocabulary"), "it does not say its vocabulary"));
    CHECK(contains(without("generator.drop.rng"), "it does not say its generator.drop.rng"));
    CHECK(contains(with("num_layers", "many"), "--num_layers: \"many\" is not a whole number"));
    CHECK(contains(with("step", "-1"), "its step: -1 is out of range; use at least 0"));
    CHECK(contains(with("generator.drop.rng", "17"),
                   "the state of the generator drop.rng: \"\" is not a whole number"));
    CHECK(contains(with("vocabulary", "ab"), "token_embedding.weight: shape (31, 16)"));
    CHECK(contains(why([](io::SafeTensors& file) {
                       std::erase_if(file.tensors, [](const auto& entry) {
                           return entry.first == "optimizer.norm.weight.exp_avg";
                       });
                   }),
                   "the state has no 'norm.weight.exp_avg'"));
}

TEST_CASE("a checkpoint that claims a larger model than it holds costs no memory for it",
          "[fault][programs][train]") {
    const Trained trained;
    if (sanitized) skip("AddressSanitizer takes terabytes of addresses: a damaged checkpoint within 3 GB");
    const auto refused = [&](const std::string& key, const std::string& value, const std::string& words) {
        const std::string before = trained.change(key, value);
        for (const std::string& program :
             {"train_gpt --resume " + trained.out(), "generate --model " + trained.scratch.folder().string()}) {
            const Result result =
                run(program, sanitized ? ":" : "export OPENBLAS_NUM_THREADS=1; ulimit -v 3000000");
            CHECK(result.code == 1);
            CHECK(contains(result.output, words));
            CHECK(result.output.size() < 4000);
        }
        trained.change(key, before);
    };
    refused("num_layers", "1000", "too few for 1000 layers");
    refused("d_model", "1000000", "shape (31, 16), but the module's is (31, 1000000)");
    refused("block_size", "1000000", "shape (16, 16), but the module's is (1000000, 16)");
}

TEST_CASE("what a checkpoint holds is cut and escaped in messages", "[fault][programs][train]") {
    const Trained trained;
    const std::string nasty = "\x1b[2J" + std::string(1'000'000, 'x');
    for (const char* key :
         {"num_layers", "step", "generator.drop.rng", "text_fingerprint", "text", "vocabulary", "lr", "bias"}) {
        INFO(key);
        const std::string before = trained.change(key, nasty);
        for (const char* program : {"train_gpt --resume ", "train_gpt --resume --num_layers 2 "}) {
            const Result result = run(program + trained.out());
            CHECK((result.code == 1 || result.code == 2));
            CHECK(result.output.size() < 4000);
            CHECK(result.output.find('\x1b') == std::string::npos);
        }
        trained.change(key, before);
    }
}

TEST_CASE("weights that are not finite are loaded, and named in a warning", "[fault][programs][train]") {
    const Trained trained;
    trained.rewrite([](io::SafeTensors& file) {
        for (auto& [name, tensor] : file.tensors) {
            NoGrad off;
            if (name == "norm.weight") tensor[3].fill_(INFINITY);
            if (name == "blocks.0.norm1.weight") tensor[5].fill_(NAN);
        }
    });
    const Result result = run("train_gpt --sample_only --max_new_tokens 0 --prompt T " + trained.out());
    CHECK(result.code == 0);
    CHECK(contains(result.output, "warning: " + trained.model().string() + ": norm.weight: inf at (3,)"));
    CHECK(contains(result.output, "blocks.0.norm1.weight: nan at (5,)"));
    CHECK(contains(result.output, "T\n"));
}

TEST_CASE("a training that diverges says at which step, and where to go on from", "[fault][programs][train]") {
    const Trained trained;
    trained.rewrite([](io::SafeTensors& file) {
        for (auto& [name, tensor] : file.tensors) {
            NoGrad off;
            if (name == "norm.weight") tensor.fill_(NAN);
        }
    });
    const std::string before = io::load_text(trained.model());
    const Result result = run("train_gpt --resume " + trained.out());
    check_refusal(result, 1, "the training diverged at step 2: ");
    CHECK(
        contains(result.output,
                 "lower --lr, or raise --warmup_steps; the checkpoint of step 2 has diverged, too, so begin a "
                 "new run"));
    CHECK(io::load_text(trained.model()) == before);

    // The weights grow by 10⁵ in each step until they overflow, and are saved on the way.
    const Trained sound;
    const std::string wild =
        "train_gpt --resume --steps 99 --lr 1e6 --min_lr 1e6 --warmup_steps 0 --grad_clip 0 ";
    check_refusal(run(wild + "--save_interval 99 " + sound.out()), 1, "the training diverged at step ");
    CHECK(contains(run(wild + "--save_interval 99 " + sound.out()).output, "; --resume continues from step 2"));
    CHECK(contains(run(wild + "--save_interval 1 " + sound.out()).output,
                   " has diverged, too, so begin a new run"));
}

TEST_CASE("a text that is not the checkpoint's costs a warning, and characters that it lacks an error",
          "[fault][programs][train]") {
    const Trained trained;
    const Result same = run("train_gpt --resume --max_new_tokens 0 " + trained.out());
    CHECK(same.code == 0);
    CHECK_FALSE(contains(same.output, "warning"));
    io::save_text(trained.data / "text", pangrams() + "The end.\n");
    const Result changed = run("train_gpt --resume --steps 5 --max_new_tokens 0 " + trained.out());
    CHECK(changed.code == 0);
    CHECK(contains(changed.output, "warning: the checkpoint was trained on another text"));
    io::save_text(trained.data / "text", pangrams() + "The end!\n");
    check_refusal(run("train_gpt --resume --steps 6 " + trained.out()), 1,
                  (trained.data / "text").string() +
                      ": Characters: \"!\" at position 3167 of the text is not one of the 31 known characters");
}

TEST_CASE("prompts that are empty, or of characters never seen", "[fault][programs][train]") {
    const Trained trained;
    const auto sampled = [&](const std::string& prompt) {
        return run("train_gpt --sample_only --max_new_tokens 30 --prompt " + prompt + " " + trained.out());
    };
    const Result empty = sampled("''");
    CHECK(empty.code == 0);
    CHECK(empty.output.starts_with("\n"));  // an empty one is a line break
    check_refusal(sampled("'no way?'"), 1,
                  "--prompt: Characters: \"?\" at position 6 of the text is not one of the 31");
    check_refusal(sampled("$(printf '\\377')"), 1,
                  "--prompt: Characters: the text is not UTF-8: byte 0xFF at offset 0");
}

TEST_CASE("a loss.csv that is damaged is refused by its line, and one that is gone begins again",
          "[fault][programs][train]") {
    const Trained trained;
    const std::string losses = io::load_text(trained.scratch / "loss.csv");
    for (const char* line : {"2,0.1,x,\n", "2,0.1,3\n", "two,0.1,3,\n", "\n"}) {
        io::save_text(trained.scratch / "loss.csv", losses + line);
        check_refusal(run("train_gpt --resume " + trained.out()), 1, "loss.csv: line 4 is \"");
    }
    fs::remove(trained.scratch / "loss.csv");
    CHECK(run("train_gpt --resume --max_new_tokens 0 " + trained.out()).code == 0);
    CHECK(
        io::load_text(trained.scratch / "loss.csv").starts_with("step,learning_rate,loss,validation_loss\n2,"));
}

#endif
