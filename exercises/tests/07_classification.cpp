#include "exercise.h"

#include EXERCISE

int main(int argc, char** argv) {
    Exercise exercise(argc, argv, "7. Telling classes apart");
    exercise.part(
        "stable_softmax",
        "max(x, -1, true).values is (N, 1): each row's largest element. So is sum(e, -1, true).", [] {
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
    exercise.part(
        "loss_and_gradient",
        "The loss is a mean over N samples, so N divides the gradient, too. "
        "ln of softmax is -inf where softmax is 0; log_softmax is not.",
        [] {
            const LossAndGradient one = loss_and_gradient(tensor({{2, 1, 0}}, float64), tensor({0}, int64));
            expect_equal("the loss of (2, 1, 0) with target 0", one.loss, 0.4076059644443803);
            expect_equal("the gradient of its logits", one.gradient,
                         tensor({{-0.3347590442251781, 0.24472847105479764, 0.09003057317038046}}, float64));
            Rng rng(7);
            Tensor logits = randn({4, 3}, rng, float64).requires_grad_();
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
    exercise.part(
        "accuracy",
        "argmax and == give a tensor of bool; to(float64) makes 0 and 1 of it, whose mean is the share.", [] {
            const Tensor logits = tensor({{3, 1, 2}, {0, -1, -2}, {-5, -4, -3}, {0, 9, 1}}, float64);
            expect_equal("accuracy with all four right", accuracy(logits, tensor({0, 0, 2, 1}, int64)), 1);
            expect_equal("accuracy with one of four right", accuracy(logits, tensor({1, 0, 1, 2}, int64)),
                         0.25);
            expect_equal("accuracy with none right", accuracy(logits, tensor({1, 1, 1, 2}, int64)), 0);
        });
    return exercise.finish();
}
