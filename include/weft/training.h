// weft::training: what training programs share, with weft::report and weft::dist. See examples/train_gpt.cpp.
#pragma once

#include "weft/dist.h"
#include "weft/report.h"
#include "weft/training/checkpoint.h"
#include "weft/training/corpus.h"
#include "weft/training/data.h"
#include "weft/training/evaluate.h"
#include "weft/training/folder.h"
#include "weft/training/history.h"
#include "weft/training/interrupt.h"
#include "weft/training/loop.h"
#include "weft/training/progress.h"
#include "weft/training/report.h"
#include "weft/training/run.h"
#include "weft/training/terminal.h"
