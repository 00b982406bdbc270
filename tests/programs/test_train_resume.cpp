// A run that goes on from a checkpoint is the run that never stopped, to the bit.
// Runs that are killed: there is always a file to go on from.
#include <algorithm>
#include <chrono>
#include <cstring>
#include <random>
#include <thread>

#include "environment.h"
#include "golden/golden.h"
#include "programs.h"
#include "weft/weft.h"

#ifdef WEFT_PROGRAMS

using namespace weft;
namespace fs = std::filesystem;

namespace {

constexpr int steps = 24;

// Two blocks with dropout and biases; warm-up and cosine, so that every step has a learning rate of its own;
// evaluations every 8 steps; the corpus is passed through more than once.
const std::string common =
    "train_gpt --num_layers 2 --num_heads 2 --d_model 16 --block_size 16 --batch_size 12 --max_new_tokens 40 "
    "--dropout 0.1 --bias "
    "--lr 1e-2 --warmup_steps 5 --steps " +
    std::to_string(steps) + " --eval_interval 8 --save_interval 8 ";

struct Outcome {
    std::string model, best, losses, sample;
};

// What a folder holds after the last step, and what the program wrote at its end.
Outcome outcome(const Scratch& scratch, const Result& last) {
    const auto sample = last.output.find("\n\n");
    REQUIRE(sample != std::string::npos);
    return {io::load_text(scratch / "model.safetensors"), io::load_text(scratch / "best.safetensors"),
            io::load_text(scratch / "loss.csv"), last.output.substr(sample)};
}

// The same, byte for byte: weights, the optimiser's state, generators, best loss, every loss on the way.
void check_equal(const Outcome& a, const Outcome& b) {
    CHECK((a.model == b.model));
    CHECK((a.best == b.best));
    CHECK(a.losses == b.losses);
    CHECK(a.sample == b.sample);
}

Outcome uninterrupted(const std::string& text) {
    const Scratch scratch;
    const Result result = run(common + text + in(scratch));
    REQUIRE(result.code == 0);
    return outcome(scratch, result);
}

std::int64_t files_in(const fs::path& folder, const std::string& ending) {
    return std::count_if(fs::directory_iterator(folder), {}, [&](const fs::directory_entry& entry) {
        return entry.path().string().ends_with(ending);
    });
}

std::int64_t step_of(const fs::path& checkpoint) {
    return std::stoll(io::load_safetensors(checkpoint).meta("step"));
}

using Clock = std::chrono::steady_clock;

}  // namespace

TEST_CASE("a run goes on in the precision that it began in, to the bit, or says that it does not",
          "[fault][programs][train]") {
    const Scratch data, whole, parts, other;
    io::save_text(data / "text", pangrams());
    const std::string medium = common + "--precision medium --text " + (data / "text").string() + " ";
    const Outcome expected = outcome(whole, run(medium + in(whole)));
    REQUIRE(run(medium + in(parts) + "--stop_at 9").code == 0);
    REQUIRE(run(medium + in(other) + "--stop_at 9").code == 0);
    const std::string go_on = "train_gpt --resume --max_new_tokens 40 ";
    const Result same = run(go_on + in(parts)), changed = run(go_on + "--precision highest " + in(other));
    const std::string warning = "was trained with --precision medium; with highest";
    CHECK_FALSE(contains(same.output, warning));
    check_equal(outcome(parts, same), expected);
    CHECK(contains(changed.output, warning));
    CHECK(changed.code == 0);
    CHECK(io::load_text(other / "loss.csv") != expected.losses);
}

TEST_CASE("a run stopped and resumed at every step ends with the bytes of one that never stopped",
          "[fault][programs][train]") {
    const Scratch data, scratch;
    io::save_text(data / "text", pangrams());
    const std::string text = "--text " + (data / "text").string() + " ";
    const Outcome whole = uninterrupted(text);
    REQUIRE(run(common + text + in(scratch) + "--stop_at 1").code == 0);
    for (int at = 2; at < steps; ++at)  // at other numbers of threads, too
        REQUIRE(run("train_gpt --resume --threads " + std::to_string(at % 3 + 1) + " --stop_at " +
                    std::to_string(at) + " " + in(scratch))
                    .code == 0);
    const Result last = run("train_gpt --resume --max_new_tokens 40 " + in(scratch));
    REQUIRE(last.code == 0);
    check_equal(outcome(scratch, last), whole);
}

