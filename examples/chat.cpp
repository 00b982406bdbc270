// A talk with a published model in the terminal: see --help. Exit codes: 0; 1 on a failure, 2 on wrong usage.
#include <unistd.h>
#include <weft/weft.h>

#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <iostream>

#include "command_line.h"

using namespace weft;

namespace {

struct Settings {
    std::string config, model, form, system, cache, precision = "highest";
    std::int64_t max_new_tokens = 512, context = 0, top_k = 0, seed = 1, threads = 0;
    double temperature = 0.6, top_p = 0.95, min_p = 0;
    bool stats = false;
    std::vector<std::string> ignore_keys;
};

bool parse_settings(int argc, char** argv, Settings& s) {
    const auto app =
        make_app("chat", "Talk to a published language model.",
                 "Example:\n  chat --model build/smollm2/SmolLM2-135M-Instruct.Q4_1.gguf --temperature 0");
    add_required_file(*app, "--model", s.model,
                      "a .gguf file, or a folder with config.json, model.safetensors and\ntokenizer.json");
    add_text(*app, "--form", s.form,
             "how messages become tokens, if the model's template is not known: chatml, llama3 or\n"
             "another form of docs/models.md; default: as the model says");
    add_text(*app, "--system", s.system, "what the model is told first; default: the template's own");
    add_number(*app, "--max_new_tokens", s.max_new_tokens, 1, 1'000'000,
               "maximum number of tokens in an answer");
    add_number(*app, "--context", s.context, 0, 1'000'000'000,
               "tokens that are kept of the talk; 0: the model's context, at most 4096");
    add_number(*app, "--temperature", s.temperature, 0, 1e6,
               "sampling temperature; 0: always the most likely token");
    add_number(*app, "--top_k", s.top_k, 0, 1'000'000, "sample from the k most likely tokens; 0: from all");
    add_number(*app, "--top_p", s.top_p, 1e-9, 1,
               "sample from the most likely tokens whose probabilities sum to p");
    add_number(*app, "--min_p", s.min_p, 0, 1,
               "sample from tokens that are at least p times as likely as the likeliest");
    add_number(*app, "--seed", s.seed, 0, 1'000'000'000'000'000, "seed of all random numbers");
    add_number(*app, "--threads", s.threads, 0, 1024,
               "number of threads, which does not affect results; 0: all");
    add_text(*app, "--cache", s.cache, "how keys and values are held: bfloat16 or float16; default: float32");
    add_ignore_keys(*app, s.ignore_keys);
    add_precision(*app, s.precision);
    add_switch(*app, "--stats", s.stats, "print tokens, times and memory after each answer");
    add_common(*app, s.config, "temperature = 0");
    if (!parse_command_line(*app, s.config, argc, argv)) return false;
    check_precision(s.precision);
    if (!s.cache.empty() && s.cache != "bfloat16" && s.cache != "float16")
        throw UsageError("--cache: \"", s.cache, "\" is neither bfloat16 nor float16");
    return true;
}

volatile std::sig_atomic_t interrupted = 0;  // Ctrl-C ends an answer, and at the prompt the program

void interrupt(int) { interrupted = 1; }

std::optional<DType> cache_type(const Settings& s) {
    if (s.cache.empty()) return {};
    return s.cache == "float16" ? float16 : bfloat16;
}

std::int64_t context_of(const Settings& s, const lm::DecoderConfig& config) {
    return std::min(s.context > 0 ? s.context : 4096, config.block_size);
}

// Before the weights are read.
void print_plan(const Settings& s, const lm::DecoderConfig& config, std::int64_t bytes) {
    const std::int64_t context = context_of(s, config),
                       cache = lm::decoder_memory(config, float32, cache_type(s)).cache / config.block_size;
    std::printf("weights %.1f MiB; keys and values of %lld tokens %.1f MiB\n",
                static_cast<double>(bytes) / 0x1p20, static_cast<long long>(context),
                static_cast<double>(cache * context) / 0x1p20);
    std::fflush(stdout);
}

double seconds_since(std::chrono::steady_clock::time_point then) {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - then).count();
}

class Chat {
public:
    Chat(const Settings& settings, lm::Pretrained published, lm::ChatTemplate form)
        : s_(settings),
          published_(std::move(published)),
          model_(published_.model),
          form_(std::move(form)),
          context_(context_of(s_, published_.model.config)),
          rng_(static_cast<std::uint64_t>(s_.seed)) {
        if (!s_.system.empty()) form_.system = s_.system;
        (void)form_.encode(published_.tokenizer, {{"user", ""}});  // refuses what does not fit the model
        kept_.caches = published_.model.make_caches(cache_type(s_), context_);
    }

