// Its name until 0.1. It goes with 0.3.
#pragma once

#pragma message("weft/train/loop.h is weft/training/loop.h since 0.2")
#include "weft/weft.h"
