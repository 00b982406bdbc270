// The settings of train_gpt: on its command line, and in the metadata of its checkpoints.
#pragma once

#include <cmath>

#include "command_line.h"

using namespace weft;
namespace fs = std::filesystem;

struct Options {
    // of this start
    std::string out = "out";
    std::int64_t stop_at = 0, threads = 0;
    bool resume = false, sample_only = false, best = false;
    // of the model and its training
    nn::GPTConfig model = {.block_size = 64, .num_layers = 4, .num_heads = 4, .d_model = 128};
    std::string text;  // empty: the project's own README and docs
    optim::CosineOptions rate = {.lr = 1e-3, .min_lr = 1e-4, .warmup_steps = 100, .steps = 2000};
    std::int64_t eval_interval = 250, save_interval = 250, seed = 1, batch_size = 12;
    double weight_decay = 0.1, beta2 = 0.99, grad_clip = 1;
    // of the sample
    std::string prompt;  // empty: a line break
    std::int64_t max_new_tokens = 500;
    nn::SampleOptions sampling = {.temperature = 0.8};
};

inline void add_options(CLI::App& app, Options& o) {
    constexpr std::int64_t thousand = 1000, million = 1'000'000, billion = 1'000'000'000;
    const double below_1 = std::nextafter(1.0, 0.0);
    const auto absolute = [](std::string& name) {  // the run may go on from another folder
        if (!name.empty()) name = fs::absolute(name).string();
        return std::string();
    };
    app.option_defaults()->group("Run");
    add_text(app, "--out", o.out,
             "folder for model.safetensors, best.safetensors, loss.csv and report.html; one run at a time",
             true);
    add_switch(app, "--resume", o.resume,
               "continue from the checkpoint in --out, with its settings where none are given, up to --steps");
    add_number(app, "--stop_at", o.stop_at, 0, billion,
               "save and end at this step, as on Ctrl-C; 0: at the last");
    add_switch(app, "--sample_only", o.sample_only, "do not train, only write with the checkpoint in --out");
    add_switch(app, "--best", o.best, "with --sample_only: the weights with the lowest validation loss");
    add_number(app, "--threads", o.threads, 0, 1024, "0: as many as there are; the results are the same bits");
    app.option_defaults()->group("Model");
    add_number(app, "--num_layers", o.model.num_layers, 1, thousand, "transformer blocks");
    add_number(app, "--num_heads", o.model.num_heads, 1, thousand, "attention heads of each");
    add_number(app, "--d_model", o.model.d_model, 1, million, "width; divisible by --num_heads");
    add_number(app, "--block_size", o.model.block_size, 1, million, "characters that the model sees at once");
    add_number(app, "--dropout", o.model.dropout, 0, below_1, "probability");
    add_switch(app, "--bias", o.model.bias, "biases in linear layers and norms");
    app.option_defaults()->group("Training");
    add_text(app, "--text", o.text, "file to learn from, UTF-8 (default: Weft's own README and docs)", true)
        ->transform(CLI::Validator(absolute, ""));
    add_number(app, "--steps", o.rate.steps, 1, billion, "training steps");
    add_number(app, "--batch_size", o.batch_size, 1, million, "sequences in each step");
    add_number(app, "--lr", o.rate.lr, 0, million, "highest learning rate");
    add_number(app, "--min_lr", o.rate.min_lr, 0, million, "last learning rate (default: a tenth of --lr)");
    add_number(app, "--warmup_steps", o.rate.warmup_steps, 0, billion,
               "steps in which the learning rate rises");
    add_number(app, "--weight_decay", o.weight_decay, 0, million, "of matrices (AdamW)");
    add_number(app, "--beta2", o.beta2, 0, below_1, "AdamW's second beta; the first is 0.9");
    add_number(app, "--grad_clip", o.grad_clip, 0, million, "largest norm of all gradients together; 0: any");
    add_number(app, "--eval_interval", o.eval_interval, 1, billion, "steps from one evaluation to the next");
    add_number(app, "--save_interval", o.save_interval, 1, billion, "steps from one checkpoint to the next");
    add_number(app, "--seed", o.seed, 0, 1'000'000'000'000'000, "of every random number");
    app.option_defaults()->group("Sample");
    add_text(app, "--prompt", o.prompt,
             "what it begins with (default: a line break); the model sees the last --block_size characters");
    add_number(app, "--max_new_tokens", o.max_new_tokens, 0, million, "characters to write");
    add_number(app, "--temperature", o.sampling.temperature, 0, million, "0: always the likeliest character");
    add_number(app, "--top_k", o.sampling.top_k, 0, million, "sample from the k likeliest characters; 0: all");
}

inline void check_settings(const Options& o) {
    if (o.model.d_model % o.model.num_heads != 0)
        throw UsageError("--d_model ", o.model.d_model, " is not divisible by --num_heads ", o.model.num_heads);
    if (o.rate.min_lr > o.rate.lr)
        throw UsageError("--min_lr ", text::chars(o.rate.min_lr), " is above --lr ", text::chars(o.rate.lr));
    if (o.resume && o.sample_only)
        throw UsageError("--resume goes on training and --sample_only does not: choose one");
    if (o.best && !o.sample_only)
        throw UsageError("--best chooses what --sample_only writes with, and is of no use without it");
}

// Reads the command line; false when it asked for help, which was printed.
inline bool parse(CLI::App& app, Options& o, int argc, char** argv) {
    add_options(app, o);
    if (!parse_command_line(app, argc, argv)) return false;
    if (app.count("--min_lr") == 0) {
        o.rate.min_lr = o.rate.lr / 10;
        app.get_option("--min_lr")->default_str(text::chars(o.rate.min_lr));
    }
    check_settings(o);
    return true;
}

// What an option is set to, or its default.
inline std::string text_of(const CLI::Option& option) {
    return option.count() > 0 ? option.reduced_results().back() : option.get_default_str();
}

// The options that a checkpoint keeps, those in the groups "Model" and "Training"; and as it keeps them.
inline std::vector<CLI::Option*> settings(CLI::App& app) {
    return app.get_options([](const CLI::Option* option) {
        return option->get_group() == "Model" || option->get_group() == "Training";
    });
}

inline io::Metadata settings_of(CLI::App& app) {
    io::Metadata metadata;
    for (const CLI::Option* option : settings(app)) metadata[option->get_single_name()] = text_of(*option);
    return metadata;
}

// Sets those that the command line did not give to what a checkpoint says. IoError where it lacks a setting or
// holds one that is none, or they do not fit together; UsageError, listing every difference, where the command
// line gave another model or a learning rate that does not fit.
inline void complete_from(const training::Checkpoint& checkpoint, CLI::App& app, const Options& o) {
    const auto all = settings(app);
    const bool gave_rate = app.count("--lr") + app.count("--min_lr") > 0;
    if (std::none_of(all.begin(), all.end(), [&](const CLI::Option* option) {
            return checkpoint.metadata.contains(option->get_single_name());
        }))
        throw IoError(
            "train_gpt did not save it: it holds none of a run's settings; --out names the folder of a run");
    std::string differences;
    for (CLI::Option* option : all) {
        const std::string name = option->get_single_name(), value = text_of(*option);
        const std::string& saved = checkpoint.meta(name);
        if (value == saved) continue;
        if (option->count() == 0) try {
                option->add_result(saved)->run_callback();
            } catch (const CLI::ParseError& error) {
                throw IoError("among its settings ", error.what());
            }
        else if (option->get_group() == "Model")
            differences += "\n  --" + name + " " + value + ", and the checkpoint has " + text::excerpt(saved);
    }
    if (!differences.empty())
        throw UsageError("this is another model than the checkpoint's:", differences,
                         "\nleave these flags out, or choose another --out");
    try {
        check_settings(o);
    } catch (const UsageError& error) {
        if (gave_rate && std::string(error.what()).starts_with("--min_lr")) throw;
        throw IoError("its settings do not fit together: ", error.what());
    }
}