    void answer(const std::string& text) {
        std::vector<lm::ChatMessage> chat = chat_;
        chat.push_back({"user", text});
        text::Ids prompt = form_.encode(published_.tokenizer, chat);
        std::size_t dropped = 0;
        const std::int64_t room = std::min<std::int64_t>(s_.max_new_tokens, context_ / 4);  // for the answer
        while (static_cast<std::int64_t>(prompt.size()) > context_ - room && chat.size() > 1) {
            chat.erase(chat.begin(), chat.begin() + 2);
            prompt = form_.encode(published_.tokenizer, chat);
            ++dropped;
        }
        if (static_cast<std::int64_t>(prompt.size()) >= context_) {
            std::printf("(this message has %zu tokens, and the context %lld: write a shorter one)\n",
                        prompt.size(), static_cast<long long>(context_));
            return;
        }
        chat_ = std::move(chat);
        if (dropped > 0) std::printf("(the context is full: the oldest %zu turns are dropped)\n", dropped);
        const std::int64_t known = common(prompt);
        const auto began = std::chrono::steady_clock::now();
        double first = 0;
        text::Utf8Stream characters;
        tokens_.clear();
        Tensor logits;
        lm::GenerateOptions options{
            .max_new_tokens = std::min(s_.max_new_tokens, context_ - static_cast<std::int64_t>(prompt.size())),
            .sampling = {.temperature = s_.temperature,
                         .top_k = s_.top_k,
                         .rng = &rng_,
                         .top_p = s_.top_p,
                         .min_p = s_.min_p},
            .cache_dtype = cache_type(s_),
            .kept = &kept_,
            .end_ids = published_.tokenizer.end_token_ids(),
            .logits = [&](const Tensor& z, const text::Ids&) { return logits = z; }};
        interrupted = 0;
        std::string answer;
        text::Ids ids = lm::generate(model_, prompt, options, [&](std::int64_t id) {
            if (first == 0) first = seconds_since(began);
            tokens_.push_back({id, std::exp(log_softmax(logits, 0)[id].item())});
            if (!ends(id)) show(characters.push(published_.tokenizer.piece(id)), answer);
            return interrupted == 0;
        });
        show(characters.finish(), answer);
        std::printf("%s\n", interrupted != 0 ? " (stopped)" : "");
        interrupted = 0;
        const std::size_t new_tokens = ids.size();
        if (!ids.empty() && ends(ids.back())) ids.pop_back();
        chat_.push_back({"assistant", answer, ids});
        if (!s_.stats) return;
        const double rest = seconds_since(began) - first;
        std::printf("(%zu tokens, of which %lld were kept; first token after %.2f s, then %.1f tokens/s)\n",
                    prompt.size(), static_cast<long long>(known), first,
                    new_tokens > 1 ? static_cast<double>(new_tokens - 1) / rest : 0.0);
    }

    // Returns false for a line that is no command.
    bool command(const std::string& line) {
        if (!line.starts_with("/")) return false;
        const std::size_t space = line.find(' ');
        const std::string name = line.substr(0, space);
        const std::string value = space == std::string::npos ? "" : line.substr(space + 1);
        if (name == "/reset") {
            chat_.clear();
            std::printf("(a new talk)\n");
        } else if (name == "/system") {
            lm::ChatTemplate told = form_;
            told.system = value;
            try {
                (void)told.render({{"user", ""}});
                form_ = told;
                std::printf("(the model is told: %s)\n", for_terminal(value).c_str());
            } catch (const ValueError& error) {
                std::printf("(%s)\n", error.what());
            }
        } else if (name == "/temperature") {
            double temperature = 0;
            if (const std::string problem = read_number(value, 0.0, 1e6, temperature); !problem.empty())
                std::printf("/temperature: %s\n", for_terminal(problem).c_str());
            else
                s_.temperature = temperature, std::printf("(temperature %s)\n", to_chars(temperature).c_str());
        } else if (name == "/tokens") {
            for (const auto& [id, probability] : tokens_)
                std::printf("%8lld  %5.1f %%  %s\n", static_cast<long long>(id), 100 * probability,
                            quoted(published_.tokenizer.piece(id)).c_str());
        } else if (name == "/attention") {
            write_attention(value.empty() ? "attention.html" : value);
        } else {
            std::printf(
                "commands: /system TEXT  /reset  /temperature X  /tokens  /attention [FILE]  /quit\n"
                "Ctrl-C stops an answer\n");
        }
        return true;
    }

private:
    Settings s_;
    lm::Pretrained published_;
    lm::LanguageModel model_;
    lm::ChatTemplate form_;
    std::int64_t context_;
    Rng rng_;
    lm::PromptCache kept_;
    std::vector<lm::ChatMessage> chat_;
    std::vector<std::pair<std::int64_t, double>> tokens_;  // of the last answer, with their probabilities

