// weft::train: what training programs share, with everything from weft::viz. See examples/train_gpt.cpp.
#pragma once

#include "weft/train/checkpoint.h"
#include "weft/train/data.h"
#include "weft/train/folder.h"
#include "weft/train/history.h"
#include "weft/train/interrupt.h"
#include "weft/train/loop.h"
#include "weft/train/progress.h"
#include "weft/train/report.h"
#include "weft/train/run.h"
#include "weft/train/terminal.h"
#include "weft/viz.h"
