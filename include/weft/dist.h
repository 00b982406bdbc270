// weft::dist: training on several processes and machines, by MPI, with everything from weft::train.
#pragma once

#include "weft/dist/data_parallel.h"
#include "weft/dist/evaluate.h"
#include "weft/dist/group.h"
#include "weft/train.h"
