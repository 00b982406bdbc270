// Trains a character-level GPT on a text, then lets it write: see --help.
// Ends with 0; with 1 on a failure, 2 on wrong usage; after saving with 130 when Ctrl-C interrupts it, and with
// 128 + its number at any other signal that asks it to end.
#include <csignal>
#include <cstdio>
#include <exception>
#include <new>
#include <optional>

#include "checkpoint.h"
#include "folder.h"
#include "interrupt.h"
#include "train.h"

using namespace weft;

namespace {

// The prompt as ids; a line break, or else the first character of the vocabulary, when none is given.
Tensor prompt_ids(const Run& run) {
    std::u32string prompt = decode(run.options.prompt, "--prompt");
    const std::u32string& known = run.vocabulary.characters();
    if (prompt.empty()) prompt = known.find(U'\n') != std::u32string::npos ? U'\n' : known.front();
    const std::vector<std::int64_t> ids = run.vocabulary.ids_of(prompt, "--prompt");
    if (static_cast<std::int64_t>(ids.size()) > run.options.block_size)
        std::fprintf(stderr,
                     "train_gpt: the prompt has %zu characters, of which the model sees the last %lld\n",
                     ids.size(), static_cast<long long>(run.options.block_size));
    return from_vector(ids, {static_cast<std::int64_t>(ids.size())});
}

void write_sample(Run& run, const Tensor& prompt) {
    Rng rng(static_cast<std::uint64_t>(run.options.seed));
    const nn::SampleOptions how{
        .temperature = run.options.temperature, .top_k = run.options.top_k, .rng = &rng};
    const Tensor ids = run.model.generate(prompt, run.options.length, how);  // (prompt + length,)
    std::printf("%s\n", run.vocabulary.text_of(ids.to_vector<std::int64_t>()).c_str());
}

int run_program(int argc, char** argv) {
    Options options;
    if (!parse(argc, argv, options)) return 0;
    if (options.threads > 0) set_num_threads(static_cast<int>(options.threads));

    std::optional<OutFolder> folder;  // tried now rather than after the training
    if (!options.sample_only) folder.emplace(options.out);
    const bool go_on = options.resume || options.sample_only;
    std::u32string text;
    if (!go_on) text = read_text(text_files(options));
    Run run = go_on ? load(options) : Run(options, Vocabulary(text));
    const Tensor prompt = prompt_ids(run);  // refused now rather than after the training
    if (options.resume && is_done(run)) {
        std::printf(
            "nothing to train: the checkpoint in %s is at step %lld, and %s is %lld; to train on give a "
            "larger one\n\n",
            run.options.out.c_str(), static_cast<long long>(run.step),
            last_step(run.options) < run.options.steps ? "--stop_at" : "--steps",
            static_cast<long long>(last_step(run.options)));
    } else if (!options.sample_only) {
        if (go_on) text = read_text(text_files(run.options));
        const Ended ended = train(run, text);
        if (ended != Ended::finished) {
            std::printf("%s at step %lld and saved: --resume goes on\n",
                        ended == Ended::stopped ? "stopped" : "interrupted", static_cast<long long>(run.step));
            return ended == Ended::stopped ? 0 : 128 + CatchInterrupt::signal();
        }
        std::printf("wrote %s, %s and %s\n\n", (run.options.out / "model.safetensors").c_str(),
                    (run.options.out / "loss.csv").c_str(), (run.options.out / "report.html").c_str());
    }
    write_sample(run, prompt);
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    std::signal(SIGPIPE, SIG_IGN);  // a reader that goes away must not cost the training,
    std::signal(SIGXFSZ, SIG_IGN);  // nor a limit on the size of files
    try {
        return run_program(argc, argv);
    } catch (const UsageError& error) {
        std::fprintf(stderr, "train_gpt: %s\n", error.what());
        return 2;
    } catch (const std::bad_alloc&) {
        std::fprintf(stderr,
                     "train_gpt: out of memory: the run takes more than this machine gives; make --d_model, "
                     "--layers, --block_size or --batch smaller\n");
        return 1;
    } catch (const std::exception& error) {
        std::fprintf(stderr, "train_gpt: %s\n", error.what());
        return 1;
    }
}
