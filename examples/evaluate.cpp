// Prints how well a published model predicts a text: see --help. Exit codes: 0; 1 on a failure, 2 on wrong
// usage.
#include <weft/weft.h>

#include <cmath>
#include <cstdio>

#include "command_line.h"

using namespace weft;

namespace {

int evaluate(int argc, char** argv) {
    std::string config, path, file, precision = "highest";
    std::int64_t window = 0, stride = 0, threads = 0;
    std::vector<std::string> ignore_keys;
    const auto app =
        make_app("evaluate", "Print the mean negative log-likelihood of a text's tokens by a language model.",
                 "Example:\n  evaluate --model build/smollm2/SmolLM2-135M-Instruct.Q4_1.gguf --text README.md");
    add_required_file(*app, "--model", path,
                      "a .gguf file, or a folder with config.json, model.safetensors and tokenizer.json");
    add_required_file(*app, "--text", file, "the text");
    add_number(*app, "--window", window, 0, 1'000'000'000,
               "tokens that the model reads at once; 0: its context, of a text that fits the text");
    add_number(*app, "--stride", stride, 0, 1'000'000'000, "tokens from window to window; 0: half a window");
    add_number(*app, "--threads", threads, 0, 1024, "number of threads, which does not affect results; 0: all");
    add_ignore_keys(*app, ignore_keys);
    add_precision(*app, precision);
    add_common(*app, config, "window = 512");
    if (!parse_command_line(*app, config, argc, argv)) return 0;
    check_precision(precision);
    set_float32_matmul_precision(precision);
    if (threads > 0) set_num_threads(static_cast<int>(threads));

    const std::string text = io::load_text(file);
    const lm::Pretrained published = lm::load_language(path, {.ignore_keys = ignore_keys});
    // With the model's own begin token first, where its tokenizer asks for one.
    const text::Ids ids = published.tokenizer.encode(text);
    const lm::LanguageModel model = published.model;
    const auto given = [](std::int64_t n) { return n > 0 ? std::optional(n) : std::nullopt; };
    const lm::Likelihood found = lm::log_likelihood(model, ids, given(window), given(stride));
    // The bytes of what was scored: not those of a first token that stands for text.
    const std::size_t given_bytes =
        published.tokenizer.adds_bos_token() ? 0 : published.tokenizer.decode({ids[0]}).size();
    std::printf("%lld tokens, %.4f nats a token, perplexity %.2f, %.2f bits per byte\n",
                static_cast<long long>(found.tokens), found.mean(), std::exp(found.mean()),
                found.nats / std::log(2) / static_cast<double>(text.size() - given_bytes));
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    return run_program("evaluate", "use a smaller model or --window", [&] { return evaluate(argc, argv); });
}