    // The explorer's page of what the model has read and written last.
    void write_attention(const std::string& path) {
        constexpr std::size_t most = 256;  // tokens; the page takes half a byte for each pair in each head
        text::Ids ids = kept_.ids;
        if (ids.empty()) return (void)std::printf("(nothing has been said yet)\n");
        if (ids.size() > most) ids.erase(ids.begin(), ids.end() - most);
        std::vector<std::string> pieces;
        for (const std::int64_t id : ids) {
            text::Utf8Stream characters;
            const std::string piece = characters.push(published_.tokenizer.piece(id));
            pieces.push_back(piece + characters.finish());
        }
        const auto run = [&](const Tensor& x) { return published_.model(x); };
        try {
            const std::filesystem::path model = std::filesystem::path(s_.model + "/").parent_path();
            report::Report page("A talk with " + model.filename().string(), 64'000'000);
            page.attention(0, pieces, viz::attention_weights(run, from_vector(ids, {1, std::ssize(ids)})));
            page.save(path);
            std::printf("(wrote %s: what each head of %lld layers looked at)\n", for_terminal(path).c_str(),
                        static_cast<long long>(published_.model.config.num_layers));
        } catch (const Error& error) {
            std::printf("(%s)\n", error.what());
        }
    }
    bool ends(std::int64_t id) const {
        return std::ranges::count(published_.tokenizer.end_token_ids(), id) > 0;
    }
    std::int64_t common(const text::Ids& prompt) const {
        return std::mismatch(kept_.ids.begin(), kept_.ids.end(), prompt.begin(), prompt.end()).first -
               kept_.ids.begin();
    }
    static void show(const std::string& text, std::string& answer) {
        answer += text;
        std::printf("%s", for_terminal(text).c_str());
        std::fflush(stdout);
    }
    static std::string quoted(const std::string& piece) {
        std::string text = "\"";
        for (const char c : printable(piece)) c == '\n' ? text += "\\n" : text += c;
        return text + "\"";
    }
};

int chat(int argc, char** argv) {
    Settings s;
    if (!parse_settings(argc, argv, s)) return 0;
    set_float32_matmul_precision(s.precision);
    if (s.threads > 0) set_num_threads(static_cast<int>(s.threads));
    lm::Pretrained published = lm::load_language(
        s.model, {.ignore_keys = s.ignore_keys,
                  .before_weights = [&](const auto& config, auto bytes) { print_plan(s, config, bytes); }});
    if (s.form.empty() && published.chat_template.empty())
        throw UsageError(
            s.model,
            " has no template for chats, or none of the name default; if it was trained for them, set "
            "--form to one of ",
            lm::ChatTemplate::names());
    const lm::ChatTemplate form =
        s.form.empty() ? lm::ChatTemplate::of(published.chat_template) : lm::ChatTemplate::named(s.form);
    Chat talk(s, std::move(published), form);
    const bool is_terminal = ::isatty(STDIN_FILENO) == 1;
    if (is_terminal) std::printf("Write a message, or /help; Ctrl-D ends.\n");
    struct sigaction stop {};
    stop.sa_handler = interrupt;  // without SA_RESTART: at the prompt, reading ends, too
    ::sigaction(SIGINT, &stop, nullptr);
    for (std::string line;;) {
        if (is_terminal) std::printf("\n> ");
        std::fflush(stdout);
        if (!std::getline(std::cin, line)) break;
        if (line.ends_with('\r')) line.pop_back();  // of a line that ends with CR LF
        if (line == "/quit") break;
        if (line.empty() || talk.command(line)) continue;
        talk.answer(line);
    }
    if (is_terminal) std::printf("\n");
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    return run_program("chat", "use a smaller model or --context", [&] { return chat(argc, argv); });
}
