// The loss over batches, by one process or by several.
#pragma once

#include <cmath>
#include <cstdio>
#include <functional>
#include <optional>
#include <vector>

#include "weft/dist/data_parallel.h"
#include "weft/optim/optimizer.h"
#include "weft/optim/schedules.h"
#include "weft/training/checkpoint.h"
#include "weft/training/data.h"
#include "weft/training/progress.h"
#include "weft/training/report.h"

namespace weft::training {

// The mean loss per token, Σ nᵢ lossᵢ / Σ nᵢ over batches of nᵢ targets, in evaluation mode and under NoGrad.
// NaN if stop() becomes true before the end. ValueError if there is no batch.
//
//     const double loss = training::evaluate(corpus.validation_batches(), [&](const training::Batch& batch) {
//         return cross_entropy(model(batch.inputs), batch.targets);
//     });
double evaluate(const std::vector<Batch>& batches, const std::function<Tensor(const Batch&)>& loss_of,
                const std::function<bool()>& stop = {});

// The same number by the processes of a group: process r computes the losses of the batches r, r + P, …, and
// each gets the mean. `stop` is not asked in a group of several. Throws what evaluate throws, and an Error if
// the processes have different numbers of batches.
//
//     const auto loss_of = [&](const training::Batch& batch) {
//         return cross_entropy(model(batch.inputs), batch.targets);
//     };
//     const double loss = training::evaluate(corpus.validation_batches(), loss_of, group);
double evaluate(const std::vector<Batch>& batches, const std::function<Tensor(const Batch&)>& loss_of,
                dist::Group& group, const std::function<bool()>& stop = {});

// The loop that minimises a loss.

// Options of minimise.
//
//     const training::MinimiseOptions options{.print_every = 0};
//     const Tensor w = ones({1}).requires_grad_();
//     optim::SGD optimizer({w}, {.lr = 0.1});
//     const auto square = [&] { return sum(w * w); };
//     const double last = training::minimise(optimizer, 30, square, options);  // last < 1e-4
struct MinimiseOptions {
    std::optional<optim::CosineOptions> schedule = {};  // schedule of the learning rate; constant without one
    std::int64_t print_every = 50;                      // prints every so many steps; 0 prints nothing
};

// Repeats zero_grad, loss_of() → (), backward and a step of the optimiser `steps` times; returns the last loss.
//
//     optim::AdamW optimizer(model, {.lr = 1e-2});
//     training::minimise(optimizer, 200, [&] { return cross_entropy(model(x), target); });
//
// This prints "step   0  loss 1.0986" and every 50th step after it. Throws what loss_of, backward and the
// optimiser throw.
template <class Optimizer, class Loss>
double minimise(Optimizer& optimizer, std::int64_t steps, Loss loss_of, const MinimiseOptions& options = {}) {
    double last = 0;
    for (std::int64_t step = 0; step < steps; ++step) {
        if (options.schedule) optimizer.set_lr(optim::cosine_lr(step, *options.schedule));
        optimizer.zero_grad();
        const Tensor loss = loss_of();
        loss.backward();
        optimizer.step();
        last = loss.item();
        if (options.print_every > 0 && step % options.print_every == 0)
            std::printf("step %3d  loss %.4f\n", static_cast<int>(step), last);
    }
    return last;
}

// The loop of a program that trains a language model, with everything around its steps.

// How far a run is: what its checkpoint says besides model and optimiser.
struct RunState {
    std::int64_t step = 0;                                     // steps made
    std::optional<std::pair<double, std::int64_t>> best = {};  // the lowest validation loss saved, and its step
};

// Options of Run.
struct RunOptions {
    // Gets model.safetensors, best.safetensors and loss.csv, and is where the report belongs. Empty: the run
    // writes nothing, as where another process of its group writes.
    std::filesystem::path folder = {};
    optim::CosineOptions rate = {};  // the learning rate of each step, and the number of steps
    std::int64_t stop_at = 0;        // saves and stops at this step; 0: at rate.steps
    std::int64_t eval_interval = 250, save_interval = 250;  // in steps
    std::int64_t tokens_per_step = 0;                       // for the speed
    double grad_clip = 0;                                   // as for clip_grad_norm; 0: no clipping
    bool quiet = false;                                     // print nothing but warnings
    std::function<bool()> stop = {};                 // saves and stops once it is true, as Interrupt::requested
    std::function<void(std::int64_t)> at_step = {};  // called as a step begins, as Group::at_step
    io::Metadata metadata = {};                      // of the checkpoints, beside "best_loss" and "best_step"
    double guessing = INFINITY;  // the loss of guessing, ln V; a run 1 above it has diverged
    std::string remedy = "lower the learning rate, or raise warmup_steps";  // what the error of a run that
    std::string resume = "its checkpoint";  // diverged advises, and what "continues from step" so many
};
// Whether nothing is left to do. A run at its last step may still lack the last evaluation, or the report.
bool is_done(const RunState& state, const RunOptions& options);
// The lowest validation loss and its step, as a Run's checkpoint says; IoError if they are malformed.
std::optional<std::pair<double, std::int64_t>> best_of(const Checkpoint& last);

// Trains with evaluations, checkpoints and a report. A run that was stopped and resumed has the bits of one
// that never stopped.
//
//     const optim::CosineOptions rate{.lr = 1e-2, .steps = 6};
//     const training::RunOptions options{.folder = folder, .rate = rate, .eval_interval = 2};
//     training::RunState state;
//     if (resumes) {
//         const auto last = training::Checkpoint::load(folder / "model.safetensors");
//         state = {last.restore(model, optimizer), training::best_of(last)};
//     }
//     if (training::is_done(state, options)) return;
//     training::RunReport report(folder / "report.html", {.prompt = "a"}, model, tokenizer, validation);
//     training::Run run(model, optimizer, report, state, options);
//     const auto backward = [&](std::int64_t step) {
//         const Tensor loss = loss_of(corpus.training_batch(step));
//         loss.backward();
//         return loss.item();
//     };
//     run.train(backward, [&] { return training::evaluate(corpus.validation_batches(), loss_of); });
class Run {
public:
    Progress progress;  // for what the program prints

