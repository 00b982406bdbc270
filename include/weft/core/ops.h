// Every differentiable function. Two tensors broadcast as in NumPy unless a line says otherwise (ShapeError
// naming the axis where they do not fit); types never mix (DTypeError). A plain number is rounded to the type
// of a floating tensor; beside int64 it must be one that int64 holds exactly (DTypeError for ids * 0.5: write
// ids.to(float64) * 0.5). Sums and products of int64 wrap where they overflow, as NumPy's. Under NoGrad no
// result is in the graph. Axes may be negative (IndexError out of range). Values follow IEEE 754: log 0 is
// −inf, 1/0 is inf, sqrt(−1) is NaN; check_finite finds them.
#pragma once

#include <optional>
#include <utility>

#include "weft/core/autograd.h"
#include "weft/core/mask.h"
#include "weft/core/tensor.h"

namespace weft {

// ---- arithmetic
// a + b and so on, elementwise: floating types and int64 (/ only floating).
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

// xᵖ elementwise. pow(0, 0) = 1; a negative x with a fractional p gives NaN, as std::pow. ∂/∂x = p·xᵖ⁻¹, which
// is 0 for p = 0; ∂/∂p = xᵖ·log x, taken as 0 where x = 0 and p ≥ 0.
Tensor pow(const Tensor& x, double p);
Tensor pow(const Tensor& x, const Tensor& p);

// ---- comparisons: bool, no gradient

// Elementwise; false where either is NaN, except for !=. An int64 or bool tensor is compared exactly with any
// number: arange(5) == 2.5 is false everywhere.
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
// Of bool tensors.
Tensor operator||(const Tensor& a, const Tensor& b);
Tensor operator&&(const Tensor& a, const Tensor& b);
Tensor operator!(const Tensor& a);
Tensor isfinite(const Tensor& x);         // bool: neither NaN nor infinite
[[nodiscard]] bool all(const Tensor& x);  // bool tensor: every element true (true when empty)
[[nodiscard]] bool any(const Tensor& x);  // bool tensor: some element true

// ---- elementwise functions of one floating tensor
Tensor exp(const Tensor& x);      // eˣ; inf above 88.7 (float32) or 709.7 (float64)
Tensor log(const Tensor& x);      // ln x; gradient at 0 is inf
Tensor sqrt(const Tensor& x);     // √x; gradient at 0 is inf
Tensor tanh(const Tensor& x);     // (eˣ − e⁻ˣ) / (eˣ + e⁻ˣ), without overflow
Tensor sigmoid(const Tensor& x);  // 1 / (1 + e⁻ˣ), without overflow
Tensor relu(const Tensor& x);     // max(x, 0); gradient at 0 is 0
Tensor abs(const Tensor& x);      // |x|; gradient at 0 is 0
Tensor sign(const Tensor& x);     // −1, 0 or 1; gradient 0
Tensor sin(const Tensor& x);      // x in radians
Tensor cos(const Tensor& x);      // x in radians
Tensor erf(const Tensor& x);      // 2/√π ∫₀ˣ e^(−t²) dt

// How gelu is computed.
enum class Gelu {
    exact,  // by erf
    tanh    // by the approximation
};
// x·Φ(x) (Hendrycks and Gimpel, "Gaussian error linear units", 2016, §2); exact by erf, or its tanh
// approximation ½x(1 + tanh(√(2/π)(x + 0.044715x³))).
Tensor gelu(const Tensor& x, Gelu kind = Gelu::exact);

// min(max(x, low), high); gradient 1 where low ≤ x ≤ high, else 0. ValueError when low > high.
Tensor clamp(const Tensor& x, double low, double high);

// The larger of two; NaN where either is NaN; where they are equal each gets half of the gradient.
Tensor maximum(const Tensor& a, const Tensor& b);
// The smaller of two, likewise.
Tensor minimum(const Tensor& a, const Tensor& b);

// condition ? a : b, elementwise; all three broadcast. DTypeError unless the condition is bool.
Tensor where(const Tensor& condition, const Tensor& a, const Tensor& b);
// x with `value`, which x's type must hold, where mask (bool, broadcasts to x) is true, whatever x holds there;
// gradient 0 there.
Tensor masked_fill(const Tensor& x, const Tensor& mask, double value);

// ---- reductions. `axes` one axis or several, none for all; kept with size 1 if keepdim. IndexError when one
// is out of range or named twice.
Tensor sum(const Tensor& x, const Axes& axes = {}, bool keepdim = false);   // Σx; 0 over an empty axis
Tensor mean(const Tensor& x, const Axes& axes = {}, bool keepdim = false);  // Σx / n; NaN over an empty axis
// Σ(x − mean)² / (n − correction); PyTorch's correction of 1 by default.
Tensor var(const Tensor& x, const Axes& axes = {}, bool keepdim = false, int correction = 1);
// ln Σeˣ, the largest subtracted first, so that nothing overflows; −inf over an empty axis and over −inf alone,
// with gradient 0. DTypeError unless floating.
Tensor logsumexp(const Tensor& x, const Axes& axes = {}, bool keepdim = false);

// What max and min of one axis give.
struct [[nodiscard]] ValuesIndices {
    Tensor values, indices;  // of one shape
};
// Along one axis, the largest value and the index (int64) of its first occurrence, which alone gets the
// gradient. NaN counts as the largest. ShapeError over an empty axis.
ValuesIndices max(const Tensor& x, int axis, bool keepdim = false);
// The same of the smallest; NaN counts as the smallest.
ValuesIndices min(const Tensor& x, int axis, bool keepdim = false);
// Of all elements: rank 0; the first occurrence gets the gradient.
Tensor max(const Tensor& x);
Tensor min(const Tensor& x);                                     // the smallest, likewise
Tensor argmax(const Tensor& x, int axis, bool keepdim = false);  // int64: the index of the first maximum

// y_i = Σ_{j ≤ i} x_j along the axis.
Tensor cumsum(const Tensor& x, int axis);

// e^(x_i) / Σ_j e^(x_j) along the axis, the row's maximum subtracted first. A row of −inf gives zeros, with
// gradient 0.
Tensor softmax(const Tensor& x, int axis);
// x_i − ln Σ_j e^(x_j) along the axis. A row of −inf gives −inf, with gradient 0.
Tensor log_softmax(const Tensor& x, int axis);

// ---- products
// (…, m, k) @ (…, k, n) → (…, m, n), leading axes broadcast; a vector (k,) is a row on the left,
// a column on the right, and its axis goes. k = 0 gives zeros. ShapeError when inner dimensions differ, naming
// both; DTypeError unless both are of one floating type.
Tensor matmul(const Tensor& a, const Tensor& b);

// ---- shape
Tensor broadcast_to(const Tensor& x,
                    const Shape& shape);  // as expand; ShapeError where x does not broadcast to it
Tensor sum_to(const Tensor& x,
              const Shape& shape);  // sums over the axes that broadcasting `shape` to x's would stretch
Tensor cat(const std::vector<Tensor>& tensors,
           int axis = 0);  // ShapeError on an empty list, or unless the other sizes are equal
Tensor stack(const std::vector<Tensor>& tensors,
             int axis = 0);  // along a new axis; ShapeError unless all shapes are equal
// Parts of size `size` along the axis, the last one smaller where it does not divide. PyTorch's split(3): parts
// OF SIZE 3.
[[nodiscard]] std::vector<Tensor> split(const Tensor& x, std::int64_t size, int axis = 0);
[[nodiscard]] std::vector<Tensor> split(const Tensor& x, const std::vector<std::int64_t>& sizes, int axis = 0);
// `chunks` parts of equal size ⌈n / chunks⌉ (the last may be smaller or, as in PyTorch, missing). PyTorch's
// chunk(3): 3 PARTS.
[[nodiscard]] std::vector<Tensor> chunk(const Tensor& x, std::int64_t chunks, int axis = 0);
Tensor flip(const Tensor& x, int axis);                   // in reverse order along the axis
Tensor triu(const Tensor& x, std::int64_t diagonal = 0);  // (…, m, n): x_ij where j − i ≥ diagonal, else 0
Tensor tril(const Tensor& x, std::int64_t diagonal = 0);  // (…, m, n): x_ij where j − i ≤ diagonal, else 0

// ---- indexing. Indices are int64; −n ≤ i < n, IndexError with position and value otherwise. Gradients of
// repeated indices add.

// y = x with its axis replaced by x's slices at `index` (n,).
Tensor index_select(const Tensor& x, int axis, const Tensor& index);
// y_{i…} = x at index_{i…} along `axis`, the other coordinates kept; index has x's rank and is no larger
// elsewhere.
Tensor gather(const Tensor& x, int axis, const Tensor& index);
// The transpose of gather: zeros of `shape` with source added at index along `axis`.
Tensor scatter_add(const Shape& shape, int axis, const Tensor& index, const Tensor& source);
// table (V, C), ids int64 of any shape (…) → (…, C): row ids of the table. IndexError when an id is < 0 or ≥ V,
// naming its position: ids do not wrap.
Tensor embedding(const Tensor& table, const Tensor& ids);

// ---- neural network functions (fused kernels, with their definition beside them: see Composed)

// x Wᵀ + b: x (…, in), W (out, in), b (out,) or undefined → (…, out).
Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias = {});
// (x − mean) / √(var + eps) · weight + bias over the last axis (Ba, Kiros and Hinton, "Layer normalization",
// 2016, eq. 4; var with correction 0). weight and bias (C,) or undefined. A constant row gives bias, with
// finite gradients.
Tensor layer_norm(const Tensor& x, const Tensor& weight, const Tensor& bias = {}, double eps = 1e-5);
// x / √(mean x² + eps) · weight over the last axis (Zhang and Sennrich, "Root mean square layer normalization",
// 2019, eq. 4). weight (C,) or undefined; eps is the machine epsilon of x's type unless given, as in PyTorch.
// Refused like layer_norm.
Tensor rms_norm(const Tensor& x, const Tensor& weight = {}, std::optional<double> eps = {});
// In training each element is 0 with probability p, else x / (1 − p) (Srivastava et al., JMLR 2014, in its
// inverted form); otherwise, or with p = 0, x itself. ValueError unless 0 ≤ p < 1.
Tensor dropout(const Tensor& x, double p, Rng& rng, bool training = true);
// −ln softmax(logits)[target], averaged over the targets that are not ignore_index: logits (…, V), targets
// int64 (…) → (). 0 when every target is ignored. IndexError when a target is out of range, naming its
// position; ShapeError when shapes differ.
Tensor cross_entropy(const Tensor& logits, const Tensor& targets, std::int64_t ignore_index = -100);
Tensor mse_loss(const Tensor& prediction,
                const Tensor& target);  // mean (prediction − target)²; ShapeError unless of one shape

