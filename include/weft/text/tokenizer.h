// Tokenisers: texts as the ids that a language model reads, and back. V = vocab_size(); ids are 0 … V − 1. Each
// has encode(text) → ids and decode(ids) → text, the concatenated pieces of the ids, with
// decode(encode(text)) == text, except for a PreTrainedTokenizer that changes the text. IndexError for another
// id; that of decode names its position. Only a PreTrainedTokenizer has an empty piece for ids of V and above,
// of which its model may have some: Qwen's have 151,936 for 151,665 tokens.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "weft/core/error.h"

namespace weft::io {
class GgufMetadata;
}

namespace weft::text {

using Ids = std::vector<std::int64_t>;  // token ids, in the order of the text

// One id for each distinct character (Unicode code point) of a text, in the order of the code points.
//
//     const text::Characters tokenizer("hello");       // tokenizer.vocabulary() is "ehlo"
//     const text::Ids ids = tokenizer.encode("hole");  // {1, 3, 2, 0}
//     const std::string text = tokenizer.decode(ids);  // "hole"
class Characters {
public:
    // The characters of `text`. ValueError if it is not UTF-8, naming the offset of the first wrong byte.
    explicit Characters(const std::string& text);

    std::int64_t vocab_size() const { return static_cast<std::int64_t>(characters_.size()); }  // V
    std::string vocabulary() const;  // each character once: Characters(vocabulary()) is the same tokeniser
    // The ids of the characters. ValueError if the text is not UTF-8, or has a character that is not in the
    // vocabulary, naming the character and its position.
    Ids encode(const std::string& text) const;
    std::string piece(std::int64_t id) const;  // one character
    std::string decode(const Ids& ids) const;  // the characters

private:
    std::u32string characters_;  // sorted
};

// One id for each of the 256 bytes, whatever the text's encoding.
//
//     const text::Ids ids = text::Bytes().encode("hi");  // {104, 105}
class Bytes {
public:
    std::int64_t vocab_size() const { return 256; }  // V
    Ids encode(const std::string& text) const;       // the value of each byte
    std::string piece(std::int64_t id) const;        // one byte
    std::string decode(const Ids& ids) const;        // the bytes
};

// GPT-2's byte pair encoding (Sennrich, Haddow and Birch, "Neural machine translation of rare words with
// subword units", 2016, §3.2; Radford et al., GPT-2, 2019, §2.2; openai/gpt-2, encoder.py). A pattern cuts the
// text into pieces, with Unicode 14 as in Hugging Face's tokenizers, or a later version if PCRE2 has one. Each
// piece starts as bytes; then the pair of neighbours that was learned first is merged, the leftmost first,
// until no learned pair is left. A text may hold any bytes: what is not UTF-8 counts as neither letter, number
// nor space.
//
//     const text::BytePairs tokenizer = text::BytePairs::train("low lower lowest", 260);
//     const text::Ids ids = tokenizer.encode("low");  // made by two merges: ids.size() is 1
//     tokenizer.save(folder);                         // vocab.json and merges.txt
//     const text::BytePairs same = text::BytePairs::load(folder);  // same.encode("low") == ids
class BytePairs {
public:
    inline static const std::string eos_token = "<|endoftext|>";  // ends a text

    // Reads vocab.json and merges.txt in GPT-2's form, where bytes are written as printable characters (0x20 as
    // Ġ). `special_tokens` are whole tokens that no merge makes; those that vocab.json does not have are
    // ignored, and so are a byte-order mark and the CR of CR LF. IoError, naming the file and the line or
    // token, for: a file that is not UTF-8, or no JSON object of whole numbers; ids that are not 0 … V − 1,
    // each once; a missing byte; a token that is neither byte, merge nor special, or is not written in those
    // characters; a merge that is repeated, makes no token of the vocabulary, or is not of two tokens, each a
    // byte or made by an earlier line.
    static BytePairs load(const std::filesystem::path& folder,
                          const std::vector<std::string>& special_tokens = {eos_token});

