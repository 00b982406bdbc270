// Normalisation. Beside the definitions of layer_norm and rms_norm kernels may compute them at once (Plain).
#pragma once

#include <optional>

#include "weft/core/tensor.h"

namespace weft {

// (x − mean) / √(var + eps) · weight + bias over the last axis, var with correction 0 (Ba, Kiros and Hinton,
// "Layer normalization", 2016, eq. 4). x (…, C), weight and bias (C,) or undefined → (…, C). A constant row
// gives bias, with finite gradients. ShapeError if they do not fit, ValueError unless eps > 0.
Tensor layer_norm(const Tensor& x, const Tensor& weight, const Tensor& bias = {}, double eps = 1e-5);
// x / √(mean x² + eps) · weight over the last axis (Zhang and Sennrich, "Root mean square layer
// normalization", 2019, eq. 4). x (…, C), weight (C,) or undefined → (…, C). The default of eps is the
// machine epsilon of x's type, as in PyTorch. Errors as layer_norm.
Tensor rms_norm(const Tensor& x, const Tensor& weight = {}, std::optional<double> eps = {});

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
// training, else the running ones (Ioffe and Szegedy, "Batch normalization", 2015, algorithms 1 and 2). Squares
// may leave the type's range. ShapeError or DTypeError if they do not fit; ValueError unless eps > 0, and in
// training if a channel has one value, or the running statistics share memory with each other or with another
// argument.
//
//     const BatchNormStats running{zeros({3}), ones({3})};
//     const BatchNormOptions options{.training = true};
//     const Tensor y = batch_norm(x, running, {}, {}, options);  // (8, 3): columns of mean 0
Tensor batch_norm(const Tensor& x, const BatchNormStats& running, const Tensor& weight = {},
                  const Tensor& bias = {}, const BatchNormOptions& options = {});

// Rotary positions (Su et al., "RoFormer: enhanced transformer with rotary position embedding", 2021, §3.2).
// T tokens, d the width of a head, r ≤ d the columns that are rotated, i = 0 … r/2 − 1 the number of a pair.

// Which columns are a pair.
enum class RotaryPairs {
    neighbours,  // x₂ᵢ and x₂ᵢ₊₁: the paper's, Meta's Llama files and GGUF files of llama
    halves       // xᵢ and xᵢ₊ᵣ⁄₂: the files of Hugging Face
};

// The cosines and sines of T positions, which layers with the same options share.
//
//     const RotaryTable table = nn::rotary_table(0, 8, 16, {}, float32);  // 8 positions, heads of width 16
//     const Tensor y = rotary(q, table), z = rotary(k, table);            // both (B, H, 8, 16)
struct RotaryTable {
    Tensor cos, sin;    // (T, r/2), times the attention factor
    RotaryPairs pairs;  // the columns of a pair
};

// Rotates each pair (a, b) of the token at position p by the angle φ = p · θᵢ: a cos φ − b sin φ, a sin φ + b
// cos φ. The dot product of a query at position i and a key at position j then depends on i − j only. x (…, T,
// d) → the same shape. ShapeError unless the rank is 2 to 7 and the table has T positions and a width ≤ d.
Tensor rotary(const Tensor& x, const RotaryTable& table);

}  // namespace weft
