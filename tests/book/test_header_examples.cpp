// How the comments of the headers' examples are read. The tests of the examples themselves are written by
// header_examples.cpp.
#include "catch.h"
#include "header_comments.h"

using comments::checks_of;

TEST_CASE("a comment that says a value is a check of it", "[house][header-examples]") {
    CHECK(checks_of("const Tensor y = f(x);", "(B, 3) → (2, 3C): [[0, 1]]") ==
          " CHECK(unlike(y, Shape{2, 3 * C}) == \"\"); CHECK(unlike(y, tensor({{0, 1}}, float64)) == \"\");");
    CHECK(checks_of("y = f(x);", "2x = 4, as x is two") == " CHECK(unlike(y, 4.0) == \"\");");
    CHECK(checks_of("const auto [a, b] = g();", "[1] and [2]") ==
          checks_of("a.f();", "a is [1]") + checks_of("a.f();", "b is [2]"));
    CHECK(checks_of("const auto [a, b] = g();", "each (2,)") == checks_of("a.f();", "a (2,), b (2,)"));
    CHECK(checks_of("const Tensor y = f(x);", "each 8") == " CHECK(all(y == 8));");
    CHECK(checks_of("x.step();", "x.size() == 3: three") == " CHECK((x.size() == 3));");
    CHECK(checks_of("x.step();", "two texts, of 3 tokens").empty());
}

TEST_CASE("a comment that begins a value and does not end it is refused", "[house][header-examples]") {
    for (const char* wrong : {"(2, 3", "y is [1, 2", "\"text"})
        CHECK_THROWS(checks_of("const Tensor y = f(x);", wrong));
    CHECK_THROWS(checks_of("x.step();", "3"));                      // of which variable?
    CHECK_THROWS(checks_of("const auto [a, b] = g();", "[1, 2]"));  // likewise
}
