// Tokenisers: texts as the ids that a language model reads, and back. V = vocab_size(), ids are 0 … V − 1. Each
// gives encode(text) → ids, and decode(ids) → text, the pieces of the ids one after another;
// decode(encode(text)) is text.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "weft/core/error.h"

namespace weft::text {

using Ids = std::vector<std::int64_t>;  // of tokens, in the order of the text

// One id for each of a text's different characters (Unicode code points), in their order.
class Characters {
public:
    // The characters of `text`, which is UTF-8: ValueError, naming the offset of the first wrong byte, where it
    // is not.
    explicit Characters(const std::string& text);

    std::int64_t vocab_size() const { return static_cast<std::int64_t>(characters_.size()); }  // V
    std::string vocabulary() const;  // each character once: Characters(vocabulary()) is the same tokeniser
    // ValueError on a character that is not in the vocabulary, naming it and its place, and where text is not
    // UTF-8.
    Ids encode(const std::string& text) const;
    std::string piece(std::int64_t id) const;  // IndexError when id is not one of the V
    std::string decode(const Ids& ids) const;  // IndexError also names the place

private:
    std::u32string characters_;  // sorted
};

// The 256 bytes, whatever they mean.
class Bytes {
public:
    std::int64_t vocab_size() const { return 256; }  // V
    Ids encode(const std::string& text) const;       // one id for each byte: its value
    std::string piece(std::int64_t id) const;        // one byte; IndexError when id is not one of the V
    std::string decode(const Ids& ids) const;        // IndexError also names the place
};

// GPT-2's byte pair encoding (Sennrich, Haddow and Birch, "Neural machine translation of rare words with
// subword units", 2016, §3.2; Radford et al., GPT-2, 2019, §2.2; openai/gpt-2, encoder.py). The text is cut by
// a pattern, over Unicode 14 as in Hugging Face's tokenizers; in each piece, which begins as bytes, the two
// neighbours that were merged earliest in training become one, the leftmost first, until no two are left that
// were merged. A text may hold any bytes: what is not UTF-8 counts as neither letter, number nor space.
class BytePairs {
public:
    inline static const std::string eos_token = "<|endoftext|>";  // ends a text

    // vocab.json and merges.txt in a folder, in GPT-2's form: bytes written as characters that can be printed
    // (0x20 as Ġ). `special_tokens` are whole tokens that no merge makes; those that vocab.json has not are
    // left out. A byte-order mark and CR LF are read like their absence. IoError, naming the file, the line and
    // the token, on what is no JSON object of whole numbers or no UTF-8; on ids that are not 0 … V − 1, each
    // once; on a byte that is missing, a token that is neither byte, merge nor special, and one that is not
    // written in those characters; on a merge that is not two tokens, each a byte or made by an earlier line,
    // or that is there twice or makes no token of the vocabulary.
    static BytePairs load(const std::filesystem::path& folder,
                          const std::vector<std::string>& special_tokens = {eos_token});

    // Learns up to V = vocab_size tokens from a text: the 256 bytes in GPT-2's order, one token for each merge,
    // then
    // <|endoftext|>. Each merge is of the two neighbours that stand together most often in the pieces of the
    // text, of equals those with the smallest ids, and at least min_frequency times; V is smaller where there
    // are none left. ValueError unless vocab_size ≥ 257 and min_frequency ≥ 1.
    static BytePairs train(const std::string& text, std::int64_t vocab_size, std::int64_t min_frequency = 2);

    // Writes what load reads, and transformers' GPT2Tokenizer too. The folder is made where it is missing.
    void save(const std::filesystem::path& folder) const;

    std::int64_t vocab_size() const;                                    // V
    std::int64_t num_merges() const;                                    // how many merges were learned
    std::optional<std::int64_t> id_of(const std::string& piece) const;  // of a whole token's bytes
    Ids encode(const std::string& text) const;           // a special token's name in the text is that token
    Ids encode_ordinary(const std::string& text) const;  // it is text as any other
    std::string piece(std::int64_t id) const;  // the bytes of a token, which may be part of a character
    std::string decode(const Ids& ids) const;  // IndexError also names the place

    struct Model;  // src/models/text/byte_pairs.h

private:
    std::shared_ptr<const Model> model_;
    explicit BytePairs(std::shared_ptr<const Model> model) : model_(std::move(model)) {}
};

// Any of the three.
class Tokenizer {
public:
    // One of them.
    Tokenizer(Characters kind) : kind_(std::move(kind)) {}
    Tokenizer(Bytes kind) : kind_(kind) {}
    Tokenizer(BytePairs kind) : kind_(std::move(kind)) {}

    std::int64_t vocab_size() const;                   // V
    Ids encode(const std::string& text) const;         // refuses what the one of the three refuses
    std::string piece(std::int64_t id) const;          // IndexError when id is not one of the V
    std::string decode(const Ids& ids) const;          // IndexError also names the place
    std::optional<std::int64_t> eos_token_id() const;  // the id of <|endoftext|>, where there is one

private:
    std::variant<Characters, Bytes, BytePairs> kind_;
};

// Pieces of tokens as whole characters, to be shown as they come: what a piece leaves unfinished waits for the
// next, and bytes that are no UTF-8 become U+FFFD, one for each stretch that might have begun a character (The
// Unicode Standard, §3.9, "U+FFFD substitution of maximal subparts"; Python's errors="replace").
class Utf8Stream {
public:
    std::string push(const std::string& piece);  // the characters that are whole by now
    std::string finish();                        // what still waits, as U+FFFD

private:
    std::string pending_;
};

}  // namespace weft::text
