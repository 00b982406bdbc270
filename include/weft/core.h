// weft::core: tensors, gradients and operations.
#pragma once

#include "weft/base/text.h"
#include "weft/core/dtype.h"
#include "weft/core/error.h"
#include "weft/core/modes.h"
#include "weft/core/observer.h"
#include "weft/core/op.h"
#include "weft/core/random.h"
#include "weft/core/record.h"
#include "weft/core/shape.h"
#include "weft/core/tensor.h"
#include "weft/derive/functional.h"
#include "weft/ops.h"
#include "weft/packed/packed.h"
#include "weft/watch/profile.h"
#include "weft/watch/trace.h"
