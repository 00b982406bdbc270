// The differentiable functions. Unless a declaration says otherwise:
//
// - Two tensors broadcast as in NumPy; ShapeError names the axis that does not fit.
// - Types never mix (DTypeError). A plain number is rounded to a floating type; int64 must hold it exactly, so
//   ids * 0.5 is a DTypeError: write ids.to(float64) * 0.5. Sums and products of int64 wrap on overflow.
// - Axes may be negative and then count from the end; IndexError if out of range.
// - Values follow IEEE 754: log 0 is −inf, 1/0 is inf, sqrt(−1) is NaN; check::check_finite finds them.
// - Under NoGrad no result is in the graph.
#pragma once

#include <optional>

#include "weft/core/autograd.h"
#include "weft/core/mask.h"
#include "weft/core/tensor.h"

namespace weft {

// ---- arithmetic

// a + b, a − b, a · b, a / b and −x, elementwise. DTypeError for bool, and for int64 / int64.
//
//     const Tensor x = tensor({{1.0, 3}, {2, 6}});
//     const Tensor total = sum(x, 1, keepdim);  // (2, 1): [[4], [8]]
//     const Tensor share = x / total;           // (2, 2) / (2, 1) → (2, 2): [[0.25, 0.75], [0.25, 0.75]]
Tensor operator+(const Tensor& a, const Tensor& b);
Tensor operator-(const Tensor& a, const Tensor& b);
Tensor operator*(const Tensor& a, const Tensor& b);
Tensor operator/(const Tensor& a, const Tensor& b);
Tensor operator-(const Tensor& x);
Tensor operator+(const Tensor& a, double b);
Tensor operator-(const Tensor& a, double b);
Tensor operator*(const Tensor& a, double b);
Tensor operator/(const Tensor& a, double b);
Tensor operator+(double a, const Tensor& b);
Tensor operator-(double a, const Tensor& b);
Tensor operator*(double a, const Tensor& b);
Tensor operator/(double a, const Tensor& b);

// xᵖ elementwise, of floating types. pow(0, 0) = 1; a negative x with a fractional p gives NaN, as std::pow.
// ∂/∂x = p·xᵖ⁻¹, which is 0 for p = 0; ∂/∂p = xᵖ·log x, taken as 0 where x = 0 and p ≥ 0.
Tensor pow(const Tensor& x, double p);
Tensor pow(const Tensor& x, const Tensor& p);

// ---- comparisons: bool, no gradient

// Elementwise. A comparison with NaN is false, except !=. int64 and bool tensors are compared exactly with
// any number: arange(5) == 2.5 is false everywhere.
Tensor operator==(const Tensor& a, const Tensor& b);
Tensor operator!=(const Tensor& a, const Tensor& b);
Tensor operator<(const Tensor& a, const Tensor& b);
Tensor operator<=(const Tensor& a, const Tensor& b);
Tensor operator>(const Tensor& a, const Tensor& b);
Tensor operator>=(const Tensor& a, const Tensor& b);
Tensor operator==(const Tensor& a, double b);
Tensor operator!=(const Tensor& a, double b);
Tensor operator<(const Tensor& a, double b);
Tensor operator<=(const Tensor& a, double b);
Tensor operator>(const Tensor& a, double b);
Tensor operator>=(const Tensor& a, double b);
// Or, and, not, elementwise; DTypeError unless bool.
Tensor operator||(const Tensor& a, const Tensor& b);
Tensor operator&&(const Tensor& a, const Tensor& b);
Tensor operator!(const Tensor& a);
Tensor isfinite(const Tensor& x);         // bool: neither NaN nor infinite
[[nodiscard]] bool all(const Tensor& x);  // whether every element of a bool tensor is true; true if empty
[[nodiscard]] bool any(const Tensor& x);  // whether some element of a bool tensor is true

// ---- elementwise functions of one floating tensor
Tensor exp(const Tensor& x);      // eˣ; inf from 88.73 (float32) or 709.79 (float64) on
Tensor log(const Tensor& x);      // ln x; gradient at 0 is inf
Tensor sqrt(const Tensor& x);     // √x; gradient at 0 is inf
Tensor tanh(const Tensor& x);     // (eˣ − e⁻ˣ) / (eˣ + e⁻ˣ), without overflow
Tensor sigmoid(const Tensor& x);  // 1 / (1 + e⁻ˣ), without overflow
Tensor relu(const Tensor& x);     // max(x, 0); gradient at 0 is 0
Tensor abs(const Tensor& x);      // |x|; gradient at 0 is 0
Tensor sign(const Tensor& x);     // −1, 0 or 1, NaN of NaN; gradient 0
Tensor sin(const Tensor& x);      // x in radians
// The cosine of x in radians.
//
//     const Tensor y = cos(tensor({0.0}));  // [1]
Tensor cos(const Tensor& x);
Tensor erf(const Tensor& x);    // 2/√π ∫₀ˣ e^(−t²) dt
Tensor log1p(const Tensor& x);  // ln(1 + x), exact for small x; gradient at −1 is inf
Tensor expm1(const Tensor& x);  // eˣ − 1, exact for small x
Tensor floor(const Tensor& x);  // ⌊x⌋; gradient 0
Tensor round(const Tensor& x);  // the nearest integer, halves to the even one, as in PyTorch; gradient 0

// The formula of gelu.
enum class Gelu {
    exact,  // x · ½(1 + erf(x/√2))
    tanh    // ½x(1 + tanh(√(2/π)(x + 0.044715x³))), an approximation
};
// x·Φ(x), Φ the normal distribution function (Hendrycks and Gimpel, "Gaussian error linear units", 2016, §2).
Tensor gelu(const Tensor& x, Gelu kind = Gelu::exact);

// min(max(x, low), high); gradient 1 where low ≤ x ≤ high, else 0. ValueError if low > high.
Tensor clamp(const Tensor& x, double low, double high);

// The larger of a and b, or NaN if either is. Equal, each gets half of the gradient; beside NaN, the whole.
Tensor maximum(const Tensor& a, const Tensor& b);
// The smaller of a and b; otherwise as maximum.
//
//     const Tensor y = minimum(tensor({1.0, 5}), tensor({4.0, 2}));  // [1, 2]
Tensor minimum(const Tensor& a, const Tensor& b);

// condition ? a : b, elementwise; all three broadcast. DTypeError unless condition is bool.
Tensor where(const Tensor& condition, const Tensor& a, const Tensor& b);
// x, with `value` and gradient 0 where mask (bool) is true, whatever x holds there. ShapeError unless mask
// broadcasts to x; DTypeError unless x's type holds `value`.
Tensor masked_fill(const Tensor& x, const Tensor& mask, double value);

// ---- reductions

// Σx over `axes`: one axis, several, or all if none is given. Reduced axes are dropped, or have size 1 with
// keepdim. 0 over an empty axis. A bool tensor is counted: int64. IndexError if an axis is named twice, here
// and below.
//
//     const Tensor x = tensor({{1.0, 2, 3}, {4, 5, 6}});
//     const Tensor total = sum(x);              // (): 21
//     const Tensor columns = sum(x, 0);         // (3,): [5, 7, 9]
//     const Tensor rows = mean(x, 1, keepdim);  // (2, 1): [[2], [5]]
Tensor sum(const Tensor& x, const Axes& axes = {}, bool keepdim = false);
// Σx / n; NaN over an empty axis. Of a bool tensor, the share that is true: float32.
Tensor mean(const Tensor& x, const Axes& axes = {}, bool keepdim = false);
// Σ(x − mean)² / (n − correction); the default is PyTorch's. NaN or infinity if n ≤ correction.
Tensor var(const Tensor& x, const Axes& axes = {}, bool keepdim = false, int correction = 1);
// ln Σeˣ, computed without overflow by subtracting the maximum first; −inf with gradient 0 over an empty axis
// or one of −inf only. DTypeError unless floating.
Tensor logsumexp(const Tensor& x, const Axes& axes = {}, bool keepdim = false);

// What max and min along an axis return.
struct [[nodiscard]] ValuesIndices {
    Tensor values, indices;  // both have the same shape; the indices are int64
};
// The largest value along an axis, and the index of its first occurrence, which alone gets the gradient. NaN
// counts as the largest. ShapeError over an empty axis.
//
//     const auto [values, indices] = max(tensor({{3.0, 1}, {2, 5}}), 1);  // [3, 5] and [0, 1]
ValuesIndices max(const Tensor& x, int axis, bool keepdim = false);
// The smallest value along an axis; NaN counts as it. Otherwise as max.
//
//     const auto [values, indices] = min(tensor({{3.0, 1}, {2, 5}}), 1);  // [1, 2] and [1, 0]
ValuesIndices min(const Tensor& x, int axis, bool keepdim = false);
// The largest of all elements, of shape (); its first occurrence gets the gradient. ShapeError if x is empty.
Tensor max(const Tensor& x);
Tensor min(const Tensor& x);                                     // the smallest of all elements, likewise
Tensor argmax(const Tensor& x, int axis, bool keepdim = false);  // max(x, axis, keepdim).indices

// y_i = Σ_{j ≤ i} x_j along the axis; of x's shape.
Tensor cumsum(const Tensor& x, int axis);

// e^(x_i) / Σ_j e^(x_j) along the axis, computed without overflow by subtracting the maximum first; of x's
// shape. A fully masked row, all −inf, gives zeros with gradient 0.
//
//     const Tensor p = softmax(tensor({0.0, std::log(3)}), -1);  // [0.25, 0.75]
Tensor softmax(const Tensor& x, int axis);
// x_i − ln Σ_j e^(x_j) along the axis; of x's shape. A row of −inf gives −inf with gradient 0.
Tensor log_softmax(const Tensor& x, int axis);

// ---- products

// The matrix product (…, m, k) @ (…, k, n) → (…, m, n); the leading axes broadcast. A vector (k,) is a row on
// the left and a column on the right, and its axis is dropped from the result. k = 0 gives zeros. ShapeError
// if the inner dimensions differ; DTypeError unless both are of the same floating type.
//
//     const Tensor scores = matmul(q, k.transpose(-2, -1));  // (B, T, d) @ (B, d, S) → (B, T, S)
Tensor matmul(const Tensor& a, const Tensor& b);

// ---- shape

// x, expanded to `shape`. ShapeError if x does not broadcast to it.
Tensor broadcast_to(const Tensor& x, const Shape& shape);
// The transpose of broadcast_to: sums x over the axes that broadcasting from `shape` to x's shape stretches.
// ShapeError if `shape` does not broadcast to x's. A gradient rule uses it to undo broadcasting:
//
//     const Tensor dy = ones({4, 3});
//     const Tensor db = sum_to(dy, {3});  // (4, 3) → (3,): [4, 4, 4]
Tensor sum_to(const Tensor& x, const Shape& shape);
// The tensors joined along an axis that they have. ShapeError for an empty list, or if other sizes differ.
//
//     const Tensor a = ones({2, 3}), b = zeros({2, 3});
//     const Tensor rows = cat({a, b});         // (4, 3)
//     const Tensor columns = cat({a, b}, -1);  // (2, 6)
//     const Tensor pair = stack({a, b});       // (2, 2, 3)
Tensor cat(const std::vector<Tensor>& tensors, int axis = 0);
// The tensors along a new axis. ShapeError for an empty list, or if shapes differ.
Tensor stack(const std::vector<Tensor>& tensors, int axis = 0);
// Parts of one size along the axis, the last one smaller if needed; or parts of the given sizes, which must sum
// to the axis (ShapeError). ValueError for a size below 1, in a list below 0.
//
//     const std::vector<Tensor> by_size = split(arange(10), 3);   // parts of size 3: 3, 3, 3, 1
//     const std::vector<Tensor> by_count = chunk(arange(10), 3);  // 3 parts: 4, 4, 2
[[nodiscard]] std::vector<Tensor> split(const Tensor& x, std::int64_t size, int axis = 0);
[[nodiscard]] std::vector<Tensor> split(const Tensor& x, const std::vector<std::int64_t>& sizes, int axis = 0);
// `chunks` parts of size ⌈n / chunks⌉; the last may be smaller or, as in PyTorch, missing. An empty axis
// has as many. ValueError if chunks < 1.
[[nodiscard]] std::vector<Tensor> chunk(const Tensor& x, std::int64_t chunks, int axis = 0);
Tensor flip(const Tensor& x, int axis);                   // in reverse order along the axis
Tensor triu(const Tensor& x, std::int64_t diagonal = 0);  // (…, m, n): x_ij where j − i ≥ diagonal, else 0
Tensor tril(const Tensor& x, std::int64_t diagonal = 0);  // (…, m, n): x_ij where j − i ≤ diagonal, else 0

// ---- indexing. Indices are int64 (DTypeError), −n ≤ i < n; otherwise IndexError with position and value. The
// gradients of an index that occurs more than once add up.

// x (…, n, …), index (m,) → (…, m, …): x's slices at `index` along the axis. ShapeError unless index is (m,).
Tensor index_select(const Tensor& x, int axis, const Tensor& index);
// y_{i…} = x at index_{i…} along the axis, with the other coordinates unchanged; of index's shape. ShapeError
// unless index has x's rank and is no larger on the other axes.
//
//     const Tensor x = tensor({{1.0, 2, 3}, {4, 5, 6}});
//     const Tensor index = tensor({{2}, {0}}, int64);
//     const Tensor y = gather(x, 1, index);  // (2, 1): [[3], [4]]
Tensor gather(const Tensor& x, int axis, const Tensor& index);
// The transpose of gather: zeros of `shape`, with source added at `index` along the axis. ShapeError unless
// source has index's shape.
Tensor scatter_add(const Shape& shape, int axis, const Tensor& index, const Tensor& source);
// table (V, C), ids (…) int64 → (…, C): the rows of the table. Ids do not wrap: IndexError, with its
// position, for an id < 0 or ≥ V.
Tensor embedding(const Tensor& table, const Tensor& ids);

// ---- neural network functions. linear, layer_norm, gelu, cross_entropy and attention are fused kernels, each
// with a reference implementation beside it: see Composed.

// x Wᵀ + b: x (…, in), weight (out, in), bias (out,) or undefined → (…, out). ShapeError if they do not fit.
Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias = {});
// (x − mean) / √(var + eps) · weight + bias over the last axis, var with correction 0 (Ba, Kiros and Hinton,
// "Layer normalization", 2016, eq. 4). x (…, C), weight and bias (C,) or undefined → (…, C). A constant row
// gives bias, with finite gradients. ShapeError if they do not fit, ValueError unless eps > 0.
Tensor layer_norm(const Tensor& x, const Tensor& weight, const Tensor& bias = {}, double eps = 1e-5);
// x / √(mean x² + eps) · weight over the last axis (Zhang and Sennrich, "Root mean square layer
// normalization", 2019, eq. 4). x (…, C), weight (C,) or undefined → (…, C). The default of eps is the
// machine epsilon of x's type, as in PyTorch. Errors as layer_norm.
Tensor rms_norm(const Tensor& x, const Tensor& weight = {}, std::optional<double> eps = {});
// In training, each element is 0 with probability p and x / (1 − p) otherwise (inverted dropout; Srivastava
// et al., JMLR 2014). Not in training, or with p = 0, x itself. ValueError unless 0 ≤ p < 1.
Tensor dropout(const Tensor& x, double p, Rng& rng, bool training = true);
// The same from default_rng().
Tensor dropout(const Tensor& x, double p, bool training = true);
// The mean of −ln softmax(logits)[target] over the targets other than ignore_index, 0 if there are none:
// logits (…, V), targets (…) int64 → (). ShapeError if they do not fit; IndexError, with its position, for a
// target out of range.
//
//     const Tensor logits = zeros({2, 3, 5});                           // 2 texts, 3 tokens, 5 classes
//     const Tensor targets = tensor({{0, 1, 2}, {3, 4, -100}}, int64);  // the last one is ignored
//     const Tensor loss = cross_entropy(logits, targets);               // ln 5
Tensor cross_entropy(const Tensor& logits, const Tensor& targets, std::int64_t ignore_index = -100);
// mean (prediction − target)² → (). ShapeError unless both have the same shape.
Tensor mse_loss(const Tensor& prediction, const Tensor& target);

