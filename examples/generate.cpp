// Continues a prompt with a model trained by train_gpt, or with a GPT-2 in Hugging Face's format: see --help.
// Exit codes: 0; 1 on a failure, 2 on wrong usage; 130 on Ctrl-C, and 128 + its number on another signal that
// asks the program to end.
#include <unistd.h>
#include <weft/weft.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <new>

#include "command_line.h"

using namespace weft;
namespace fs = std::filesystem;

namespace {

struct Settings {
    std::string config, model = "out", prompt, stop, dtype = "float32", weights, cache, precision = "highest";
    std::int64_t max_new_tokens = 200, top_k = 0, seed = 1, threads = 0;
    double temperature = 0.8, top_p = 1;
    bool no_cache = false, ignore_eos = false, stats = false, random = false;
    std::vector<std::string> ignore_keys;
};

// What --weights and --dtype ask for.
DType weight_type(const Settings& s) {
    const std::map<std::string, DType> types{{"", s.dtype == "float64" ? float64 : float32},
                                             {"bfloat16", bfloat16},
                                             {"float16", float16},
                                             {"q8_0", DType::Q8_0},
                                             {"q4_0", DType::Q4_0},
                                             {"q4_1", DType::Q4_1}};
    const auto found = types.find(s.weights);
    if (found == types.end())
        throw UsageError("--weights: \"", s.weights,
                         "\" is none of bfloat16, float16, q8_0, q4_0 and q4_1, the types of weights");
    return found->second;
}

std::optional<DType> cache_type(const Settings& s) {
    if (s.cache.empty()) return {};
    if (s.cache != "bfloat16" && s.cache != "float16")
        throw UsageError("--cache: \"", s.cache, "\" is neither bfloat16 nor float16");
    return s.cache == "float16" ? float16 : bfloat16;
}

bool parse_settings(int argc, char** argv, Settings& s) {
    const auto app = make_app("generate", "Continue a prompt with a language model.",
                              "Examples:\n"
                              "  generate --model out --prompt Chapter\n"
                              "  generate --model gpt2 --prompt \"Once upon a time\" --top_p 0.9");
    add_text(*app, "--model", s.model,
             "folder written by train_gpt, or one of its .safetensors files; a published model: a\n"
             ".gguf file, or a folder with config.json, model.safetensors and tokenizer.json, or\n"
             "of a GPT-2 with vocab.json and merges.txt",
             true);
    add_text(*app, "--prompt", s.prompt,
             "text to continue; default: start a new one; the model sees the last tokens that\n"
             "fit its context");
    add_text(*app, "--stop", s.stop, "end before this text appears");
    add_number(*app, "--max_new_tokens", s.max_new_tokens, 0, 1'000'000,
               "maximum number of tokens to generate");
    add_number(*app, "--temperature", s.temperature, 0, 1e6,
               "sampling temperature; 0: always the most likely token");
    add_number(*app, "--top_k", s.top_k, 0, 1'000'000, "sample from the k most likely tokens; 0: from all");
    add_number(*app, "--top_p", s.top_p, 1e-9, 1,
               "sample from the most likely tokens whose probabilities sum to p; 1: from all");
    add_number(*app, "--seed", s.seed, 0, 1'000'000'000'000'000, "seed of all random numbers");
    add_number(*app, "--threads", s.threads, 0, 1024,
               "number of threads, which does not affect results; 0: all");
    add_text(*app, "--dtype", s.dtype, "number type, float32 or float64");
    add_text(*app, "--weights", s.weights,
             "how weights are held: bfloat16, float16, q8_0, q4_0 or q4_1, which take a half to a\n"
             "seventh of the memory and of the time; default: as --dtype");
    add_text(*app, "--cache", s.cache,
             "how keys and values are held: bfloat16 or float16; default: as --dtype");
    add_ignore_keys(*app, s.ignore_keys);
    add_precision(*app, s.precision);
    add_switch(*app, "--no_cache", s.no_cache,
               "recompute all keys and values for every token: the same text, but slower");
    add_switch(*app, "--ignore_eos", s.ignore_eos, "continue after GPT-2's end-of-text token");
    add_switch(*app, "--stats", s.stats, "print sizes, memory and speed to standard error");
    add_switch(*app, "--random", s.random,
               "for --stats, without a model: random weights in GPT-2's sizes (124M); prints ids");
    add_common(*app, s.config, "top_k = 40");
    if (!parse_command_line(*app, s.config, argc, argv)) return false;
    if (s.dtype != "float32" && s.dtype != "float64")
        throw UsageError("--dtype: \"", s.dtype, "\" is neither float32 nor float64");
    (void)weight_type(s);
    (void)cache_type(s);
    check_precision(s.precision);
    if (s.dtype == "float64" && !(s.weights.empty() && s.cache.empty() && s.precision == "highest"))
        throw UsageError(
            "--dtype: float64 does not go with --weights, --cache or --precision medium, which compute in "
            "float32");
    return true;
}

// What --stats prints to standard error.
class Stats {
public:
    explicit Stats(bool enabled) : enabled_(enabled), last_(Clock::now()) {}

    // Before anything is allocated.
    void plan(const lm::GPTMemory& memory, std::int64_t context, const std::string& type) {
        print("weights   %.1f MiB in %s, and %.1f MiB for keys and values of %lld tokens\n",
              static_cast<double>(memory.weights) / 0x1p20, type.c_str(),
              static_cast<double>(memory.cache) / 0x1p20, static_cast<long long>(context));
    }
    void plan(const lm::GPTConfig& config, const Settings& s) {
        plan(lm::memory_of(config, weight_type(s), cache_type(s)), config.block_size,
             s.weights.empty() ? s.dtype : s.weights);
    }
    void model(const nn::Module& model) {
        print("model     %lld parameters, made in %.2f s\n", static_cast<long long>(model.num_parameters()),
              lap());
    }
    void token() {
        if (first_ == 0) first_ = lap();
    }
    void text(std::size_t prompt, std::size_t generated) {
        const double rest = lap();
        if (generated > 0)
            print("prompt    %zu tokens, and the first after it, in %.3f s: %.1f tokens/s\n", prompt, first_,
                  static_cast<double>(prompt) / first_);
        if (generated > 1)
            print("generated %zu more in %.3f s: %.1f tokens/s\n", generated - 1, rest,
                  static_cast<double>(generated - 1) / rest);
        print("memory    %.1f MiB at most\n", training::peak_memory());
    }

private:
    using Clock = std::chrono::steady_clock;
    bool enabled_;
    Clock::time_point last_;
    double first_ = 0;  // seconds until the first token

    double lap() {
        const auto now = Clock::now();
        const double seconds = std::chrono::duration<double>(now - last_).count();
        last_ = now;
        return seconds;
    }
    template <class... Values>
    void print(const char* format, Values... values) const {
        if (enabled_) std::fprintf(stderr, format, values...);
    }
};

// The model with its weights held as the settings say.
template <class Model>
Model held(Model model, const Settings& s) {
    model.to(weight_type(s));
    return model;
}

struct Language {
    lm::LanguageModel model;
    text::Tokenizer tokenizer;
};

// A checkpoint of train_gpt, with sizes and characters as metadata.
std::pair<lm::GPT, text::Characters> load_checked(const fs::path& path, const Settings& s, Stats& stats) {
    const training::Checkpoint file = load_checkpoint(path);
    if (!file.metadata.contains("vocabulary") && !file.metadata.contains("block_size"))
        throw IoError(path.string(),
                      " was not saved by train_gpt: it contains neither characters nor sizes; for a GPT-2, set "
                      "--model to the folder with its config.json");
    try {
        const auto size = [&](const char* name) { return file.number<std::int64_t>(name, 1'000'000); };
        const std::string bias = file.meta("bias");
        if (const std::string problem = problem_of_switch("bias", bias); !problem.empty())
            throw IoError("its bias: ", problem);
        const text::Characters characters(file.meta("vocabulary"));
        const lm::GPTConfig config{.vocab_size = characters.vocab_size(),
                                   .block_size = size("block_size"),
                                   .num_layers = size("num_layers"),
                                   .num_heads = size("num_heads"),
                                   .d_model = size("d_model"),
                                   .bias = bias == "true"};
        lm::check_state_dict(config, file.model);  // before a model of these sizes is made
        stats.plan(config, s);
        Rng rng = Rng::skip_init();
        lm::GPT model(config, rng);
        model.load_state_dict(file.model);
        return {std::move(model), characters};
    } catch (const std::runtime_error& error) {  // from the library, or from an invalid number
        throw IoError(path.string(), " does not contain a model saved by train_gpt: ", error.what());
    }
}

Language load_trained(const fs::path& path, const Settings& s, Stats& stats) {
    auto [model, characters] = load_checked(path, s, stats);
    return {held(std::move(model), s), characters};
}

// A model of today, with its weights as its file has them where nothing else is asked for.
Language load_published(const fs::path& path, const Settings& s, Stats& stats) {
    const bool is_as_stored = s.weights.empty() && s.dtype == "float32";
    const auto plan = [&](const lm::DecoderConfig& config, std::int64_t bytes) {
        lm::GPTMemory memory = lm::decoder_memory(config, weight_type(s), cache_type(s));
        if (is_as_stored) memory.weights = bytes;
        stats.plan(memory, config.block_size,
                   is_as_stored        ? "the types of the file"
                   : s.weights.empty() ? s.dtype
                                       : s.weights);
    };
    lm::Pretrained published = lm::load_language(path, {.ignore_keys = s.ignore_keys, .before_weights = plan});
    return {is_as_stored ? published.model : held(published.model, s), published.tokenizer};
}

Language load(const Settings& s, Stats& stats) {
    const fs::path path = s.model;
    std::error_code unreadable;  // reading will report it
    const fs::file_type type = fs::status(path, unreadable).type();
    const auto contains = [&](const char* name) {
        return fs::exists(fs::symlink_status(path / name, unreadable));
    };
    if (type == fs::file_type::not_found)
        throw IoError(path.string(), " does not exist; set --model to a folder with a model");
    if (path.extension() == ".gguf" || contains("tokenizer.json")) return load_published(path, s, stats);
    if (type != fs::file_type::directory) return load_trained(path, s, stats);
    if (contains("config.json")) {
        stats.plan(lm::gpt2_config(path / "config.json", s.ignore_keys), s);
        const DType read_as = s.dtype == "float64" ? float64 : float32;
        return {held(lm::load_gpt2(path, {.dtype = read_as, .ignore_keys = s.ignore_keys}), s),
                text::BytePairs::load(path)};
    }
    if (contains("model.safetensors")) return load_trained(path / "model.safetensors", s, stats);
    throw IoError(
        path.string(),
        " contains neither config.json (of a GPT-2) nor model.safetensors (of train_gpt); set --model to a "
        "folder with a model");
}

volatile std::sig_atomic_t line_open = 0;  // whether standard output may lack a line break

// Ends the program at once: there is nothing to save.
void end_at_once(int signal) {
    if (line_open != 0 && ::write(STDOUT_FILENO, "\n", 1) < 0) ::_exit(1);
    ::_exit(128 + signal);
}

// Standard output; the first failed write is reported by check().
class Output {
public:
    bool write(const std::string& text) {
        const std::string tame = for_terminal(text);
        if (!tame.empty()) line_open = 1;
        errno = 0;
        const bool written =
            std::fwrite(tame.data(), 1, tame.size(), stdout) == tame.size() && std::fflush(stdout) == 0;
        if (!written && reason_ == 0) reason_ = errno;
        return written;
    }
    void check() const {
        if (reason_ != 0) throw IoError("cannot write the text: ", std::strerror(reason_));
    }

private:
    int reason_ = 0;
};

lm::GenerateOptions options_of(const Settings& s, Rng& rng) {
    return {.max_new_tokens = s.max_new_tokens,
            .sampling = {.temperature = s.temperature, .top_k = s.top_k, .rng = &rng, .top_p = s.top_p},
            .use_cache = !s.no_cache,
            .cache_dtype = cache_type(s)};
}

void run_random(const Settings& s, Stats& stats, Output& output) {
    Rng rng(static_cast<std::uint64_t>(s.seed));
    const lm::GPTConfig config{.vocab_size = 50257,
                               .block_size = 1024,
                               .num_layers = 12,
                               .num_heads = 12,
                               .d_model = 768,
                               .bias = true};
    stats.plan(config, s);
    const lm::GPT model = held(lm::GPT(config, rng), s);
    stats.model(model);
    const text::Ids prompt = randint(0, 50257, {64}, rng).to_vector<std::int64_t>();
    const text::Ids ids = lm::generate(model, prompt, options_of(s, rng), [&](std::int64_t id) {
        stats.token();
        return output.write(std::to_string(id) + " ");
    });
    stats.text(prompt.size(), ids.size());
}

void run(const Settings& s, Stats& stats, Output& output) {
    const Language language = load(s, stats);
    warn_of_nonfinite(s.model, language.model.named_parameters());
    stats.model(language.model);
    Rng rng(static_cast<std::uint64_t>(s.seed));
    const text::Ids ids =
        s.prompt.empty() ? default_prompt(language.tokenizer) : language.tokenizer.encode(s.prompt);
    const std::int64_t context = language.model.context_length();
    if (static_cast<std::int64_t>(ids.size()) > context)
        std::fprintf(stderr, "generate: the prompt has %zu tokens, of which the model sees the last %lld\n",
                     ids.size(), static_cast<long long>(context));
    bool begun = false;  // the prompt is written before the first piece of text, so not if it is refused
    const auto write = [&](const std::string& text) {
        stats.token();
        const std::string before = begun ? "" : s.prompt;
        begun = true;
        return output.write(before + text);
    };
    const lm::GeneratedText result = lm::generate_text(
        language.model, language.tokenizer, ids,
        {.generate = options_of(s, rng), .stop = s.stop, .stop_at_eos = !s.ignore_eos, .write = write});
    if (!begun) output.write(s.prompt);
    stats.text(ids.size(), result.ids.size());
}

int generate(int argc, char** argv) {
    for (const int signal : {SIGINT, SIGHUP, SIGTERM})  // an ignored signal, as under nohup, stays ignored
        if (std::signal(signal, end_at_once) == SIG_IGN) std::signal(signal, SIG_IGN);
    Settings settings;
    if (!parse_settings(argc, argv, settings)) return 0;
    const dist::Group group;
    if (group.rank() > 0) return 0;  // of several processes the first generates
    set_float32_matmul_precision(settings.precision);
    if (settings.threads > 0) set_num_threads(static_cast<int>(settings.threads));
    Stats stats(settings.stats);
    Output output;
    settings.random ? run_random(settings, stats, output) : run(settings, stats, output);
    output.write("\n");
    output.check();
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    return run_program("generate", "use a smaller model", [&] { return generate(argc, argv); });
}
