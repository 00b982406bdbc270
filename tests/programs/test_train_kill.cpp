// Runs that are killed, checkpoints that are cut, disks that are full: there is always a file to go on from.
#include <algorithm>
#include <chrono>
#include <cstring>
#include <random>
#include <thread>

#include "programs.h"

#ifdef WEFT_PROGRAMS

using namespace weft;
namespace fs = std::filesystem;

namespace {

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

TEST_CASE("killed at 100 random moments, a run leaves a file that loads, and loses no bit of its way",
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
    for (int i = 0; i < 100; ++i) {
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
    WARN("100 kills took the run to step " << step << "; " << while_saving << " of them left half a file");
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

TEST_CASE("a checkpoint cut at any length is refused, naming the file", "[fault][programs][train]") {
    const Scratch scratch;
    io::save_text(scratch / "text", std::string(81, 'a') + std::string(80, 'b'));
    REQUIRE(run("train_gpt --num_layers 1 --num_heads 1 --d_model 2 --block_size 2 --batch_size 2 --steps 1 "
                "--max_new_tokens 0 "
                "--text " +
                (scratch / "text").string() + " " + in(scratch))
                .code == 0);
    const fs::path path = scratch / "model.safetensors";
    REQUIRE(step_of(path) == 1);
    const auto size = static_cast<std::int64_t>(fs::file_size(path));
    std::int64_t refused = 0;
    for (std::int64_t length = size - 1; length >= 0; --length) {
        fs::resize_file(path, static_cast<std::uintmax_t>(length));
        try {
            io::load_safetensors(path);
        } catch (const IoError& error) {
            refused += std::string(error.what()).starts_with("cannot read " + path.string() + ": ") ? 1 : 0;
        }
        if (length == size - 1 || length == size / 2 || length == 7 || length == 0)
            check_refusal(run("train_gpt --resume " + in(scratch)), 1, "cannot read " + path.string());
    }
    CHECK(refused == size);
    WARN(size << " lengths of a checkpoint, " << refused << " refused");
}

TEST_CASE("a disk that is full costs a warning on the way, an error at the end, and no checkpoint",
          "[fault][programs][train]") {
    const Scratch scratch, data;
    io::save_text(data / "text", pangrams());
    REQUIRE(
        run(tiny + in(scratch) + "--steps 12 --save_interval 2 --stop_at 4 --text " + (data / "text").string())
            .code == 0);
    const std::string before = io::load_text(scratch / "model.safetensors");
    const Result full = run("train_gpt --resume " + in(scratch), "ulimit -f 8");  // 4 or 8 KiB of 50
    CHECK(full.code == 1);
    CHECK(contains(full.output, "train_gpt: warning: cannot write "));
    CHECK(contains(full.output,
                   "model.safetensors: could not write: File too large; training continues without it"));
    CHECK(contains(full.output, "step 12/12"));
    CHECK((io::load_text(scratch / "model.safetensors") == before));
    CHECK(files_in(scratch.folder(), ".part") == 0);
    const Result freed = run("train_gpt --resume " + in(scratch));
    CHECK(freed.code == 0);
    CHECK(step_of(scratch / "model.safetensors") == 12);
}

TEST_CASE("a best checkpoint that could not be written does not count, and the next evaluation writes one",
          "[programs][train]") {
    const Scratch scratch, data;
    io::save_text(data / "text", pangrams());
    REQUIRE(
        run(tiny + in(scratch) + "--steps 12 --eval_interval 2 --stop_at 1 --text " + (data / "text").string())
            .code == 0);
    fs::create_symlink(data / "gone" / "best", scratch / "best.safetensors");  // nothing can be written there
    const Result failed = run("train_gpt --resume --stop_at 5 " + in(scratch));
    CHECK(failed.code == 0);
    CHECK(contains(failed.output, "train_gpt: warning: cannot write "));
    CHECK_FALSE(io::load_safetensors(scratch / "model.safetensors").metadata.contains("best_step"));
    fs::create_directory(data / "gone");
    CHECK(run("train_gpt --resume --stop_at 7 " + in(scratch)).code == 0);
    CHECK(io::load_safetensors(scratch / "model.safetensors").meta("best_step") == "6");
    CHECK(step_of(scratch / "best.safetensors") == 6);
}

#endif