// Options of attention.
struct AttentionOptions {
    Mask mask = {};  // which keys a query may not attend to
    Tensor bias =
        {};  // added to the scores, broadcasts to (B, H, T, S); −inf blocks; ValueError on NaN or +inf
    std::optional<double> scale = {};  // 1/√d_k when not given
    double dropout = 0;                // of the weights, after softmax; needs rng when > 0
    Rng* rng = nullptr;                // for dropout
    const char* caller = nullptr;      // the name that error messages begin with; the function's own when null
};

// softmax(q kᵀ · scale + bias, masked) v (Vaswani et al., "Attention is all you need", 2017, §3.2.1).
// q (…, H, T, d_k), k (…, G, S, d_k), v (…, G, S, d_v) → (…, H, T, d_v); also (T, d_k) alone, as one head. G =
// H, or G divides H and head h reads keys and values h / (H/G) (Ainslie et al., "GQA", 2023, §2.2). The axes
// before the heads are samples, B in all, equal for q, k and v. A query that may attend to nothing gives 0,
// with gradient 0. A blocked key and its value change nothing for that query, even where they are NaN or
// infinite. Memory grows with T + S, not with T × S, unless weights are asked for, dropout is on, the bias
// takes a gradient, the mask holds a tensor of that size, or a Composed guard is active. ShapeError when sizes
// do not fit.
Tensor scaled_dot_product_attention(const Tensor& q, const Tensor& k, const Tensor& v,
                                    const AttentionOptions& options = {});
// The output of attention, and its weights.
struct [[nodiscard]] AttentionResult {
    Tensor output, weights;  // (…, T, d_v), (…, T, S)
};
// The same, and the weights that v was multiplied by, after dropout. Memory grows with T × S.
AttentionResult scaled_dot_product_attention_with_weights(const Tensor& q, const Tensor& k, const Tensor& v,
                                                          const AttentionOptions& options = {});
// The same of a packed projection, split into heads before and merged after: qkv (B, T, 3C) or (T, 3C), the
// columns of q, then k, then v, each with head h in columns h·C/H … → (B, T, C) or (T, C). Reads q, k and v in
// place. ShapeError unless the rank is 2 or 3 and the heads divide C.
Tensor multi_head_attention(const Tensor& qkv, std::int64_t num_heads, const AttentionOptions& options = {});

}  // namespace weft
