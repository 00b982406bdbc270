// training::Run without a program around it: stopped and resumed, on a disk that is full, and diverging.
#include <cmath>
#include <csignal>

#include "environment.h"
#include "programs.h"
#include "refusal.h"
#include "report_reader.h"
#include "weft/weft.h"

using namespace weft;
namespace fs = std::filesystem;

namespace {

const text::Characters& letters() {
    static const text::Characters tokenizer(pangrams());
    return tokenizer;
}

// A run of nine steps in a folder, from its checkpoint if it has one. The model has dropout, so a checkpoint
// has a generator to keep.
struct Small {
    lm::GPT model = [] {
        Rng rng(1);
        return lm::GPT({.vocab_size = letters().vocab_size(),
                        .block_size = 8,
                        .num_layers = 1,
                        .num_heads = 1,
                        .d_model = 8,
                        .dropout = 0.1},
                       rng);
    }();
    optim::AdamW optimizer{model, {}};
    training::Corpus corpus{letters().encode(pangrams()), {.block_size = 8, .batch_size = 2, .seed = 1}};
    training::RunState state;
    training::RunOptions options;
    double scale = 1;                          // of the loss
    std::function<void()> evaluating = [] {};  // called by each evaluation
    std::vector<double> evaluations;

    explicit Small(const fs::path& folder)
        : options{.folder = folder,
                  .rate = {.lr = 1e-2, .warmup_steps = 1, .steps = 9},
                  .eval_interval = 2,
                  .save_interval = 3,
                  .grad_clip = 1,
                  .quiet = true,
                  .metadata = {{"note", "mine"}},
                  .guessing = std::log(letters().vocab_size())} {
        if (!fs::exists(folder / "model.safetensors")) return;
        const auto last = training::Checkpoint::load(folder / "model.safetensors");
        state = {last.restore(model, optimizer), training::best_of(last)};
    }
    void go(const fs::path& folder) {
        training::RunReport report(folder / "report.html", {.steps = 9, .eval_interval = 2, .prompt = "a"},
                                   model, letters(), corpus.validation());
        training::Run run(model, optimizer, report, state, options);
        const auto loss_of = [&](const training::Batch& batch) {
            return cross_entropy(model(batch.inputs), batch.targets) * scale;
        };
        const auto backward = [&](std::int64_t step) {
            const Tensor loss = loss_of(corpus.training_batch(step));
            loss.backward();
            return loss.item();
        };
        run.train(backward, [&] {
            evaluating();
            evaluations.push_back(training::evaluate(corpus.validation_batches(), loss_of, options.stop));
            return evaluations.back();
        });
    }
    void go() { go(options.folder); }
};

std::string bytes_in(const Scratch& scratch) {
    std::string all;
    for (const char* name : {"model.safetensors", "best.safetensors", "loss.csv"})
        all += io::load_text(scratch / name);
    return all;
}

}  // namespace

TEST_CASE("a Run that is stopped and resumed leaves the bytes of one that never stopped", "[train]") {
    const Scratch whole, parts;
    Small(whole.folder()).go();
    {
        const training::Interrupt interrupt;
        Small first(parts.folder());
        first.options.stop = [&] { return interrupt.requested(); };
        first.evaluating = [&] {
            if (first.state.step == 4) std::raise(SIGINT);
        };
        first.go();
        CHECK(first.state.step == 4);
    }
    Small second(parts.folder());
    CHECK(second.state.step == 4);
    CHECK(second.state.best->second == 2);
    second.options.stop_at = 7;
    second.go();
    CHECK(training::is_done(second.state, second.options));
    Small third(parts.folder());
    CHECK(third.state.step == 7);
    CHECK_FALSE(training::is_done(third.state, third.options));
    third.go();
    CHECK(training::is_done(third.state, third.options));
    CHECK((bytes_in(whole) == bytes_in(parts)));
    const auto last = training::Checkpoint::load(whole / "model.safetensors");
    CHECK(last.meta("note") == "mine");
    CHECK(training::best_of(last)->second == last.number<std::int64_t>("best_step"));
    CHECK(training::History::load(whole / "loss.csv", 99).rows.size() == 10);
}

TEST_CASE("a Run says how far it is, from its first step or from where it goes on", "[train]") {
    const Scratch scratch;
    const auto said = [&](std::int64_t stop_at) {
        Small run(scratch.folder());
        run.options.quiet = false, run.options.stop_at = stop_at;
        return written_to(STDOUT_FILENO, [&] { run.go(); });
    };
    const std::string begun = said(6), ended = said(9);
    INFO(begun << ended);
    for (const char* step : {"step 0/9", "step 2/9", "step 4/9"}) CHECK(contains(begun, step));
    for (const char* step : {"step 6/9", "step 8/9", "step 9/9"}) CHECK(contains(ended, step));
    CHECK_FALSE(contains(ended, "step 4/9"));
    CHECK(contains(begun, "step 0/9  loss      -  validation "));
    const auto rows = training::History::load(scratch / "loss.csv", 99).rows;
    const double mean = (*rows.at(4).loss + *rows.at(5).loss) / 2;  // since the evaluation before
    CHECK(contains(ended, "step 6/9  loss " + to_chars(mean, std::chars_format::fixed, 4) + "  validation "));
}

