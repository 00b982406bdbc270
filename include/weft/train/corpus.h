// A text as the model sees it: characters (UTF-8 code points), numbered by a vocabulary, in random batches.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "weft/core/tensor.h"

// The characters of a text in UTF-8. weft::IoError, naming `source` and the offset of the first wrong byte,
// where it is not.
std::u32string decode(const std::string& text, const std::string& source);
std::string encode(const std::u32string& characters);

// The text of one file, or of several one after another, each without a byte-order mark at its beginning and
// with LF where a line ends in CR LF. weft::IoError where one is missing, empty or not UTF-8.
std::u32string read_text(const std::vector<std::filesystem::path>& paths);

// A number that is most likely another one when the text is another (FNV-1a).
std::uint64_t fingerprint(const std::u32string& text);

// The different characters of a text, numbered in the order of their code points.
class Vocabulary {
public:
    explicit Vocabulary(const std::u32string& text);
    std::int64_t size() const { return static_cast<std::int64_t>(characters_.size()); }
    const std::u32string& characters() const { return characters_; }

    // weft::ValueError, naming `source`, the character and its place, when one is not in the vocabulary.
    std::vector<std::int64_t> ids_of(const std::u32string& text, const std::string& source) const;
    std::string text_of(const std::vector<std::int64_t>& ids) const;

private:
    std::u32string characters_;
    std::map<char32_t, std::int64_t> ids_;
};

// B sequences of T tokens and, at the same places, the token that follows each.
struct Batch {
    weft::Tensor inputs, targets;  // int64 (B, T)
};

// The ids of a text: the first nine tenths to train on, the rest held out.
class Corpus {
public:
    // weft::ValueError, naming the smallest length that will do, when the held-out tenth is shorter than
    // block_size + 1.
    Corpus(const std::vector<std::int64_t>& ids, std::int64_t block_size);

    std::int64_t training_size() const { return static_cast<std::int64_t>(training_.size()); }
    std::int64_t held_out_size() const { return static_cast<std::int64_t>(held_out_.size()); }

    // The batch of one step: a function of the seed and the step alone. Each pass through the training part
    // cuts it into blocks at another place and takes them in another order, so that all of it is read before
    // any of it again.
    Batch training_batch(std::int64_t step, std::int64_t batch, std::uint64_t seed);
    // The held-out tenth in blocks side by side, at most `limit` batches; where there are more blocks, evenly
    // spread ones.
    std::vector<Batch> held_out_batches(std::int64_t batch, std::int64_t limit) const;

private:
    std::vector<std::int64_t> training_, held_out_;
    std::int64_t block_size_;

    // The pass that was drawn last: where its blocks begin, in its order.
    std::int64_t pass_ = -1;
    std::vector<std::int64_t> starts_;
    void draw_pass(std::int64_t pass, std::uint64_t seed);
};
