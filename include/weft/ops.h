// The differentiable functions, by family. Unless a declaration says otherwise:
//
// - Two tensors broadcast as in NumPy; ShapeError names the axis that does not fit.
// - float32 and float64 never mix (DTypeError); in arithmetic, bool and int64 take the type of the other
// operand,
//   see operator+. A plain number is rounded to a floating type; int64 must hold it exactly, so ids * 0.5 is a
//   DTypeError: write ids.to(float64) * 0.5. Sums and products of int64 wrap on overflow.
// - Axes may be negative and then count from the end; IndexError if out of range.
// - Values follow IEEE 754: log 0 is −inf, 1/0 is inf, sqrt(−1) is NaN; check::check_finite finds them.
// - Under NoGrad no result is in the graph.
#pragma once

#include "weft/core/arithmetic.h"
#include "weft/core/attention.h"
#include "weft/core/creation.h"
#include "weft/core/indexing.h"
#include "weft/core/mask.h"
#include "weft/core/products.h"
#include "weft/core/reductions.h"
#include "weft/ops/convolution.h"
#include "weft/ops/creation.h"
#include "weft/ops/functions.h"
#include "weft/ops/losses.h"
#include "weft/ops/norms.h"
#include "weft/ops/products.h"
#include "weft/ops/reductions.h"
#include "weft/ops/shapes.h"
