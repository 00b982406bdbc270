// Its name until 0.1. It goes with 0.3.
#pragma once

#pragma message( \
    "weft/core/tensor.h is weft/autograd/tensor.h, weft/ops/creation.h and weft/ops/random.h since 0.2")
#include "weft/weft.h"
