// Runs that are killed: there is always a file to go on from.
#include <algorithm>
#include <chrono>
#include <cstring>
#include <random>
#include <thread>

#include "programs.h"
#include "sanitized.h"

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
