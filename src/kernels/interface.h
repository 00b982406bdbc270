// What each kernel promises. Every kernel is there twice: reference/ has the formula as plain loops, for
// reading; fast/ has what runs. A folder for another device would hold the same families. Arrays are strided;
// inputs have out's shape (broadcast_view makes it) and type unless stated otherwise. What Products and
// Attention multiply (a and b; q, k, v and dy) may be bfloat16 where the other arrays are float32: then what
// attention multiplies them with is rounded to bfloat16 too, and the sums are float32. int64 wraps on overflow,
// as in NumPy. A family is a struct of pointers to functions, so that active() can return either set at every
// call: that choice, and the one by type inside a kernel (visit_floating), are all the dispatch there is.
#pragma once

#include <numbers>
#include <optional>
#include <span>
#include <variant>
#include <vector>

#include "tensor/array.h"
#include "weft/tensor/packed_matrix.h"

namespace weft::kernels {

struct Dropout {
    double p = 0;  // 0 ≤ p < 1
    std::uint64_t seed = 0, first = 0;
};
// How many positions of the generator n elements take.
constexpr std::uint64_t dropout_positions(std::int64_t n) { return (static_cast<std::uint64_t>(n) + 3) / 4; }

struct Filling {
    void (*fill)(const Array& out, double value);
    void (*copy)(const Array& out, const Array& x);  // any types: converts
    // start + i · step, in a contiguous out: floating, and int64.
    void (*fill_range)(const Array& out, double start, double step);
    void (*fill_integers)(const Array& out, std::int64_t start, std::int64_t step);
    // The elements first … of a seed's sequence (weft/tensor/random.h), in a contiguous out.
    void (*fill_uniform)(const Array& out, std::uint64_t seed, std::uint64_t first);
    void (*fill_normal)(const Array& out, std::uint64_t seed, std::uint64_t first);
    void (*fill_randint)(const Array& out, std::uint64_t seed, std::uint64_t first, std::int64_t low,
                         std::int64_t high);
    // Element e of a contiguous out is 1 / (1 − p) if it is kept, else 0. It is kept if word e mod 4 of
    // philox(seed, first + ⌊e / 4⌋) is at least p · 2³²: whoever knows an element's number knows whether it was
    // kept.
    void (*fill_dropout)(const Array& out, const Dropout& dropout);
};

constexpr double gelu_factor = 2 * std::numbers::inv_sqrtpi * std::numbers::sqrt2;  // 2√(2/π)

struct Elementwise {
    void (*add)(const Array& out, const Array& a, const Array& b);       // a + b
    void (*axpy)(const Array& out, double alpha, const Array& x);        // out ← out + alpha · x
    void (*multiply)(const Array& out, const Array& a, const Array& b);  // a · b
    void (*scale)(const Array& out, const Array& x, double factor);      // factor · x
    void (*where)(const Array& out, const Array& condition, const Array& a, const Array& b);  // bool: a, else b
    void (*exp)(const Array& out, const Array& x);                                            // eˣ, floating
    void (*log)(const Array& out, const Array& x);                                            // ln x, floating
    void (*sigmoid)(const Array& out, const Array& x);  // 1/(1 + e⁻ˣ), floating
    // The gradient of gelu's tanh approximation, y = x·g with g = σ(2u):  dx = dy · (g + x·g·(1 − g)·2u′).
    void (*gelu_tanh_backward)(const Array& dx, const Array& x, const Array& dy);
};

// c ← a b, or c + a b: c (m, n) with rows of consecutive elements, a (m, k) and b (k, n) for which is_matrix
// holds.
struct Product {
    Array c, a, b;
    bool adds = false;
};

// Which matrix of a product y = a b has an element for each pair (query, key).
enum class Pairs { in_a, in_b, in_y };

struct Products {
    // out (…, m, n) = a (…, m, k) · b (…, k, n). The leading axes are equal, is_matrix holds for a and b, and
    // out is contiguous.
    void (*matmul)(const Array& out, const Array& a, const Array& b);
    void (*products)(std::span<const Product> independent);
    // matmul of four axes in which `pairs` names a or b. Its elements at `blocked` (bool, of its shape) count
    // as 0 and are multiplied with nothing, because 0 · NaN is NaN.
    void (*masked_matmul)(const Array& out, const Array& a, const Array& b, const Array& blocked, Pairs pairs);
};

// W (n, k), the weight of a layer or a table, in fewer bits than it is computed in: a contiguous matrix of
// bfloat16 or float16, or blocks.
struct CompactMatrix {
    std::variant<DType, BlockFormat> format;
    const std::byte* data;
    std::int64_t n, k, row_bytes;
};

// Widens to float32 what it reads; where x or dy is bfloat16, W is rounded to that as well. The others are
// contiguous, float32.
struct Packed {
    // y (R, n) = x (R, k) Wᵀ, or y + x Wᵀ.
    void (*packed_linear)(const Array& y, const Array& x, const CompactMatrix& w, bool adds);
    // dx (R, k) = dy (R, n) W.
    void (*packed_linear_backward)(const Array& dx, const Array& dy, const CompactMatrix& w);
    // out (R, k) = the rows of W at indices (R,), int64 and within 0 … n − 1.
    void (*widen_rows)(const Array& out, const CompactMatrix& w, const Array& indices);
};

// A contiguous shape as (outer, n, inner), where n is the product of the axes first … last − 1.
struct Layout {
    std::int64_t outer = 1, n = 1, inner = 1;
    Layout(const Shape& shape, int first, int last) {
        for (int i = 0; i < shape.rank(); ++i) (i < first ? outer : i < last ? n : inner) *= shape.begin()[i];
    }
};

struct MinMax {
    Array values, indices;  // the axis has size 1; indices int64, of the first occurrence
};

// The order of every sum depends on the shape alone.
struct Reductions {
    Array (*sum)(const Array& x, const std::vector<bool>& reduced);  // over the marked axes, which get size 1
    MinMax (*min_max)(const Array& x, int axis, bool largest);       // NaN comes first; the axis is not empty
};

// Along an axis, into a contiguous out.
struct Scans {
    // In reverse, sums run from the end of the axis.
    void (*cumsum)(const Array& out, const Array& x, int axis, bool reverse);
    void (*cumprod)(const Array& out, const Array& x, int axis);
    // dx_j = Σ_{i ≥ j} dy_i · Π_{k ≤ i, k ≠ j} x_k, without a division, because factors may be 0. Only the
    // result can leave the type's range. Floating.
    void (*cumprod_backward)(const Array& dx, const Array& x, const Array& dy, int axis);
    // y_0 = b_0 and y_i = b_i + a_{i−1} · y_{i−1}; in reverse y_{n−1} = b_{n−1} and y_i = b_i + a_i · y_{i+1}.
    // The axis of a is shorter by one.
    void (*linear_scan)(const Array& out, const Array& a, const Array& b, int axis, bool reverse);
};

// Along the last axis of contiguous arrays of one floating type: R rows of C elements.
struct Rows {
    // y = e^(x − max) / Σ; a row of −inf gives zeros.
    void (*softmax)(const Array& y, const Array& x);
    // y = x − max − ln Σ e^(x − max); a row of −inf stays −inf.
    void (*log_softmax)(const Array& y, const Array& x);
    // loss () = the mean of −ln softmax(x)[target] over the rows whose target is not ignore_index, 0 if there
    // are none; returns their number. max and log_sum (R,), whose sum is ln Σ e^x, are saved for backward: as
    // one number, the small one would be rounded away where logits are large. targets int64 (R,), each a class
    // or ignore_index.
    std::int64_t (*cross_entropy)(const Array& loss, const Array& max, const Array& log_sum, const Array& x,
                                  const Array& targets, std::int64_t ignore_index);
    // dx = (softmax(x) − onehot(target)) · factor, with factor = dloss / counted; 0 in ignored rows.
    void (*cross_entropy_backward)(const Array& dx, const Array& x, const Array& max, const Array& log_sum,
                                   const Array& targets, std::int64_t ignore_index, double factor);
};

// As Rows.
struct LayerNorm {
    // y = (x − mean) · rstd · weight + bias, with weight and bias (C,); mean (R, 2), rounded and what the
    // rounding left, and rstd (R,) are saved for backward.
    void (*layer_norm)(const Array& y, const Array& mean, const Array& rstd, const Array& x,
                       const Array& weight, const Array& bias, double eps);
    // dx, and dweight and dbias (C,), which are left out if they have no storage.
    void (*layer_norm_backward)(const Array& dx, const Array& dweight, const Array& dbias, const Array& dy,
                                const Array& x, const Array& mean, const Array& rstd, const Array& weight);
    // y = x / √(mean x² + eps) · weight, with weight (C,).
    void (*rms_norm)(const Array& y, const Array& x, const Array& weight, double eps);
};

// Indices are int64, contiguous, and within 0 … size − 1; the other arrays are contiguous.
struct Indexing {
    // x (outer, V, inner), indices (n,) → out (outer, n, inner).
    void (*index_select)(const Array& out, const Array& x, int axis, const Array& indices);
    // out (outer, V, inner) += source (outer, n, inner) at the indices, in the order of the indices.
    void (*index_add)(const Array& out, int axis, const Array& indices, const Array& source);
    // out_{i…} = x at index_{i…} along the axis. out is like index, x has its rank.
    void (*gather)(const Array& out, const Array& x, int axis, const Array& index);
    // out at index_{i…} along the axis += source_{i…}; source is like index.
    void (*scatter_add)(const Array& out, int axis, const Array& index, const Array& source);
};

// B samples, H heads of queries, G of keys and values, T queries, S keys, d_k and d_v widths.
// q (B, H, T, d_k), k (B, G, S, d_k) and v (B, G, S, d_v), or their gradients. G divides H; last strides are 1.
struct QkvArrays {
    Array q, k, v;
};

struct AttentionParams {
    double scale = 1;
    bool causal = false;                  // query i attends to key j only if j ≤ i + (S − T)
    std::int64_t window = INT64_MAX / 2;  // and only if j > i + (S − T) − window
    // int64 (B, S), the last stride 1: query i, which is token i + (S − T), attends to tokens of its id only,
    // in each of these. T ≤ S if there are any.
    std::vector<Array> documents;
    // (B, H, T, S), with strides of 0 where broadcast; the bias is without storage if there is none.
    std::vector<Array> blocked;  // bool, true = masked; a pair that any of them masks is masked
    Array bias;                  // added to the scores; has q's type
    // Applied to the weights, whose element (b, h, i, j) has the number ((b H + h) T + i) S + j.
    Dropout dropout = {};
};

// Backward recomputes the weights from these as e^(score − max) · inverse_sum. Each is (B, H, T) and
// contiguous; both are 0 for a fully masked row. (One number, max − ln inverse_sum, would round the small one
// away where scores are large.)
struct SoftmaxStats {
    Array max, inverse_sum;
};

struct Attention {
    // y (B, H, T, d_v), whose last stride is 1, and stats. A fully masked row has y = 0. Masked keys and values
    // change no bit, even if they are NaN or infinite. If `weights` (B, H, T, S), contiguous, has storage, it
    // becomes what multiplies v.
    void (*attention)(const Array& y, const SoftmaxStats& stats, const Array& weights, const QkvArrays& inputs,
                      const AttentionParams& params);
    // Overwrites the gradients. A query that is not finite, or attends to what is not, adds nothing if its dy
    // is 0. If `dbias` (B|1, H|1, T|1, S|1), of float64 and zeros, has storage, the gradient of the bias is
    // added to it.
    void (*attention_backward)(const QkvArrays& gradients, const Array& dbias, const Array& dy, const Array& y,
                               const SoftmaxStats& stats, const QkvArrays& inputs,
                               const AttentionParams& params);
};

struct Kernels : Filling,
                 Elementwise,
                 Products,
                 Packed,
                 Reductions,
                 Scans,
                 Rows,
                 LayerNorm,
                 Indexing,
                 Attention {};

// What runs on this thread: the fast kernels, or under a ReferenceKernels guard those of plain loops.
const Kernels& active();

// A contiguous copy in storage of its own, converted to `dtype`; and x itself if it is contiguous, else a copy.
Array copy_of(const Array& x, DType dtype);
inline Array copy_of(const Array& x) { return copy_of(x, x.dtype); }
Array contiguous(const Array& x);

// What the kernels read of a matrix of bfloat16 or float16, which is contiguous, and of blocks.
CompactMatrix compact(const Array& half);
CompactMatrix compact(const PackedMatrix& blocks);

// Whether a format is written, and not only read. Then a matrix of float32 whose rows divide into its blocks
// can become blocks, unless one has a NaN, an infinity or a scale that float16 does not hold: the first element
// of the first such block, or −1.
bool is_written(BlockFormat format);
std::int64_t first_unpackable(const Array& w, BlockFormat format);
PackedMatrix pack(const Array& w, BlockFormat format);

// A new array of one value. Refuses what make_array does, naming `operation`.
Array filled(const Shape& shape, double value, DType dtype, const char* operation = "full");

// Whether the last two axes are stored by rows or by columns, which a product reads in place.
bool is_matrix(const Array& x);

// What a product reads of x, for which is_matrix holds: x itself or a contiguous copy, or under
// set_float32_matmul_precision("medium") a copy of float32 that is rounded to bfloat16, with its axes in x's
// order in memory. That of a weight is kept, in its storage, until the weight changes.
DType operand_type(DType type);  // of what it reads
Array operand(const Array& x);
Array kept_operand(const Array& weight);
// What attention reads of x: x itself, or a contiguous copy that is rounded.
Array dense_operand(const Array& x);

// ShapeError for a size that BLAS's 32-bit integers cannot hold.
void check_gemm_sizes(const char* operation, std::int64_t m, std::int64_t n, std::int64_t k);

bool all(const Array& x);  // bool
// The first position, in row-major order, of an element of x that copy cannot convert: NaN or what is out of
// range to int64, a number to bfloat16 or float16 that would become infinite; and of an index outside low …
// high − 1 that is not `allowed`. −1 if there is none.
std::int64_t first_beyond(const Array& x, DType to);
std::int64_t first_outside(const Array& indices, std::int64_t low, std::int64_t high,
                           std::optional<std::int64_t> allowed = {});

}  // namespace weft::kernels
