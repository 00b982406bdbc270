// Images: N of them, C channels, H × W pixels.
#pragma once

#include <cstdint>

#include "weft/core/tensor.h"

namespace weft {

// A window that moves over an image.
struct WindowOptions {
    std::int64_t kernel_height = 1, kernel_width = 1;  // its size
    std::int64_t stride = 0;  // stride along both axes; 0: the kernel's size for pooling, 1 for unfold and fold
    std::int64_t padding = 0;   // pixels added around the image
    std::int64_t dilation = 1;  // the distance between the pixels of a window
    double pad_value = 0;       // value of the added pixels; for max_pool2d it is −∞
};
// (N, C, H, W) → (N, C·kh·kw, L): the windows as columns, L in all, row by row.
Tensor unfold(const Tensor& x, const WindowOptions& options);
// The transpose of unfold: adds columns (N, C·kh·kw, L) into images (N, C, height, width).
//
//     const WindowOptions window{.kernel_height = 2, .kernel_width = 2, .stride = 2};
//     const Tensor columns = unfold(x, window);         // (1, 1, 4, 4) → (1, 4, 4)
//     const Tensor same = fold(columns, 4, 4, window);  // all(same == x), as these windows do not overlap
Tensor fold(const Tensor& columns, std::int64_t height, std::int64_t width, const WindowOptions& options);
// Options of conv2d.
struct ConvOptions {
    std::int64_t stride = 1, padding = 0, dilation = 1;  // see WindowOptions
    std::int64_t groups = 1;                             // each reads and makes its own share of the channels
};
// The cross-correlation of x (N, C, H, W) with weight (out, C / groups, kh, kw), plus bias (out,) or undefined
// → (N, out, H', W'). ShapeError if they do not fit.
//
//     const ConvOptions options{.stride = 2, .padding = 1};
//     const Tensor y = conv2d(ones({1, 3, 8, 8}), ones({4, 3, 3, 3}), {}, options);  // (1, 4, 4, 4)
Tensor conv2d(const Tensor& x, const Tensor& weight, const Tensor& bias = {}, const ConvOptions& options = {});
Tensor max_pool2d(const Tensor& x, const WindowOptions& options);  // the largest element of each window
Tensor avg_pool2d(const Tensor& x, const WindowOptions& options);  // the mean of each window, padding included

}  // namespace weft
