#include "exercise.h"

#include EXERCISE

namespace {

void expect_adam(int steps) {
    Rng rng(6);
    Tensor p = randn({2, 3}, rng, float64).requires_grad_();
    Adam mine{p.detach().clone(), zeros({2, 3}, float64), zeros({2, 3}, float64)};
    optim::Adam optimizer(std::vector<Tensor>{p}, {.lr = 0.05});
    for (int step = 1; step <= steps; ++step) {
        optimizer.zero_grad();
        sum(p * p * p).backward();
        optimizer.step();
        mine = adam_step(mine, 3 * mine.p * mine.p, 0.05, step);
    }
    expect_equal("p after " + std::to_string(steps) + " steps of Adam on the sum of p³", mine.p, p.detach(),
                 1e-7);
}

}  // namespace

int main(int argc, char** argv) {
    Exercise exercise(argc, argv, "6. A training loop");
    exercise.predict(
        "prediction_of_three_steps", prediction_of_three_steps, [] { return w_after(4, 0.5, 3, true); },
        "Each step multiplies w by 1 - 0.5 · 4 = -1: this is the largest rate that does not diverge.",
        {"The gradient is 4w. What is w - 0.5 · 4w?"});
    exercise.predict("prediction_without_zero_grad", prediction_without_zero_grad,
                     [] { return w_after(1, 0.1, 2, false); },
                     "The second step goes by the sum of both gradients, 1 + 0.9.",
                     {"The first step leads to 0.9. Which gradient is in w.grad() then?",
                      "backward adds 0.9 to the 1 that is there."});
    exercise.mend(
        "adam_step", "p after the first step of Adam",
        {"By how much does the first step of Adam move a parameter, whatever its gradient?",
         "m and v begin at 0, so they are too small at first. Which lines of the formula make up for that?",
         "Divide m by 1 - 0.9ᵗ and v by 1 - 0.999ᵗ before they are used; the stored m and v stay as they are."},
        [] {
            const Adam first = adam_step({tensor({1, 2}, float64), zeros({2}, float64), zeros({2}, float64)},
                                         tensor({10, -0.5}, float64), 0.1, 1);
            expect_equal("p after the first step of Adam from (1, 2) with g = (10, -0.5) and lr = 0.1", first.p,
                         tensor({0.9, 2.1}, float64), 1e-6);
            expect_equal("m after it", first.m, tensor({1, -0.05}, float64));
            expect_adam(5);
        });
    exercise.write(
        "momentum_step",
        {"The formula of chapter 6 has two lines; which b does the second use?",
         "b.defined() is false before the first step, in which the new b is g.",
         "The new b is momentum * b + g, or g; the new p is p - lr times the new b."},
        [] {
            const Momentum first =
                momentum_step(tensor({1, 2}, float64), tensor({10, 20}, float64), {}, 0.1, 0.5);
            expect_equal("b after the first step with g = (10, 20)", first.b, tensor({10, 20}, float64));
            expect_equal("p = (1, 2) after it with lr = 0.1", first.p, tensor({0, 0}, float64));
            const Momentum second = momentum_step(first.p, tensor({-4, 2}, float64), first.b, 0.1, 0.5);
            expect_equal("b after the second step with g = (-4, 2) and momentum 0.5", second.b,
                         tensor({1, 12}, float64));
            expect_equal("p after the second step", second.p, tensor({-0.1, -1.2}, float64));

            Rng rng(6);
            Tensor p = randn({2, 3}, rng, float64).requires_grad_();
            Momentum mine{p.detach().clone(), {}};
            optim::SGD optimizer(std::vector<Tensor>{p}, {.lr = 0.05, .momentum = 0.9});
            for (int step = 0; step < 5; ++step) {
                optimizer.zero_grad();
                sum(p * p * p).backward();
                optimizer.step();
                mine = momentum_step(mine.p, 3 * mine.p * mine.p, mine.b, 0.05, 0.9);
            }
            expect_equal("p after five steps on the sum of p³", mine.p, p.detach());
        });
    exercise.write("largest_stable_rate",
                   {"The steepest direction decides. What measures the steepness of a quadratic loss?",
                    "The largest rate is 2 (1 + momentum) over the larger eigenvalue of the Hessian.",
                    "The eigenvalues of (xx, xy; xy, yy) are (xx + yy) / 2 ± √(((xx - yy) / 2)² + xy²)."},
                   [] {
                       expect_equal("the largest rate for (4, 0; 0, 1)", largest_stable_rate(4, 0, 1, 0), 0.5);
                       expect_equal(
                           "the largest rate for (1, 0; 0, 4), where the second direction is the steep one,",
                           largest_stable_rate(1, 0, 4, 0), 0.5);
                       expect_equal("the largest rate for (2, 1; 1, 2), whose eigenvalues are 3 and 1,",
                                    largest_stable_rate(2, 1, 2, 0), 2.0 / 3);
                       expect_equal("the largest rate for (4, 0; 0, 1) with momentum 0.9",
                                    largest_stable_rate(4, 0, 1, 0.9), 0.95);
                   });
    exercise.write(
        "fit",
        {"Four calls in each step, in the order of the chapter. You may use optim::SGD, or do its work by "
         "hand.",
         "zero_grad(), the loss of matmul(x, w) + b, backward(), step(); then note the loss down.",
         "optim::SGD optimizer(std::vector<Tensor>{w, b}, {.lr = lr}); the loss is mse_loss(matmul(x, w) + b, "
         "y), and loss.item() the number."},
        [] {
            const Tensor x = tensor({{-1}, {0}, {2}}, float64), y = 3 * x - 1;  // (N, 1)
            Tensor w = zeros({1, 1}, float64).requires_grad_(), b = zeros({1}, float64).requires_grad_();
            w.set_grad(tensor({{1000}}, float64));  // left from elsewhere
            const std::vector<double> one = fit(w, b, x, y, 0.1, 1);
            expect(one.size() == 1,
                   "fit with one step returns " + std::to_string(one.size()) + " losses, and should return 1");
            expect_equal("the loss before the first step, of predictions 0 for (-4, -1, 5),", one[0], 14);
            // gradient of w: 2/3 · (4·−1 + 1·0 − 5·2), of b: 2/3 · (4 + 1 − 5)
            expect_equal(
                "w after one step from 0 with lr = 0.1, where a gradient of 1000 was left from elsewhere,",
                w.item(), 0.1 * 28 / 3);
            expect_equal("b after that step", b.item(), 0);

            Tensor v = zeros({2, 3}, float64).requires_grad_(), c = zeros({3}, float64).requires_grad_();
            Rng rng(6);
            const Tensor points = randn({20, 2}, rng, float64), right = randn({2, 3}, rng, float64);
            const std::vector<double> losses = fit(v, c, points, matmul(points, right) + 2, 0.5, 300);
            expect(losses.size() == 300, "fit with 300 steps returns " + std::to_string(losses.size()) +
                                             " losses, and should return 300");
            expect_equal("w (2, 3) after 300 steps of lr = 0.5 on points of a plane", v.detach(), right, 1e-6);
            expect_equal("b (3,) after them", c.detach(), full({3}, 2, float64), 1e-6);
        });
    exercise.paper(
        "rates_on_paper", rates_on_paper,
        {{"the largest rate", 2.0 / 9},
         {"the factor of y", w_after(1, 0.2, 1, true)},
         {"the factor of x", w_after(9, 0.2, 1, true)}},
        {"The gradient is (9x, y): each direction takes its own steps.",
         "A step multiplies x by 1 - 9 · lr and y by 1 - lr. When does the first leave the range -1 … 1?"});
    return exercise.finish();
}
