// What the storage movie's text and picture share.
#pragma once

#include <cstddef>
#include <string>

#include "weft/viz/storage.h"

namespace weft::viz {

std::size_t row_of(const Tensor& x);                  // the number of values in a row
std::string storage_text(const StorageFrame& frame);  // "new storage B"
std::string layout(const Tensor& x);                  // its shape and strides

}  // namespace weft::viz
