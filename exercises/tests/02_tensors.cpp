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
    exercise.part(
        "strides_of",
        "Begin at the last axis, whose stride is 1, and go backwards: each stride is the one after it "
        "times the size after it.",
        [] {
            expect_strides({2, 3, 4}, {12, 4, 1});
            expect_strides({2, 3}, {3, 1});
            expect_strides({7}, {1});
            expect_strides({5, 1, 2}, {2, 2, 1});
            expect_strides({}, {});
            expect_strides({2, 8, 3, 64}, zeros({2, 8, 3, 64}).strides());
        });
    exercise.part("position_of", "Begin with the offset; then add one product for each axis.", [] {
        expect_position({1, 2}, {3, 1}, 0, 5);
        expect_position({1, 2, 3}, {12, 4, 1}, 0, 23);
        expect_position({2, 1}, {1, 3}, 0, 5);  // a permuted matrix
        expect_position({1, 1}, {3, 1}, 1, 5);  // a slice, which begins later
        expect_position({4, 1}, {0, 1}, 0, 1);  // an expanded row
        expect_position({}, {}, 7, 7);          // a scalar
    });
    exercise.part(
        "is_contiguous", "Work out strides_of(shape) and compare axis by axis; skip an axis of size 1.", [] {
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
    return exercise.finish();
}
