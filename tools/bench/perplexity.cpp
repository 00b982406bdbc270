// What rounding its weights costs a model: a table of the validation loss of a checkpoint of train_gpt, and of
// its bytes, in every format. Run it in the project's folder, where the default text is:
//
//     perplexity FOLDER [--text FILE]
#include <CLI/CLI.hpp>
#include <cmath>
#include <cstdio>

#include "../../examples/default_text.h"
#include "weft/weft.h"
#include "workloads.h"

using namespace weft;

int main(int argc, char** argv) try {
    CLI::App app("Print the validation loss of a model of train_gpt with weights in every format");
    std::string folder, text;
    app.add_option("folder", folder, "that train_gpt wrote to")->required()->check(CLI::ExistingDirectory);
    app.add_option("--text", text, "what it trained on; default: train_gpt's")->check(CLI::ExistingFile);
    CLI11_PARSE(app, argc, argv);

    const auto file = training::Checkpoint::load(std::filesystem::path(folder) / "model.safetensors");
    const auto size = [&](const char* name) { return file.number<std::int64_t>(name, 1'000'000); };
    const text::Characters characters(file.meta("vocabulary"));
    lm::GPT model({.vocab_size = characters.vocab_size(),
                   .block_size = size("block_size"),
                   .num_layers = size("num_layers"),
                   .num_heads = size("num_heads"),
                   .d_model = size("d_model"),
                   .bias = file.meta("bias") == "true"});
    const training::Corpus corpus(
        characters.encode(text.empty() ? default_text::load(".", default_text::places(".")).text
                                       : training::read_text({text})),
        {.block_size = size("block_size"), .batch_size = size("batch_size")});
    const std::vector<training::Batch> batches = corpus.validation_batches();

    std::printf(
        "| weights | bytes | loss, nats | perplexity | loss − float32's |\n| --- | --- | --- | --- | --- |\n");
    double whole = 0;
    for (const std::string& format : bench::weight_formats()) {
        model.to(float32);
        model.load_state_dict(file.model);
        bench::store_weights(model, format);
        const double loss = training::evaluate(batches, [&](const training::Batch& batch) {
            return cross_entropy(model(batch.inputs), batch.targets);
        });
        if (format == "float32") whole = loss;
        std::printf("| %s | %lld | %.5f | %.4f | %+.5f |\n", format.c_str(),
                    static_cast<long long>(bench::weight_bytes(model)), loss, std::exp(loss), loss - whole);
        std::fflush(stdout);
    }
} catch (const Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
}
