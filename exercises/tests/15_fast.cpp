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
    exercise.predict("prediction_of_growth", prediction_of_growth, growth_in_float32,
                     "float32 has 24 binary digits, so the next number after 2²⁴ is 2²⁴ + 2.",
                     {"How many binary digits does a float32 have?"});
    exercise.predict("prediction_of_addition", prediction_of_addition, intensity_of_addition,
                     "Each addition reads two numbers and writes one, 12 bytes together: 1/12.",
                     {"How many numbers are moved for one addition, and how many bytes has each?"}, 0.001);
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
    exercise.write("intensity",
                   {"The work over the traffic. How many multiply-adds has the product?",
                    "2 · M · N · K FLOPs; M · K + N · K + M · N numbers of 4 bytes."},
                   [] {
                       expect_equal("intensity(768, 128, 512)", intensity(768, 128, 512), 45.1764705882353);
                       expect_equal("intensity(1, 1, 1)", intensity(1, 1, 1), 2.0 / 12);
                       expect_equal("intensity(1, 4096, 4096), a single row,", intensity(1, 4096, 4096),
                                    0.4997559785);
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
    const double elements = 4096.0 * 4096;
    exercise.paper("roof_on_paper", roof_on_paper,
                   {{"the FLOPs per byte", 100.0 / 20},
                    {"the time of reading", 4 * elements / 20e9 * 1e3},
                    {"the time of computing", 2 * elements / 100e9 * 1e3}},
                   {"In one second it computes 100 · 10⁹ FLOPs and moves 20 · 10⁹ bytes.",
                    "The matrix has 4096² numbers of 4 bytes.",
                    "Each number of the matrix takes part in one multiply-add, which is two FLOPs."},
                   0.006);
    return exercise.finish();
}
