// Its name until 0.1. It goes with 0.3.
#pragma once

#pragma message("weft/nn/check.h is weft/check/gradcheck.h and weft/check/gradient_flow.h since 0.2")
#include "weft/weft.h"
