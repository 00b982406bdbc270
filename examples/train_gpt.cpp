// Trains a character-level GPT on a text, then generates a sample: see --help.
// Exit codes: 0; 1 on a failure, 2 on wrong usage; after saving, 130 on Ctrl-C and 128 + its number on another
// signal that asks the program to end.
// B sequences in a batch, T = block_size characters in each, V vocabulary.
#include <weft/weft.h>

#include "default_text.h"
#include "train_gpt_options.h"

using namespace weft;
namespace fs = std::filesystem;

extern const char* const project_folder;  // of Weft; CMake writes it

namespace {

// ---- the text

// The text to train on: a file, or the default.
default_text::Source load_text(const Options& o) {
    if (!o.text.empty()) return {fs::path(o.text).filename().string(), training::read_text({o.text})};
    const fs::path project = project_folder;
    default_text::Source source = default_text::load(project, default_text::places(project));
    if (!source.warning.empty() && o.first) training::warn(source.warning);
    return source;
}

text::Ids encode(const text::Characters& tokenizer, const std::string& text, const std::string& source) try {
    return tokenizer.encode(text);
} catch (const ValueError& error) {
    throw ValueError(source, ": ", error.what());
}

// FNV-1a over the code points; another text most likely gives another number.
std::uint64_t fingerprint(const std::string& text) {
    std::uint64_t hash = 0xcbf29ce484222325;
    for (std::size_t at = 0; at < text.size();) {
        const text::Decoded c = text::decode_at(text, at);
        hash = (hash ^ c.value) * 0x100000001b3;
        at += c.length;
    }
    return hash;
}

// ---- the run: what a checkpoint contains

struct Run {
    text::Characters tokenizer;
    nn::GPT model;
    optim::AdamW optimizer;
    std::int64_t step = 0;
    std::optional<std::pair<double, std::int64_t>> best = {};  // the lowest validation loss, and its step
    std::uint64_t text = 0;                                    // fingerprint of the training text
    std::string title = {};                                    // and what it is
};

long long whole(std::int64_t number) { return number; }  // for printf
std::string words(const auto&... parts) { return Error(parts...).what(); }
std::uint64_t seed_of(const Options& o) { return static_cast<std::uint64_t>(o.seed); }
fs::path in(const Options& o, const char* name) { return fs::path(o.out) / name; }

Run new_run(const Options& o, const text::Characters& tokenizer, const training::Checkpoint* last = nullptr) {
    nn::GPTConfig config = o.model;
    config.vocab_size = tokenizer.vocab_size();
    if (last != nullptr) nn::check_state_dict(config, last->model);  // before a model of these sizes is made
    Rng rng(seed_of(o));
    const nn::GPT model(config, rng);
    return {tokenizer, model,
            optim::AdamW(optim::decay_groups(model, o.weight_decay), {.lr = o.rate.lr, .beta2 = o.beta2})};
}

Run resumed_run(const Options& o, CLI::App& app) {
    const fs::path path = in(o, o.best ? "best.safetensors" : "model.safetensors");
    const training::Checkpoint last = load_checkpoint(path);
    try {
        complete_from(last, app, o);
        const auto micro_batch = last.number<std::int64_t>("micro_batch");
        if (o.resume && o.first && o.micro_batch != micro_batch)
            training::warn(words("the checkpoint was trained with --micro_batch ", micro_batch, "; with ",
                                 o.micro_batch,
                                 " the run continues, but not with the bits of one that never stopped"));
        Run run = new_run(o, text::Characters(last.meta("vocabulary")), &last);
        run.step = o.best ? last.restore(run.model) : last.restore(run.model, run.optimizer);
        run.text = last.number<std::uint64_t>("text_fingerprint");
        if (last.metadata.contains("best_loss"))
            run.best = {last.number<double>("best_loss"), last.number<std::int64_t>("best_step")};
        if (o.first) warn_of_nonfinite(path.string(), last.model);
        if (o.resume && o.first && !last.has_this_arithmetic())
            training::warn(
                "the checkpoint was written by a version of Weft whose random numbers or rounding differ; the "
                "run "
                "continues, but not with the bits of one that never stopped");
        return run;
    } catch (const Error& error) {
        throw IoError("cannot continue from ", path.string(), ": ", error.what());
    }
}

io::Metadata metadata_of(const Run& run, CLI::App& app) {
    io::Metadata metadata = settings_of(app);
    metadata["vocabulary"] = run.tokenizer.vocabulary();
    metadata["text_fingerprint"] = std::to_string(run.text);
    metadata["text_title"] = run.title;
    if (run.best) {
        metadata["best_loss"] = text::chars(run.best->first);
        metadata["best_step"] = std::to_string(run.best->second);
    }
    return metadata;
}

// ---- training

std::int64_t last_step(const Options& o) {
    return o.stop_at > 0 ? std::min(o.stop_at, o.rate.steps) : o.rate.steps;
}

// Whether there is nothing left to do. A run at its last step may have been interrupted before the last
// evaluation, and a full disk may have prevented the report, which is saved last.
bool is_done(const Run& run, const Options& o) {
    if (run.step != o.rate.steps) return run.step >= last_step(o);
    std::error_code missing;
    const auto written = [&](const char* name) { return fs::last_write_time(in(o, name), missing); };
    if (written("report.html") < written("model.safetensors")) return false;
    const training::History history = training::History::load(in(o, "loss.csv"), run.step + 1);
    return !history.rows.empty() && history.rows.back().step == run.step;
}

std::string described(const check::FlowReport& flow) {
    std::string zero;
    for (const check::FlowRow& row : flow.rows)
        if (!row.problem.empty()) zero += " " + row.name;
    if (!zero.empty()) zero = ", and are exactly 0 for" + zero;
    return "gradients reach all " + std::to_string(flow.rows.size()) + " parameters" + zero;
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
    training::warn("an earlier run used this folder; its checkpoint is now " + previous.string());
}

// Whether the weights that a step began with are worth going on from: they told characters apart no worse than
// guessing does. Those of a run that diverges are finite until its last steps.
bool is_sound(const training::History& history, std::int64_t step, std::int64_t vocab_size) {
    const auto row = std::ranges::find(history.rows, step, &training::Measured::step);
    return row != history.rows.end() && row->loss && *row->loss < std::log(vocab_size) + 1;
}

// Trains up to last_step with evaluations and checkpoints, or until a signal asks it to end. Returns the
// signal, or 0. Of several processes only the first writes, and none waits for signals: mpirun ends them.
int train_model(Run& run, const Options& o, CLI::App& app, const default_text::Source& source,
                const std::string& prompt, dist::Group& group) {
    std::optional<training::Interrupt> interrupt;
    if (group.size() == 1) interrupt.emplace();
    const auto requested = [&] { return interrupt && interrupt->requested(); };
    for (const auto& [name, value] : settings_of(app)) group.agree("--" + name, name == "text" ? "" : value);
    group.agree("--stop_at", std::to_string(o.stop_at));
    group.agree("the text",
                words(source.text.size(), " bytes, fingerprint ", text::chars(fingerprint(source.text), 16)));
    group.agree("the checkpoint", words("step ", run.step));
    dist::DataParallel parallel(run.model, group, {.grains = grains_of(o)});
    run.title = source.title;
    training::Corpus corpus(encode(run.tokenizer, source.text, o.text.empty() ? source.title : o.text),
                            {.block_size = o.model.block_size, .batch_size = o.batch_size, .seed = seed_of(o)});
    const std::vector<training::Batch> validation = corpus.validation_batches();
    const auto loss_of = [&](const training::Batch& batch) {
        return cross_entropy(run.model(batch.inputs), batch.targets);  // (B, T, V), (B, T) → ()
    };
    training::RunReport report(in(o, "report.html"),
                               {.title = source.title,
                                .steps = o.rate.steps,
                                .eval_interval = o.eval_interval,
                                .prompt = prompt,
                                .sample = o.sampling,
                                .seed = seed_of(o),
                                .tokens_per_step = o.batch_size * o.model.block_size,
                                .max_parameters = o.page_weights},
                               run.model, run.tokenizer, corpus.validation());
    if (run.step > 0 && o.first) report.resume(run.step, training::History::load(in(o, "loss.csv"), run.step));
    for (const auto& [name, value] : settings_of(app))
        report.page.setting(name, name == "text" && value.empty() ? source.title : value);
    report.page.fact(run.step > 0 ? "resumed with" : "command", o.command);
    report.page.fact("Weft", WEFT_VERSION);
    for (const std::string& other : o.compare) report.page.compare(other);
    training::Progress progress(run.step, o.rate.steps, o.batch_size * o.model.block_size,
                                {.eval_interval = o.eval_interval, .quiet = o.quiet});
    progress.print("title   " + text::excerpt(source.title));
    progress.print(words("text    ", corpus.training().size(), " characters to train on, ",
                         corpus.validation().size(), " for validation, ", run.tokenizer.vocab_size(),
                         " different"));
    if (group.size() > 1) progress.print(words("group   ", group.size(), " processes"));
    progress.print(words("model   ", o.model.num_layers, " layers, ", o.model.num_heads, " heads, d_model ",
                         o.model.d_model, ", block_size ", o.model.block_size, ": ", run.model.num_parameters(),
                         " parameters"));
    if (run.step > 0 && o.first && run.text != fingerprint(source.text))
        progress.warn("the checkpoint was trained on another text; the run continues with this one");
    run.text = fingerprint(source.text);

    std::int64_t saved = run.step;  // the step of the last checkpoint
    bool is_new = run.step == 0;    // and nothing has been saved yet
    const auto make_room = [&] {
        fs::create_directories(o.out);
        if (is_new) set_aside(o.out);
        is_new = false;
    };
    // loss.csv first: a resumed run removes the lines that are newer than the checkpoint.
    const auto save = [&] {
        if (!o.first) return;
        make_room();
        report.history.save(in(o, "loss.csv"));
        training::Checkpoint(run.model, run.optimizer, run.step, metadata_of(run, app))
            .save(in(o, "model.safetensors"));
        saved = run.step;
        report.save(/*running=*/run.step < last_step(o) && !requested());
    };
    const auto save_best = [&] {
        if (!o.first) return;
        make_room();
        training::Checkpoint(run.model, run.step, metadata_of(run, app)).save(in(o, "best.safetensors"));
    };
    const auto try_to = [&](const auto& action) {  // a disk that is full now may have room at the next interval
        try {
            action();
            return true;
        } catch (const std::exception& error) {
            progress.warn(std::string(error.what()) + "; training continues without it");
            return false;
        }
    };
    const auto evaluate = [&]() -> std::optional<double> {
        const double loss = dist::evaluate(validation, loss_of, group, requested);
        if (requested()) return {};
        if (o.first) report.evaluated(run.step);
        progress.evaluated(run.step, report.history.mean_since_evaluation().value_or(loss), loss);
        if (run.step > 0 && std::isfinite(loss) && (!run.best || loss < run.best->first)) {
            const auto before = std::exchange(run.best, {{loss, run.step}});
            if (!try_to(save_best)) run.best = before;  // which the file, if there is one, still holds
        }
        return loss;
    };

    while (run.step < last_step(o) && !requested()) {
        group.at_step(run.step);
        std::optional<double> validation_loss;
        if (run.step % o.eval_interval == 0) validation_loss = evaluate();
        if (run.step % o.save_interval == 0 && run.step > saved) try_to(save);
        if (requested()) break;
        const double lr = optim::cosine_lr(run.step, o.rate);
        double loss = 0;
        const auto step = [&] {
            run.optimizer.set_lr(lr);
            run.optimizer.zero_grad();
            const training::Batch batch = corpus.training_batch(run.step);
            const std::int64_t rows = o.batch_size / parallel.grains();
            loss = parallel.backward([&](std::int64_t grain) {
                const auto part = [&](const Tensor& x) { return x.slice(0, grain * rows, (grain + 1) * rows); };
                return loss_of({part(batch.inputs), part(batch.targets)});
            });
            if (o.first) report.gradients(run.step);
            if (o.grad_clip > 0) optim::clip_grad_norm(run.model, o.grad_clip);
            run.optimizer.step();
        };
        try {
            if (run.step > 0)
                step();
            else
                progress.print(described(check::first_step(run.model, lr, step)));
        } catch (const ValueError& error) {
            if (!is_new && o.first) try_to([&] { report.save(); });
            const std::string step = std::to_string(saved);
            const std::string advice =
                saved == 0 ? ""
                : is_sound(report.history, saved, run.tokenizer.vocab_size())
                    ? "; --resume continues from step " + step
                    : "; the checkpoint of step " + step + " has diverged, too, so begin a new run";
            throw Error("the training diverged at step ", run.step, ": ", error.what(),
                        "\nlower --lr, or raise --warmup_steps", advice);
        }
        report.measured({run.step, lr, loss, validation_loss});
        progress.step(++run.step, loss);
        if (!is_new && o.first && report.due()) try_to([&] { report.save(/*running=*/true); });
    }
    if (run.step == o.rate.steps && !requested())
        if (const auto loss = evaluate())
            report.measured({run.step, optim::cosine_lr(run.step, o.rate), {}, loss});
    save();
    return interrupt ? interrupt->signal() : 0;
}

// ---- the program

// What was written and, with what to type, how the run goes on.
void print_end(const Options& o, const Run& run, CLI::App& app, const std::string& program,
               const std::string& stopped, bool ended) {
    const training::Terminal terminal;
    std::vector<std::string> command = resume_command("  " + quoted(program), app);
    if (ended) command.push_back("--steps=" + std::to_string(2 * run.step));
    const std::string report = in(o, "report.html").string();
    std::istringstream message(
        ended ? words("wrote ", in(o, "model.safetensors").string(), ", ", in(o, "loss.csv").string(), " and")
              : words(stopped, " after ", run.step, " of ", o.rate.steps, " steps, and saved; the report is"));
    std::vector<std::string> parts;
    for (std::string word; std::getline(message, word, ' ');) parts.push_back(word);
    parts.push_back(report);
    std::string line = terminal.folded(parts);
    line.replace(line.rfind(report), report.size(), terminal.link(report));
    std::printf("%s\n%s\n%s\n%s", line.c_str(),
                ended ? "to train longer:" : "to continue:", terminal.folded(command, " ", " \\").c_str(),
                ended ? "\n" : "");
}

int train_gpt(int argc, char** argv) {
    Options o;
    CLI::App app("Train a character-level GPT on a text, then generate a sample.", "train_gpt");
    if (!parse(app, o, argc, argv)) return 0;
    dist::Group group;
    o.first = group.rank() == 0;
    o.quiet |= !o.first;
    if (o.threads > 0) set_num_threads(static_cast<int>(o.threads));

    std::optional<training::OutputFolder> folder;  // fails now rather than after training
    if (!o.sample_only && o.first)
        folder.emplace(o.out, std::vector<std::string>{"model.safetensors", "best.safetensors", "loss.csv",
                                                       "report.html"});
    default_text::Source source;
    const bool continues = o.resume || o.sample_only;
    if (!continues) source = load_text(o);
    Run run = continues ? resumed_run(o, app) : new_run(o, text::Characters(source.text));
    const std::string prompt = o.prompt.empty() ? default_prompt(run.tokenizer) : o.prompt;
    const std::size_t length =
        encode(run.tokenizer, prompt, "--prompt").size();  // an unknown character fails now
    if (static_cast<std::int64_t>(length) > o.model.block_size && o.first)
        std::fprintf(stderr,
                     "train_gpt: the prompt has %zu characters, of which the model sees the last %lld\n",
                     length, whole(o.model.block_size));

    const bool done = o.resume && group.broadcast(o.first && is_done(run, o) ? "done" : "") == "done";
    if (done) {
        const bool stops = last_step(o) < o.rate.steps;
        if (!o.quiet)
            std::printf(
                "nothing to train: the checkpoint in %s is at step %lld and %s is %lld; give a larger one\n\n",
                o.out.c_str(), whole(run.step), stops ? "--stop_at" : "--steps", whole(last_step(o)));
        if (!o.compare.empty() && o.first) {
            viz::Report page = viz::Report::load(in(o, "report.html"));
            for (const std::string& other : o.compare) page.compare(other);
            page.save(in(o, "report.html"));
        }
    } else if (!o.sample_only) {
        if (continues) source = load_text(o);
        const int signal = train_model(run, o, app, source, prompt, group);
        const bool ended = signal == 0 && run.step == o.rate.steps;
        if (!o.quiet) print_end(o, run, app, argv[0], signal != 0 ? "interrupted" : "stopped", ended);
        if (!ended) return signal != 0 ? 128 + signal : 0;
    }
    if (o.quiet) return 0;
    Rng rng(seed_of(o));
    o.sampling.rng = &rng;
    const nn::GenerateOptions options{.max_new_tokens = o.max_new_tokens, .sampling = o.sampling};
    const std::string sample = nn::generate_text(run.model, run.tokenizer, prompt, {.generate = options}).text;
    std::printf("%s%s\n", prompt.c_str(), sample.c_str());
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    return run_program("train_gpt", "reduce --d_model, --num_layers, --block_size or --batch_size",
                       [&] { return train_gpt(argc, argv); });
}
