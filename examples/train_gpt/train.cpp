#include "train.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "checkpoint.h"
#include "history.h"
#include "interrupt.h"
#include "progress.h"
#include "report.h"

using namespace weft;

namespace {

constexpr std::int64_t evaluation_batches = 100;  // at most, of the held-out tenth

std::filesystem::path losses_of(const Run& run) { return run.options.out / "loss.csv"; }

void say(const check::FlowReport& flow) {
    std::string zero;
    for (const check::FlowRow& row : flow.rows)
        if (!row.problem.empty()) zero += " " + row.name;
    if (zero.empty())
        std::printf("gradients reach all %zu parameters\n", flow.rows.size());
    else
        std::printf("gradients reach all %zu parameters, and are exactly 0 for%s\n", flow.rows.size(),
                    zero.c_str());
}

void describe(const Run& run, const Corpus& corpus) {
    const auto whole = [](std::int64_t n) { return static_cast<long long>(n); };
    std::printf("text    %lld characters to learn from, %lld held out, %lld different\n",
                whole(corpus.training_size()), whole(corpus.held_out_size()), whole(run.vocabulary.size()));
    std::printf("model   %lld layers, %lld heads, d_model %lld, block_size %lld: %lld parameters\n",
                whole(run.options.layers), whole(run.options.heads), whole(run.options.d_model),
                whole(run.options.block_size), whole(run.model.parameter_count()));
    std::fflush(stdout);
}

// What a training is made of besides the run itself.
class Training {
public:
    Training(Run& run, const std::u32string& text)
        : run_(run),
          o_(run.options),
          corpus_(run.vocabulary.ids_of(text, o_.text.empty() ? "Weft's own documents" : o_.text),
                  o_.block_size),
          held_out_(corpus_.held_out_batches(o_.batch, evaluation_batches)),
          history_(run.step > 0 ? load_history(losses_of(run), run.step) : History{}),
          report_(run, history_, text, corpus_),
          progress_(run.step, o_.steps, o_.batch * o_.block_size),
          saved_(run.step),
          anew_(run.step == 0) {
        describe(run_, corpus_);
        const std::uint64_t is = fingerprint(text);
        if (run_.step > 0 && run_.text != is)
            std::fprintf(stderr,
                         "train_gpt: warning: this is not the text that the checkpoint was trained on: the run "
                         "goes on with this one\n");
        run_.text = is;
    }

    Ended operator()() {
        const std::int64_t last = last_step(o_);
        std::optional<double> held_out;  // as measured before this step
        while (run_.step < last && !interrupted()) {
            held_out = run_.step % o_.eval_interval == 0 ? evaluate() : std::nullopt;
            if (run_.step % o_.save_interval == 0 && run_.step > saved_) try_to_save();
            if (!interrupted()) step(held_out);
        }
        if (run_.step == o_.steps && !interrupted())
            if ((held_out = evaluate())) add({run_.step, run_.learning_rate(), {}, held_out});
        save_all();
        if (interrupted()) return Ended::interrupted;
        return run_.step < o_.steps ? Ended::stopped : Ended::finished;
    }

private:
    Run& run_;
    const Options& o_;
    Corpus corpus_;
    std::vector<Batch> held_out_;
    History history_;
    RunReport report_;
    Progress progress_;
    std::int64_t saved_;  // the step of the last checkpoint
    bool anew_;           // and nothing was saved yet

    static bool interrupted() { return CatchInterrupt::signal() != 0; }

    void step(std::optional<double> held_out) {
        const std::int64_t at = run_.step;
        const double learning_rate = run_.learning_rate();
        try {
            double loss = 0;
            const auto train = [&] {
                loss = run_.train(corpus_.training_batch(at, o_.batch, static_cast<std::uint64_t>(o_.seed)),
                                  [this] { report_.gradients(run_); });
            };
            if (at == 0)  // a model that cannot learn is found before it is trained
                say(check::first_step(run_.model, learning_rate, train));
            else
                train();
            add({at, learning_rate, loss, held_out});
            progress_.step(run_.step, loss);
        } catch (const ValueError& error) {
            throw Error("the training diverged at step " + std::to_string(at) + ": " + error.what() +
                        "\nlower --lr, or raise --warmup" +
                        (saved_ > 0 ? "; --resume goes on from step " + std::to_string(saved_) : ""));
        }
    }

    void add(const Measured& row) {
        history_.rows.push_back(row);
        report_.measured(row);
    }

    std::optional<double> evaluate() {
        const std::optional<double> loss = run_.evaluate(held_out_, interrupted);
        if (!loss) return loss;
        report_.evaluated(run_);
        progress_.evaluated(run_.step, history_.mean_since_evaluation().value_or(*loss), *loss);
        if (run_.step > 0 && std::isfinite(*loss) && (!run_.best || *loss < run_.best->loss)) {
            run_.best = {*loss, run_.step};
            keep_trying([&] { make_room(), save_best(run_); });
        }
        return loss;
    }

    void make_room() {
        std::filesystem::create_directories(o_.out);
        if (anew_) set_aside(run_);
        anew_ = false;
    }
    // loss.csv first: were it to be the last that is written, its newest lines would be cut off when the run
    // goes on from the older checkpoint, and come again.
    void save_all() {
        make_room();
        save(history_, losses_of(run_));
        save(run_);
        saved_ = run_.step;
        report_.save(run_);
    }
    void try_to_save() {
        keep_trying([&] { save_all(); });
    }
    // A disk that is full now may have room at the next interval.
    template <class Save>
    void keep_trying(Save save) {
        try {
            save();
        } catch (const std::exception& error) {
            progress_.warn(std::string(error.what()) + "; the training goes on without");
        }
    }
};

}  // namespace

std::int64_t last_step(const Options& options) {
    return options.stop_at > 0 ? std::min(options.stop_at, options.steps) : options.steps;
}

bool is_done(const Run& run) {
    if (run.step != run.options.steps) return run.step >= last_step(run.options);
    // An interrupt may have come before the last evaluation, and a full disk before the report, which is saved
    // last.
    const auto written = [&](const char* name) {
        std::error_code missing;
        return std::filesystem::last_write_time(run.options.out / name, missing);
    };
    if (written("report.html") < written("model.safetensors")) return false;
    const History history = load_history(losses_of(run), run.step + 1);
    return !history.rows.empty() && history.rows.back().step == run.step;
}

Ended train(Run& run, const std::u32string& text) {
    const CatchInterrupt catching;
    return Training(run, text)();
}
