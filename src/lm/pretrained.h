// What the readers and writers of published models share.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "weft/io/gguf.h"
#include "weft/io/json.h"
#include "weft/lm/decoder.h"

namespace weft::lm {

// The config with its defaults filled in, and one entry in `layers` where all are equal. ValueError if it does
// not fit.
DecoderConfig checked(DecoderConfig config);
constexpr std::int64_t million = 1'000'000;  // limits of sizes are multiples of it
// The keys of a config.json that change nothing that a model computes.
extern const std::vector<std::string> harmless_in_config;
// The config that was read of these keys, checked; a key that is left over, or what does not fit, is an error.
DecoderConfig finished(const DecoderConfig& config, io::KeyReader& keys, ErrorList& errors);
// IoError, naming the file and the errors, if there are any.
void refuse_errors(const std::filesystem::path& path, const ErrorList& errors);
// Names of tensors, or parts of them, in a file and in Decoder.
using Names = std::vector<std::pair<std::string, std::string>>;
// The name with what a row has in a file's names replaced, at the beginning where it has no dot before it.
std::string renamed(std::string name, const Names& names, bool to_file = false);
// The state without a tied head, which may be in a file, too. ValueError if its values are not the embedding's.
nn::NamedTensors without_tied_head(nn::NamedTensors state, const DecoderConfig& config);
// The bytes of a parameter of this shape after to() or pack(); is_weight: of a linear layer or an embedding.
std::int64_t bytes_as(DType weights, const Shape& shape, bool is_weight);
// The tensors of a GGUF file with the names and layouts of Decoder.
nn::NamedTensors from_gguf(io::Gguf file, const DecoderConfig& config);
// A config.json of the first family that has all of the config's options; none if no family has.
std::optional<nlohmann::json> describing_json(const DecoderConfig& config);

}  // namespace weft::lm
