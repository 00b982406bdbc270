#include "exercise.h"

#include EXERCISE

int main(int argc, char** argv) {
    Exercise exercise(argc, argv, "6. A training loop");
    exercise.part(
        "momentum_step",
        "b.defined() is false before the first step; p moves by the new b, not by the old one.", [] {
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
    exercise.part("largest_stable_rate", "Take the + of the ±; momentum 0 leaves 2 / λ.", [] {
        expect_equal("the largest rate for (4, 0; 0, 1)", largest_stable_rate(4, 0, 1, 0), 0.5);
        expect_equal("the largest rate for (1, 0; 0, 4), where the second direction is the steep one,",
                     largest_stable_rate(1, 0, 4, 0), 0.5);
        expect_equal("the largest rate for (2, 1; 1, 2), whose eigenvalues are 3 and 1,",
                     largest_stable_rate(2, 1, 2, 0), 2.0 / 3);
        expect_equal("the largest rate for (4, 0; 0, 1) with momentum 0.9", largest_stable_rate(4, 0, 1, 0.9),
                     0.95);
    });
    exercise.part(
        "fit", "zero_grad(), the loss, backward(), step(): in this order, once each, in every round.", [] {
            const Tensor x = tensor({{-1}, {0}, {2}}, float64), y = 3 * x - 1;  // (N, 1)
            const auto new_model = [](double w, double b) {
                Rng rng(6);
                nn::Linear model(1, 1, rng);
                model.to(float64);
                model.load_state_dict({{"weight", tensor({{w}}, float64)}, {"bias", tensor({b}, float64)}});
                return model;
            };
            nn::Linear model = new_model(0, 0);
            model.weight.set_grad(tensor({{1000}}, float64));  // left from elsewhere
            const std::vector<double> one = fit(model, x, y, 0.1, 1);
            expect(one.size() == 1,
                   "fit with one step returns " + std::to_string(one.size()) + " losses, and should return 1");
            expect_equal("the loss before the first step, of predictions 0 for (-4, -1, 5),", one[0], 14);
            // gradient of w: 2/3 · (4·−1 + 1·0 − 5·2), of b: 2/3 · (4 + 1 − 5)
            expect_equal(
                "w after one step from 0 with lr = 0.1, where a gradient of 1000 was left from elsewhere,",
                model.weight.item(), 0.1 * 28 / 3);
            expect_equal("b after that step", model.bias.item(), 0);

            model = new_model(0, 0);
            const std::vector<double> losses = fit(model, x, y, 0.2, 200);
            expect(losses.size() == 200, "fit with 200 steps returns " + std::to_string(losses.size()) +
                                             " losses, and should return 200");
            expect_equal("w after 200 steps of lr = 0.2 on y = 3x − 1", model.weight.item(), 3, 1e-6);
            expect_equal("b after them", model.bias.item(), -1, 1e-6);
        });
    return exercise.finish();
}
