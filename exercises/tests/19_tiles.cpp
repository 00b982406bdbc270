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
    Exercise exercise(argc, argv, "19. Tiles and threads");
    exercise.predict("prediction_of_sum", prediction_of_sum, sum_after_the_tile,
                     "The sum shrinks by exp(0 − ln 2) = 1/2, to 5, and the new key, now the largest, adds 1.",
                     {"What is the largest score then? How much is exp(0 − ln 2)?"});
    exercise.predict("prediction_of_growth", prediction_of_growth, growth_in_float32,
                     "float32 has 24 binary digits, so the next number after 2²⁴ is 2²⁴ + 2.",
                     {"How many binary digits does a float32 have?"});
    exercise.mend("sum_on_threads", "gives other bits on 2 threads than on one",
                  {"What decides which numbers are added to which? And what must not?",
                   "Borders that depend on the size alone give the same parts on any number of threads.",
                   "Cut the values into blocks of, say, 1000. Thread t takes the blocks t, t + threads, …; "
                   "each block has a part of its own, and the parts are added in the order of the blocks."},
                  [] {
                      expect_equal("the sum of nothing", sum_on_threads({}, 3), 0.0);
                      expect_equal("the sum of 1 2 3 on 2 threads", sum_on_threads({1, 2, 3}, 2), 6.0);
                      expect_equal("the sum of 1 2 3 on 5 threads", sum_on_threads({1, 2, 3}, 5), 6.0);
                      Rng rng(1);
                      const std::vector<float> values = rand({100001}, rng).to_vector<float>();
                      double exact = 0;
                      for (const float value : values) exact += value;
                      const float alone = sum_on_threads(values, 1);
                      expect_equal("the sum of 100001 numbers between 0 and 1", alone, exact, 10);
                      for (const std::size_t threads : {2, 3, 7, 64, 1000})
                          expect(
                              sum_on_threads(values, threads) == alone,
                              "sum_on_threads gives other bits on " + std::to_string(threads) +
                                  " threads than on one; the order of the additions must not depend on them");
                  });
    exercise.write(
        "tiles_to_compute",
        {"Draw 16 queries and keys in tiles of 4 by 4. Which query of a row of tiles sees the most keys?",
         "The last query of a row of tiles sees as many keys as there are queries up to it.",
         "For each row: the smaller of T and the end of the row, divided by `keys`, rounded up. Add the rows."},
        [] {
            const auto expect_tiles = [](std::int64_t T, std::int64_t queries, std::int64_t keys, double want) {
                expect_equal("tiles_to_compute(" + std::to_string(T) + ", " + std::to_string(queries) + ", " +
                                 std::to_string(keys) + ")",
                             static_cast<double>(tiles_to_compute(T, queries, keys)), want);
            };
            expect_tiles(16, 4, 4, 10);
            expect_tiles(1024, 64, 256, 40);  // wide tiles
            expect_tiles(1024, 256, 64, 40);  // high ones
            expect_tiles(10, 4, 4, 6);        // smaller tiles at the ends
            expect_tiles(10, 4, 3, 9);
            expect_tiles(5, 8, 8, 1);
            expect_tiles(5, 8, 2, 3);
            expect_tiles(7, 1, 1, 28);
            expect_tiles(0, 4, 4, 0);
        });
    exercise.write(
        "merge",
        {"Both sums were taken relative to a largest score of their own. What are they relative to a larger "
         "one?",
         "They shrink by the factor exp(old largest - new largest), which is never above 1.",
         "Take the larger of both; scale the sums of each part, and add. Beware of -∞ - (-∞)."},
        [] {
            expect_part("merge of scores {1, 3} and {2, 5}", merge(of({1, 3}, {4, 0}), of({2, 5}, {1, -2})),
                        of({1, 3, 2, 5}, {4, 0, 1, -2}));
            expect_part("the same the other way round", merge(of({2, 5}, {1, -2}), of({1, 3}, {4, 0})),
                        of({1, 3, 2, 5}, {4, 0, 1, -2}));
            expect_part("scores of 1000, for which exp alone is infinite,",
                        merge(of({1000, 998}, {1, 2}), of({999}, {3})), of({1000, 998, 999}, {1, 2, 3}));
            expect_part("an empty part first", merge({}, of({2, 5}, {1, -2})), of({2, 5}, {1, -2}));
            expect_part("two empty parts", merge({}, {}), {});
        });
    exercise.paper("memory_on_paper", memory_on_paper,
                   {{"the MiB of a head's scores", 4096.0 * 4096 * 4 / (1024 * 1024)},
                    {"the KiB of a tile", 128.0 * 256 * 4 / 1024},
                    {"the tokens", 4.0 * 128}},
                   {"One head has T · T scores of 4 bytes; 1 MiB is 2²⁰ bytes.",
                    "A tile of 128 by 256 has 2¹⁵ scores; 1 KiB is 2¹⁰ bytes.",
                    "T · T = 4 · 128 · T: the number of bytes for each number is the same on both sides."});
    return exercise.finish();
}
