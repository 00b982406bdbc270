// The measurements of a run, as in its file loss.csv.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "weft/lm/generate.h"
#include "weft/report/report.h"

namespace weft::training {

// What one step measured.
//
//     const training::Measured measured{.step = 0, .learning_rate = 1e-3, .loss = 2.3};
//     const training::History history{{measured}};  // history.mean_since_evaluation() == 2.3
struct Measured {
    std::int64_t step = 0;                       // counted from 0
    double learning_rate = 0;                    // that the step used
    std::optional<double> loss = {};             // loss of the step's batch; empty after the last step
    std::optional<double> validation_loss = {};  // measured before the step, if there was an evaluation
};

// The rows of a run, ascending by step.
//
//     training::History history = training::History::load(path, step);  // history of a resumed run
//     history.rows.push_back({step, optimizer.lr(), loss.item()});
//     history.save(path);
struct History {
    std::vector<Measured> rows;  // one for each step

    // The mean loss of the steps since the last evaluation; empty if there was no step.
    std::optional<double> mean_since_evaluation() const;
    // Writes a line "step,learning_rate,loss,validation_loss" and one for each row, empty where nothing was
    // measured. IoError if it cannot.
    void save(const std::filesystem::path& path) const;
    // The rows before `first_step`; none if there is no file. IoError, naming the line, if a line is malformed.
    // The last column may have its former name, "held_out_loss".
    static History load(const std::filesystem::path& path, std::int64_t first_step);
};

// report.html: a page about a language model's run, during the training and after it.

// Options of RunReport.
struct ReportOptions {
    std::string title = {};            // title of the page
    std::int64_t steps = 1;            // number of steps of the whole run
    std::int64_t eval_interval = 1;    // evaluated() adds to the page at about 32 multiples of it
    std::string prompt = {};           // prompt of the samples, at least one token
    lm::SampleOptions sample = {};     // how they are drawn; its `rng` is ignored
    std::uint64_t seed = 0;            // seed of each sample
    std::int64_t tokens_per_step = 0;  // used to compute the speed; 0: not shown
    // The page carries the weights of a model with at most so many parameters, at 2.7 bytes each; see
    // report::Report::model.
    std::int64_t max_parameters = 4'000'000;
};

// The history of a run and its page: a report::Report that chooses which steps show gradients, samples and
// attention, and continues when the run is resumed.
//
//     const training::ReportOptions options = {.title = "My text", .steps = steps, .prompt = "The"};
//     training::RunReport report(path, options, model, tokenizer, corpus.validation());
//     report.resume(step, history);  // in a resumed run
//     report.gradients(step);        // after backward
//     report.measured(row);          // after each step
//     report.evaluated(step);        // after each evaluation
//     if (report.due()) report.save(/*running=*/true);
//     report.save();  // at the end
class RunReport {
public:
    report::Report page;  // the page, to which the program can add, such as its settings
    History history;      // every measured row

    // The page shows attention over up to twelve pieces of the `validation` text: the weights of self-attention
    // that the model traces as "weights", as Weft's attention does. The model is called once to count its
    // heads.
    RunReport(std::filesystem::path path, ReportOptions options, const lm::LanguageModel& model,
              const text::Tokenizer& tokenizer, const text::Ids& validation);

    // Continues the page at `path` from `step` on. If it cannot be read, warns and shows only the losses.
    void resume(std::int64_t step, const History& before);
    void gradients(std::int64_t step);   // adds the parameters' gradients, at up to 256 of the steps
    void measured(const Measured& row);  // adds a row to the history and the curves; steps ascend
    void evaluated(std::int64_t step);   // adds a sample, and attention over the pieces
    // Writes the page, with the run's duration, speed and machine; IoError if it cannot. With the model as it
    // is now, too, if the tokenizer is text::Characters and the model an lm::Decoder, or an lm::GPT without
    // config.attention. While the run is `running`, an open page reloads itself.
    void save(bool running = false);
    bool due() const;  // whether the last save was 10 seconds ago

private:
    std::filesystem::path path_;
    ReportOptions options_;
    lm::LanguageModel model_;
    text::Tokenizer tokenizer_;
    std::vector<text::Ids> pieces_;  // pieces of the validation text
    report::ReportRun earlier_;      // the part of the run before this process
    std::int64_t trained_ = 0;       // steps of this process
    using Clock = std::chrono::steady_clock;
    Clock::time_point start_ = Clock::now(), saved_ = start_;
};

}  // namespace weft::training
