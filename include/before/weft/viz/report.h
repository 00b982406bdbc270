// Its name until 0.1. It goes with 0.3.
#pragma once

#pragma message("weft/viz/report.h is weft/report/report.h since 0.2")
#include "weft/weft.h"
