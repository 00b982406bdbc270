// Everything, except the bridges to xtensor (weft/xtensor.h) and nlohmann::json (weft/io/json.h).
#pragma once

#include "weft/training.h"