    // Learns up to V = vocab_size tokens: the 256 bytes in GPT-2's order, one token per merge, then
    // <|endoftext|>. Each merge is of the most frequent pair of neighbours in the pieces of the text, of
    // equally frequent ones that with the smallest ids. V is smaller once no pair occurs min_frequency times.
    // ValueError unless vocab_size ≥ 257 and min_frequency ≥ 1.
    static BytePairs train(const std::string& text, std::int64_t vocab_size, std::int64_t min_frequency = 2);

    // Writes the files that load and transformers' GPT2Tokenizer read. Creates the folder if it is missing;
    // IoError if it cannot; the files of before are then unchanged.
    void save(const std::filesystem::path& folder) const;

    std::int64_t vocab_size() const;                                    // V
    std::int64_t num_merges() const;                                    // the number of learned merges
    std::optional<std::int64_t> id_of(const std::string& piece) const;  // the token with exactly these bytes
    Ids encode(const std::string& text) const;           // a special token's name in the text is that token
    Ids encode_ordinary(const std::string& text) const;  // a special token's name is ordinary text
    std::string piece(std::int64_t id) const;  // the bytes of a token, which may be part of a character
    std::string decode(const Ids& ids) const;  // the bytes of all tokens

    struct Model;  // src/text/byte_pairs.h

private:
    std::shared_ptr<const Model> model_;
    explicit BytePairs(std::shared_ptr<const Model> model) : model_(std::move(model)) {}
};

// What PreTrainedTokenizer::encode does with special tokens, such as <|im_start|>. The names are those of
// transformers and llama.cpp.
//
//     const text::EncodeOptions chat{.add_special_tokens = false, .parse_special = true};
struct EncodeOptions {
    bool add_special_tokens = true;  // adds those that the file puts before and after a text
    bool parse_special = false;      // a special token's name in the text is that token, not ordinary text
    bool continues = false;          // tokens stand before the text: no space that only begins a text
};

// The tokenizer of a published model, by the rules in its file: byte pair encoding of bytes (GPT-2, Llama 3,
// Qwen, SmolLM) or of characters (Llama 2, Gemma), or SentencePiece's pieces with scores. The ids are those of
// Hugging Face's tokenizers or, from a GGUF file, of llama.cpp. Bytes that are not UTF-8 are read as U+FFFD,
// which is how Utf8Stream shows them. The ids may differ for characters that Unicode 15 or later added or
// changed.
//
//     const auto tokenizer = text::PreTrainedTokenizer::load(folder / "tokenizer.json");
//     const text::Ids ids = tokenizer.encode("the weft");  // as transformers' tokenizer("the weft").input_ids
//     const std::string text = tokenizer.decode(ids);      // "the weft"
//     const text::Ids end = tokenizer.encode("<|end|>", {.parse_special = true});  // end.size() is 1
class PreTrainedTokenizer {
public:
    // Reads a tokenizer.json of Hugging Face's tokenizers, and bos_token and eos_token from a
    // tokenizer_config.json in the same folder, if there is one. It may have: the model BPE; the normalizers
    // NFC, Prepend, and Replace of a string; the pre-tokenizers Split, Digits, Metaspace, and ByteLevel at the
    // end; the post-processors ByteLevel and TemplateProcessing; the decoders ByteLevel, Metaspace,
    // ByteFallback, Fuse, Replace of a string, and Strip after Fuse; sequences of them, with one
    // TemplateProcessing. IoError, naming the path and the part, for any other part or option, and for
    // truncation and padding; for a merge that names no token, two tokens with one id, an id at or above twice
    // the number of tokens, a pattern that PCRE2 would match differently than Oniguruma, an added token longer
    // than 1024 bytes; for a key of tokenizer_config.json that it does not know, or with a value that makes
    // other ids, as an add_prefix_space in the classes of GPT-2 and Qwen2. Keys of that file that `ignore_keys`
    // names count as absent. The piece of an id without a token is "".
    static PreTrainedTokenizer load(const std::filesystem::path& path,
                                    const std::vector<std::string>& ignore_keys = {});
    // Reads the tokenizer.ggml keys of a GGUF file. The model is "llama", or "gpt2" with `pre` default, gpt-2,
    // smollm, qwen2, llama-bpe or another name of one of these; IoError for another, as above, and for a key of
    // a name beginning with "tokenizer." that it does not know, unless `ignore_keys` names it. Text does
    // not become a control token unless it is parsed; in llama.cpp merges may make one, and the name of an end
    // token, such as </s>, is one even where the file says that it is text.
    static PreTrainedTokenizer load(const io::GgufMetadata& metadata,
                                    const std::vector<std::string>& ignore_keys = {});

