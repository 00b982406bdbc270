#include "options.h"

#include <algorithm>
#include <limits>
#include <variant>

#include "flags.h"
#include "numbers.h"

namespace fs = std::filesystem;

namespace {

enum class Kept { no, training, model };  // by a checkpoint, and as part of what

struct Setting {
    std::string name;
    std::variant<std::int64_t*, double*, bool*, std::string*, fs::path*> value;
    double low, high;
    Kept kept;
    std::string help;

    void set(const std::string& to) const {
        const std::string flag = "--" + name;
        if (const auto* whole = std::get_if<std::int64_t*>(&value)) **whole = whole_number(flag, to, low, high);
        if (const auto* real = std::get_if<double*>(&value)) **real = real_number(flag, to, low, high);
        if (const auto* is = std::get_if<bool*>(&value)) **is = truth(flag, to);
        if (const auto* text = std::get_if<std::string*>(&value)) **text = to;
        if (const auto* path = std::get_if<fs::path*>(&value)) **path = to;
    }
    std::string get() const {
        if (const auto* whole = std::get_if<std::int64_t*>(&value)) return std::to_string(**whole);
        if (const auto* real = std::get_if<double*>(&value)) return number_text(**real);
        if (const auto* is = std::get_if<bool*>(&value)) return **is ? "true" : "false";
        if (const auto* text = std::get_if<std::string*>(&value)) return **text;
        return std::get<fs::path*>(value)->string();
    }
};

std::vector<Setting> settings_of(Options& o) {
    constexpr double million = 1e6, billion = 1e9;
    const double below_1 = std::nextafter(1.0, 0.0);
    using enum Kept;
    return {
        {"text", &o.text, 0, 0, training, "file to learn from, UTF-8 (default: Weft's own README and docs)"},
        {"out", &o.out, 0, 0, no,
         "folder for model.safetensors, best.safetensors, loss.csv and report.html; one run at a time writes "
         "there"},
        {"steps", &o.steps, 1, billion, training, "training steps"},
        {"eval_interval", &o.eval_interval, 1, billion, training,
         "steps from one evaluation on the held-out tenth to the next"},
        {"save_interval", &o.save_interval, 1, billion, training,
         "steps from one checkpoint to the next; --resume goes on from the last"},
        {"stop_at", &o.stop_at, 0, billion, no,
         "end at this step as Ctrl-C would, with a checkpoint; 0: when all steps are done"},
        {"seed", &o.seed, 0, 1e15, training, "of every random number"},
        {"threads", &o.threads, 0, 1024, no, "0: as many as there are; the results are the same bits"},
        {"resume", &o.resume, 0, 0, no,
         "go on from the checkpoint in --out, with its settings where none are given, until --steps are made "
         "in all"},
        {"sample_only", &o.sample_only, 0, 0, no, "do not train, only write with the checkpoint in --out"},
        {"best", &o.best, 0, 0, no,
         "with --sample_only: the weights whose loss on the held-out tenth was lowest"},
        {"layers", &o.layers, 1, 1000, model, "transformer blocks"},
        {"heads", &o.heads, 1, 1000, model, "attention heads of each"},
        {"d_model", &o.d_model, 1, million, model, "width; divisible by heads"},
        {"block_size", &o.block_size, 1, million, model, "characters that the model sees at once"},
        {"dropout", &o.dropout, 0, below_1, model, "probability"},
        {"bias", &o.bias, 0, 0, model, "biases in linear layers and norms"},
        {"batch", &o.batch, 1, million, training, "sequences in each step"},
        {"lr", &o.lr, 0, million, training, "highest learning rate"},
        {"min_lr", &o.min_lr, 0, million, training, "last learning rate (default: a tenth of --lr)"},
        {"warmup", &o.warmup, 0, billion, training, "steps in which the learning rate rises"},
        {"weight_decay", &o.weight_decay, 0, million, training, "of matrices (AdamW)"},
        {"beta2", &o.beta2, 0, below_1, training, "AdamW's second beta; the first is 0.9"},
        {"clip", &o.clip, 0, million, training, "largest norm of all gradients together; 0: any"},
        {"prompt", &o.prompt, 0, 0, no,
         "what the sample begins with (default: a line break); of more than --block_size characters the model "
         "sees "
         "the last"},
        {"length", &o.length, 0, million, no, "characters to sample"},
        {"temperature", &o.temperature, 0, million, no, "0: always the likeliest character"},
        {"top_k", &o.top_k, 0, million, no, "sample from the k likeliest characters; 0: all"},
    };
}

void check(const Options& options) {
    if (options.d_model % options.heads != 0)
        throw UsageError("--d_model " + std::to_string(options.d_model) + " is not divisible by --heads " +
                         std::to_string(options.heads));
    if (options.min_lr > options.lr)
        throw UsageError("--min_lr " + number_text(options.min_lr) + " is above --lr " +
                         number_text(options.lr));
    if (options.resume && options.sample_only)
        throw UsageError("--resume goes on training and --sample_only does not: choose one");
    if (options.best && !options.sample_only)
        throw UsageError("--best chooses what --sample_only writes with, and is of no use without it");
}

}  // namespace

