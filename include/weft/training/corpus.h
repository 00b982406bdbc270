// The token ids of a text as batches for a language model, one part for training and one for validation.
// N tokens in the text, B sequences in a batch, T = block_size tokens in each.
#pragma once

#include <filesystem>

#include "weft/ops.h"
#include "weft/text/tokenizer.h"

namespace weft::training {

// The concatenated text of one file or several, each unpacked if gzip packed it, without its byte-order mark
// and with LF for CR LF. IoError if a file is missing, empty or not UTF-8, or damaged by gzip's checksum.
//
//     const std::string text = training::read_text({folder / "one.txt", folder / "two.txt"});
std::string read_text(const std::vector<std::filesystem::path>& paths);

// B sequences, and for each of their tokens the one that follows it.
struct Batch {
    Tensor inputs, targets;  // int64 (B, T)
};

// The ids of a text: the first ⌊0.9 N⌋ for training, the rest for validation.
//
//     const text::Characters tokenizer(text);
//     training::Corpus corpus(tokenizer.encode(text), {.block_size = 64, .batch_size = 12, .seed = 1});
//     const training::Batch batch = corpus.training_batch(step);
//     // batch.inputs (12, 64), batch.targets (12, 64)
//     const Tensor loss = cross_entropy(model(batch.inputs), batch.targets);  // ()
class Corpus {
public:
    // Options of a corpus.
    struct Options {
        std::int64_t block_size = 64;  // T
        std::int64_t batch_size = 12;  // B
        std::uint64_t seed = 0;        // seed of the order of the training batches
    };
    // ValueError if block_size or batch_size is below 1, or if the validation part is shorter than block_size +
    // 1, naming the smallest N that suffices.
    Corpus(const text::Ids& ids, const Options& options);

    const text::Ids& training() const { return training_; }      // the first part
    const text::Ids& validation() const { return validation_; }  // the rest

    // The batch of one step, inputs and targets (B, T). It depends on the seed and the step alone, so a resumed
    // run gets the batches that it would have had. Each pass over the training part cuts it into blocks at a
    // new offset and shuffles them: every block is read once before any is read again. ValueError if `step` is
    // negative.
    Batch training_batch(std::int64_t step);
    // The validation part as at most `limit` batches of adjacent blocks, (B, T) each and the last maybe with
    // fewer rows; if there are more blocks, evenly spaced ones.
    std::vector<Batch> validation_batches(std::int64_t limit = 100) const;

private:
    text::Ids training_, validation_;
    Options options_;

    std::int64_t pass_ = -1;            // the pass that was drawn last
    std::vector<std::int64_t> starts_;  // positions where its blocks begin, shuffled
    void draw_pass(std::int64_t pass);
};

}  // namespace weft::training
