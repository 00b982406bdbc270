// weft::dist under mpirun: the same bits at any number of processes, and what happens when one fails.
#ifdef WEFT_PROCESSES
#include <unistd.h>

#include "places.h"
#include "programs.h"

namespace {

namespace fs = std::filesystem;

// Whether mpirun is Open MPI's, which asks processes to end. MPICH's kills them, so they say nothing, and may
// return 0 when one has left by _Exit(0).
bool asks() {
    static const bool found = contains(shell(places::mpirun() + " --version").output, "Open");
    return found;
}

// Runs a command of the shell by mpirun with so many processes. On a busy machine a process that is well may be
// silent for longer than the five seconds after which a run is ended, so the tests wait for a minute.
Result mpirun(int P, const std::string& command, const std::string& variables = "") {
    return shell(
        "OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 "
        "ASAN_OPTIONS=detect_leaks=0 WEFT_PATIENCE=60 " +
        variables + " timeout --foreground 600 " + places::mpirun() + (asks() ? " --oversubscribe" : "") +
        " -n " + std::to_string(P) + " " + command + " 2>&1");
}
// In mpirun's message that a process was killed.
std::string killed(int rank) { return asks() ? "rank " + std::to_string(rank) : "Killed (signal 9)"; }
Result processes(int P, const std::string& scenario, const std::string& variables = "") {
    return mpirun(P, places::processes() + " " + scenario, variables);
}

// The line of the output that begins with these words.
std::string line_with(const std::string& output, const std::string& words) {
    const std::size_t at = output.find(words);
    return at == std::string::npos ? "no " + words : output.substr(at, output.find_first_of("\r\n", at) - at);
}

int count(const std::string& text, const std::string& words) {
    int found = 0;
    for (std::size_t at = text.find(words); at != std::string::npos; at = text.find(words, at + 1)) ++found;
    return found;
}

std::string file(const fs::path& path) { return weft::io::load_text(path); }

}  // namespace

TEST_CASE("collective operations between 1 to 5 processes", "[mpi]") {
    const char* sums[] = {"0.1", "0.3", "0.6", "1", "1.5"};  // float32 sums in the tree of the ranks
    for (int P = 1; P <= 5; ++P) {
        const Result result = processes(P, "collectives");
        CHECK(result.code == 0);
        float sum = 0;
        CHECK(std::sscanf(line_with(result.output, "sum ").c_str(), "sum %f", &sum) == 1);
        CHECK(sum == Approx(std::atof(sums[P - 1])).epsilon(1e-6));
    }
}

TEST_CASE("training has the same bits at 1 to 6 processes and without mpirun", "[mpi]") {
    const Result alone = shell(places::processes() + " train");
    REQUIRE(alone.code == 0);
    const std::string bits = line_with(alone.output, "bits ");
    std::size_t digits = 0;
    REQUIRE(std::sscanf(bits.c_str(), "bits %*x of %zu digits", &digits) == 1);
    REQUIRE(digits > 1000);
    for (const int P : {1, 2, 3, 4, 5, 6}) {
        const Result result = processes(P, "train");
        CHECK(result.code == 0);
        CHECK(line_with(result.output, "bits ") == bits);
    }
    // and other bits with other grains, so the comparison can fail
    CHECK(line_with(shell(places::processes() + " train3").output, "bits ") != bits);
}

TEST_CASE("evaluation has the bits of one process", "[mpi]") {
    for (const int P : {2, 3, 5}) {
        const Result result = processes(P, "evaluate");
        CHECK(result.code == 0);
        CHECK(count(result.output, "loss ") == 1);
    }
}

TEST_CASE("a process that may use few of its host's processors says so", "[mpi]") {
    if (::sysconf(_SC_NPROCESSORS_ONLN) < 2 || std::system("command -v taskset > /dev/null") != 0)
        return skip("one processor, or no taskset: a process bound to few processors");
    const Result result = mpirun(
        1, "env -u OMP_NUM_THREADS -u WEFT_NUM_THREADS taskset -c 0 " + places::processes() + " collectives");
    CHECK(result.code == 0);
    CHECK(contains(result.output, "may use only 1 of its host's processors; mpirun --bind-to none"));
}

TEST_CASE("processes that differ are refused, with both sides", "[mpi]") {
    const auto refused = [](int P, const std::string& scenario, const std::vector<std::string>& words) {
        INFO(scenario);
        const Result result = processes(P, scenario);
        CHECK(result.code != 0);
        for (const std::string& word : words) CHECK(contains(result.output, word));
    };
    refused(2, "seed 1", {"process 0 on ", "process 1 on ", "has parameter second.bias", "the same seed"});
    refused(3, "sizes 2", {"process 2 on", "has parameter second.bias (1,) float32, values "});
    refused(2, "parameter 1", {"has parameter extra (1,) float32", "has generator drop.rng"});
    refused(2, "grains 1", {"grains 8", "grains 6"});
    refused(3, "few", {"3 processes have only 2 grains"});
    refused(3, "shape 1",
            {"process 0 on", "all_gather of (2,) float32", "process 1 on", "all_gather of (3,) float32"});
    refused(2, "dtype 1", {"(2,) float32", "(2,) float64"});
    refused(3, "call 2", {"all_gather of (2,) float32; process 2 on", "barrier; all make the same ones"});
    refused(2, "text 1",
            {"the processes differ in the text: process 0", "has Persuasion; process 1", "has Emma"});
    refused(2, "return 1", {"barrier", "the end of the group"});
    refused(2, "twice", {"this process has had a group"});
}

