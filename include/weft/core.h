// weft::core: tensors, gradients and operations.
#pragma once

#include "weft/core/autograd.h"
#include "weft/core/dtype.h"
#include "weft/core/error.h"
#include "weft/core/heads.h"
#include "weft/core/ledger.h"
#include "weft/core/mask.h"
#include "weft/core/more.h"
#include "weft/core/ops.h"
#include "weft/core/random.h"
#include "weft/core/shape.h"
#include "weft/core/tensor.h"
#include "weft/core/text.h"
#include "weft/core/threads.h"
#include "weft/core/trace.h"
