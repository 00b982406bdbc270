// Its name until 0.1. It goes with 0.3.
#pragma once

#pragma message("weft/train/folder.h is weft/training/folder.h since 0.2")
#include "weft/weft.h"
