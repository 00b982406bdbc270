// Exercises of chapter 7: softmax and cross-entropy by hand, layer norm, and initial values for a deep model.
//
//     make exercise N=7          tries what you wrote; make hint N=7 helps
//
// Replace each blank(). The tasks are numbered as on the page. N samples, K classes.
#include "exercise.h"

// 1. Predict. A model of 4 classes gives the logit 2.5 to each class, whatever it sees. Its loss, to two
// decimals.
inline double loss_of_ignorance() {
    return cross_entropy(full({3, 4}, 2.5, float64), tensor({0, 3, 1}, int64)).item();
}
double prediction_of_loss() { return blank(); }

// 2. Predict. By how much does layer norm change at most if its input is multiplied by 5 and 7 is added? To
// three decimals.
inline double change_of_norm() {
    Rng rng(7);
    const Tensor x = randn({4, 8}, rng, float64), weight = ones({8}, float64);
    return max(abs(layer_norm(5 * x + 7, weight) - layer_norm(x, weight))).item();
}
double prediction_of_change() { return blank(); }

// 3. Mend. The loss of a classifier: inputs x (N, in), a layer in → K, targets int64 (N) → (). A model trained
// with it learns slowly, and never becomes sure of anything.
Tensor classifier_loss(const nn::Linear& layer, const Tensor& x, const Tensor& targets) {
    const Tensor probabilities = softmax(layer(x), -1);  // (N, K)
    return cross_entropy(probabilities, targets);
}

// 4. Write. The softmax of each row of x (N, K), for logits of any size, with no row other than its own having
// an influence. By exp, max, sum and arithmetic only.
Tensor stable_softmax(const Tensor& x) { return blank(); }

struct LossAndGradient {
    double loss;
    Tensor gradient;  // (N, K), of the logits
};

// 5. Write. The cross-entropy of logits (N, K) with targets int64 (N), and its gradient by the logits, both by
// their formulas and without backward(), for logits of any size. Not by cross_entropy; log_softmax and softmax
// are allowed.
LossAndGradient loss_and_gradient(const Tensor& logits, const Tensor& targets) { return blank(); }

// 6. Write. Layer norm over the last axis: x (…, C), weight and bias (C,) → (…, C), with the variance of
// divisor C and with eps inside the root. Not by layer_norm.
Tensor normalise(const Tensor& x, const Tensor& weight, const Tensor& bias, double eps) { return blank(); }

// 7. Paper. A layer y = W x has 100 inputs of mean 0 and variance 1; the elements of W are independent of them
// and of each other, with mean 0 and standard deviation s. Enter the variance of an element of y for s = 0.05,
// the variance after five such layers in a row, without activations, and the s that keeps the variance at 1.
std::vector<double> variance_on_paper() { return blank(); }
