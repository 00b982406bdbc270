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
        const Decoded c = decode_at(text, at);
        hash = (hash ^ c.value) * 0x100000001b3;
        at += c.length;
    }
    return hash;
}

// ---- the run: what a checkpoint contains

struct Trained {
    text::Characters tokenizer;
    lm::LanguageModel model;
    optim::AdamW optimizer;
    training::RunState state = {};
    std::uint64_t text = 0;  // fingerprint of the training text
};

long long whole(std::int64_t number) { return number; }  // for printf
std::string words(const auto&... parts) { return Error::text(parts...); }
std::uint64_t seed_of(const Options& o) { return static_cast<std::uint64_t>(o.seed); }
fs::path in(const Options& o, const char* name) { return fs::path(o.out) / name; }

Trained new_run(const Options& o, const text::Characters& tokenizer,
                const training::Checkpoint* last = nullptr) {
    lm::GPTConfig config = o.model;
    config.vocab_size = tokenizer.vocab_size();
    if (last != nullptr) lm::check_state_dict(config, last->model);  // before a model of these sizes is made
    Rng rng(seed_of(o));
    const lm::GPT model(config, rng);
    return {
        tokenizer, model,
        optim::AdamW(optim::decay_groups(
            model, optim::AdamWOptions{.lr = o.rate.lr, .beta2 = o.beta2, .weight_decay = o.weight_decay}))};
}

