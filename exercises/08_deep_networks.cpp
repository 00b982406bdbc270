// Exercises of chapter 8: layer norm by hand, and initial values for a deep model.
//
//     make exercise N=8          tries what you wrote; make hint N=8 helps
//
// Replace each blank(). The tasks are numbered as on the page. N samples.
#include "exercise.h"

// 1. Predict. By how much does layer norm change at most if its input is multiplied by 5 and 7 is added? To
// three decimals.
inline double change_of_norm() {
    Rng rng(7);
    const Tensor x = randn({4, 8}, rng, float64), weight = ones({8}, float64);
    return max(abs(layer_norm(5 * x + 7, weight) - layer_norm(x, weight))).item();
}
double prediction_of_change() { return blank(); }

// 2. Predict. All weights of this network are equal at first, and its biases 0. How many different
// hidden units does it have after 20 steps?
inline double units_after_training() {
    Rng rng(20);
    const Tensor x = randn({30, 2}, rng, float64), kind = argmax(randn({30, 3}, rng, float64), -1);
    const std::vector<Tensor> parameters = {full({8, 2}, 0.5, float64), zeros({8}, float64),
                                            full({3, 8}, 0.5, float64), zeros({3}, float64)};
    for (Tensor parameter : parameters) parameter.requires_grad_();
    optim::SGD optimizer(parameters, {.lr = 0.1});
    for (int step = 0; step < 20; ++step) {
        optimizer.zero_grad();
        const Tensor h = tanh(linear(x, parameters[0], parameters[1]));  // (30, 8)
        cross_entropy(linear(h, parameters[2], parameters[3]), kind).backward();
        optimizer.step();
    }
    int different = 0;
    for (std::int64_t i = 0; i < 8; ++i) {
        bool is_new = true;
        for (std::int64_t j = 0; j < i; ++j)
            if (max(abs(parameters[0].select(0, i) - parameters[0].select(0, j))).item() < 1e-9) is_new = false;
        different += is_new;
    }
    return different;
}
double prediction_of_units() { return blank(); }

// 3. Mend. Kaiming's initial values of the weight (out, in) of a layer that ReLU follows. A model of twenty
// layers that starts from them does not learn.
Tensor kaiming(std::int64_t out, std::int64_t in, Rng& rng) {
    return nn::normal({out, in}, 0, 2.0 / static_cast<double>(in), rng);
}

// 4. Write. Layer norm over the last axis: x (…, C), weight and bias (C,) → (…, C), with the variance of
// divisor C and with eps inside the root. Not by layer_norm.
Tensor normalise(const Tensor& x, const Tensor& weight, const Tensor& bias, double eps) { return blank(); }

// 5. Write. Layers without biases, each followed by ReLU: h ← relu(h Wᵀ) for each W (out, in) of `weights`,
// from h = x (N, in) on. Multiply each weight by a positive number, so that the mean square of h is 1 after
// every layer, and return them. Those given stay as they are.
std::vector<Tensor> rescale(const Tensor& x, const std::vector<Tensor>& weights) { return blank(); }

// 6. Paper. A layer y = W x has 100 inputs of mean 0 and variance 1; the elements of W are independent of them
// and of each other, with mean 0 and standard deviation s. Enter the variance of an element of y for s = 0.05,
// the variance after five such layers in a row, without activations, and the s that keeps the variance at 1.
std::vector<double> variance_on_paper() { return blank(); }
