// Chapter 15: a GPT is trained on a text.
// B sequences in a batch, T characters in each, V characters in the vocabulary.
#include "chapter.h"

#include <stdlib.h>  // mkdtemp
#include <unistd.h>  // where macOS has it

#include "15_training.h"

namespace {

// A new folder, removed with this.
struct Folder {
    std::filesystem::path path;
    Folder() {
        std::string name = (std::filesystem::temp_directory_path() / "weft_XXXXXX").string();
        path = ::mkdtemp(name.data());
    }
    ~Folder() { std::filesystem::remove_all(path); }
};

void text_to_batches(const Corpus& corpus) {
    std::printf("%zu characters, V = %lld: %s\n", tale.size(),
                static_cast<long long>(corpus.characters.vocab_size()),
                one_line(corpus.characters.vocabulary()).c_str());
    std::printf("%lld for training, %lld for validation\n", static_cast<long long>(corpus.training.numel()),
                static_cast<long long>(corpus.validation.numel()));
    const Batch first = batch_at(corpus.training, {0});
    std::printf("inputs   \"%s\"\n", corpus.characters.decode(first.inputs.to_vector<std::int64_t>()).c_str());
    std::printf("targets  \"%s\"\n", corpus.characters.decode(first.targets.to_vector<std::int64_t>()).c_str());
}

// Trains until step `until`, from the checkpoint in `folder` if there is one. Returns the validation loss.
double train_in(const std::filesystem::path& folder, std::int64_t until) {
    const text::Characters characters(tale);
    training::Corpus corpus(characters.encode(tale), {.block_size = T, .batch_size = B, .seed = 2});
    Rng rng(1);
    lm::GPT model({.vocab_size = characters.vocab_size(),
                   .block_size = T,
                   .num_layers = 1,
                   .num_heads = 2,
                   .d_model = 32},
                  rng);
    optim::AdamW optimizer(model, {.lr = 3e-3});
    const auto loss_of = [&](const training::Batch& batch) {
        return cross_entropy(model(batch.inputs), batch.targets);  // (B, T, V), (B, T) → ()
    };

    const std::filesystem::path path = folder / "model.safetensors";
    std::int64_t step = 0;
    if (std::filesystem::exists(path)) step = training::Checkpoint::load(path).restore(model, optimizer);
    const training::Interrupt interrupt;
    for (; step < until && !interrupt.requested(); ++step) {
        optimizer.zero_grad();
        loss_of(corpus.training_batch(step)).backward();
        optimizer.step();
    }
    training::Checkpoint(model, optimizer, step).save(path);
    return training::evaluate(corpus.validation_batches(), loss_of);
}

void stopped_and_resumed() {
    const Folder whole, parts;
    const double never_stopped = train_in(whole.path, 60);
    std::printf("stopped at step 40   validation loss %.2f\n", train_in(parts.path, 40));
    const double resumed = train_in(parts.path, 60);
    std::printf("resumed to step 60   validation loss %.2f\n", resumed);
    const bool same = resumed == never_stopped && io::load_text(whole.path / "model.safetensors") ==
                                                      io::load_text(parts.path / "model.safetensors");
    std::printf("never stopped        validation loss %.2f, %s\n", never_stopped,
                same ? "the same bits" : "other bits");
}

void break_it(const Corpus& corpus) {
    lm::GPT model = new_model(corpus);
    Rng rng(2);
    optim::AdamW optimizer(model, {.lr = 4e-3});
    const Batch validation = corpus.validation_batch(0);
    for (int step = 0; step <= 60; ++step) {
        optimizer.zero_grad();
        const Batch batch = corpus.random_batch(rng, 0);  // targets = inputs
        const Tensor loss = cross_entropy(model(batch.inputs), batch.targets);
        loss.backward();
        optimizer.step();
        const NoGrad off;
        if (step % 20 == 0)
            std::printf("step %2d  loss %.2f  validation %.2f\n", step, loss.item(),
                        cross_entropy(model(validation.inputs), validation.targets).item());
    }
    const lm::GenerateTextOptions options{.generate = {.max_new_tokens = 32, .sampling = {.rng = &rng}}};
    std::printf("it writes \"and the %s\"\n",
                lm::generate_text(model, corpus.characters, "and the ", options).text.c_str());
}

// ---- figures

// Eight characters, and the target of each.
std::string batches_figure() {
    viz::Drawing d(640, 215, "Inputs are a piece of the text; targets are the piece one character later");
    const std::string shown = "the weft", next = "he weft ";
    d.text(95, 80, "inputs", {14, "end", "#222", true}).text(95, 165, "targets", {14, "end", "#222", true});
    for (std::size_t t = 0; t < 8; ++t) {
        const double x = 115 + 62 * static_cast<double>(t);
        d.text(x + 24, 38, std::to_string(t), {.size = 12, .colour = "#555"});
        d.box(x, 60, 48, 40, shown[t] == ' ' ? "␣" : std::string(1, shown[t]), {.label = {.size = 18}});
        d.arrow(x + 24, 102, x + 24, 142);
        d.box(x, 145, 48, 40, next[t] == ' ' ? "␣" : std::string(1, next[t]),
              {.fill = "#fdf1e3", .stroke = {viz::palette(5), 1.5, false}, .label = {.size = 18}});
    }
    d.text(95, 38, "position", {.size = 12, .anchor = "end", .colour = "#555"});
    d.text(361, 205, "position 3 has read \"the␣\"; its target is \"w\"", {.size = 13});
    return d.svg();
}

std::string loss_figure(const Trained& curves) {
    std::vector<double> smooth;  // the mean of the last 20 steps
    for (std::size_t i = 0; i < curves.training.size(); ++i) {
        const std::size_t from = i < 20 ? 0 : i - 19;
        double total = 0;
        for (std::size_t j = from; j <= i; ++j) total += curves.training[j];
        smooth.push_back(total / static_cast<double>(i - from + 1));
    }
    viz::Plot plot({.title = "Training loss and validation loss",
                    .x = "step",
                    .y = "loss",
                    .x_range = {0, static_cast<double>(steps)},
                    .y_range = {0, 3.5},
                    .legend = "top-right"});
    plot.line(curves.step, smooth, "training, mean of 20 steps");
    plot.line(curves.validation_step, curves.validation, "validation", {.markers = true});
    plot.vertical(static_cast<double>(curves.best_step), "lowest validation loss", {.dashed = true});
    return plot.svg();
}

}  // namespace

int main(int argc, char** argv) {
    Chapter chapter(argc, argv);
    set_num_threads(1);  // the operations are too small to share among threads
    const Corpus corpus(tale);
    chapter.section("A text as batches");
    text_to_batches(corpus);
    chapter.section("Training");
    lm::GPT model = new_model(corpus);
    const Trained result = train(model, corpus);
    chapter.section("Stopped and resumed");
    stopped_and_resumed();
    chapter.section("Break it: targets that are not shifted");
    break_it(corpus);

    chapter.figure("15_batches", batches_figure());
    chapter.figure("15_loss", loss_figure(result));
}
