// Exercise of chapter 7: softmax that does not overflow, the loss with its gradient, and how often a model is
// right.
//
//     make exercise N=7
//
// Write each function in place of its blank. N samples, K classes.
#include "exercise.h"

// e^(x_i) / Σ_j e^(x_j) in each row of x (N, K), by exp, max, sum and arithmetic, for logits of any size.
// Subtracting the same number from a whole row does not change its softmax.
Tensor stable_softmax(const Tensor& x) {
    const Tensor e = exp(x - max(x, -1, true).values);  // (N, K), none above 1
    return e / sum(e, -1, true);
}

struct LossAndGradient {
    double loss;
    Tensor gradient;  // (N, K), of the logits
};

// The cross-entropy of logits (N, K) with targets int64 (N), which is the mean of −log_softmax at the targets,
// and its gradient by the logits, (softmax − one-hot) / N. By these formulas, without backward(), for logits of
// any size. log_softmax(x, -1) and softmax(x, -1) are there; gather(x, 1, index) picks an element of each row,
// and scatter_add(shape, 1, index, source) puts one into each row of zeros, by an index (N, 1):
// targets.unsqueeze(-1).
LossAndGradient loss_and_gradient(const Tensor& logits, const Tensor& targets) {
    const Tensor column = targets.unsqueeze(-1);  // (N, 1)
    const Tensor one_hot = scatter_add(logits.shape(), 1, column, ones({targets.size(0), 1}, logits.dtype()));
    const double loss = -mean(gather(log_softmax(logits, -1), 1, column)).item();
    return {loss, (softmax(logits, -1) - one_hot) / static_cast<double>(targets.size(0))};
}

// The share of rows of logits (N, K) whose largest element stands at the target (N): 0 … 1.
double accuracy(const Tensor& logits, const Tensor& targets) {
    return mean((argmax(logits, -1) == targets).to(float64)).item();
}
