// Its name until 0.1. It goes with 0.3.
#pragma once

#pragma message("weft/nn/check/mask_oracle.h is weft/check/mask_oracle.h since 0.2")
#include "weft/weft.h"
