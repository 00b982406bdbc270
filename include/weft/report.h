// weft::report: the page of a run, with weft::lm and weft::viz.
#pragma once

#include "weft/lm.h"
#include "weft/report/report.h"
#include "weft/viz.h"
