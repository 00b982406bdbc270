// Whether elements are kept, many at a time.
#pragma once

#include "core/kernels.h"

namespace weft::kernels::fast {

// factors_i = 1 / (1 − p) if element e + i is kept, else 0 (fill_dropout of core/kernels.h).
template <class T>
void dropout_factors(const Dropout& dropout, std::int64_t e, std::int64_t n, T* factors);

}  // namespace weft::kernels::fast