TEST_CASE("kernels that round in another way are refused", "[mpi]") {
    const Result result = mpirun(2,
                                 "sh -c 'test $OMPI_COMM_WORLD_RANK$PMI_RANK = 1 && export "
                                 "OPENBLAS_CORETYPE=Nehalem; exec " +
                                     places::processes() + " collectives'");
    if (count(result.output, "sum ") == 1)  // a processor without other kernels, or no OpenBLAS
        return skip("this processor has Nehalem's rounding: other kernels on one of the processes");
    CHECK(result.code != 0);
    CHECK(contains(result.output, "the processes differ in the arithmetic: process 0 on"));
}

TEST_CASE("where one process ends, all end, and say who and where", "[mpi]") {
    for (const char* scenario : {"throw", "exit", "kill", "stop"})
        for (const int odd : {0, 2}) {
            if (scenario == std::string("exit") && !asks()) {
                skip("MPICH may return 0: a process that leaves by _Exit(0)");
                continue;
            }
            INFO(scenario << " " << odd);
            // mpirun gives those that are asked to end so many seconds, always all of them, to say so.
            const Result result = processes(3, std::string(scenario) + " " + std::to_string(odd),
                                            "WEFT_PATIENCE=2 OMPI_MCA_odls_base_sigkill_timeout=5");
            INFO(result.output);
            CHECK(result.code != 0);
            CHECK(result.code != 124);
            const std::string rank = std::to_string(odd);
            if (scenario == std::string("throw")) {
                CHECK(contains(result.output, "process " + rank + " on "));
                CHECK(contains(result.output, "fails at step 7, in the program's own work"));
                CHECK(contains(result.output, "what a program throws"));
            } else if (scenario == std::string("stop")) {
                CHECK(contains(result.output, "process " + rank + " on "));
                CHECK(contains(result.output, "has been silent for 2 s, so all processes end; process "));
                CHECK(contains(result.output, "is at step 7, in "));
            } else {
                CHECK(contains(result.output, killed(odd)));
            }
            if (asks()) CHECK(count(result.output, "was asked to end at step 7, in ") >= 1);
        }
}

TEST_CASE("a process that never makes its group is not waited for", "[mpi]") {
    const Result result = mpirun(2,
                                 "sh -c 'test $OMPI_COMM_WORLD_RANK$PMI_RANK = 1 && kill -STOP $$; exec " +
                                     places::processes() + " collectives'",
                                 "WEFT_PATIENCE=5");
    CHECK(result.code != 0);
    CHECK(result.code != 124);
    CHECK(contains(result.output, "has waited 8 s for the others to make their groups"));
}

TEST_CASE("a process that computes for longer than the patience is not taken for dead", "[mpi]") {
    for (const char* odd : {"0", "1"}) {
        const Result result = processes(2, std::string("slow ") + odd, "WEFT_PATIENCE=2");
        CHECK(result.code == 0);
        CHECK(contains(result.output, "patient"));
    }
    const Result result = processes(2, "collectives", "WEFT_PATIENCE=soon");
    CHECK(result.code != 0);
    CHECK(contains(result.output, "WEFT_PATIENCE, in seconds: \"soon\" is not a number"));
}

TEST_CASE("the example prints the same numbers on one process and on four", "[mpi]") {
    const Result alone = shell(places::programs() + "/data_parallel 2>&1");
    CHECK(alone.code == 0);
    CHECK(contains(alone.output, "step 300  loss 0.0"));
    double right = 0;
    CHECK(std::sscanf(alone.output.substr(alone.output.rfind('\n', alone.output.size() - 2)).c_str(), " %lf %%",
                      &right) == 1);
    CHECK(right >= 99);
    const Result four = mpirun(4, places::programs() + "/data_parallel");
    std::string lines = four.output;
    lines.erase(std::remove(lines.begin(), lines.end(), '\r'), lines.end());  // a terminal's
    CHECK(contains(lines, alone.output));
    CHECK(count(lines, "step 300") == 1);
}

