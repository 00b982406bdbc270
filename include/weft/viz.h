// weft::viz: pictures in the terminal and as SVG, stories and reports, and the layers below.
#pragma once

#include "weft/models.h"
#include "weft/viz/figure.h"
#include "weft/viz/ledger.h"
#include "weft/viz/pictures.h"
#include "weft/viz/report.h"
#include "weft/viz/storage.h"
