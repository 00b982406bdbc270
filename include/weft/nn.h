// weft::nn: modules, attention, optimisers and checks, with the core.
#pragma once

#include "weft/check/attention.h"
#include "weft/check/gradcheck.h"
#include "weft/core.h"
#include "weft/nn/attention.h"
#include "weft/nn/general_attention.h"
#include "weft/nn/init.h"
#include "weft/nn/kv_cache.h"
#include "weft/nn/layers.h"
#include "weft/nn/module.h"
#include "weft/nn/states.h"
#include "weft/nn/transformer.h"
#include "weft/optim/clipping.h"
#include "weft/optim/optimizer.h"
#include "weft/optim/schedules.h"