bool parse(int argc, char** argv, Options& options) {
    CLI::App app("Trains a character-level GPT on a text, then lets it write.", "train_gpt");
    const std::vector<Setting> settings = settings_of(options);
    for (const Setting& setting : settings) {
        const std::string flag = "--" + setting.name;
        const auto set = [&options, setting](const std::string& to) {
            setting.set(to);
            options.given.insert(setting.name);
        };
        if (std::holds_alternative<bool*>(setting.value))
            app.add_flag(flag, setting.help)->each(set);
        else
            app.add_option_function<std::string>(flag, set, setting.help)
                ->type_name("")
                ->default_str(setting.get())
                ->take_last();
    }
    if (!parse_flags(app, argc, argv)) return false;
    if (!options.given.contains("min_lr")) options.min_lr = options.lr / 10;
    if (options.given.contains("text")) refuse_empty("--text", options.text);
    refuse_empty("--out", options.out.string());
    if (!options.text.empty())
        options.text = fs::absolute(options.text).string();  // a checkpoint may be read from elsewhere
    check(options);
    return true;
}

std::vector<fs::path> text_files(const Options& options) {
    if (!options.text.empty()) return {options.text};
    const fs::path root = WEFT_SOURCE_DIR;
    std::vector<fs::path> files;
    if (fs::is_directory(root / "docs"))
        for (const auto& entry : fs::directory_iterator(root / "docs"))
            if (entry.path().extension() == ".md") files.push_back(entry.path());
    std::sort(files.begin(), files.end());
    files.insert(files.begin(), root / "README.md");
    return files;
}

weft::io::Metadata to_metadata(const Options& options) {
    Options copy = options;
    weft::io::Metadata metadata;
    for (const Setting& setting : settings_of(copy))
        if (setting.kept != Kept::no) metadata[setting.name] = setting.get();
    return metadata;
}

void complete_from(const weft::io::Metadata& metadata, Options& options) {
    std::string differences;
    const std::vector<Setting> settings = settings_of(options);
    if (std::none_of(settings.begin(), settings.end(),
                     [&](const Setting& setting) { return metadata.contains(setting.name); }))
        throw weft::IoError(
            "train_gpt did not save it: it holds none of a run's settings; --out names the folder of a run");
    for (const Setting& setting : settings) {
        if (setting.kept == Kept::no) continue;
        const auto kept = metadata.find(setting.name);
        if (kept == metadata.end()) throw weft::IoError("it does not say its " + setting.name);
        if (options.given.contains(setting.name)) {
            if (setting.kept == Kept::model && setting.get() != kept->second)
                differences += "\n  --" + setting.name + " " + setting.get() + ", and the checkpoint has " +
                               weft::text::excerpt(kept->second);
            continue;
        }
        try {
            setting.set(kept->second);
        } catch (const UsageError& error) {
            throw weft::IoError(std::string("among its settings ") + error.what());
        }
    }
    if (!differences.empty())
        throw UsageError("this is another model than the checkpoint's:" + differences +
                         "\nleave these flags out, or choose another --out");
    try {
        check(options);
    } catch (const UsageError& error) {  // the user's wrong usage only where the command line is part of it
        const bool rates = options.given.contains("lr") || options.given.contains("min_lr");
        if (rates && options.d_model % options.heads == 0) throw;
        throw weft::IoError(std::string("its settings do not fit together: ") + error.what());
    }
}
