// weft::core: tensors, gradients and operations.
#pragma once

#include "weft/autograd/grad.h"
#include "weft/autograd/grad_mode.h"
#include "weft/autograd/ledger.h"
#include "weft/autograd/record.h"
#include "weft/autograd/tensor.h"
#include "weft/autograd/trace.h"
#include "weft/base/error.h"
#include "weft/base/numbers.h"
#include "weft/base/read_number.h"
#include "weft/base/scoped.h"
#include "weft/base/utf8.h"
#include "weft/kernels/threads.h"
#include "weft/ops.h"
#include "weft/tensor/dtype.h"
#include "weft/tensor/random.h"
#include "weft/tensor/shape.h"
