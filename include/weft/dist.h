// weft::dist: training on several processes and machines, by MPI, with weft::nn.
#pragma once

#include "weft/dist/data_parallel.h"
#include "weft/nn.h"
