#include "weft/training/run.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "weft/base/text.h"
#include "weft/check/gradcheck.h"
#include "weft/core/creation.h"
#include "weft/core/modes.h"
#include "weft/nn/module.h"
#include "weft/optim/clipping.h"

namespace weft::training {

namespace {

void check_any(const std::vector<Batch>& batches) {
    if (batches.empty()) throw ValueError("evaluate: there is no batch; give at least one");
}

// Σ nᵢ lossᵢ / Σ nᵢ over batches of nᵢ targets.
double mean_loss(const std::vector<Batch>& batches, const std::vector<double>& losses) {
    double sum = 0, tokens = 0;
    for (std::size_t i = 0; i < batches.size(); ++i) {
        const auto count = static_cast<double>(batches[i].targets.numel());
        sum += count * losses[i];
        tokens += count;
    }
    return sum / tokens;
}

}  // namespace

double evaluate(const std::vector<Batch>& batches, const std::function<Tensor(const Batch&)>& loss_of,
                const std::function<bool()>& stop) {
    check_any(batches);
    const NoGrad off;
    const nn::EvalMode eval_mode;
    std::vector<double> losses;
    for (const Batch& batch : batches) {
        if (stop && stop()) return NAN;
        losses.push_back(loss_of(batch).item());
    }
    return stop && stop() ? NAN : mean_loss(batches, losses);
}

double evaluate(const std::vector<Batch>& batches, const std::function<Tensor(const Batch&)>& loss_of,
                dist::Group& group, const std::function<bool()>& stop) {
    if (group.size() == 1) return evaluate(batches, loss_of, stop);
    check_any(batches);
    const NoGrad off;
    const nn::EvalMode eval_mode;
    std::vector<double> own(batches.size());  // the losses of this process, and 0, which changes no sum
    for (std::size_t i = static_cast<std::size_t>(group.rank()); i < own.size();
         i += static_cast<std::size_t>(group.size()))
        own[i] = loss_of(batches[i]).item();
    const Tensor all = group.all_reduce(from_vector(own, {static_cast<std::int64_t>(own.size())}));
    return mean_loss(batches, all.to_vector<double>());
}

namespace fs = std::filesystem;

namespace {

std::int64_t last_step(const RunOptions& o) {
    return o.stop_at > 0 ? std::min(o.stop_at, o.rate.steps) : o.rate.steps;
}

std::string described(const check::FlowReport& flow) {
    std::string zero;
    for (const check::FlowRow& row : flow.rows)
        if (!row.problem.empty()) zero += " " + row.name;
    if (!zero.empty()) zero = ", and are exactly 0 for" + zero;
    return "gradients reach all " + std::to_string(flow.rows.size()) + " parameter tensors" + zero;
}

// Gives the checkpoint of an earlier run another name, before a new run saves its own.
void set_aside(const fs::path& folder) {
    const fs::path model = folder / "model.safetensors", previous = folder / "previous.safetensors";
    std::error_code error;
    fs::remove(folder / "best.safetensors", error);
    if (!fs::exists(model, error)) return;
    fs::remove(previous, error);
    fs::create_hard_link(model, previous, error);  // so the old name exists until the new file replaces it
    if (error) fs::copy_file(model, previous, error);
    if (error) throw IoError("cannot keep ", model.string(), " of an earlier run: ", error.message());
    warn("an earlier run used this folder; its checkpoint is now " + previous.string());
}

// Whether the weights that a step began with are worth going on from: they told tokens apart no worse than
// guessing does. Those of a run that diverges are finite until its last steps.
bool is_sound(const History& history, std::int64_t step, double guessing) {
    const auto row = std::ranges::find(history.rows, step, &Measured::step);
    return row != history.rows.end() && row->loss && *row->loss < guessing + 1;
}

}  // namespace

bool is_done(const RunState& state, const RunOptions& options) {
    if (state.step != options.rate.steps) return state.step >= last_step(options);
    std::error_code missing;
    const auto written = [&](const char* name) { return fs::last_write_time(options.folder / name, missing); };
    if (written("report.html") < written("model.safetensors")) return false;  // the report is saved last
    const History history = History::load(options.folder / "loss.csv", state.step + 1);
    return !history.rows.empty() && history.rows.back().step == state.step;
}

std::optional<std::pair<double, std::int64_t>> best_of(const Checkpoint& last) {
    if (!last.metadata.contains("best_loss")) return {};
    return {{last.number<double>("best_loss"), last.number<std::int64_t>("best_step")}};
}

Run::Run(const nn::Module& model, Optimiser optimizer, RunReport& report, RunState& state, RunOptions options)
    : progress(state.step, options.rate.steps, options.tokens_per_step,
               {.eval_interval = options.eval_interval, .quiet = options.quiet}),
      model_(model),
      optimizer_(std::move(optimizer)),
      report_(report),
      state_(state),
      options_(std::move(options)),
      saved_(state.step),
      is_own_(writes() && state.step > 0) {
    if (options_.eval_interval < 1 || options_.save_interval < 1)
        throw ValueError("Run: eval_interval is ", options_.eval_interval, " and save_interval ",
                         options_.save_interval, "; both are at least 1");
    if (is_own_) report.resume(state.step, History::load(options_.folder / "loss.csv", state.step));
}

void Run::make_room() {
    fs::create_directories(options_.folder);
    if (!is_own_) set_aside(options_.folder);
    is_own_ = true;
}

void Run::save_checkpoint(const char* name, const nn::NamedTensors& optimizer) {
    io::Metadata metadata = options_.metadata;
    if (state_.best) {
        metadata["best_loss"] = to_chars(state_.best->first);
        metadata["best_step"] = std::to_string(state_.best->second);
    }
    Checkpoint checkpoint(model_, state_.step, metadata);
    checkpoint.optimizer = optimizer;
    checkpoint.save(options_.folder / name);
}

// loss.csv first: a resumed run removes the lines that are newer than the checkpoint.
void Run::save() {
    if (!writes()) return;
    make_room();
    report_.history.save(options_.folder / "loss.csv");
    save_checkpoint("model.safetensors", optimizer_.state());
    saved_ = state_.step;
    report_.save(/*running=*/state_.step < last_step(options_) && !stops());
}

bool Run::try_to(const std::function<void()>& action) try {
    action();
    return true;
} catch (const std::exception& error) {  // a disk that is full now may have room at the next interval
    progress.warn(std::string(error.what()) + "; training continues without it");
    return false;
}

std::optional<double> Run::evaluated(const std::function<double()>& evaluate) {
    const double loss = evaluate();
    if (stops()) return {};
    if (writes()) report_.evaluated(state_.step);
    progress.evaluated(state_.step, report_.history.mean_since_evaluation(), loss);
    if (state_.step > 0 && std::isfinite(loss) && (!state_.best || loss < state_.best->first)) {
        const auto before = std::exchange(state_.best, {{loss, state_.step}});
        const auto save_best = [&] { make_room(), save_checkpoint("best.safetensors", {}); };
        if (writes() && !try_to(save_best))
            state_.best = before;  // which the file, if there is one, still holds
    }
    return loss;
}

// Makes a step, and returns its loss.
double Run::step(double lr, const std::function<double(std::int64_t)>& backward) try {
    double loss = 0;
    const auto step = [&] {
        optimizer_.begin(lr);
        loss = backward(state_.step);
        if (writes()) report_.gradients(state_.step);
        if (options_.grad_clip > 0) optim::clip_grad_norm(model_, options_.grad_clip);
        optimizer_.step();
    };
    if (state_.step > 0)
        step();
    else
        progress.print(described(check::first_step(model_, lr, step)));
    return loss;
} catch (const ValueError& error) {
    if (is_own_) try_to([&] { report_.save(); });
    const std::string saved = std::to_string(saved_);
    const std::string advice =
        saved_ == 0 ? ""
        : is_sound(report_.history, saved_, options_.guessing)
            ? "; " + options_.resume + " continues from step " + saved
            : "; the checkpoint of step " + saved + " has diverged, too, so begin a new run";
    throw Error("the training diverged at step ", state_.step, ": ", error.what(), "\n", options_.remedy,
                advice);
}

void Run::train(const std::function<double(std::int64_t)>& backward, const std::function<double()>& evaluate) {
    std::int64_t& at = state_.step;
    while (at < last_step(options_) && !stops()) {
        if (options_.at_step) options_.at_step(at);
        std::optional<double> validation_loss;
        if (at % options_.eval_interval == 0) validation_loss = evaluated(evaluate);
        if (at % options_.save_interval == 0 && at > saved_) try_to([&] { save(); });
        if (stops()) break;
        const double lr = optim::cosine_lr(at, options_.rate), loss = step(lr, backward);
        report_.measured({at, lr, loss, validation_loss});
        progress.step(++at, loss);
        if (is_own_ && report_.due()) try_to([&] { report_.save(/*running=*/true); });
    }
    if (at == options_.rate.steps && !stops())
        if (const auto loss = evaluated(evaluate))
            report_.measured({at, optim::cosine_lr(at, options_.rate), {}, loss});
    save();
}

}  // namespace weft::training
