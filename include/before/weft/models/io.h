// Its name until 0.1. It goes with 0.3.
#pragma once

#pragma message( \
    "weft/models/io.h is weft/io/files.h and weft/io/npy.h and weft/io/npz.h and weft/io/safetensors.h since 0.2")
#include "weft/weft.h"
