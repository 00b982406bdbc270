#include <cmath>

#include "exercise.h"
#include EXERCISE

namespace {

struct Data {
    Tensor x, targets;  // (3 n, 2), (3 n)
};

// n points on each of three arms, which turn by two thirds of a circle, with noise.
Data spirals(std::int64_t n, Rng& rng) {
    const Tensor r = rand({3, n}, rng, float64) * 0.9 + 0.1, arm = arange(3).to(float64).reshape({3, 1});
    const Tensor angle = 4 * r + arm * (2 * std::acos(-1) / 3) + 0.15 * randn({3, n}, rng, float64);
    return {stack({r * cos(angle), r * sin(angle)}, -1).reshape({3 * n, 2}),
            (arange(3).reshape({3, 1}) + zeros({3, n}, int64)).reshape({3 * n})};
}

double share_right(const Classifier& classifier, const Data& data) {
    return mean((argmax(classifier.logits(data.x), -1) == data.targets).to(float64)).item();
}

std::string percent(double share) { return std::to_string(static_cast<int>(100 * share)) + " %"; }

}  // namespace

int main(int argc, char** argv) {
    Exercise exercise(argc, argv, "Project 2. Three spirals");
    Rng rng(2);
    const Data training = spirals(100, rng), fresh = spirals(200, rng);
    std::map<std::uint64_t, Classifier> known;
    // A classifier that was trained with this seed, once.
    const auto trained = [&](std::uint64_t seed) -> const Classifier& {
        if (!known.contains(seed))
            expect_within(60, "the training",
                          [&] { known[seed] = train_classifier(training.x, training.targets, 3, seed); });
        return known[seed];
    };
    exercise.accept(
        "right for new points",
        {"Two hidden layers of some dozens of neurons with tanh are enough. Does the loss fall at all?",
         "optim::Adam with a learning rate of 0.01 and some hundred steps on all points at once.",
         "nn::Sequential{nn::Linear(2, 48, rng), tanh, …}, in a std::shared_ptr that the lambda of `logits` "
         "owns."},
        [&] {
            for (const std::uint64_t seed : {1, 2, 3}) {
                const Classifier& classifier = trained(seed);
                const Tensor logits = classifier.logits(fresh.x);
                expect(logits.shape() == Shape({600, 3}),
                       "logits of (600, 2) should be (600, 3), not " + logits.shape().str());
                expect(!logits.requires_grad(), "logits should not be in the graph: compute them under NoGrad");
                const double share = share_right(classifier, fresh);
                expect(share >= 0.95,
                       "with seed " + std::to_string(seed) + " it is right for " + percent(share) +
                           " of new points, and should be for 95 %; of those it was trained on: " +
                           percent(share_right(classifier, training)));
            }
        });
    exercise.accept("a first loss near ln 3",
                    {"The logits should be small at first. What decides on their size?",
                     "nn::Linear draws from -1/√n … 1/√n if it has n inputs; with inputs near 1 the "
                     "logits are small."},
                    [&] {
                        const Classifier& classifier = trained(1);
                        expect(!classifier.losses.empty(), "losses should have a number for each step");
                        expect_equal("the first loss", classifier.losses.front(), std::log(3), 0.5);
                        expect(classifier.losses.back() < classifier.losses.front() / 2,
                               "the loss should fall to less than half during the training");
                    });
    exercise.accept(
        "points in other units",
        {"Inputs of any scale: what does chapter 6 do with inputs before training?",
         "Subtract the mean of each column and divide by its standard deviation."},
        [&] {
            const Tensor scale = tensor({1000, 0.001}, float64), origin = tensor({-4000, 0.5}, float64);
            const Data far{training.x * scale + origin, training.targets},
                far_fresh{fresh.x * scale + origin, fresh.targets};
            const double share = share_right(train_classifier(far.x, far.targets, 3, 1), far_fresh);
            expect(share >= 0.95,
                   "trained on points whose columns are of the sizes 1000 and 0.001 it is right for " +
                       percent(share) + " of new ones, and should be for 95 %");
        });
    exercise.accept("a single point",
                    {"Which mean and deviation does it use when it is asked about one point?",
                     "Those of the training points, which the lambda must own."},
                    [&] {
                        const Classifier& classifier = trained(1);
                        expect_equal("the logits of one point, and of the same point among others,",
                                     classifier.logits(fresh.x.slice(0, 7, 8)),
                                     classifier.logits(fresh.x).slice(0, 7, 8), 1e-9);
                    });
    exercise.accept(
        "the same again with the same seed", {"Draw everything that is random from one Rng(seed)."}, [&] {
            const Classifier again = train_classifier(training.x, training.targets, 3, 1);
            expect(trained(1).losses == again.losses, "two runs with the same seed differ");
            expect(trained(1).losses != trained(2).losses, "runs with different seeds should differ");
        });
    return exercise.finish();
}
