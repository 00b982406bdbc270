#include "exercise.h"

#include EXERCISE

int main(int argc, char** argv) {
    Exercise exercise(argc, argv, "7. Telling classes apart");
    exercise.predict("prediction_of_loss", prediction_of_loss, loss_of_ignorance,
                     "Equal logits give each class the probability 1/4, and the loss is -ln(1/4).",
                     {"Which probability does softmax give to each class?",
                      "The loss is minus the natural logarithm of the target's probability."},
                     0.01);
    exercise.predict(
        "prediction_of_change", prediction_of_change, change_of_norm,
        "Subtracting the mean removes the 7, and dividing by the standard deviation removes the 5.",
        {"What happens to the mean and to the standard deviation of a row?"}, 0.001);
    exercise.mend(
        "classifier_loss", "the loss of a layer that gives the right class the logit 100",
        {"How small can the loss become if the model is certain and right?",
         "cross_entropy takes logits, and applies softmax itself.", "softmax is applied twice here."},
        [] {
            Rng rng(7);
            nn::Linear layer(3, 3, rng);
            layer.to(float64);
            layer.load_state_dict({{"weight", 100 * eye(3, float64)}, {"bias", zeros({3}, float64)}});
            const Tensor x = eye(3, float64), targets = tensor({0, 1, 2}, int64);
            expect_equal("the loss of a layer that gives the right class the logit 100 and the others 0",
                         classifier_loss(layer, x, targets), tensor(0.0, float64));
            const Tensor points = randn({5, 3}, rng, float64), classes = tensor({2, 0, 1, 1, 0}, int64);
            expect_equal("the loss of five random points", classifier_loss(layer, points, classes),
                         cross_entropy(layer(points), classes));
        });
    exercise.write(
        "stable_softmax",
        {"Subtracting the same number from a whole row does not change its softmax. Which number helps?",
         "Each row's maximum: then no exponent is above 0. Axes must be kept for the broadcast.",
         "max(x, -1, true).values is (N, 1), each row's maximum; sum(e, -1, true) is (N, 1) as well."},
        [] {
            expect_equal("softmax of the rows (2, 1, 0) and (0, 0, 0)",
                         stable_softmax(tensor({{2, 1, 0}, {0, 0, 0}}, float64)),
                         tensor({{0.6652409557748219, 0.24472847105479764, 0.09003057317038046},
                                 {1.0 / 3, 1.0 / 3, 1.0 / 3}},
                                float64));
            expect_equal("softmax of the row (10000, 10000, -10000)",
                         stable_softmax(tensor({{10000, 10000, -10000}}, float64)),
                         tensor({{0.5, 0.5, 0}}, float64));
            expect_equal(
                "softmax of the rows (10000, 9999) and (-9999, -10000), each with its own maximum",
                stable_softmax(tensor({{10000, 9999}, {-9999, -10000}}, float64)),
                tensor({{0.7310585786300049, 0.2689414213699951}, {0.7310585786300049, 0.2689414213699951}},
                       float64));
            Rng rng(7);
            expect_gradient("stable_softmax", [](const std::vector<Tensor>& x) { return stable_softmax(x[0]); },
                            {randn({2, 4}, rng, float64).requires_grad_()});
        });
    exercise.write(
        "loss_and_gradient",
        {"The loss is the mean of -ln p of the targets, and its gradient is (softmax - one-hot) / N.",
         "gather picks one element of each row by an index (N, 1), and scatter_add puts one into each row of "
         "zeros. ln of softmax is -∞ where softmax is 0; log_softmax is not.",
         "With column = targets.unsqueeze(-1): the loss is -mean(gather(log_softmax(logits, -1), 1, column)), "
         "and scatter_add(logits.shape(), 1, column, ones({N, 1}, logits.dtype())) is one-hot."},
        [] {
            const LossAndGradient one = loss_and_gradient(tensor({{2, 1, 0}}, float64), tensor({0}, int64));
            expect_equal("the loss of (2, 1, 0) with target 0", one.loss, 0.4076059644443803);
            expect_equal("the gradient of its logits", one.gradient,
                         tensor({{-0.3347590442251781, 0.24472847105479764, 0.09003057317038046}}, float64));
            Rng rng(7);
            const Tensor logits = randn({4, 3}, rng, float64).requires_grad_();
            const Tensor targets = tensor({2, 0, 1, 1}, int64);
            const Tensor loss = cross_entropy(logits, targets);
            loss.backward();
            const LossAndGradient four = loss_and_gradient(logits.detach(), targets);
            expect_equal("the loss of four random rows", four.loss, loss.item());
            expect_equal("the gradient of four random rows", four.gradient, logits.grad());
            const LossAndGradient large =
                loss_and_gradient(tensor({{10000, 0, -10000}}, float64), tensor({2}, int64));
            expect_equal("the loss of (10000, 0, -10000) with target 2", large.loss, 20000);
            expect_equal("the gradient of its logits", large.gradient, tensor({{1, 0, -1}}, float64));
        });
    exercise.write(
        "normalise",
        {"Each row has its own mean and its own variance; which shape do they need to broadcast against x?",
         "mean(x, -1, keepdim) is (…, 1). The variance is the mean of the squares of what is left.",
         "centred / sqrt(mean(centred * centred, -1, keepdim) + eps) * weight + bias."},
        [] {
            const Tensor weight = tensor({1, 2}, float64), bias = tensor({0, 10}, float64);
            expect_equal("layer norm of the rows (1, 3) and (5, 5), with weight (1, 2) and bias (0, 10)",
                         normalise(tensor({{1, 3}, {5, 5}}, float64), weight, bias, 1e-12),
                         tensor({{-1, 12}, {0, 10}}, float64), 1e-6);
            Rng rng(8);
            const auto leaf = [&](const Shape& shape) { return randn(shape, rng, float64).requires_grad_(); };
            const Tensor x = leaf({2, 3, 4}), w = leaf({4}), b = leaf({4});
            expect_equal("layer norm of (2, 3, 4) with eps = 0.1", normalise(x, w, b, 0.1),
                         layer_norm(x, w, b, 0.1));
            expect_gradient("normalise",
                            [](const std::vector<Tensor>& in) { return normalise(in[0], in[1], in[2], 1e-5); },
                            {x, w, b});
        });
    exercise.paper("variance_on_paper", variance_on_paper,
                   {{"the variance after one layer", 100 * 0.05 * 0.05},
                    {"the variance after five layers", std::pow(100 * 0.05 * 0.05, 5)},
                    {"the s that keeps the variance", 1 / std::sqrt(100.0)}},
                   {"An element of y is a sum of 100 products. Variances of independent terms add up.",
                    "A product of independent numbers of mean 0 has the product of their variances: s² · 1.",
                    "Each layer multiplies the variance by 100 s²."},
                   1e-5);
    return exercise.finish();
}
