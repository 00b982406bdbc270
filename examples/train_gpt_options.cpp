#include "train_gpt_options.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <utility>

namespace {

void add_options(CLI::App& app, Options& o) {
    constexpr std::int64_t thousand = 1000, million = 1'000'000, billion = 1'000'000'000;
    const double below_1 = std::nextafter(1.0, 0.0);
    const auto absolute = [](std::string& name) {  // the run may be resumed from another folder
        if (!name.empty()) name = fs::absolute(name).string();
        return std::string();
    };
    app.option_defaults()->group("Run");
    add_text(app, "--out", o.out,
             "output folder: model.safetensors, best.safetensors, loss.csv and report.html", true);
    add_switch(app, "--resume", o.resume,
               "continue from the checkpoint in --out up to --steps, with its settings unless given");
    add_number(app, "--stop_at", o.stop_at, 0, billion,
               "save and stop at this step, as on Ctrl-C; 0: at --steps");
    add_switch(app, "--sample_only", o.sample_only, "do not train; generate text with the checkpoint in --out");
    add_switch(app, "--best", o.best, "with --sample_only: use the weights with the lowest validation loss");
    app.add_option("--compare", o.compare,
                   "show the losses of another run, its folder or report, in report.html; may be repeated")
        ->type_name("PATH")
        ->allow_extra_args(false)
        ->check(CLI::Validator(
            [](const std::string& path) {
                return path.empty() ? "the name is empty; give one, or leave out --compare" : std::string();
            },
            ""));
    add_number(app, "--threads", o.threads, 0, 1024,
               "number of threads, which does not affect results; 0: all");
    add_number(app, "--page_weights", o.page_weights, 0, billion,
               "report.html carries the model, at 2.7 bytes a parameter, up to so many parameters; 0: never");
    add_text(
        app, "--profile", o.profile,
        "measure the second to the eleventh step by operation and module, print that, and write it to this "
        "file for a browser's profiler",
        true);
    add_switch(app, "--quiet", o.quiet, "print nothing but warnings and errors");
    add_common(app, o.config, "steps = 5000");
    app.option_defaults()->group("Model");
    add_number(app, "--num_layers", o.model.num_layers, 1, thousand, "number of transformer blocks");
    add_number(app, "--num_heads", o.model.num_heads, 1, thousand, "attention heads per block");
    add_number(app, "--d_model", o.model.d_model, 1, million, "width of the model, divisible by --num_heads");
    add_number(app, "--block_size", o.model.block_size, 1, million, "context length in characters");
    add_number(app, "--dropout", o.model.dropout, 0, below_1, "dropout probability");
    add_switch(app, "--bias", o.model.bias, "use biases in linear layers and norms");
    app.option_defaults()->group("Training");
    add_text(app, "--text", o.text, "UTF-8 file to train on, or one packed by gzip; default: the Jargon File",
             true)
        ->transform(CLI::Validator(absolute, ""));
    add_number(app, "--steps", o.rate.steps, 1, billion, "number of training steps");
    add_number(app, "--batch_size", o.batch_size, 1, million, "sequences per step");
    add_number(app, "--micro_batch", o.micro_batch, 0, million,
               "sequences computed at once, which --batch_size is a multiple of; 0: the whole batch");
    add_precision(app, o.precision);
    add_number(app, "--lr", o.rate.lr, 0, million, "peak learning rate");
    add_number(app, "--min_lr", o.rate.min_lr, 0, million, "final learning rate; default: a tenth of --lr");
    add_number(app, "--warmup_steps", o.rate.warmup_steps, 0, billion,
               "steps over which the learning rate rises");
    add_number(app, "--weight_decay", o.weight_decay, 0, million, "weight decay of AdamW, for matrices only");
    add_number(app, "--beta2", o.beta2, 0, below_1, "second beta of AdamW; the first is 0.9");
    add_number(app, "--grad_clip", o.grad_clip, 0, million,
               "maximum norm of all gradients together; 0: no clipping");
    add_number(app, "--eval_interval", o.eval_interval, 1, billion, "steps between evaluations");
    add_number(app, "--save_interval", o.save_interval, 1, billion, "steps between checkpoints");
    add_number(app, "--seed", o.seed, 0, 1'000'000'000'000'000, "seed of all random numbers");
    app.option_defaults()->group("Sample");
    add_text(app, "--prompt", o.prompt,
             "text to continue; default: a line break; the model sees its last --block_size characters");
    add_number(app, "--max_new_tokens", o.max_new_tokens, 0, million, "number of characters to generate");
    add_number(app, "--temperature", o.sampling.temperature, 0, million,
               "sampling temperature; 0: always the most likely character");
    add_number(app, "--top_k", o.sampling.top_k, 0, million,
               "sample from the k most likely characters; 0: from all");
}

void check_settings(const Options& o) {
    if (o.model.d_model % o.model.num_heads != 0)
        throw UsageError("--d_model ", o.model.d_model, " is not divisible by --num_heads ", o.model.num_heads);
    if (o.micro_batch > 0 && o.batch_size % o.micro_batch != 0)
        throw UsageError("--batch_size ", o.batch_size, " is not a multiple of --micro_batch ", o.micro_batch);
    check_precision(o.precision);
    if (o.rate.min_lr > o.rate.lr) throw UsageError("--min_lr ", o.rate.min_lr, " is above --lr ", o.rate.lr);
    if (o.resume && o.sample_only)
        throw UsageError("--resume trains and --sample_only does not; give only one of them");
    if (o.quiet && o.sample_only)
        throw UsageError("--sample_only prints a sample and --quiet does not; give only one of them");
    if (o.best && !o.sample_only) throw UsageError("--best needs --sample_only; add it, or leave out --best");
}

// The value of an option, or its default.
std::string text_of(const CLI::Option& option) {
    return option.count() > 0 ? option.reduced_results().back() : option.get_default_str();
}

// The options that a checkpoint stores: the groups "Model" and "Training".
std::vector<CLI::Option*> settings(CLI::App& app) {
    return app.get_options([](const CLI::Option* option) {
        return option->get_group() == "Model" || option->get_group() == "Training";
    });
}

}  // namespace

std::shared_ptr<CLI::App> parse(Options& o, int argc, char** argv) {
    const auto app = make_app("train_gpt", "Train a character-level GPT on a text, then generate a sample.",
                              "Examples:\n"
                              "  train_gpt --text book.txt --steps 5000\n"
                              "  train_gpt --resume --steps 10000\n"
                              "  train_gpt --config settings.toml --lr 5e-4\n"
                              "  mpirun -n 4 train_gpt --batch_size 96 --micro_batch 12\n"
                              "  train_gpt --sample_only --best --prompt Chapter");
    add_options(*app, o);
    o.command = "train_gpt";
    for (int i = 1; i < argc; ++i) o.command += " " + quoted(argv[i]);
    if (!parse_command_line(*app, o.config, argc, argv)) return nullptr;
    if (app->count("--min_lr") == 0) {
        o.rate.min_lr = o.rate.lr / 10;
        app->get_option("--min_lr")->default_str(to_chars(o.rate.min_lr));
    }
    check_settings(o);
    return app;
}

std::string quoted(const std::string& argument) {
    if (!argument.empty() && argument.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                                        "0123456789_-+=./:,@%") == std::string::npos)
        return argument;
    std::string text = "'";
    for (const char c : argument) text += c == '\'' ? "'\\''" : std::string(1, c);
    return text + "'";
}

