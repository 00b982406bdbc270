// The choice by type: total, and an error where a type is not among those that are asked for.
#include "catch.h"
#include "weft/core.h"
#include "weft/tensor/visit.h"

using namespace weft;

TEST_CASE("visit reaches the type of every dtype, for its storage and for arithmetic", "[tensor]") {
    for (const DType dtype : {float32, float64, int64, boolean, bfloat16, float16}) {
        INFO(name(dtype));
        CHECK(visit(dtype, []<class S, class C>(Element<S, C>) { return dtype_of<S>(); }) == dtype);
        CHECK(visit_any(dtype, []<class T>(T) { return dtype_of<T>(); }) == dtype);
        CHECK(visit(dtype, []<class S, class C>(Element<S, C>) { return dtype_of<C>(); }) ==
              computed_in(dtype));
        CHECK(takes_gradient(dtype) == (dtype == float32 || dtype == float64));
        CHECK(is_floating_point(dtype) == (dtype != int64 && dtype != boolean));
    }
    CHECK(visit_wrapping(int64, []<class T>(T) { return std::is_same_v<T, std::uint64_t>; }));
    CHECK(visit_wrapping(float32, []<class T>(T) { return std::is_same_v<T, float>; }));
    CHECK(visit_computed(boolean, []<class T>(T) { return std::is_same_v<T, bool>; }));
    CHECK(visit_numeric(int64, []<class T>(T) { return std::is_same_v<T, std::int64_t>; }));
}

TEST_CASE("a type that a visit does not take is an error, not another type", "[tensor][fault]") {
    const auto size = []<class T>(T) { return sizeof(T); };
    CHECK_THROWS_WITH(visit_floating(int64, size),
                      "visit: int64 is none of the types that are computed here; convert it with to()");
    CHECK_THROWS_AS(visit_floating(boolean, size), DTypeError);
    CHECK_THROWS_AS(visit_numeric(boolean, size), DTypeError);
    CHECK_THROWS_AS(visit_wrapping(boolean, size), DTypeError);
    for (const DType stored : {bfloat16, float16}) {
        CHECK_THROWS_AS(visit_floating(stored, size), DTypeError);
        CHECK_THROWS_AS(visit_numeric(stored, size), DTypeError);
        CHECK_THROWS_AS(visit_computed(stored, size), DTypeError);
    }
}
