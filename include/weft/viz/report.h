// A training run as one HTML page: losses, gradients, parameters, samples, and an explorer of attention. The
// page needs neither network nor server and opens in any recent browser.
//
//     viz::Report report("My run");
//     report.setting("d_model", "128");
//     report.loss(step, {.training = loss.item(), .learning_rate = lr});     // each step
//     report.gradients(step, model);                                         // after backward
//     report.attention(step, tokens, viz::attention_weights(model, ids));    // now and then, after eval()
//     report.save("report.html");                                            // as often as you like
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "weft/nn/module.h"

namespace weft::viz {

// The measurements of a step.
struct ReportLoss {
    std::optional<double> training = {}, validation = {}, learning_rate = {};  // those that were measured
};

// A report of bounded size: the page stays at a few megabytes however long the run. Curves have up to 2048
// points; then every two neighbours become one, with their mean, lowest and highest. Gradients have up to 256
// columns (down to 32 for a model of more than 470 parameters), samples up to 24 steps, and attention the steps
// that fit in `attention_bytes`; then every second step is dropped, except the last. The same calls give the
// same bytes.
//
// Steps ascend: ValueError for one that is negative, above 2⁵³ or before the last of its kind.
class Report {
public:
    // An empty report; the title is the page's.
    explicit Report(std::string title, std::size_t attention_bytes = 1'000'000);
    ~Report();
    Report(Report&&) noexcept;             // moved, not copied: it may be large
    Report& operator=(Report&&) noexcept;  // takes over the other's content

    // A saved report, to continue. IoError if there is none, or if it holds anything that no report holds:
    // every number in it is checked.
    static Report load(const std::filesystem::path& path);
    // Drops `step` and all later steps, for a run that continues from there.
    void truncate(std::int64_t step);

    void setting(const std::string& name, const std::string& value);  // shown in the order of first calls
    void loss(std::int64_t step, const ReportLoss& measured);         // may be NaN or infinite

    // Records ‖gradient‖₂ of every parameter. ValueError if the names are not those of the first call.
    void gradients(std::int64_t step, const nn::Module& module);
    // Records name, shape, number of elements and ‖parameter‖₂ of each parameter, and keeps the first call's
    // norms.
    void parameters(const nn::Module& module);

    // Records what the model wrote after `prompt`: any text, cut to 4000 bytes. A step may have several.
    void sample(std::int64_t step, const std::string& text, const std::string& prompt = "");

    // Records the weights of self-attention over a sentence of T tokens, layer by layer, each (H, T, T) or
    // (1, H, T, T), as attention_weights returns them. The same tokens at another step are the same sentence. A
    // weight w becomes the byte round(255 √w), accurate to √w / 255. ShapeError if T is not the number of
    // tokens or the layers and heads are not those of the sentence's first call; ValueError for weights that
    // are negative, not finite or above 1, and if the sentences of one step take more than `attention_bytes` (T
    // (T + 1) / 2 bytes for a causal head, T² for another).
    void attention(std::int64_t step, const std::vector<std::string>& tokens,
                   const std::vector<Tensor>& layers);

    std::string html() const;  // the page
    // Writes the page, or nothing and throws an IoError, like every function of weft/models/io.h.
    void save(const std::filesystem::path& path) const;

private:
    struct Content;
    std::unique_ptr<Content> content_;
    explicit Report(std::unique_ptr<Content> content);
    friend struct ReportFile;
};

}  // namespace weft::viz
