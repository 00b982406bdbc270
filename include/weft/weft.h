// Everything, except the bridges to xtensor (weft/xtensor.h) and nlohmann::json (weft/io/json.h, key_reader.h).
#pragma once

#include "weft/training.h"
