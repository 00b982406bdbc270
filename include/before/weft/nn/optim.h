// Its name until 0.1. It goes with 0.3.
#pragma once

#pragma message( \
    "weft/nn/optim.h is weft/optim/clipping.h and weft/optim/optimizer.h and weft/optim/schedules.h since 0.2")
#include "weft/weft.h"
