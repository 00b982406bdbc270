// A training run as one HTML page: losses, gradients, parameters, samples, and an explorer of attention. The
// page needs no network and no server, and opens in any browser of the last years.
//
//     viz::Report report("My run");
//     report.setting("d_model", "128");
//     report.loss(step, {.training = loss.item(), .learning_rate = lr});     // each step
//     report.gradients(step, model);                                         // after backward
//     report.attention(step, tokens, viz::attention_weights(model, ids));    // now and then, in evaluation
//     mode report.save("report.html");                                            // as often as you like
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

// What a step measured.
struct ReportLoss {
    std::optional<double> training = {}, validation = {}, learning_rate = {};  // those that were measured
};

// The page stays a few megabytes whatever the run's length. Curves hold up to 2048 points; then two neighbours
// become one, which knows their mean, lowest and highest. Gradients hold up to 256 columns (less, down to 32,
// for a model of more than 470 parameters), samples up to 24 steps, attention as many steps as fit in
// `attention_bytes`: then every second one goes, and the last stays. The same calls give the same bytes.
//
// Steps ascend: ValueError on one that is negative, above 2⁵³ or before the last of its kind.
class Report {
public:
    // An empty one; the title is the page's.
    explicit Report(std::string title, std::size_t attention_bytes = 1'000'000);
    ~Report();
    Report(Report&&) noexcept;             // not copied: it may be large
    Report& operator=(Report&&) noexcept;  // takes over what the other holds

    // The report that was saved there, to go on with. IoError when there is none, or when it is something else
    // or says what no report does: every number in it is checked.
    static Report load(const std::filesystem::path& path);
    // Forgets what was told of `step` and of those after it: for a run that goes on from there.
    void cut(std::int64_t step);

    void setting(const std::string& name, const std::string& value);  // in the order of first mention
    void loss(std::int64_t step, const ReportLoss& measured);         // NaN and infinities are shown as such

    // ‖gradient‖₂ of every parameter, as it is now. ValueError when there are other names than at first.
    void gradients(std::int64_t step, const nn::Module& module);
    // Name, shape, number of elements and ‖parameter‖₂ as it is now, beside the norm at the first call.
    void parameters(const nn::Module& module);

    // What the model wrote after `prompt`; any text, of which 4000 bytes are kept. A step may have several.
    void sample(std::int64_t step, const std::string& text, const std::string& prompt = "");

    // The weights of self-attention over a sentence of T tokens, layer by layer, each (H, T, T) or (1, H, T,
    // T), as attention_weights gives them. The same tokens at another step are the same sentence. A weight w is
    // kept as the byte round(255 √w), which is right to √w / 255. ShapeError when T is not the number of tokens
    // or the layers and heads are others than at first; ValueError on weights that are negative, not finite or
    // above 1, and when one step's sentences take more than `attention_bytes` (T (T + 1) / 2 bytes for a causal
    // head, T² for another).
    void attention(std::int64_t step, const std::vector<std::string>& tokens,
                   const std::vector<Tensor>& layers);

    std::string html() const;  // the page
    // Whole or not at all, as every file of weft/models/io.h: IoError.
    void save(const std::filesystem::path& path) const;

private:
    struct Content;
    std::unique_ptr<Content> content_;
    explicit Report(std::unique_ptr<Content> content);
    friend struct ReportFile;
};

}  // namespace weft::viz
