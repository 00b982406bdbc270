// What compiles does what it says.
#include <climits>
#include <limits>
#include <type_traits>

#include "catch.h"
#include "core/array.h"
#include "core/kernels.h"
#include "fast/gemm.h"
#include "weft/core.h"
#include "weft/nn/module.h"

using namespace weft;

// x[0] = ones({3}) would change a handle that is dropped at once. Variables, members and elements are assigned.
static_assert(!std::is_assignable_v<Tensor, Tensor>);
static_assert(!std::is_assignable_v<Tensor, const Tensor&>);
static_assert(std::is_copy_assignable_v<Tensor> && std::is_nothrow_move_assignable_v<Tensor>);
static_assert(std::is_copy_constructible_v<Tensor> && std::is_nothrow_move_constructible_v<Tensor>);
static_assert(std::is_copy_assignable_v<std::pair<std::string, Tensor>>);
// Shape(2, 3) was (3, 3).
static_assert(!std::is_constructible_v<Shape, int, int> && !std::is_constructible_v<Shape, int, std::int64_t>);

TEST_CASE("what x[0] = y was meant to do, x[0].copy_(y) does", "[tensor][statements]") {
    Tensor x = zeros({2, 3});
    x[0].copy_(ones({3}));
    x.slice(1, 2, 3).fill_(5);
    CHECK(x.to_vector<float>() == std::vector<float>{1, 1, 5, 0, 0, 5});
    std::vector<Tensor> handles = {x, x};
    handles[0] = ones({1});
    CHECK(handles[0].shape() == Shape{1});
}

TEST_CASE("a shape counts negative axes from the end, and refuses what is out of range",
          "[tensor][statements]") {
    const Tensor x = zeros({2, 3, 5});
    CHECK(x.shape()[-1] == 5);
    CHECK(x.shape()[-3] == 2);
    Shape shape = x.shape();
    shape[-2] = 7;
    CHECK(shape == Shape{2, 7, 5});
    for (const int axis : {3, -4, 8, 100, std::numeric_limits<int>::min(), std::numeric_limits<int>::max()}) {
        CAPTURE(axis);
        const std::string expected =
            "shape: axis " + std::to_string(axis) + " is out of range for rank 3; use -3 to 2";
        CHECK(message_of<IndexError>([&] { (void)x.shape()[axis]; }) == expected);
        CHECK(message_of<IndexError>([&] { shape[axis] = 1; }) == expected);
        CHECK(message_of<IndexError>([&] { shape.erase(axis); }) == expected);
        if (axis != 3 && axis != -4)
            CHECK(contains(message_of<IndexError>([&] { shape.insert(axis, 1); }), "out of range for rank 4"));
    }
    CHECK(shape == Shape{2, 7, 5});
    CHECK(contains(message_of<IndexError>([] { (void)Shape().back(); }), "a scalar has no axes"));
    CHECK(contains(message_of<IndexError>([] { (void)Shape()[0]; }), "a scalar has no axes"));
    shape.insert(-1, 9);
    shape.insert(0, 1);
    shape.erase(-2);
    CHECK(shape == Shape{1, 2, 7, 9});
}

TEST_CASE("a shape of equal sizes is made by its name", "[tensor][statements]") {
    CHECK(Shape::filled(2, 3) == Shape{3, 3});
    CHECK(Shape::filled(0, 3) == Shape{});
    CHECK(Shape{2, 3} == Shape(std::vector<std::int64_t>{2, 3}));
    CHECK(contains(message_of<ShapeError>([] { (void)Shape::filled(9, 1); }), "at most 8"));
}

TEST_CASE("a matrix whose rows lie further apart than BLAS counts is copied, and one row is read in place",
          "[ops][statements]") {
    const std::int64_t far = (std::int64_t{1} << 40);
    Array x = tensor({{1.0, 2}, {3, 4}}).array();
    for (const std::int64_t stride : {std::int64_t{2}, std::int64_t{INT_MAX}}) {
        CHECK(kernels::fast::is_matrix(view_of(x, {2, 2}, {stride, 1}, 0)));
        CHECK(kernels::fast::is_matrix(view_of(x, {2, 2}, {1, stride}, 0)));
    }
    for (const std::int64_t stride : {std::int64_t{INT_MAX} + 1, far}) {
        CHECK_FALSE(kernels::fast::is_matrix(view_of(x, {2, 2}, {stride, 1}, 0)));
        CHECK_FALSE(kernels::fast::is_matrix(view_of(x, {2, 2}, {1, stride}, 0)));
    }
    const Tensor row(view_of(x, {1, 2}, {far, 1}, 0)), column(view_of(x, {2, 1}, {1, far}, 0));
    const Tensor square = tensor({{1.0, 10}, {100, 1000}});
    CHECK(matmul(row, square).to_vector<float>() == std::vector<float>{201, 2010});
    CHECK(matmul(square, column).to_vector<float>() == std::vector<float>{21, 2100});
    CHECK(matmul(column, row).to_vector<float>() == std::vector<float>{1, 2, 2, 4});
    CHECK(linear(row, square).to_vector<float>() == std::vector<float>{21, 2100});
    const kernels::fast::Matrix<const float> apart{x.data<float>(), far, 1};
    std::vector<float> result(4);
    CHECK(contains(message_of<ShapeError>([&] {
                       kernels::fast::gemm<float, float>(2, 2, 2, 1, apart, apart, 0, {result.data(), 2, 1});
                   }),
                   "more than BLAS can count"));
}
