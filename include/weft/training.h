// weft::training: what training programs share, with weft::report and weft::dist. See examples/train_gpt.cpp.
#pragma once

#include "weft/dist.h"
#include "weft/report.h"
#include "weft/training/checkpoint.h"
#include "weft/training/data.h"
#include "weft/training/progress.h"
#include "weft/training/report.h"
#include "weft/training/run.h"