// Options of attention.
struct AttentionOptions {
    Mask mask = {};                    // which keys a query may not attend to
    Tensor bias = {};                  // added to the scores, see below
    std::optional<double> scale = {};  // 1/√d_k if not given; ValueError unless finite
    double dropout = 0;  // probability for the weights, after softmax, in [0, 1) or ValueError; needs rng
    Rng* rng = nullptr;  // generator of dropout
};

// softmax(q kᵀ · scale + bias, masked) v (Vaswani et al., "Attention is all you need", 2017, §3.2.1).
//
//     const AttentionOptions options = {.mask = Mask::causal()};
//     const Tensor y = scaled_dot_product_attention(q, k, v, options);  // (B, H, T, d_v)
//
// Shapes: q (…, H, T, d_k), k (…, G, S, d_k), v (…, G, S, d_v) → (…, H, T, d_v), or one head as (T, d_k),
// (S, d_k), (S, d_v) → (T, d_v). The axes before the heads are samples, B in all, equal for q, k and v. G is H
// or divides H; head h then reads the keys and values of head ⌊h / (H/G)⌋ (Ainslie et al., "GQA", 2023,
// §2.2). The bias broadcasts to (B, H, T, S); −inf blocks a key. ShapeError if sizes do not fit, ValueError if
// the bias holds NaN or +inf.
//
// Masking: a fully masked row, a query that may attend to nothing, gives 0 with gradient 0. A blocked key and
// its value change nothing for that query, even if they are NaN or infinite.
//
// Memory grows with T + S, and with T × S only if weights are asked for, the mask or the bias holds a tensor of
// that size, the scale is 0 in float32, or a Composed guard is active.
Tensor scaled_dot_product_attention(const Tensor& q, const Tensor& k, const Tensor& v,
                                    const AttentionOptions& options = {});
// The output of attention, and its weights.
struct [[nodiscard]] AttentionResult {
    Tensor output, weights;  // (…, H, T, d_v), (…, H, T, S)
};
// As scaled_dot_product_attention, with the weights that multiply v, after dropout. Memory grows with T × S.
AttentionResult scaled_dot_product_attention_with_weights(const Tensor& q, const Tensor& k, const Tensor& v,
                                                          const AttentionOptions& options = {});
// Attention of a packed projection, read in place: qkv (B, T, 3C) or (T, 3C), the columns of q, then k, then
// v; head h is columns h·C/H … of each. Merged → (B, T, C) or (T, C). ShapeError unless the rank is 2 or 3 and
// num_heads divides C.
//
//     const Tensor y = multi_head_attention(randn({2, 8, 192}), 4, {.mask = Mask::causal()});  // (2, 8, 64)
Tensor multi_head_attention(const Tensor& qkv, std::int64_t num_heads, const AttentionOptions& options = {});

}  // namespace weft
