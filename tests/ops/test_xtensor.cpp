#include "catch.h"
#include "weft/core.h"
#include "weft/xtensor.h"
#include "xtensor_headers.h"

using namespace weft;

TEST_CASE("a tensor is made from an xtensor expression") {
    const xt::xarray<double> a = {{1, 2, 3}, {4, 5, 6}};
    const Tensor x = from_xtensor(xt::transpose(a) * 2.0);
    REQUIRE(x.shape() == Shape{3, 2});
    REQUIRE(x.dtype() == float64);
    REQUIRE(x.to_vector<double>() == std::vector<double>{2, 8, 4, 10, 6, 12});
    REQUIRE(from_xtensor(xt::xarray<int>{1, 2}).to_vector<std::int64_t>() == std::vector<std::int64_t>{1, 2});
    REQUIRE(from_xtensor(xt::xarray<bool>{true, false}).dtype() == boolean);
    REQUIRE_THROWS_AS(from_xtensor(xt::xarray<std::uint64_t>{1, UINT64_MAX}), DTypeError);
}

TEST_CASE("an xtensor adaptor sees and writes a tensor's own memory, strides and all") {
    const Tensor x = arange(0, 6, 1, float32).reshape({2, 3});
    auto columns = as_xtensor<float>(x.T());
    REQUIRE(columns.shape() == std::vector<std::size_t>{3, 2});
    REQUIRE(columns(2, 1) == 5);
    REQUIRE(xt::sum(columns)() == 15);
    columns(0, 1) = 30;
    REQUIRE(x.at({1, 0}) == 30);
    auto every_other = as_xtensor<float>(x.slice(1, 0, 3, 2));
    REQUIRE(every_other(0, 1) == 2);
    REQUIRE(contains(message_of<DTypeError>([&] { as_xtensor<double>(x); }), "float32, not float64"));
}