TEST_CASE("a Run without a folder writes nothing and ends with the same weights", "[train]") {
    const Scratch scratch, empty;
    Small writing(scratch.folder()), silent(empty.folder());
    silent.options.folder.clear();
    std::vector<std::int64_t> steps;
    silent.options.at_step = [&](std::int64_t step) { steps.push_back(step); };
    writing.go();
    silent.go(empty.folder());
    CHECK(steps == std::vector<std::int64_t>{0, 1, 2, 3, 4, 5, 6, 7, 8});
    CHECK(silent.evaluations == writing.evaluations);
    CHECK(silent.state.best == writing.state.best);
    CHECK(fs::is_empty(empty.folder()));
}

TEST_CASE("a best checkpoint that a Run could not write does not count", "[train]") {
    const Scratch scratch, data;
    Small stopped(scratch.folder());
    stopped.options.stop_at = 1;
    stopped.go();
    fs::create_symlink(data / "gone" / "best", scratch / "best.safetensors");  // nothing can be written there
    Small failing(scratch.folder());
    failing.options.stop_at = 5;
    failing.go();
    CHECK_FALSE(failing.state.best);
    CHECK_FALSE(training::best_of(training::Checkpoint::load(scratch / "model.safetensors")));
    fs::create_directory(data / "gone");
    Small resumed(scratch.folder());
    resumed.options.stop_at = 7;
    resumed.go();
    CHECK(resumed.state.best->second == 6);
    CHECK(training::Checkpoint::load(scratch / "best.safetensors").meta("step") == "6");
}

TEST_CASE("a disk that is full costs a Run a warning on the way, and an error at the end", "[train]") {
    const Scratch scratch;
    Small run(scratch.folder());
    {
        const SmallDisk disk;
        CHECK_THROWS_AS(run.go(), IoError);
    }
    CHECK(run.state.step == 9);
    CHECK_FALSE(run.state.best);
    CHECK_FALSE(fs::exists(scratch / "model.safetensors"));
}

TEST_CASE("a Run's report names the processor and the system", "[train]") {
    const Scratch scratch;
    Small(scratch.folder()).go();
    const nlohmann::json report = nlohmann::json::parse(report_json(io::load_text(scratch / "report.html")));
    const auto facts = report["facts"].get<std::vector<std::pair<std::string, std::string>>>();
    const auto named = [&](const std::string& name) {
        return std::ranges::find(facts, name, &std::pair<std::string, std::string>::first)->second;
    };
    const auto read = [](const char* path) { return fs::exists(path) ? io::load_text(path) : ""; };
    const std::string processors = read("/proc/cpuinfo"), release = read("/etc/os-release"),
                      system = named("system");
    if (contains(processors, "model name"))
        CHECK(contains(processors, "model name\t: " + named("processor") + "\n"));
    if (contains(release, "PRETTY_NAME=\""))
        CHECK(contains(release, "PRETTY_NAME=\"" + system.substr(0, system.rfind(", ")) + "\"\n"));
}

TEST_CASE("a new Run keeps the checkpoint of an earlier one, or says why it cannot", "[train]") {
    const Scratch scratch;
    Small(scratch.folder()).go();
    const std::string before = io::load_text(scratch / "model.safetensors");
    const auto anew = [&] {
        const Scratch elsewhere;
        Small run(elsewhere.folder());
        run.options.folder = scratch.folder();
        run.options.stop_at = 1;
        run.go();
    };
    anew();
    CHECK((io::load_text(scratch / "previous.safetensors") == before));
    CHECK_FALSE(fs::exists(scratch / "best.safetensors"));
    fs::remove(scratch / "previous.safetensors");
    fs::create_directories(scratch / "previous.safetensors" / "in the way");
    refuses<IoError>("cannot keep " + (scratch / "model.safetensors").string(), anew);
}

TEST_CASE("a Run that diverges names the step, and a checkpoint that is sound", "[train]") {
    const Scratch scratch;
    Small first(scratch.folder());
    first.options.stop_at = 3;
    first.go();
    const std::string before = io::load_text(scratch / "model.safetensors");
    const auto diverge = [&](double guessing) {
        Small run(scratch.folder());
        run.scale = NAN;
        run.options.guessing = guessing;
        return message_of<Error>([&] { run.go(); });
    };
    CHECK(contains(diverge(9), "the training diverged at step 3: "));
    CHECK(contains(diverge(9),
                   "lower the learning rate, or raise warmup_steps; the checkpoint of step 3 has "
                   "diverged, too, so begin a new run"));
    CHECK((io::load_text(scratch / "model.safetensors") == before));

    Small sound(scratch.folder());
    sound.options.at_step = [&](std::int64_t step) {
        if (step == 5) sound.scale = NAN;
    };
    refuses<Error>("; its checkpoint continues from step 3", [&] { sound.go(); });
}
