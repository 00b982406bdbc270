// Convolution and pooling, by windows (unfold) and matrix products. N images, C channels,
// H × W pixels.
#include "weft/ops/convolution.h"

#include <limits>

#include "core/common.h"
#include "weft/ops/reductions.h"
#include "weft/ops/shapes.h"

namespace weft {

namespace {

constexpr std::int64_t max_window = INT32_MAX;  // limit of every number that describes a window

// The pixels that a window spans along an axis, and how many windows an axis has, padding included.
std::int64_t span(std::int64_t kernel, const WindowOptions& o) { return o.dilation * (kernel - 1) + 1; }
std::int64_t windows(std::int64_t size, std::int64_t kernel, const WindowOptions& o) {
    return (size - span(kernel, o)) / o.stride + 1;
}

// The flat positions (kh·kw, L) of the elements of each window in an (H, W) image, row by row.
Tensor window_positions(std::int64_t H, std::int64_t W, const WindowOptions& o) {
    const auto along = [&](std::int64_t size, std::int64_t kernel) {  // (kernel, n)
        if (size < span(kernel, o))
            throw ShapeError(Op::name(), ": a window of ", span(kernel, o), " does not fit an image of (", H,
                             ", ", W, "), padding included; use a smaller kernel or dilation, or more padding");
        const Tensor first = arange(windows(size, kernel, o)) * integer(o.stride);
        return arange(kernel).unsqueeze(1) * integer(o.dilation) + first;
    };
    const Tensor rows = along(H, o.kernel_height), columns = along(W, o.kernel_width);
    const Tensor both = rows.unsqueeze(1).unsqueeze(-1) * integer(W) +  // (kh, kw, nh, nw)
                        columns.unsqueeze(0).unsqueeze(2);
    return both.reshape({o.kernel_height * o.kernel_width, -1});
}

void check_window(const WindowOptions& o) {
    for (std::int64_t size : {o.kernel_height, o.kernel_width, o.stride, o.dilation})
        if (size < 1 || size > max_window)
            throw ValueError(Op::name(), ": kernel (", o.kernel_height, ", ", o.kernel_width, "), stride ",
                             o.stride, " and dilation ", o.dilation, " must be 1 to ", max_window);
    if (o.padding < 0 || o.padding > max_window)
        throw ValueError(Op::name(), ": padding is ", o.padding, "; use 0 to ", max_window);
}

// With the default stride of unfold.
WindowOptions with_stride(WindowOptions o) {
    if (o.stride == 0) o.stride = 1;
    return o;
}

// With the default stride of pooling.
WindowOptions of_pooling(WindowOptions o) {
    if (o.stride == 0 && o.kernel_height != o.kernel_width)
        throw ValueError(Op::name(), ": a kernel of (", o.kernel_height, ", ", o.kernel_width,
                         ") is not square; give a stride");
    if (o.stride == 0) o.stride = o.kernel_height;
    return o;
}

// The windows as columns: (N, C·kh·kw, L).
Tensor windows_of(const Tensor& x, const WindowOptions& options) {
    check_window(options);
    if (x.rank() != 4)
        throw ShapeError(Op::name(), ": a tensor of shape ", x.shape(), "; it must be (N, C, H, W)");
    const std::int64_t p = options.padding;
    const Tensor padded = p == 0 ? x : pad(x, {p, p, p, p}, options.pad_value);
    const Tensor positions = window_positions(padded.size(2), padded.size(3), options);  // (k, L)
    const std::int64_t k = positions.size(0), L = positions.size(1), N = x.size(0), C = x.size(1);
    const Tensor image = padded.reshape({N, C, padded.size(2) * padded.size(3)});
    return index_select(image, 2, positions.reshape({-1})).reshape({N, C * k, L});
}

// The windows of each channel: (N, C, kh·kw, L).
Tensor channel_windows(const Tensor& x, const WindowOptions& o) {
    check_floating(x);
    const Tensor columns = windows_of(x, o);
    return columns.reshape({x.size(0), x.size(1), o.kernel_height * o.kernel_width, columns.size(2)});
}

Tensor as_image(const Tensor& y, const Tensor& x, const WindowOptions& o) {  // (N, C, L) → (N, C, H', W')
    const std::int64_t H = x.size(2) + 2 * o.padding, W = x.size(3) + 2 * o.padding;
    return y.reshape({y.size(0), y.size(1), windows(H, o.kernel_height, o), windows(W, o.kernel_width, o)});
}

}  // namespace

Tensor unfold(const Tensor& x, const WindowOptions& options) {
    const Op op("unfold", Op::of_others);
    return windows_of(x, with_stride(options));
}

Tensor fold(const Tensor& columns, std::int64_t height, std::int64_t width, const WindowOptions& window) {
    const Op op("fold", Op::of_others);
    const WindowOptions options = with_stride(window);
    check_window(options);
    if (height < 1 || width < 1 || height > max_window || width > max_window)
        throw ValueError("fold: an image of (", height, ", ", width, "); use sizes of 1 to ", max_window);
    const std::int64_t H = height + 2 * options.padding, W = width + 2 * options.padding;
    const Tensor positions = window_positions(H, W, options);  // (k, L)
    const std::int64_t k = positions.size(0), L = positions.size(1);
    if (columns.rank() != 3 || columns.size(2) != L || columns.size(1) % k != 0)
        throw ShapeError("fold: columns of shape ", columns.shape(), "; they must be (N, C·", k, ", ", L, ")");
    const std::int64_t N = columns.size(0), C = columns.size(1) / k;
    const Tensor index = positions.reshape({1, 1, k * L}).expand({N, C, k * L});
    const Tensor image =
        scatter_add({N, C, H * W}, 2, index, columns.reshape({N, C, k * L})).reshape({N, C, H, W});
    const std::int64_t p = options.padding;
    return p == 0 ? image : pad(image, {-p, -p, -p, -p});
}

Tensor conv2d(const Tensor& x, const Tensor& weight, const Tensor& bias, const ConvOptions& options) {
    const Op op("conv2d", Op::of_others);
    check_same_dtype(x, weight);
    check_computes(x.dtype());
    const std::int64_t groups = options.groups;
    if (x.rank() != 4 || weight.rank() != 4 || groups < 1 || weight.size(0) % groups != 0 ||
        x.size(1) % groups != 0 || x.size(1) / groups != weight.size(1))
        throw ShapeError(
            "conv2d: x ", x.shape(), ", weight ", weight.shape(), ", ", groups,
            " groups; x must be (N, C, H, W) and weight (out, C / groups, kh, kw), with groups that "
            "divide out");
    if (bias.defined() && bias.shape() != Shape{weight.size(0)})
        throw ShapeError("conv2d: a bias of shape ", bias.shape(), "; it must be (", weight.size(0), ",)");
    const WindowOptions o{weight.size(2), weight.size(3), options.stride, options.padding, options.dilation};
    const Tensor columns = windows_of(x, o);
    const std::int64_t N = x.size(0), out = weight.size(0), L = columns.size(2), k = columns.size(1) / groups;
    const Tensor filters = weight.reshape({groups, out / groups, k});
    const Tensor y = matmul(filters, columns.reshape({N, groups, k, L})).reshape({N, out, L});
    return as_image(bias.defined() ? y + bias.unsqueeze(1) : y, x, o);
}

Tensor max_pool2d(const Tensor& x, const WindowOptions& window) {
    const Op op("max_pool2d", Op::of_others);
    WindowOptions options = of_pooling(window);
    constexpr double inf = std::numeric_limits<double>::infinity();
    options.pad_value = -inf;
    const Tensor pixels = channel_windows(x, options);  // (N, C, kh·kw, L)
    const ValuesIndices largest = max(pixels, 2);
    if (options.padding == 0 || !any(largest.values == -inf)) return as_image(largest.values, x, options);
    // A pixel of −∞ gets the gradient, and not the padding before it.
    const Tensor is_pixel = channel_windows(zeros_like(x), options);  // −∞ in the padding
    const Tensor index = where(largest.values == -inf, max(is_pixel, 2).indices, largest.indices);
    return as_image(gather(pixels, 2, index.unsqueeze(2)).squeeze(2), x, options);
}

Tensor avg_pool2d(const Tensor& x, const WindowOptions& window) {
    const Op op("avg_pool2d", Op::of_others);
    const WindowOptions options = of_pooling(window);
    return as_image(mean(channel_windows(x, options), 2), x, options);
}

}  // namespace weft
