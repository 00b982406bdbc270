// Losses: of each element, and their Reduction; it is a mean → () unless another is asked for.
#pragma once

#include <cstdint>

#include "weft/core/reductions.h"
#include "weft/core/tensor.h"

namespace weft {

// What a loss returns of its elements.
//
//     const Tensor x = tensor({{1.0, 2}, {3, 4}}), target = zeros({2, 2});
//     const Tensor mean = mse_loss(x, target);                           // 7.5
//     const Tensor total = mse_loss(x, target, Reduction::sum);          // 30
//     const Tensor each = mse_loss(x, target, Reduction::none);          // [[1, 4], [9, 16]]
//     const Tensor per_row = mse_loss(x, target, Reduction::batchmean);  // 15
enum class Reduction {
    mean,      // Σ / n → (); of classes with weights, Σ / Σ of the targets' weights
    sum,       // Σ → ()
    none,      // the elements
    batchmean  // Σ / the size of the first axis → ()
};

// (prediction − target)². ShapeError unless both have the same shape.
Tensor mse_loss(const Tensor& prediction, const Tensor& target, Reduction reduction = Reduction::mean);
// −w_t · log_p[t] for each target t, 0 where it is ignore_index: log_p (…, V), targets (…) int64, weight (V,)
// or undefined for 1. Errors as cross_entropy.
Tensor nll_loss(const Tensor& log_p, const Tensor& targets, const Tensor& weight = {},
                std::int64_t ignore_index = -100, Reduction reduction = Reduction::mean);
// Options of cross_entropy.
struct CrossEntropyOptions {
    Tensor weight = {};                // (V,): the weight of each class; undefined: 1
    double label_smoothing = 0;        // the share of each target that is spread over all classes, in [0, 1]
    std::int64_t ignore_index = -100;  // targets that do not count
    Reduction reduction = Reduction::mean;  // none: (…), as the targets, and 0 where they do not count
};
// Cross-entropy with class weights and label smoothing (Szegedy et al., "Rethinking the Inception
// architecture", 2016, §7), normalised as in PyTorch.
Tensor cross_entropy(const Tensor& logits, const Tensor& targets, const CrossEntropyOptions& options);
// ln(1 + eˣ) − x·t: targets t in [0, 1], of the logits' shape (ShapeError). At ±∞ it is 0 or ∞.
Tensor binary_cross_entropy_with_logits(const Tensor& logits, const Tensor& targets,
                                        Reduction reduction = Reduction::mean);
// −t·ln p − (1 − t)·ln(1 − p), where neither logarithm is below −100, as in PyTorch; where it would be, its
// gradient is 0. ValueError, with its position, for a p outside [0, 1]. Of p = σ(x), take
// binary_cross_entropy_with_logits, which loses no digits.
Tensor binary_cross_entropy(const Tensor& prediction, const Tensor& targets,
                            Reduction reduction = Reduction::mean);
// t·(ln t − log_p), 0 where t is 0: the summands of the divergence Σ t·ln(t/p) (Kullback and Leibler, "On
// information and sufficiency", 1951, §2); batchmean gives the mean divergence of rows (n, V). With log_target
// the target is ln t. ShapeError unless both have the same shape.
//
//     const Tensor log_p = log_softmax(zeros({1, 4}), -1), target = tensor({{0.5, 0.5, 0, 0}});
//     const Tensor divergence = kl_div(log_p, target, Reduction::batchmean);  // ln 2 = 0.6931472
Tensor kl_div(const Tensor& log_p, const Tensor& target, Reduction reduction = Reduction::mean,
              bool log_target = false);
// |prediction − target|. Errors as mse_loss.
Tensor l1_loss(const Tensor& prediction, const Tensor& target, Reduction reduction = Reduction::mean);
// ½d² where |d| < delta, else delta·(|d| − ½delta), with d = prediction − target (Huber, 1964, §1).
Tensor huber_loss(const Tensor& prediction, const Tensor& target, double delta = 1,
                  Reduction reduction = Reduction::mean);
// ½d²/beta where |d| < beta, else |d| − ½beta; l1_loss if beta is 0 (Girshick, "Fast R-CNN", 2015, eq. 3).
// ValueError unless beta is finite and at least 0.
Tensor smooth_l1_loss(const Tensor& prediction, const Tensor& target, double beta = 1,
                      Reduction reduction = Reduction::mean);

}  // namespace weft
