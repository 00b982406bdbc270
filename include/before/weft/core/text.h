// Its name until 0.1. It goes with 0.3.
#pragma once

#pragma message("weft/core/text.h is weft/base/numbers.h and weft/base/utf8.h since 0.2")
#include "weft/weft.h"