    // Continues from `state`, with the report and loss.csv of the folder if a step is made. Model, optimiser,
    // report and state must outlive the run. ValueError unless both intervals are at least 1; IoError, as
    // History::load, if loss.csv is malformed.
    template <class Optimizer>
    Run(const nn::Module& model, Optimizer& optimizer, RunReport& report, RunState& state,
        const RunOptions& options)
        : Run(model,
              {[&](double lr) { optimizer.set_lr(lr), optimizer.zero_grad(); }, [&] { optimizer.step(); },
               [&] { return optimizer.state_dict(); }},
              report, state, options) {}

    // Repeats: evaluate() → validation loss, a checkpoint of the best, a regular one, and a step, for which
    // backward(step) adds to the gradients and returns its loss. check::first_step watches the first. A file
    // that cannot be written costs a warning, at the end IoError. The first checkpoint of a new run names that
    // of an earlier one previous.safetensors. Error, naming step and checkpoint, if a ValueError ends a step,
    // which then has changed no weight.
    void train(const std::function<double(std::int64_t step)>& backward,
               const std::function<double()>& evaluate);

private:
    struct Optimiser {
        std::function<void(double lr)> begin;
        std::function<void()> step;
        std::function<nn::NamedTensors()> state;
    };
    Run(const nn::Module& model, Optimiser optimizer, RunReport& report, RunState& state, RunOptions options);

    const nn::Module& model_;
    Optimiser optimizer_;
    RunReport& report_;
    RunState& state_;
    RunOptions options_;
    std::int64_t saved_;  // the step of the last checkpoint
    bool is_own_;         // whether the files in the folder are this run's

    bool stops() const { return options_.stop && options_.stop(); }
    bool writes() const { return !options_.folder.empty(); }
    double step(double lr, const std::function<double(std::int64_t)>& backward);
    std::optional<double> evaluated(const std::function<double()>& evaluate);
    bool try_to(const std::function<void()>& action);
    void make_room();
    void save();
    void save_checkpoint(const char* name, const nn::NamedTensors& optimizer);
};

}  // namespace weft::training
