#include "exercise.h"
#include EXERCISE

namespace {

// Three groups of n points each, around (0, 0), (10, 0) and (0, 10), in this order.
Tensor three_groups(std::int64_t n, Rng& rng) {
    const Tensor middle = tensor({{0, 0}, {10, 0}, {0, 10}}, float64);
    return (randn({3, n, 2}, rng, float64) + middle.unsqueeze(1)).reshape({3 * n, 2});
}

}  // namespace

int main(int argc, char** argv) {
    Exercise exercise(argc, argv, "Project 1. Points in groups");
    exercise.accept(
        "squared_distances",
        {"Three terms: (N, 1), (N, K) and (K,). Which of them is a matrix product?",
         "sum(points * points, 1, keepdim) - 2 * matmul(points, centres.T()) + sum(centres * centres, 1).",
         "Rounding may leave a small negative number: masked_fill(d, d < 0, 0)."},
        [] {
            expect_equal(
                "the distances of (0, 0) and (3, 4) from (0, 0), (3, 0) and (0, 1)",
                squared_distances(tensor({{0, 0}, {3, 4}}, float64), tensor({{0, 0}, {3, 0}, {0, 1}}, float64)),
                tensor({{0, 9, 1}, {25, 16, 18}}, float64));
            Rng rng(1);
            const Tensor far = randn({200, 3}, rng, float64) + 1000;
            const Tensor d = squared_distances(far, far);
            expect(all(d >= 0), "a squared distance is negative: " + min(d).str());
            expect_equal("the largest distance of a point near (1000, 1000, 1000) from itself",
                         max(d * eye(200, float64)).item(), 0, 1e-6);
            expect_error(
                "squared_distances of (5, 2) and (3, 4)",
                [] {
                    (void)squared_distances(zeros({5, 2}, float64), zeros({3, 4}, float64));
                },
                "");
            const double before = peak_memory();
            const Tensor many = randn({100000, 20}, rng, float64);
            (void)squared_distances(many, many.slice(0, 0, 10));
            const double grown = peak_memory() - before;
            expect(grown < 100, "100,000 points of 20 coordinates and 10 centres take " +
                                    std::to_string(static_cast<int>(grown)) +
                                    " MiB, and should take less than 100: no array of N × K × D numbers");
        });
    exercise.accept("nearest", {"Along which axis are the centres?", "argmin along the last axis."}, [] {
        expect_equal(
            "the groups of four points",
            nearest(tensor({{0, 1}, {9, 9}, {2, 2}, {5, 5}}, float64), tensor({{0, 0}, {10, 10}}, float64)),
            tensor({0, 1, 0, 0}, int64));
        expect_equal("the groups of points where two centres are equally near",
                     nearest(tensor({{1, 0}}, float64), tensor({{5, 0}, {2, 0}, {0, 0}}, float64)),
                     tensor({1}, int64));
    });
    exercise.accept(
        "k_means finds three groups",
        {"A loop: groups, then means. Compare the groups with those of the round before.",
         "member = arange(K).reshape({K, 1}) == groups is (K, N); as numbers, times the points, it gives sums.",
         "Divide the sums by the sizes of the groups, sum(member, 1, keepdim)."},
        [] {
            Rng rng(2);
            const Tensor points = three_groups(100, rng);
            const Clusters found = k_means(points, tensor({{1, 1}, {2, 1}, {1, 2}}, float64), 50);
            expect_equal("the centres of three groups around (0, 0), (10, 0) and (0, 10)", found.centres,
                         tensor({{0, 0}, {10, 0}, {0, 10}}, float64), 0.5);
            expect(found.groups.defined() && found.groups.shape() == Shape({300}), "groups should be (300,)");
            for (std::int64_t g = 0; g < 3; ++g)
                expect(all(found.groups.slice(0, 100 * g, 100 * (g + 1)) == static_cast<double>(g)),
                       "the points around centre " + std::to_string(g) + " should be in group " +
                           std::to_string(g));
            const Tensor own = points.slice(0, 0, 100);
            expect_equal("centre 0 when no point changes any more", found.centres[0], mean(own, 0));
        });
    exercise.accept("k_means gets better with each round, and stops",
                    {"distances has one number for each round, from before the centres move.",
                     "Stop when all groups are those of the round before."},
                    [] {
                        Rng rng(3);
                        const Tensor points = three_groups(100, rng);
                        const Clusters found = k_means(points, points.slice(0, 0, 3), 100);
                        const std::size_t rounds = found.distances.size();
                        expect(rounds >= 2 && rounds < 100,
                               "k_means made " + std::to_string(rounds) + " rounds, and should stop by itself");
                        for (std::size_t i = 1; i < rounds; ++i)
                            expect(found.distances[i] <= found.distances[i - 1] + 1e-9,
                                   "the mean distance grew in round " + std::to_string(i + 1));
                        expect_equal("the last mean distance, by comparison with the centres returned,",
                                     found.distances.back(),
                                     mean(min(squared_distances(points, found.centres), 1).values).item());
                        expect(k_means(points, points.slice(0, 0, 3), 1).distances.size() == 1,
                               "k_means with max_rounds 1 should make one round");
                    });
    exercise.accept("an empty group keeps its centre",
                    {"The mean of no points is 0/0. Which centre stays?",
                     "where(size == 0, old centres, means), with a size that is not 0 under the division."},
                    [] {
                        const Clusters found =
                            k_means(tensor({{0, 0}, {2, 0}}, float64), tensor({{1, 1}, {50, 50}}, float64), 10);
                        expect_equal("the centres of (0, 0) and (2, 0), from (1, 1) and (50, 50),",
                                     found.centres, tensor({{1, 0}, {50, 50}}, float64));
                    });
    return exercise.finish();
}
