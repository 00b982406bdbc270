// How the storage movie tells a frame, in text and in its picture.
#pragma once

#include <cstddef>
#include <string>

#include "weft/viz/storage.h"

namespace weft::viz {

std::size_t row_of(const Tensor& x);           // how many values stand in one row of it as it is written
std::string whose(const StorageFrame& frame);  // "new storage B"
std::string layout(const Tensor& x);           // its shape and strides

}  // namespace weft::viz