Trained resumed_run(const Options& o, CLI::App& app) {
    const fs::path path = in(o, o.best ? "best.safetensors" : "model.safetensors");
    training::Checkpoint last = load_checkpoint(path);
    try {
        complete_from(last, app, o);
        const auto warn_of_change = [&](const char* flag, const auto& then, const auto& now) {
            if (o.resume && o.first && then != now)
                training::warn(words("the checkpoint was trained with ", flag, " ", then, "; with ", now,
                                     " the run continues, but not with the bits of one that never stopped"));
        };
        warn_of_change("--micro_batch", last.number<std::int64_t>("micro_batch"), o.micro_batch);
        warn_of_change("--precision", last.meta("precision"), o.precision);
        Trained run = new_run(o, text::Characters(last.meta("vocabulary")), &last);
        run.state.step = o.best ? last.restore(run.model) : last.restore(run.model, run.optimizer);
        run.text = last.number<std::uint64_t>("text_fingerprint");
        run.state.best = training::best_of(last);
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

io::Metadata metadata_of(const Trained& run, const std::string& title, CLI::App& app) {
    io::Metadata metadata = settings_of(app);
    metadata["vocabulary"] = run.tokenizer.vocabulary();
    metadata["text_fingerprint"] = std::to_string(run.text);
    metadata["text_title"] = title;
    return metadata;
}

// ---- training

training::RunOptions run_options(const Options& o) {
    return {.folder = o.first ? o.out : "",
            .rate = o.rate,
            .stop_at = o.stop_at,
            .eval_interval = o.eval_interval,
            .save_interval = o.save_interval,
            .tokens_per_step = o.batch_size * o.model.block_size,
            .grad_clip = o.grad_clip,
            .quiet = o.quiet,
            .remedy = "lower --lr, or raise --warmup_steps",
            .resume = "--resume"};
}

// Trains up to --steps or --stop_at, or until a signal asks it to end. Returns the signal, or 0. Of several
// processes only the first writes, and none waits for signals: mpirun ends them.
int train_model(Trained& trained, const Options& o, CLI::App& app, const default_text::Source& source,
                const std::string& prompt, dist::Group& group) {
    std::optional<training::Interrupt> interrupt;
    if (group.size() == 1) interrupt.emplace();
    const auto requested = [&] { return interrupt && interrupt->requested(); };
    for (const auto& [name, value] : settings_of(app)) group.agree("--" + name, name == "text" ? "" : value);
    group.agree("--stop_at", std::to_string(o.stop_at));
    group.agree("the text",
                words(source.text.size(), " bytes, fingerprint ", to_chars(fingerprint(source.text), 16)));
    group.agree("the checkpoint", words("step ", trained.state.step));
    dist::DataParallel parallel(trained.model, group,
                                {.grains = o.micro_batch > 0 ? o.batch_size / o.micro_batch : 1});
    const bool resumes = trained.state.step > 0 && o.first;
    const std::uint64_t text_before = std::exchange(trained.text, fingerprint(source.text));
    training::Corpus corpus(encode(trained.tokenizer, source.text, o.text.empty() ? source.title : o.text),
                            {.block_size = o.model.block_size, .batch_size = o.batch_size, .seed = seed_of(o)});
    const std::vector<training::Batch> validation = corpus.validation_batches();
    training::RunReport report(in(o, "report.html"),
                               {.title = source.title,
                                .steps = o.rate.steps,
                                .eval_interval = o.eval_interval,
                                .prompt = prompt,
                                .sample = o.sampling,
                                .seed = seed_of(o),
                                .tokens_per_step = o.batch_size * o.model.block_size,
                                .max_parameters = o.page_weights},
                               trained.model, trained.tokenizer, corpus.validation());
    training::RunOptions options = run_options(o);
    options.stop = requested;
    std::optional<Profile> profile;
    const auto end_profile = [&] {
        if (!profile) return;
        const std::string tables = profile->str();
        profile->save_trace(o.profile);
        profile.reset();
        if (!o.quiet)
            std::printf("%swrote %s\n", for_terminal(tables).c_str(), for_terminal(o.profile).c_str());
    };
    options.at_step = [&, first = trained.state.step](std::int64_t step) {
        group.at_step(step);
        if (!o.profile.empty() && o.first && step == first + 1) profile.emplace();
        if (step == first + 11) end_profile();
    };
    options.guessing = std::log(trained.tokenizer.vocab_size());
    options.metadata = metadata_of(trained, source.title, app);
    training::Run run(trained.model, trained.optimizer, report, trained.state, options);
    for (const auto& [name, value] : settings_of(app))
        report.page.setting(name, name == "text" && value.empty() ? source.title : value);
    report.page.fact(trained.state.step > 0 ? "resumed with" : "command", o.command);
    report.page.fact("Weft", WEFT_VERSION);
    for (const std::string& other : o.compare) report.page.compare(other);
    run.progress.print("title   " + excerpt(source.title));
    run.progress.print(words("text    ", corpus.training().size(), " characters to train on, ",
                             corpus.validation().size(), " for validation, ", trained.tokenizer.vocab_size(),
                             " different"));
    if (group.size() > 1) run.progress.print(words("group   ", group.size(), " processes"));
    run.progress.print(words("model   ", o.model.num_layers, " layers, ", o.model.num_heads, " heads, d_model ",
                             o.model.d_model, ", block_size ", o.model.block_size, ": ",
                             trained.model.num_parameters(), " parameters"));
    if (resumes && text_before != trained.text)
        run.progress.warn("the checkpoint was trained on another text; the run continues with this one");

    const auto loss_of = [&](const training::Batch& batch) {
        return cross_entropy(trained.model(batch.inputs), batch.targets);  // (B, T, V), (B, T) → ()
    };
    const auto backward = [&](std::int64_t step) {
        const training::Batch batch = corpus.training_batch(step);
        const std::int64_t rows = o.batch_size / parallel.grains();
        return parallel.backward([&](std::int64_t grain) {
            const auto part = [&](const Tensor& x) { return x.slice(0, grain * rows, (grain + 1) * rows); };
            return loss_of({part(batch.inputs), part(batch.targets)});
        });
    };
    run.train(backward, [&] { return training::evaluate(validation, loss_of, group, requested); });
    end_profile();
    return interrupt ? interrupt->signal() : 0;
}

// ---- the program

// What was written and, with what to type, how the run goes on.
void print_end(const Options& o, const Trained& run, CLI::App& app, const std::string& program,
               const std::string& stopped, bool ended) {
    const training::Terminal terminal;
    std::vector<std::string> command = resume_command("  " + quoted(program), app);
    if (ended) command.push_back("--steps=" + std::to_string(2 * run.state.step));
    const std::string report = for_terminal(in(o, "report.html").string());
    std::istringstream message(for_terminal(
        ended ? words("wrote ", in(o, "model.safetensors").string(), ", ", in(o, "loss.csv").string(), " and")
              : words(stopped, " after ", run.state.step, " of ", o.rate.steps,
                      " steps, and saved; the report is")));
    std::vector<std::string> parts;
    for (std::string word; std::getline(message, word, ' ');) parts.push_back(word);
    parts.push_back(report);
    std::string line = terminal.folded(parts);
    line.replace(line.rfind(report), report.size(), terminal.link(report));
    std::printf("%s\n%s\n%s\n%s", line.c_str(), ended ? "to train longer:" : "to continue:",
                for_terminal(terminal.folded(command, " ", " \\")).c_str(), ended ? "\n" : "");
}

int train_gpt(int argc, char** argv) {
    Options o;
    const auto app = parse(o, argc, argv);
    if (!app) return 0;
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
    Trained run = continues ? resumed_run(o, *app) : new_run(o, text::Characters(source.text));
    set_float32_matmul_precision(o.precision);
    const std::string prompt =
        o.prompt.empty() ? run.tokenizer.decode(default_prompt(run.tokenizer)) : o.prompt;
    const std::size_t length =
        encode(run.tokenizer, prompt, "--prompt").size();  // an unknown character fails now
    if (static_cast<std::int64_t>(length) > o.model.block_size && o.first)
        std::fprintf(stderr,
                     "train_gpt: the prompt has %zu characters, of which the model sees the last %lld\n",
                     length, whole(o.model.block_size));

    const bool done =
        o.resume &&
        group.broadcast(o.first && training::is_done(run.state, run_options(o)) ? "done" : "") == "done";
    if (done) {
        const bool stops = o.stop_at > 0 && o.stop_at < o.rate.steps;
        if (!o.quiet)
            std::printf(
                "nothing to train: the checkpoint in %s is at step %lld and %s is %lld; give a larger one\n\n",
                for_terminal(o.out).c_str(), whole(run.state.step), stops ? "--stop_at" : "--steps",
                whole(stops ? o.stop_at : o.rate.steps));
        if (!o.compare.empty() && o.first) {
            report::Report page = report::Report::load(in(o, "report.html"));
            for (const std::string& other : o.compare) page.compare(other);
            page.save(in(o, "report.html"));
        }
    } else if (!o.sample_only) {
        if (continues) source = load_text(o);
        const int signal = train_model(run, o, *app, source, prompt, group);
        const bool ended = signal == 0 && run.state.step == o.rate.steps;
        if (!o.quiet) print_end(o, run, *app, argv[0], signal != 0 ? "interrupted" : "stopped", ended);
        if (!ended) return signal != 0 ? 128 + signal : 0;
    }
    if (o.quiet) return 0;
    Rng rng(seed_of(o));
    o.sampling.rng = &rng;
    const lm::GenerateOptions options{.max_new_tokens = o.max_new_tokens, .sampling = o.sampling};
    const std::string sample = lm::generate_text(run.model, run.tokenizer, prompt, {.generate = options}).text;
    std::printf("%s%s\n", for_terminal(prompt).c_str(), for_terminal(sample).c_str());
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    return run_program("train_gpt", "reduce --d_model, --num_layers, --block_size or --batch_size",
                       [&] { return train_gpt(argc, argv); });
}
