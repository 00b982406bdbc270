// Tests of the comparison with golden files itself: a comparison that cannot fail proves nothing.
#include <cmath>

#include "catch.h"
#include "golden/golden.h"
#include "weft/core.h"

using namespace weft;

TEST_CASE("distance sees a single wrong element, a wrong shape, and a NaN") {
    const Tensor expected = tensor({1, 2, -4}, float64);
    CHECK(distance(tensor({1, 2, -4}, float64), expected) == 0);
    CHECK(distance(tensor({1, 2 + 4e-9, -4}, float64), expected) == Approx(1e-9).epsilon(1e-6));
    CHECK(std::isinf(distance(tensor({{1, 2, -4}}, float64), expected)));
    CHECK(std::isinf(distance(tensor({1, 2, NAN}, float64), expected)));
    CHECK(std::isinf(distance(expected, tensor({1, INFINITY, -4}, float64))));
    CHECK(distance(tensor({NAN, INFINITY}), tensor({NAN, INFINITY})) == 0);
    CHECK(std::isinf(distance(tensor({-INFINITY}), tensor({INFINITY}))));
}

TEST_CASE("with_gaps keeps the values and changes every stride") {
    const Tensor x = tensor({{1, 2, 3}, {4, 5, 6}}, float64), y = strided_copy(x);
    CHECK(same_bits(x, y));
    CHECK_FALSE(y.is_contiguous());
    CHECK(y.strides() == Strides{14, 2});
    CHECK_FALSE(same_bits(x, x.to(float32)));
    CHECK_FALSE(same_bits(tensor({0.0}), tensor({-0.0})));
}