    std::int64_t vocab_size() const;  // V, one more than the largest id
    // The ids of a text. ValueError if the file's pattern needs ten million steps to find one piece of it.
    Ids encode(const std::string& text, EncodeOptions options = {}) const;
    // What a token adds to a decoded text: its bytes, with spaces for ▁; of a special token, its name.
    std::string piece(std::int64_t id) const;
    // The pieces, without a space that encode puts before a text.
    std::string decode(const Ids& ids) const;
    std::optional<std::int64_t> id_of(const std::string& piece) const;  // the token with this piece

    std::optional<std::int64_t> bos_token_id() const;  // begins a text, if the file names such a token
    std::optional<std::int64_t> eos_token_id() const;  // ends a text
    const Ids& end_token_ids() const;  // eos_token_id and those that end a turn of a chat, such as <|im_end|>
    bool adds_bos_token() const;       // whether encode puts bos_token_id before a text

    struct Model;  // src/text/pretrained.h

private:
    std::shared_ptr<const Model> model_;
    explicit PreTrainedTokenizer(std::shared_ptr<const Model> model) : model_(std::move(model)) {}
};

// Any of the four, with the functions and errors of the one it holds.
//
//     const text::Tokenizer tokenizer = text::Characters("hello");
//     const std::int64_t V = tokenizer.vocab_size();  // 4
class Tokenizer {
public:
    // Holds one of them.
    Tokenizer(Characters kind) : kind_(std::move(kind)) {}
    Tokenizer(Bytes kind) : kind_(kind) {}
    Tokenizer(BytePairs kind) : kind_(std::move(kind)) {}
    Tokenizer(PreTrainedTokenizer kind) : kind_(std::move(kind)) {}

    std::int64_t vocab_size() const;                   // V
    Ids encode(const std::string& text) const;         // the ids of a text
    std::string piece(std::int64_t id) const;          // the text of one id
    std::string decode(const Ids& ids) const;          // the text of ids
    std::optional<std::int64_t> eos_token_id() const;  // the id that ends a text, if there is one
    const Characters* characters() const { return std::get_if<Characters>(&kind_); }  // null: it holds another
    // Null if it holds another.
    const PreTrainedTokenizer* pre_trained() const { return std::get_if<PreTrainedTokenizer>(&kind_); }

private:
    std::variant<Characters, Bytes, BytePairs, PreTrainedTokenizer> kind_;
};

// Turns pieces of tokens into whole characters, for display while they arrive. An unfinished character waits
// for the next piece; bytes that are not UTF-8 become U+FFFD, one for each stretch that could have begun a
// character (The Unicode Standard, §3.9, "U+FFFD substitution of maximal subparts"; Python's errors="replace").
//
//     text::Utf8Stream stream;
//     const std::string first = stream.push("caf\xC3");  // "caf"
//     const std::string second = stream.push("\xA9");    // "é"
//     const std::string rest = stream.finish();          // ""
class Utf8Stream {
public:
    std::string push(const std::string& piece);  // the characters that are complete by now
    std::string finish();                        // U+FFFD if a character is unfinished, else ""

private:
    std::string pending_;
};

}  // namespace weft::text
