// Everything, except the bridge to xtensor (weft/xtensor.h).
#pragma once

#include "weft/dist.h"