TEST_CASE("a checkpoint holds weights, the optimiser's state, settings, generators, step and best loss",
          "[programs][train]") {
    const Scratch data, scratch;
    io::save_text(data / "text", pangrams());
    REQUIRE(run(common + "--text " + (data / "text").string() + " --stop_at 20 " + in(scratch)).code == 0);
    const io::SafeTensors saved = io::load_safetensors(scratch / "model.safetensors");
    CHECK(saved.meta("step") == "20");
    CHECK(saved.meta("best_step") == "16");
    CHECK(saved.meta("steps") == std::to_string(steps));
    CHECK(saved.meta("warmup_steps") == "5");
    CHECK(saved.at("optimizer.step").to_vector<std::int64_t>() == std::vector<std::int64_t>{20});
    CHECK(sum(abs(saved.at("optimizer.blocks.1.norm1.weight.exp_avg"))).item() > 0);
    int drawn = 0;  // generators that have moved on from their beginning
    for (const auto& [key, value] : saved.metadata)
        drawn += key.starts_with("generator.") && !value.ends_with(" 0") ? 1 : 0;
    CHECK(drawn >= 3);

    // The best weights are those that were evaluated before step 16: the loss of that line of loss.csv.
    const io::SafeTensors best = io::load_safetensors(scratch / "best.safetensors");
    CHECK(best.meta("step") == "16");
    CHECK_FALSE(best.has("optimizer.step"));
    CHECK_FALSE(same_bits(best.at("token_embedding.weight"), saved.at("token_embedding.weight")));
    CHECK(contains(io::load_text(scratch / "loss.csv"), "," + best.meta("best_loss") + "\n"));
    const Result a = run("train_gpt --sample_only --best --max_new_tokens 40 --temperature 0 " + in(scratch));
    CHECK(a.code == 0);
    std::filesystem::remove(scratch / "model.safetensors");
    CHECK(run("train_gpt --sample_only --best --max_new_tokens 40 --temperature 0 " + in(scratch)).output ==
          a.output);
    CHECK(run("train_gpt --best " + in(scratch)).code == 2);
}

TEST_CASE("killed at random moments, a run leaves a file that loads, and loses no bit of its way",
          "[fault][programs][train]") {
    const Scratch scratch, whole, data;
    io::save_text(data / "text", pangrams());
    const std::string settings =
        tiny + "--dropout 0.1 --text " + (data / "text").string() + " --steps 1000000 --eval_interval 5 ";
    const std::string go_on = "train_gpt --resume --save_interval 1 " + in(scratch);
    const fs::path checkpoint = scratch / "model.safetensors";
    REQUIRE(run(settings + in(scratch) + "--stop_at 1").code == 0);

    // How long a start and some steps take here, so that the moments fall on all of it; when nothing disturbs
    // them.
    std::chrono::duration<double> life(1e9);
    for (const int last : {4, 7, 10}) {
        const Clock::time_point start = Clock::now();
        REQUIRE(run(go_on + "--stop_at " + std::to_string(last)).code == 0);
        life = std::min<std::chrono::duration<double>>(life, 2 * (Clock::now() - start));
    }

    std::mt19937 random(94);
    std::uniform_real_distribution<double> part(0, 1);
    std::int64_t step = 10, while_saving = 0;
    const int kills = long_run() ? 100 : 40;
    for (int i = 0; i < kills; ++i) {
        INFO("kill " << i << " of a run at step " << step);
        Running running(go_on, data / "log");
        std::this_thread::sleep_for(part(random) * life);
        running.send(SIGKILL);
        CHECK(running.wait() == 128 + SIGKILL);
        std::int64_t now = -1;
        CHECK_NOTHROW(now = step_of(checkpoint));
        CHECK(now >= step);
        step = now;
        while_saving += files_in(scratch.folder(), ".part") > 0 ? 1 : 0;
    }
    WARN(kills << " kills took the run to step " << step << "; " << while_saving
               << " of them left half a file");
    CHECK(step > 10);
    CHECK(while_saving > 0);

    // And from there it is the run that was never killed. What the killed ones left is gone.
    const std::string end = "--save_interval 1000000 --stop_at " + std::to_string(step + 3) + " ";
    REQUIRE(run("train_gpt --resume " + end + in(scratch)).code == 0);
    REQUIRE(run(settings + end + in(whole)).code == 0);
    CHECK((io::load_text(checkpoint) == io::load_text(whole / "model.safetensors")));
    CHECK((io::load_text(scratch / "loss.csv") == io::load_text(whole / "loss.csv")));
    CHECK(files_in(scratch.folder(), ".part") == 0);
}

#endif
