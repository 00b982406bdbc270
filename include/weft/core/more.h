// Operations, most of them composed of those in ops.h, from whose gradients theirs follow.
// What ops.h says of broadcasting, types, axes and errors holds here, too.
#pragma once

#include <string>
#include <vector>

#include "weft/core/ops.h"

namespace weft {

// ---- elementwise

Tensor rsqrt(const Tensor& x);     // 1 / √x
Tensor isnan(const Tensor& x);     // bool: x is NaN
Tensor isinf(const Tensor& x);     // bool: x is ∞ or −∞
Tensor silu(const Tensor& x);      // x · σ(x)  (Elfwing et al., "Sigmoid-weighted linear units", 2018, eq. 3)
Tensor softplus(const Tensor& x);  // ln(1 + eˣ), without overflow
Tensor leaky_relu(const Tensor& x, double negative_slope = 0.01);  // x where x > 0, else negative_slope · x
Tensor elu(const Tensor& x, double alpha = 1);                     // x where x > 0, else alpha · (eˣ − 1)
// where with plain numbers, of the other tensor's type: where(mask, -1e9, scores). float32 if both are numbers.
Tensor where(const Tensor& condition, double a, const Tensor& b);
Tensor where(const Tensor& condition, const Tensor& a, double b);
Tensor where(const Tensor& condition, double a, double b);
Tensor maximum(const Tensor& a, double b);  // the larger of a and a number, elementwise
// The smaller of a and a number, elementwise.
//
//     const Tensor y = minimum(tensor({1.0, 5}), 3.0);  // [1, 3]
Tensor minimum(const Tensor& a, double b);
// Whether |a − b| ≤ atol + rtol · |b| everywhere; equal infinities are close. Integers and bools must be equal.
[[nodiscard]] bool allclose(const Tensor& a, const Tensor& b, double rtol = 1e-5, double atol = 1e-8,
                            bool equal_nan = false);

// ---- reductions, scans, sorting

// bool: whether every element over the axes is true. DTypeError unless x is bool.
Tensor all(const Tensor& x, const Axes& axes, bool keepdim = false);
// bool: whether some element over the axes is true. DTypeError unless x is bool.
Tensor any(const Tensor& x, const Axes& axes, bool keepdim = false);
// √var, without overflow of squares; where it is 0, so is its gradient. In a file with `using namespace weft`
// write weft::std(x), because std is also a namespace.
Tensor std(const Tensor& x, const Axes& axes = {}, bool keepdim = false, int correction = 1);
// (Σ|x|ᵖ)^(1/p) over the axes, the largest |x| for p = ∞; without overflow. A zero vector has a gradient of 0,
// each zero too if p < 1; for p = ∞ the first of equals gets the whole. ValueError unless p > 0.
Tensor norm(const Tensor& x, double p = 2, const Axes& axes = {}, bool keepdim = false);
// Πx along the axis, or of all elements; 1 if empty. Gradients are right where elements are 0.
Tensor prod(const Tensor& x, int axis, bool keepdim = false);
Tensor prod(const Tensor& x);
Tensor cumprod(const Tensor& x, int axis);                       // y_i = Π_{j ≤ i} x_j along the axis
Tensor argmin(const Tensor& x, int axis, bool keepdim = false);  // min(x, axis, keepdim).indices
Tensor argmax(const Tensor& x);                                  // the flat index of the largest element: ()
Tensor argmin(const Tensor& x);                                  // index of the smallest element
// The indices that sort x along the axis; equal elements keep their order, NaN counts as the largest.
Tensor argsort(const Tensor& x, int axis = -1, bool descending = false);
// x sorted along the axis, and those indices.
//
//     const auto [values, indices] = sort(tensor({3.0, 1, 2}));  // [1, 2, 3] and [1, 2, 0]
ValuesIndices sort(const Tensor& x, int axis = -1, bool descending = false);
// The k largest elements along the axis (or the smallest), in that order. ValueError unless 0 ≤ k ≤ size.
ValuesIndices topk(const Tensor& x, std::int64_t k, int axis = -1, bool largest = true);

// ---- creation

Tensor full_like(const Tensor& x, double value);  // `value`, with x's shape and type
// Normal, with x's shape and type.
//
//     const Tensor noisy = x + 0.1 * randn_like(x, rng);
//     const Tensor half = rand_like(x, rng) < 0.5;  // bool, each true with probability ½
Tensor randn_like(const Tensor& x, Rng& rng = default_rng());
Tensor rand_like(const Tensor& x, Rng& rng = default_rng());  // uniform in [0, 1), with x's shape and type
// (steps,): evenly spaced from start to end, both included. ValueError if steps < 0.
Tensor linspace(double start, double end, std::int64_t steps, DType dtype = float32);
// ids (…) int64 → (…, num_classes) int64: 1 at the id, else 0. −1 classes: the largest id + 1. IndexError for
// an id outside 0 … num_classes − 1.
Tensor one_hot(const Tensor& ids, std::int64_t num_classes = -1);
Tensor randperm(std::int64_t n, Rng& rng = default_rng());  // (n,) int64: 0 … n − 1 in random order
// weights (n,) or (rows, n) → (num_samples,) or (rows, num_samples) int64: indices drawn with probabilities in
// proportion to the weights. ValueError for weights that are negative or not finite, or too few to draw from.
Tensor multinomial(const Tensor& weights, std::int64_t num_samples, Rng& rng = default_rng(),
                   bool replacement = false);

// ---- shape and indexing

// Merges the axes first … last.
//
//     const Tensor y = flatten(ones({2, 3, 4}), 1);  // (2, 12)
Tensor flatten(const Tensor& x, int first = 0, int last = -1);
Tensor movedim(const Tensor& x, int from, int to);   // moves one axis, keeps the order of the others
Tensor repeat(const Tensor& x, const Shape& times);  // x, times[i] times along axis i, as in PyTorch
// `value` around x: two numbers for each axis, before and after, the last axis first, as in PyTorch. Negative
// numbers cut.
//
//     const Tensor y = pad(ones({2, 3}), {1, 0, 0, 2});  // (4, 4): a column on the left, two rows below
Tensor pad(const Tensor& x, const std::vector<std::int64_t>& padding, double value = 0);
Tensor roll(const Tensor& x, std::int64_t shift, int axis);  // x_(i − shift), around the end
// (n,) → (n + |offset|, n + |offset|) with x on a diagonal; (m, n) → that diagonal.
Tensor diag(const Tensor& x, std::int64_t offset = 0);
Tensor outer(const Tensor& a, const Tensor& b);  // (m,), (n,) → (m, n): a_i · b_j
Tensor dot(const Tensor& a, const Tensor& b);    // (n,), (n,) → (): Σ a_i · b_i
// A sum of products by indices (Einstein, 1916, §5): axes with the same letter are multiplied together, and
// those that the result does not name are summed. Without ->, the result has the letters that occur once, in
// alphabetical order. "..." stands for the axes that have no letter, aligned from the right and broadcast;
// without -> the result begins with them. ValueError, quoting the formula, if it does not fit the tensors.
//
//     const Tensor scores = einsum("bhtd,bhsd->bhts", {q, k});   // q kᵀ of each head
//     const Tensor same = einsum("...td,...sd->...ts", {q, k});  // and of (T, d) or (H, T, d) too
Tensor einsum(const std::string& formula, const std::vector<Tensor>& operands);
Tensor nonzero(const Tensor& x);  // (n, rank) int64: the indices of the elements that are not 0 (or true)
// (n,): the elements of x where the bool mask is true, row by row; the two broadcast.
Tensor masked_select(const Tensor& x, const Tensor& mask);

// ---- losses, all means → ()

// −Σ w_t · log_p[t] / Σ w_t over the targets t ≠ ignore_index: log_p (…, V), targets (…) int64, weight (V,) or
// undefined for 1. Errors as cross_entropy.
Tensor nll_loss(const Tensor& log_p, const Tensor& targets, const Tensor& weight = {},
                std::int64_t ignore_index = -100);
// Options of cross_entropy.
struct CrossEntropyOptions {
    Tensor weight = {};                // (V,): the weight of each class; undefined: 1
    double label_smoothing = 0;        // the share of each target that is spread over all classes, in [0, 1]
    std::int64_t ignore_index = -100;  // targets that do not count
};
// Cross-entropy with class weights and label smoothing (Szegedy et al., "Rethinking the Inception
// architecture", 2016, §7), normalised as in PyTorch.
Tensor cross_entropy(const Tensor& logits, const Tensor& targets, const CrossEntropyOptions& options);
// mean(ln(1 + eˣ) − x·t): targets t in [0, 1], of the logits' shape (ShapeError).
Tensor binary_cross_entropy_with_logits(const Tensor& logits, const Tensor& targets);
Tensor l1_loss(const Tensor& prediction, const Tensor& target);  // mean |prediction − target|
// mean of ½d² where |d| < delta, else delta·(|d| − ½delta), with d = prediction − target (Huber, 1964, §1).
Tensor huber_loss(const Tensor& prediction, const Tensor& target, double delta = 1);

// ---- images: N images, C channels, H × W pixels

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
//     const Tensor same = fold(columns, 4, 4, window);  // x: these windows do not overlap
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

// The running statistics of batch_norm, changed in place in training, so outside the graph: (C,) each.
struct BatchNormStats {
    Tensor mean = {}, var = {};  // running values over the batches seen so far
};
// Options of batch_norm.
struct BatchNormOptions {
    bool training = false;  // whether the batch's own statistics are used, and collected
    double momentum = 0.1;  // running ← (1 − momentum) · running + momentum · new
    double eps = 1e-5;      // added to the variance
};
// (x − mean) / √(var + eps) · weight + bias for each channel of x (N, C, …): the statistics of the batch in
// training, else the running ones (Ioffe and Szegedy, "Batch normalization", 2015, algorithms 1 and 2).
//
//     const BatchNormStats running{zeros({3}), ones({3})};
//     const BatchNormOptions options{.training = true};
//     const Tensor y = batch_norm(x, running, {}, {}, options);  // (8, 3): columns of mean 0
Tensor batch_norm(const Tensor& x, const BatchNormStats& running, const Tensor& weight = {},
                  const Tensor& bias = {}, const BatchNormOptions& options = {});

}  // namespace weft
