// Models in files of the GGUF format, as llama.cpp reads and writes them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "weft/io/safetensors.h"

namespace weft::io {

// A value of a GGUF file's metadata: an integer of any width, a float32 or float64, a bool, a string, or an
// array of one of these.
using GgufValue = std::variant<std::int64_t, double, bool, std::string, std::vector<std::int64_t>,
                               std::vector<double>, std::vector<bool>, std::vector<std::string>>;

// The metadata of a GGUF file: sizes, the tokenizer's tokens, and more
// (https://github.com/ggml-org/ggml/blob/master/docs/gguf.md, "Standardized key-value pairs"). The functions
// named for a type return the value of a key, or `otherwise` if it is given and the file lacks the key; they
// throw IoError, naming the file and the key, if the key is missing or has a value of another type.
//
//     const std::vector<std::string> tokens = {"a", "b"};
//     const io::GgufMetadata meta("model.gguf", {{"general.architecture", "llama"},
//                                                {"llama.block_count", std::int64_t{30}},
//                                                {"tokenizer.ggml.tokens", tokens}});
//     const std::string architecture = meta.text("general.architecture");  // "llama"
//     const std::int64_t layers = meta.integer("llama.block_count");       // 30
//     const double base = meta.number("llama.rope.freq_base", 10000);      // 10000: the file lacks it
//     const std::size_t vocabulary = meta.strings("tokenizer.ggml.tokens").size();  // 2
class GgufMetadata {
public:
    // The values by key, and the file that messages name.
    explicit GgufMetadata(std::filesystem::path file = {}, std::map<std::string, GgufValue> values = {})
        : file_(std::move(file)), values_(std::move(values)) {}

    const std::filesystem::path& file() const { return file_; }               // the file that messages name
    bool has(const std::string& key) const { return values_.contains(key); }  // whether there is such a key
    // The value of an integer, of any width.
    std::int64_t integer(const std::string& key, std::optional<std::int64_t> otherwise = {}) const;
    double number(const std::string& key, std::optional<double> otherwise = {}) const;  // float or integer
    bool boolean(const std::string& key, std::optional<bool> otherwise = {}) const;     // a bool
    const std::string& text(const std::string& key) const;                              // a string
    const std::vector<std::int64_t>& integers(const std::string& key) const;            // an array of integers
    const std::vector<double>& numbers(const std::string& key) const;                   // an array of floats
    const std::vector<std::string>& strings(const std::string& key) const;              // an array of strings
    const std::map<std::string, GgufValue>& values() const { return values_; }          // by key

private:
    std::filesystem::path file_;
    std::map<std::string, GgufValue> values_;

    template <class T>
    const T& get(const std::string& key) const;
};

// The contents of a GGUF file.
struct Gguf {
    NamedTensors tensors;   // in the file's order
    GgufMetadata metadata;  // by key

    bool has(const std::string& name) const;          // whether there is a tensor of this name
    const Tensor& at(const std::string& name) const;  // the tensor; IndexError if there is none
};

// Reads a GGUF file (https://github.com/ggml-org/ggml/blob/master/docs/gguf.md) of version 2 or 3. Shapes are
// row-major, as PyTorch has them: the reverse of the file's dimensions. F32, F16, BF16, F64 and I64 become
// tensors of these types. Matrices of Q8_0, Q4_0, Q4_1, Q5_0, Q5_1, Q4_K, Q5_K and Q6_K stay as stored, in
// blocks, which linear and embedding read.
//
//     const io::Gguf file = io::load_gguf(path);
//     const std::string architecture = file.metadata.text("general.architecture");  // "llama"
//     const Tensor w = file.at("blk.0.attn_q.weight");                              // (32, 64), of Q4_1
//     const Tensor y = linear(ones({3, 64}), w);                                    // (3, 64) → (3, 32)
//
// Each tensor is read once, into its own memory, which adds up to at most the size of the file; an array of the
// metadata takes up to eight times its size in the file. Strings of the metadata are not checked to be UTF-8.
// IoError for a file that is missing, cut short, big-endian or of another version; a key or a name that is
// empty, repeated or not UTF-8; an array of arrays, a bool other than 0 and 1, an integer above 2⁶³ − 1; an
// alignment that is no power of two; another type of tensor, more than four dimensions, blocks outside a
// matrix, rows that do not divide into blocks; values that are not aligned, overlap, reach past the end, or
// leave more bytes unused than the alignment needs.
//
// Of a model that llama-gguf-split has split, give the first file, whose name ends with "-00001-of-00003.gguf":
// the others are read, too, from the same folder. IoError for another of them, for one that is missing or of
// another split, and for tensors that are there twice or too few.
//
// `before_values` is called before the values are read: with the metadata, for each tensor a view of one number
// in its shape, which takes no memory, and the sum of the values' bytes.
Gguf load_gguf(const std::filesystem::path& path,
               const std::function<void(const Gguf& header, std::int64_t bytes)>& before_values = {});

}  // namespace weft::io
