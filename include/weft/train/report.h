// report.html: a page that shows a language model's run while it trains and when it is done.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "weft/models/generate.h"
#include "weft/train/history.h"
#include "weft/viz/report.h"

namespace weft::training {

// What the report of a run shows, and how often.
struct ReportOptions {
    std::string title;               // of the page
    std::int64_t steps = 1;          // of the whole run
    std::int64_t eval_interval = 1;  // evaluated() looks at the model at about 32 multiples of it
    std::string prompt;              // of the samples
    nn::SampleOptions sample = {};   // how they are drawn; its `rng` is not used
    std::uint64_t seed = 0;          // of each sample
};

// The history of a run and its page, a viz::Report with the choices that a training needs: which steps show
// gradients, which sentences and samples are looked at, how a resumed run continues.
//
//     training::RunReport report("out/report.html", {.title = "My text", .steps = steps}, model, tokenizer,
//                             corpus.validation());
//     report.resume(step, training::History::load("out/loss.csv", step));  // of a run that goes on
//     report.gradients(step);            // after backward
//     report.measured(row);              // after each step
//     report.evaluated(step);            // with each evaluation: a sample, and attention over the sentences
//     report.save();
class RunReport {
public:
    viz::Report page;  // for what the program adds: settings
    History history;   // every measured row

    // `validation` is the text whose sentences attention is shown for: up to twelve, all over it.
    RunReport(std::filesystem::path path, ReportOptions options, const nn::GPT& model,
              const text::Tokenizer& tokenizer, const text::Ids& validation);

    // Continues the page that the run left, without what it said of `step` and later. Where that cannot be read
    // it warns, and shows the losses alone.
    void resume(std::int64_t step, const History& before);
    void gradients(std::int64_t step);   // shows them, at 256 of the steps; after backward
    void measured(const Measured& row);  // adds a row to the history and the curves; steps ascend
    void evaluated(std::int64_t step);   // a sample, and attention over the sentences
    void save();                         // the page; IoError when it cannot be written

private:
    std::filesystem::path path_;
    ReportOptions options_;
    nn::GPT model_;
    text::Tokenizer tokenizer_;
    std::vector<text::Ids> sentences_;
};

}  // namespace weft::training
