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
        "prediction_of_shape", prediction_of_shape, shape_of_weight, "Row i of the weight belongs to output i.",
        {"To each output belong as many numbers as there are inputs.", "The weight is (out, in)."});
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
        "confusion",
        {"argmax(logits, -1) is the class that each sample is given. Which cell of the matrix counts it?",
         "A loop over the samples will do; without one, number the cells: class i given as j is cell K i + j.",
         "scatter_add({K * K}, 0, cell, ones(cell.shape(), int64)).reshape({K, K})."},
        [] {
            const Tensor logits =
                tensor({{3, 1, 2}, {0, 5, 1}, {0, 1, 2}, {9, 0, 0}, {0, 0, 1}, {-3, -1, -2}}, float64);
            const Tensor got = confusion(logits, tensor({0, 0, 0, 1, 2, 0}, int64));
            expect_equal("the confusion of six samples of classes 0, 0, 0, 1, 2, 0, given as 0, 1, 2, 0, 2, 1",
                         got, tensor({{1, 2, 1}, {1, 0, 0}, {0, 0, 1}}, int64));
            expect_equal("the confusion of two samples of two classes",
                         confusion(tensor({{1, 0}, {1, 0}}, float64), tensor({1, 1}, int64)),
                         tensor({{0, 0}, {2, 0}}, int64));
        });
    exercise.paper("classifier_on_paper", classifier_on_paper,
                   {{"the probability of class 0", 0.6},
                    {"the loss", -std::log(0.3)},
                    {"the gradient of the logit of class 1", -0.7},
                    {"the number of parameters", 4 * 10 + 10 + 10 * 3 + 3}},
                   {"e to the power of ln 6 is 6.", "The loss is -ln p, the gradient p - 1, of the target.",
                    "A layer has in · out weights and out biases."},
                   1e-3);
    return exercise.finish();
}
