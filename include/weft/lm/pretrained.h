// Published models as lm::Decoder: their config.json, their tensors in safetensors or GGUF files.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "weft/io/gguf.h"
#include "weft/lm/decoder.h"
#include "weft/text/tokenizer.h"

namespace weft::lm {

// Options of what reads published models.
struct PretrainedOptions {
    std::optional<DType> dtype = {};  // of the weights, converted as Module::to() does [as in the file]
    // Keys of config.json, of a GGUF file or of tokenizer_config.json that count as absent, at your own risk:
    // what they say is not computed. "rope_scaling.factor" is one within another.
    std::vector<std::string> ignore_keys = {};
    // Called before the weights are read: with the config, in which factors of a GGUF file's rope_freqs are
    // still 1, and the bytes of the tensors in that file, or of the files in a folder. What it throws ends the
    // reading.
    std::function<void(const DecoderConfig& config, std::int64_t bytes)> before_weights = {};
};

// The Decoder that a config.json of Hugging Face's transformers describes, of the families "gpt2", "llama",
// "qwen2", "qwen3", "mistral" and "gemma3_text".
//
//     const lm::DecoderConfig config = lm::pretrained_config(folder / "config.json");
//
// IoError, naming the path and everything that is wrong at once: another model_type, a size that is missing or
// no whole number above 0, an option that the family's model has and Decoder does not compute, and every key
// that the family neither has nor is known to ignore. A key whose value is null counts as absent; null for
// sliding_window means no window.
DecoderConfig pretrained_config(const std::filesystem::path& path, const PretrainedOptions& options = {});

// The Decoder that the metadata of a GGUF file describes, of the architectures "llama", "qwen2", "qwen3",
// "gemma3" and "gpt2", with the keys and defaults of llama.cpp. IoError, naming the file and everything that is
// wrong, as above; keys outside the architecture's name are passed over.
DecoderConfig pretrained_config(const io::Gguf& file, const PretrainedOptions& options = {});

// A model in evaluation mode, from a folder with config.json and model.safetensors or its shards, or from a
// GGUF file. Its tensors are those of the file, where no other type is asked for: half weights and weights in
// blocks stay so. Rows of q and k that a GGUF of llama has for pairs of neighbours are put back in their order
// for halves.
//
//     lm::Decoder model = lm::load_pretrained(folder, {.dtype = float32});
//
// IoError, naming the file, for what pretrained_config, io::load_sharded_checkpoint, io::load_gguf or Decoder's
// constructor refuses.
Decoder load_pretrained(const std::filesystem::path& path, const PretrainedOptions& options = {});

// A model with its tokenizer, and its template for chats in Jinja, empty if it has none.
struct Pretrained {
    Decoder model;                        // as load_pretrained gives it
    text::PreTrainedTokenizer tokenizer;  // of tokenizer.json, or the GGUF file's own
    std::string chat_template = {};       // for ChatTemplate::of
};
// Both, and the template of chat_template.jinja or tokenizer_config.json (of a list, the one whose name is
// default), or of the GGUF file, which is read once.
//
//     const lm::Pretrained published = lm::load_language(folder);
//     const text::Ids ids = published.tokenizer.encode("The loom");
//     const text::Ids more = lm::generate(published.model, ids, {.max_new_tokens = 5});  // more.size() is 5
//
// IoError for what load_pretrained and PreTrainedTokenizer::load refuse. The tokenizer may have more tokens
// than the model (Gemma 3 has one more) or fewer; an id that the model lacks is refused where it is used.
Pretrained load_language(const std::filesystem::path& path, const PretrainedOptions& options = {});

// Writes config.json and model.safetensors in the folder, as from_pretrained of transformers reads them: of the
// first family that has the model's options. Creates the folder if it is missing. ValueError if no family has
// them, or if weights are in blocks, which the format does not hold; IoError if it is not possible to write.
//
//     lm::save_pretrained(folder, model);
void save_pretrained(const std::filesystem::path& folder, const Decoder& model);

}  // namespace weft::lm