TEST_CASE("train_gpt writes the same files at 1 to 5 processes, and goes on with another number of them",
          "[mpi]") {
    const Scratch scratch;
    weft::io::save_text(scratch / "text.txt", pangrams());
    const std::string program = places::programs() + "/" + tiny + "--text " + (scratch / "text.txt").string() +
                                " --batch_size 8 --micro_batch 1 --dropout 0.1 --steps 12 --eval_interval 4 "
                                "--save_interval 4 --threads 1 ";
    const auto out = [&](const std::string& name) { return " --out " + (scratch / name).string() + " "; };
    const auto same = [&](const std::string& name) {
        INFO(name);
        for (const char* written : {"model.safetensors", "best.safetensors", "loss.csv"})
            CHECK(file(scratch / name / written) == file(scratch / "alone" / written));
    };
    REQUIRE(shell(program + out("alone") + "2>&1").code == 0);
    for (const int P : {1, 2, 3, 5}) {
        const std::string name = std::to_string(P);
        const Result result = mpirun(P, program + out(name));
        REQUIRE(result.code == 0);
        CHECK(count(result.output, "title ") == 1);      // process 0 alone prints
        CHECK(count(result.output, "step 12/12") == 1);  // no bar is written
        same(name);
    }
    REQUIRE(mpirun(4, program + out("moved") + "--stop_at 5").code == 0);
    REQUIRE(mpirun(3, program + out("moved") + "--resume --stop_at 7").code == 0);
    REQUIRE(shell(program + out("moved") + "--resume 2>&1").code == 0);
    same("moved");

    const Result coarser = mpirun(2, program + out("moved") + "--resume --steps 14 --micro_batch 2");
    CHECK(coarser.code == 0);
    CHECK(count(coarser.output, "was trained with --micro_batch 1; with 2") == 1);
    const Result few = mpirun(3, program + out("few") + "--micro_batch 4");
    CHECK(few.code != 0);
    CHECK(contains(few.output, "3 processes have only 2 grains to compute"));
    const std::string other = "sh -c 'test $OMPI_COMM_WORLD_RANK$PMI_RANK = 1 && more=\"";
    const Result seeds = mpirun(2, other + "--seed 2\"; exec " + program + out("seeds") + "$more'");
    CHECK(seeds.code != 0);
    CHECK(contains(seeds.output, "the processes differ in --seed: process 0"));
    weft::io::save_text(scratch / "other.txt", pangrams() + "!");
    const Result texts = mpirun(2, other + "--text " + (scratch / "other.txt").string() + "\"; exec " +
                                       program + out("texts") + "$more'");
    CHECK(texts.code != 0);
    CHECK(contains(texts.output, "the processes differ in the text"));
    const Result sample =
        mpirun(2, places::programs() + "/generate --prompt The --model " + (scratch / "2").string());
    CHECK(sample.code == 0);
    CHECK(count(sample.output, "The") == 1);
}

TEST_CASE("train_gpt goes on after a kill and a Ctrl-C with other numbers of processes, to the same bytes",
          "[mpi]") {
    const Scratch scratch;
    weft::io::save_text(scratch / "text.txt", pangrams());
    const std::string program = places::programs() + "/" + tiny + "--text " + (scratch / "text.txt").string() +
                                " --batch_size 8 --micro_batch 1 --dropout 0.1 --steps 100000 "
                                "--eval_interval 20 --save_interval 5 --threads 1 --out ";
    const std::string alone = (scratch / "alone").string(), moved = (scratch / "moved").string();
    const std::string pid = (scratch / "pid").string();
    // Runs `program` on P processes; process 1 gives a signal once the run has reached a step.
    const auto signalled = [&](int P, int step, const std::string& signal, const std::string& more) {
        const Result result =
            mpirun(P,
                   "sh -c 'test $OMPI_COMM_WORLD_RANK$PMI_RANK = 1 && { until grep -q ^" +
                       std::to_string(step) + ", " + moved + "/loss.csv; do sleep 0.01; done; kill " + signal +
                       "; } 2>/dev/null & exec " + program + moved + more + "'",
                   "sh -c 'echo $$ > " + pid + "; exec \"$0\" \"$@\"'");
        CHECK(result.code != 0);
        return result;
    };
    CHECK(contains(signalled(4, 5, "-9 $$", "").output, killed(1)));
    const Result stopped = signalled(3, 60, "-INT $(cat " + pid + ")", " --resume");
    CHECK(count(stopped.output, "was asked to end at step ") == (asks() ? 3 : 0));
    const std::string losses = file(fs::path(moved) / "loss.csv");
    const int last = std::stoi(losses.substr(losses.rfind('\n', losses.size() - 2) + 1));
    const std::string stop = " --stop_at " + std::to_string(last / 20 * 20 + 30) + " 2>&1";
    REQUIRE(shell(program + moved + " --resume" + stop).code == 0);
    REQUIRE(shell(program + alone + stop).code == 0);
    for (const char* written : {"model.safetensors", "best.safetensors", "loss.csv"})
        CHECK(file(fs::path(moved) / written) == file(fs::path(alone) / written));
}
#endif
