// A training run as one HTML page: losses, gradients, parameters, samples, an explorer of attention, and the
// model itself, which runs in the page. The page needs neither a network nor a server, and opens in any recent
// browser.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "weft/lm/decoder.h"
#include "weft/lm/language_model.h"
#include "weft/text/tokenizer.h"

namespace weft::report {

// What was measured at a step.
struct ReportLoss {
    std::optional<double> training = {}, validation = {}, learning_rate = {};  // empty: not measured
};

// How far a run was when its page was saved.
struct ReportRun {
    std::int64_t steps = 0;   // number of steps of the whole run; 0: not known
    std::int64_t tokens = 0;  // trained on in `seconds`
    double seconds = 0;       // that the run has taken, without its interruptions
    std::int64_t saved = 0;   // the time of the save in seconds since 1970; 0: not known
    double next = 0;          // seconds until the next save, when an open page reloads itself; 0: the run ended
};

// The model that a page carries, with the values that the page has.
struct PageModel {
    lm::Decoder decoder;         // in evaluation mode
    text::Characters tokenizer;  // tokenizer of the model's characters
};

// A report of bounded size: the page stays at a few megabytes however long the run, plus the weights of the
// model, if it carries them. A curve has at most 2048
// points; beyond that, every two neighbours become one with their mean, lowest and highest value. Gradients
// have at most 256 columns (down to 32 for a model of more than 470 parameters), samples at most 24 steps, and
// attention the steps that fit in `attention_bytes`; beyond that, every second step except the last is dropped.
// The same calls give the same bytes.
//
// Steps must ascend: ValueError for a step that is negative, above 2⁵³ or before the last of its kind.
//
//     report::Report report("My run");
//     report.setting("d_model", "128");
//     report.fact("command", "train --d_model 128");
//     report.compare("out/before");                                        // the report of another run
//     report.loss(step, {.training = loss.item(), .learning_rate = lr});   // every step
//     report.gradients(step, model);                                       // after backward
//     report.attention(step, tokens, viz::attention_weights(model, ids));  // now and then, after eval()
//     report.run({.steps = 100, .seconds = 2.5});
//     report.save("report.html");  // as often as you like
class Report {
public:
    // An empty report. `attention_bytes` bounds the attention weights that it stores.
    explicit Report(std::string title, std::size_t attention_bytes = 1'000'000);
    ~Report();
    Report(Report&&) noexcept;             // movable but not copyable, because it may be large
    Report& operator=(Report&&) noexcept;  // replaces the content

    // Reads a saved report, to add to it. IoError if it is missing or no report; every number is checked.
    //
    //     report::Report resumed = report::Report::load("report.html");
    //     resumed.truncate(step);  // the run continues from this step
    static Report load(const std::filesystem::path& path);
    // Drops everything recorded at `step` and later, for a run that continues from there.
    void truncate(std::int64_t step);

    // Shows `value` under `name`, in the order of first calls; a later call with the same name replaces it.
    void setting(const std::string& name, const std::string& value);
    // The same, for what does not determine the result: the command line, the machine. A value is cut to 4000
    // bytes.
    void fact(const std::string& name, const std::string& value);
    // Lays the losses of another run over this one's: `path` is its report, or the folder of its report.html.
    // A later call with the same path replaces them. Returns the run's name in the page, which is the path
    // without report.html. IoError as load; ValueError for a ninth run.
    std::string compare(const std::filesystem::path& path);
    // Records how far the run is. ValueError unless all numbers are in 0 … 2⁵³.
    void run(const ReportRun& run);
    const ReportRun& run() const;  // the run that was recorded last

    // Records what was measured at a step; NaN and infinities are shown as such.
    void loss(std::int64_t step, const ReportLoss& measured);

    // Records ‖gradient‖₂ of every parameter. ValueError if the parameters' names differ from the first call's.
    void gradients(std::int64_t step, const nn::Module& module);
    // Records the name, shape, number of elements and ‖·‖₂ of every parameter, beside the first call's ‖·‖₂.
    void parameters(const nn::Module& module);

    // Records a text that the model wrote and its prompt, each cut to 4000 bytes; a step may have several.
    void sample(std::int64_t step, const std::string& text, const std::string& prompt = "");

    // Records the weights of self-attention over a sentence of T tokens, one tensor per layer, each (H, T, T)
    // or (1, H, T, T), as attention_weights returns them. The same tokens at another step are the same
    // sentence. A weight w is stored as the byte round(255 √w), accurate to √w / 255. ShapeError if T is not
    // the number of tokens, or the layers or heads differ from the sentence's first call; DTypeError if the
    // weights are not floating; ValueError if a weight is negative, not finite or above 1, or if the sentences
    // of one step take more than `attention_bytes` (a causal head takes T (T + 1) / 2 bytes, any other T²).
    void attention(std::int64_t step, const std::vector<std::string>& tokens,
                   const std::vector<Tensor>& layers);

    // Puts the model as it is now into the page, in place of an earlier one: "Try the model" then runs it on a
    // reader's text. Weights are rounded to 16 bits (IEEE half, ties to even), which moves each by at most 2⁻¹¹
    // of itself, or of 2⁻¹⁴ if it is smaller; where a tensor's largest magnitude is above 65504, below 2⁻¹⁴
    // (and not 0) or not finite, it stays float32. A parameter takes 2.7 bytes of the page, so the default
    // model of train_gpt takes 2.2 MB. The page of a model with more than `max_parameters` leaves the weights
    // out, and says so. ValueError for a model that is neither a GPT nor a Decoder, a tokenizer with another
    // vocab_size, and rotary angles that change with the length within the 256 tokens that the page computes.
    //
    //     report.model(gpt, tokenizer);
    //     report.save("report.html");
    //     const report::PageModel page = report::Report::load("report.html").model();
    //     const Tensor logits = page.decoder(ids);  // (T, V), as the page computes them
    void model(const lm::LanguageModel& model, const text::Characters& tokenizer,
               std::int64_t max_parameters = 4'000'000);
    // The model that the page carries. ValueError if it carries none.
    PageModel model() const;

    std::string html() const;  // the page
    // Writes the page to a file. IoError if that fails; an existing file is then unchanged.
    void save(const std::filesystem::path& path) const;

private:
    struct Content;
    std::unique_ptr<Content> content_;
    friend struct ReportFile;
};

}  // namespace weft::report
