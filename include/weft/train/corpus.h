// A text as a language model reads it: token ids in batches, one part to train on and one for validation.
// N tokens, B sequences in a batch, T = block_size tokens in each.
#pragma once

#include <filesystem>

#include "weft/core/ops.h"
#include "weft/models/tokenizer.h"

namespace weft::training {

// The text of one file, or of several one after another: UTF-8, each without a byte-order mark at its beginning
// and with LF where a line ends in CR LF. IoError where a file is missing, empty or not UTF-8.
std::string read_text(const std::vector<std::filesystem::path>& paths);

// B sequences and, at the same positions, the token that follows each.
struct Batch {
    Tensor inputs, targets;  // int64 (B, T)
};

// The ids of a text: the first ⌊0.9 N⌋ to train on, the rest for validation.
//
//     const text::Characters tokenizer(text);
//     training::Corpus corpus(tokenizer.encode(text), {.block_size = 64, .batch_size = 12, .seed = 1});
//     const training::Batch batch = corpus.training_batch(step);                          // each (12, 64)
//     const Tensor loss = cross_entropy(model(batch.inputs), batch.targets);
class Corpus {
public:
    // How it is cut into batches.
    struct Options {
        std::int64_t block_size = 64;  // T
        std::int64_t batch_size = 12;  // B
        std::uint64_t seed = 0;        // of the order of the training batches
    };
    // ValueError where block_size or batch_size is below 1, and, naming the smallest length that suffices,
    // where the validation part is shorter than block_size + 1.
    Corpus(const text::Ids& ids, const Options& options);

    const text::Ids& training() const { return training_; }      // the first part
    const text::Ids& validation() const { return validation_; }  // the rest

    // The batch of one step, a function of the seed and the step alone, so a resumed run goes on with the
    // batches it would have had. Each pass over the training part cuts it into blocks at another offset and
    // takes them in another order: all of it is read before any of it again.
    Batch training_batch(std::int64_t step);
    // The validation part in adjacent blocks, at most `limit` batches; where there are more blocks, evenly
    // spaced ones.
    std::vector<Batch> validation_batches(std::int64_t limit = 100) const;

private:
    text::Ids training_, validation_;
    Options options_;

    std::int64_t pass_ = -1;            // the pass that was drawn last
    std::vector<std::int64_t> starts_;  // where its blocks begin, in its order
    void draw_pass(std::int64_t pass);
};

}  // namespace weft::training
