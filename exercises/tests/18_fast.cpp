#include <numeric>

#include "exercise.h"
#include EXERCISE

namespace {

// fastest() of work that takes the given times by a clock of its own, which starts late.
double fastest_of(const std::vector<double>& times) {
    double now = 1000;
    std::size_t runs = 0;
    const double found = fastest(
        [&] {
            expect(runs < times.size(), "fastest runs the work more than `runs` times");
            now += times[runs++];
        },
        [&] { return now; }, static_cast<int>(times.size()));
    expect(runs == times.size(), "fastest runs the work " + std::to_string(runs) +
                                     " times, and should run it " + std::to_string(times.size()) + " times");
    return found;
}

void expect_lines(const std::string& what, const Tensor& x, std::int64_t want) {
    expect_equal("the lines of " + what, static_cast<double>(lines_read(x)), static_cast<double>(want));
}

}  // namespace

int main(int argc, char** argv) {
    Exercise exercise(argc, argv, "18. Making it fast");
    exercise.predict("prediction_of_addition", prediction_of_addition, intensity_of_addition,
                     "Each addition reads two numbers and writes one, 12 bytes together: 1/12.",
                     {"How many numbers are moved for one addition, and how many bytes has each?"}, 0.001);
    exercise.predict(
        "prediction_of_fusing", prediction_of_fusing, bytes_saved_by_fusing,
        "x + 1 moves two arrays, the product and the difference three each: 8. One loop reads x and "
        "writes y: 2.",
        {"Which arrays does each of the three operations read, and which does it write?"});
    exercise.mend("fastest", "the fastest of runs that take 9, 2 and 3",
                  {"What does the clock show at the end of the second run, less than what?",
                   "The difference holds all runs so far, so the first is always the shortest.",
                   "Each run needs a start of its own, read before the work."},
                  [] {
                      expect_equal("the fastest of runs that take 9, 2 and 3", fastest_of({9, 2, 3}), 2);
                      expect_equal("the fastest of runs that take 3, 9 and 2", fastest_of({3, 9, 2}), 2);
                      expect_equal("the fastest of runs that take 1, 9 and 8", fastest_of({1, 9, 8}), 1);
                      expect_equal("the fastest of one run that takes 5", fastest_of({5}), 5);
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
        "lines_read",
        {"How many float32 numbers does a line hold? Where in memory does element (i, j) lie?",
         "Element (i, j) lies i · strides()[0] + j · strides()[1] numbers after the first.",
         "That position, divided by 16 and rounded down, is the number of its line. Count the different ones."},
        [] {
            expect_lines("ones({8, 16})", ones({8, 16}), 8);
            expect_lines("ones({8, 16}).slice(1, 0, 1), a column,", ones({8, 16}).slice(1, 0, 1), 8);
            expect_lines("ones({10, 3}), in which a line holds parts of several rows,", ones({10, 3}), 2);
            expect_lines("ones({10, 3}).slice(1, 0, 1)", ones({10, 3}).slice(1, 0, 1), 2);
            expect_lines("ones({16, 40}).T()", ones({16, 40}).T(), 40);
            expect_lines("ones({4, 40}).slice(1, 0, 17)", ones({4, 40}).slice(1, 0, 17), 8);
            expect_lines("ones({1, 64}).expand({5, 64}), whose rows are the same numbers,",
                         ones({1, 64}).expand({5, 64}), 4);
            expect_lines("ones({64, 64}).slice(0, 0, 64, 2), every other row,",
                         ones({64, 64}).slice(0, 0, 64, 2), 128);
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
