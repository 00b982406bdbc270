#include "train.h"

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <sstream>

#include "numbers.h"
#include "progress.h"

using namespace weft;

namespace {

constexpr std::int64_t evaluation_batches = 100;  // at most, of the held-out tenth

volatile std::sig_atomic_t interrupted = 0;

// While it lives, Ctrl-C asks the training to stop instead of ending the program.
class CatchInterrupt {
public:
    CatchInterrupt() : before_(std::signal(SIGINT, [](int) { interrupted = 1; })) {}
    ~CatchInterrupt() { std::signal(SIGINT, before_); }
    CatchInterrupt(const CatchInterrupt&) = delete;
    CatchInterrupt& operator=(const CatchInterrupt&) = delete;

private:
    void (*before_)(int);
};

// loss.csv: a line per step; those before first_step are kept when a run goes on.
class Losses {
public:
    Losses(const std::filesystem::path& path, std::int64_t first_step) : path_(path) {
        if (first_step == 0 || !std::filesystem::exists(path)) return;
        std::istringstream lines(io::load_text(path));
        std::string line;
        std::getline(lines, line);  // the names of the columns
        while (std::getline(lines, line) && std::atoll(line.c_str()) < first_step) text_ += line + "\n";
    }
    void add(std::int64_t step, double learning_rate, const std::string& loss, const std::string& held_out) {
        text_ += std::to_string(step) + "," + number_text(learning_rate) + "," + loss + "," + held_out + "\n";
    }
    void save() const { io::save_text(path_, text_); }

private:
    std::filesystem::path path_;
    std::string text_ = "step,learning_rate,loss,held_out_loss\n";
};

// Every parameter's gradient after the first step; a model that cannot learn is found before it is trained.
void check_gradients(const Run& run) {
    if (run.vocabulary.size() == 1) return;  // the loss is 0 and so, rightly, is every gradient
    const check::FlowReport flow = check::gradient_flow(run.model);
    if (!flow.passed()) throw Error("a gradient does not reach every parameter:\n" + flow.str());
    std::printf("gradients reach all %zu parameters\n", flow.rows.size());
}

void describe(const Run& run, const Corpus& corpus) {
    const auto whole = [](std::int64_t n) { return static_cast<long long>(n); };
    std::printf("text    %lld characters to learn from, %lld held out, %lld different\n",
                whole(corpus.training_size()), whole(corpus.held_out_size()), whole(run.vocabulary.size()));
    std::printf("model   %lld layers, %lld heads, d_model %lld, block_size %lld: %lld parameters\n",
                whole(run.options.layers), whole(run.options.heads), whole(run.options.d_model),
                whole(run.options.block_size), whole(run.model.parameter_count()));
}

}  // namespace

bool train(Run& run, const std::u32string& text) {
    const Options& o = run.options;
    Corpus corpus(run.vocabulary.ids_of(text, "the text"), o.block_size);
    const std::vector<Batch> held_out = corpus.held_out_batches(o.batch, evaluation_batches);
    describe(run, corpus);

    Losses losses(o.out / "loss.csv", run.step);
    Progress progress(run.step, o.steps, o.batch * o.block_size);
    double sum = 0;  // of the losses since the last evaluation
    std::int64_t count = 0;
    const auto keep = [&] {
        save(run);
        losses.save();
    };
    const auto evaluate = [&] {
        const double loss = run.evaluate(held_out);
        progress.evaluated(run.step, count > 0 ? sum / static_cast<double>(count) : loss, loss);
        sum = 0, count = 0;
        return loss;
    };

    const CatchInterrupt catching;
    while (run.step < o.steps && !interrupted) {
        std::string measured;
        if (run.step % o.eval_interval == 0) {
            measured = number_text(evaluate());
            if (run.step > 0) keep();
        }
        const std::int64_t step = run.step;
        const double learning_rate = run.learning_rate();
        const double loss = run.train(corpus.training_batch(step, o.batch, static_cast<std::uint64_t>(o.seed)));
        if (step == 0) check_gradients(run);
        losses.add(step, learning_rate, number_text(loss), measured);
        progress.step(run.step, loss);
        sum += loss, ++count;
    }
    if (!interrupted) losses.add(run.step, run.learning_rate(), "", number_text(evaluate()));
    keep();
    return !interrupted;
}
