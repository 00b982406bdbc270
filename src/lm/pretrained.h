// What the readers and writers of published models share.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>

#include "weft/lm/decoder.h"

namespace weft::lm {

// The config with its defaults filled in, and one entry in `layers` where all are equal. ValueError if it does
// not fit.
DecoderConfig checked(DecoderConfig config);
// A config.json of the first family that has all of the config's options; none if no family has.
std::optional<nlohmann::json> describing_json(const DecoderConfig& config);

}  // namespace weft::lm
