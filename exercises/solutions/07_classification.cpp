// Exercises of chapter 7: softmax and cross-entropy by hand, what a classifier gets wrong, and its sizes.
//
//     make exercise N=7          tries what you wrote; make hint N=7 helps
//
// Our solutions. The tasks are numbered as on the page. N samples, K classes.
#include "exercise.h"

// 1. Predict. A model of 4 classes gives the logit 2.5 to each class, whatever it sees. Its loss, to two
// decimals.
inline double loss_of_ignorance() {
    return cross_entropy(full({3, 4}, 2.5, float64), tensor({0, 3, 1}, int64)).item();
}
double prediction_of_loss() { return 1.39; }

// 2. Predict. The shape of this layer's weight.
inline Shape shape_of_weight() { return nn::Linear(5, 8).weight.shape(); }
Shape prediction_of_shape() { return {8, 5}; }

// 3. Mend. The loss of a classifier: inputs x (N, in), a layer in → K, targets int64 (N) → (). A model trained
// with it learns slowly, and never becomes sure of anything.
Tensor classifier_loss(const nn::Linear& layer, const Tensor& x, const Tensor& targets) {
    return cross_entropy(layer(x), targets);
}

// 4. Write. The softmax of each row of x (N, K), for logits of any size, with no row other than its own having
// an influence. By exp, max, sum and arithmetic only.
Tensor stable_softmax(const Tensor& x) {
    const Tensor e = exp(x - max(x, -1, true).values);  // (N, K), none above 1
    return e / sum(e, -1, true);
}

struct LossAndGradient {
    double loss;
    Tensor gradient;  // (N, K), of the logits
};

// 5. Write. The cross-entropy of logits (N, K) with targets int64 (N), and its gradient with respect to the
// logits, both by their formulas and without backward(), for logits of any size. Not by cross_entropy;
// log_softmax and softmax are allowed.
LossAndGradient loss_and_gradient(const Tensor& logits, const Tensor& targets) {
    const Tensor column = targets.unsqueeze(-1);  // (N, 1)
    const Tensor one_hot = scatter_add(logits.shape(), 1, column, ones({targets.size(0), 1}, logits.dtype()));
    const double loss = -mean(gather(log_softmax(logits, -1), 1, column)).item();
    return {loss, (softmax(logits, -1) - one_hot) / static_cast<double>(targets.size(0))};
}

// 6. Write. The confusion matrix of logits (N, K) with targets int64 (N): (K, K) int64, where [i, j] is how
// many samples of class i have the largest logit at class j.
Tensor confusion(const Tensor& logits, const Tensor& targets) {
    const std::int64_t K = logits.size(1);
    const Tensor cell = targets * K + argmax(logits, -1);  // (N)
    return scatter_add({K * K}, 0, cell, ones(cell.shape(), int64)).reshape({K, K});
}

// 7. Paper. The logits of a sample are ln 6, ln 3 and 0. Enter the probability of class 0; the loss, to three
// decimals, and the gradient of the logit of class 1, if class 1 is the target; and the number of parameters of
// an MLP with 4 inputs, 10 hidden units, 3 outputs, and biases.
std::vector<double> classifier_on_paper() { return {0.6, 1.204, -0.7, 83}; }
