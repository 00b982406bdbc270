#include "exercise.h"
#include EXERCISE

namespace {

void expect_strides(const Shape& shape, const Strides& want) {
    const Strides got = strides_of(shape);
    expect(got == want, "strides_of(" + shape.str() + ") is " + got.str() + ", and should be " + want.str());
}

void expect_position(const Shape& index, const Strides& strides, std::int64_t offset, std::int64_t want) {
    const std::int64_t got = position_of(index, strides, offset);
    expect(got == want, "position_of(" + index.str() + ", strides " + strides.str() + ", offset " +
                            std::to_string(offset) + ") is " + std::to_string(got) + ", and should be " +
                            std::to_string(want));
}

void expect_contiguous(const std::string& what, const Shape& shape, const Strides& strides, bool want) {
    expect(is_contiguous(shape, strides) == want, "is_contiguous for shape " + shape.str() + ", strides " +
                                                      strides.str() + " (" + what + ") should be " +
                                                      (want ? "true" : "false"));
}

}  // namespace

int main(int argc, char** argv) {
    Exercise exercise(argc, argv, "2. Tensors");
    exercise.predict(
        "prediction_of_strides", prediction_of_strides, strides_after_permute,
        "permute moves no element: it gives the old strides (12, 4, 1) in the new order of the axes.",
        {"What are the strides of zeros({2, 3, 4})?",
         "Does permute move elements, or does it only change how they are read?"});
    exercise.predict(
        "prediction_of_sharing", prediction_of_sharing, shares_after_reshape,
        "No single stride leads through the transposed elements in order, so reshape has to copy them.",
        {"In which order does the transpose read the elements 0 to 5?",
         "It reads positions 0 3 1 4 2 5. Is there a stride that does that?"});
    exercise.mend(
        "planes", "the first colour of a (2, 2, 3) image, element (0, 1)",
        {"Print planes(arange(12).reshape({2, 2, 3})), and compare with the elements that are red.",
         "reshape reads the elements in the order in which they lie; the axis of the colours is last.",
         "Axes move by permute({…}), which lists the old axis for each new one."},
        [] {
            const Tensor pixels = arange(0, 12, 1, float64).reshape({2, 2, 3});
            const Tensor got = planes(pixels);
            expect(got.shape() == Shape({3, 2, 2}),
                   "planes of (2, 2, 3) is " + got.shape().str() + ", and should be (3, 2, 2)");
            expect_equal("the first colour of a (2, 2, 3) image", got[0], tensor({{0, 3}, {6, 9}}, float64));
            Rng rng(2);
            const Tensor image = randn({4, 5, 3}, rng, float64);
            for (int c = 0; c < 3; ++c)
                expect_equal("colour " + std::to_string(c) + " of a (4, 5, 3) image", planes(image)[c],
                             image.select(2, c));
        });
    exercise.write(
        "strides_of",
        {"How far apart in memory are two elements that differ by 1 in the last index? In the one before?",
         "The stride of an axis is the product of all sizes after it.",
         "Begin with ones, and go backwards from the last axis but one: each stride is the one after it times "
         "the size after it."},
        [] {
            expect_strides({2, 3, 4}, {12, 4, 1});
            expect_strides({2, 3}, {3, 1});
            expect_strides({7}, {1});
            expect_strides({5, 1, 2}, {2, 2, 1});
            expect_strides({}, {});
            expect_strides({2, 8, 3, 64}, zeros({2, 8, 3, 64}).strides());
        });
    exercise.write("position_of",
                   {"A step along an axis moves by its stride. Where does the first element lie?",
                    "The offset, plus index times stride for each axis."},
                   [] {
                       expect_position({1, 2}, {3, 1}, 0, 5);
                       expect_position({1, 2, 3}, {12, 4, 1}, 0, 23);
                       expect_position({2, 1}, {1, 3}, 0, 5);  // a permuted matrix
                       expect_position({1, 1}, {3, 1}, 1, 5);  // a slice, which begins later
                       expect_position({4, 1}, {0, 1}, 0, 1);  // an expanded row
                       expect_position({}, {}, 7, 7);          // a scalar
                   });
    exercise.write(
        "is_contiguous",
        {"You have written a function that tells the strides of a contiguous tensor.",
         "Compare axis by axis. Is the stride of an axis of size 1 ever used?",
         "return false where shape[axis] != 1 and strides[axis] differs from strides_of(shape)[axis]."},
        [] {
            const Tensor m = zeros({2, 3}), x = zeros({2, 3, 4});
            expect_contiguous("a matrix", m.shape(), m.strides(), true);
            expect_contiguous("its transpose", m.T().shape(), m.T().strides(), false);
            expect_contiguous("its first two columns", m.slice(1, 0, 2).shape(), m.slice(1, 0, 2).strides(),
                              false);
            expect_contiguous("its last row", m.slice(0, 1, 2).shape(), m.slice(0, 1, 2).strides(), true);
            expect_contiguous("a row, expanded", {4, 3}, {0, 1}, false);
            expect_contiguous("an axis of size 1", {1, 2}, {99, 1}, true);
            expect_contiguous("permuted axes", x.permute({1, 0, 2}).shape(), x.permute({1, 0, 2}).strides(),
                              false);
            expect_contiguous("a scalar", {}, {}, true);
        });
    const Tensor x = arange(24).reshape({4, 6}), y = x.slice(0, 1, 3).slice(1, 2, 5).T();
    exercise.paper("view_on_paper", view_on_paper,
                   {{"the offset", y.at(0, 0)},  // the elements of x are their positions
                    {"the first stride", static_cast<double>(y.strides()[0])},
                    {"the second stride", static_cast<double>(y.strides()[1])},
                    {"the position of (2, 1)", y.at(2, 1)}},
                   {"Draw x with the numbers 0 to 23, and mark the elements of y.",
                    "The offset is the position of the first marked element: row 1, column 2.",
                    "slice changes the offset and keeps the strides (6, 1); T() exchanges them."});
    return exercise.finish();
}
