// What the readers and writers of published models share.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>

#include "weft/lm/decoder.h"

namespace weft::lm {

// A config.json of the first family that has all of the config's options; none if no family has.
std::optional<nlohmann::json> describing_json(const DecoderConfig& config);

}  // namespace weft::lm
