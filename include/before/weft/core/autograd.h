// Its name until 0.1. It goes with 0.3.
#pragma once

#pragma message( \
    "weft/core/autograd.h is weft/autograd/grad.h and weft/autograd/grad_mode.h and weft/autograd/record.h and weft/base/scoped.h since 0.2")
#include "weft/weft.h"
