#include "exercise.h"
#include EXERCISE

namespace {

Part of(const std::vector<double>& scores, const std::vector<double>& values) {
    Part part;
    for (const double score : scores) part.largest = std::max(part.largest, score);
    for (std::size_t i = 0; i < scores.size(); ++i) {
        part.sum += std::exp(scores[i] - part.largest);
        part.weighted += std::exp(scores[i] - part.largest) * values[i];
    }
    return part;
}

void expect_part(const std::string& what, const Part& got, const Part& want) {
    if (got.largest != want.largest) expect_equal(what + ", largest", got.largest, want.largest);
    expect_equal(what + ", sum", got.sum, want.sum);
    expect_equal(what + ", weighted", got.weighted, want.weighted);
}

}  // namespace

int main(int argc, char** argv) {
    Exercise exercise(argc, argv, "15. Making it fast");
    exercise.part("intensity", "2·M·N·K over 4·(M·K + N·K + M·N).", [] {
        expect_equal("intensity(768, 128, 512)", intensity(768, 128, 512), 45.1764705882353);
        expect_equal("intensity(1, 1, 1)", intensity(1, 1, 1), 2.0 / 12);
        expect_equal("intensity(1, 4096, 4096), a single row", intensity(1, 4096, 4096), 0.4997559785);
    });
    exercise.part(
        "sum_in_blocks",
        "Keep a sum for each block, not for each thread. The last block may be shorter than the others.", [] {
            const std::vector<float> tenths(1000, 0.1f);
            const float alone = sum_in_blocks(tenths, 64, 1);
            expect_equal("a thousand tenths", alone, 100.0, 1e-3);
            expect_equal("the sum of 1 2 3 in blocks of 2", sum_in_blocks({1, 2, 3}, 2, 2), 6.0);
            expect_equal("the sum of nothing", sum_in_blocks({}, 4, 3), 0.0);
            const float halves = sum_in_blocks({8388608, 8388608, 1, 1}, 2, 1);
            expect(halves == 16777218, "sum_in_blocks({8388608, 8388608, 1, 1}, 2, 1) is " +
                                           std::to_string(static_cast<std::int64_t>(halves)) +
                                           ", and should be 16777218: 1 + 1 is a block of its own; one by one, "
                                           "each 1 is lost beside 16777216");
            Rng rng(1);
            const std::vector<float> values = rand({100001}, rng).to_vector<float>();
            for (const std::size_t threads : {1, 2, 3, 7, 64})
                expect(sum_in_blocks(values, 1000, threads) == sum_in_blocks(values, 1000, 1),
                       "sum_in_blocks gives other bits on " + std::to_string(threads) +
                           " threads than on one; the order of the additions must not depend on them");
        });
    exercise.part(
        "merge",
        "Both sums were taken relative to their own largest score. Relative to a larger one they shrink by "
        "exp(old − new). Beware of −∞ less −∞.",
        [] {
            expect_part("merge of scores {1, 3} and {2, 5}", merge(of({1, 3}, {4, 0}), of({2, 5}, {1, -2})),
                        of({1, 3, 2, 5}, {4, 0, 1, -2}));
            expect_part("the same the other way round", merge(of({2, 5}, {1, -2}), of({1, 3}, {4, 0})),
                        of({1, 3, 2, 5}, {4, 0, 1, -2}));
            expect_part("scores of 1000, which exp alone cannot take",
                        merge(of({1000, 998}, {1, 2}), of({999}, {3})), of({1000, 998, 999}, {1, 2, 3}));
            expect_part("an empty part first", merge({}, of({2, 5}, {1, -2})), of({2, 5}, {1, -2}));
            expect_part("two empty parts", merge({}, {}), {});
        });
    return exercise.finish();
}