std::vector<std::string> resume_command(const std::string& program, CLI::App& app) {
    std::vector<std::string> command = {program, "--resume"};
    for (const CLI::Option* option : app.get_options()) {
        const std::string name = option->get_single_name(), group = option->get_group();
        if (option->count() > 0 && (group == "Run" || group == "Sample") && name != "resume" &&
            name != "stop_at" && name != "config" && name != "compare" && name != "profile")
            command.push_back(quoted("--" + name + "=" + text_of(*option)));
    }
    return command;
}

io::Metadata settings_of(CLI::App& app) {
    io::Metadata metadata;
    for (const CLI::Option* option : settings(app)) metadata[option->get_single_name()] = text_of(*option);
    return metadata;
}

void complete_from(training::Checkpoint& checkpoint, CLI::App& app, const Options& o) {
    const auto all = settings(app);
    std::vector<std::string> given;
    for (const CLI::Option* option : all)
        if (option->count() > 0) given.push_back("--" + option->get_single_name() + " ");
    if (std::none_of(all.begin(), all.end(), [&](const CLI::Option* option) {
            return checkpoint.metadata.contains(option->get_single_name());
        }))
        throw IoError(
            "train_gpt did not save it: it contains none of a run's settings; set --out to the folder of a "
            "run");
    checkpoint.metadata.try_emplace("precision", "highest");  // which is younger than some runs
    std::string differences;
    for (CLI::Option* option : all) {
        const std::string name = option->get_single_name(), value = text_of(*option);
        const std::string& saved = checkpoint.meta(name);
        if (value == saved) continue;
        if (option->count() == 0) try {
                option->add_result(saved)->run_callback();
            } catch (const CLI::ParseError& error) {
                throw IoError("a setting is invalid: ", error.what());
            }
        else if (option->get_group() == "Model")
            differences += "\n  --" + name + " " + value + "; the checkpoint has " + excerpt(saved);
    }
    if (!differences.empty())
        throw UsageError("the settings differ from the checkpoint's model:", differences,
                         "\nleave these flags out, or choose another --out");
    try {
        check_settings(o);
    } catch (const UsageError& error) {
        const std::string message = error.what();
        if (std::ranges::any_of(given, [&](const auto& flag) { return message.find(flag) != message.npos; }))
            throw UsageError(message, "; what the command line does not give is the checkpoint's");
        throw IoError("its settings do not fit together: ", message);
    }
}
