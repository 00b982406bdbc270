// Shared by the text and the picture of a storage movie.
#pragma once

#include <cstddef>
#include <string>

#include "weft/viz/storage.h"

namespace weft::viz {

std::size_t row_of(const Tensor& x);                  // values in a row
std::string storage_text(const StorageFrame& frame);  // "new storage B"
std::string layout(const Tensor& x);                  // its shape and strides

}  // namespace weft::viz
