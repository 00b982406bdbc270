// Its name until 0.1. It goes with 0.3.
#pragma once

#pragma message("weft/models/gpt2.h is weft/lm/gpt2.h since 0.2")
#include "weft/weft.h"
