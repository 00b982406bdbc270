// Creation, items, types and in-place operations.
#include <cmath>
#include <limits>

#include "catch.h"
#include "golden/golden.h"
#include "weft/core/ops.h"

using namespace weft;

namespace {
using Doubles = std::vector<double>;
using Floats = std::vector<float>;
using Integers = std::vector<std::int64_t>;
using Booleans = std::vector<bool>;
}  // namespace

TEST_CASE("creation fills every element, in every type", "[tensor]") {
    CHECK(zeros({2, 2}).to_vector<float>() == Floats{0, 0, 0, 0});
    CHECK(ones({3}, float64).to_vector<double>() == Doubles{1, 1, 1});
    CHECK(full({2}, 2.5).to_vector<float>() == Floats{2.5, 2.5});
    CHECK(full({2}, -7, int64).to_vector<std::int64_t>() == Integers{-7, -7});
    CHECK(full({2}, 1, boolean).to_vector<bool>() == Booleans{true, true});
    CHECK(eye(3).to_vector<float>() == Floats{1, 0, 0, 0, 1, 0, 0, 0, 1});
    CHECK(eye(2, int64).dtype() == int64);
    CHECK(empty({4, 5}, float64).shape() == Shape{4, 5});
    const Tensor x = ones({2, 3}, float64);
    CHECK(same_bits(zeros_like(x), zeros({2, 3}, float64)));
    CHECK(same_bits(ones_like(zeros({2}, int64)), ones({2}, int64)));
    CHECK(ones({2}).dtype() == float32);
}

TEST_CASE("arange counts as NumPy's, without accumulating rounding", "[tensor]") {
    CHECK(arange(4).to_vector<std::int64_t>() == Integers{0, 1, 2, 3});
    CHECK(arange(0).numel() == 0);
    CHECK(arange(1, 2, 0.25, float64).to_vector<double>() == Doubles{1, 1.25, 1.5, 1.75});
    CHECK(arange(5, 0, -2, float64).to_vector<double>() == Doubles{5, 3, 1});
    CHECK(arange(2, 2, 1).numel() == 0);
    const Tensor many = arange(0, 1, 0.001, float64);
    CHECK(many.numel() == 1000);
    CHECK(many.at({999}) == 999 * 0.001);
}

TEST_CASE("nested braces give the shape they look like", "[tensor]") {
    CHECK(tensor(3.5).shape() == Shape{});
    CHECK(tensor({1.0, 2, 3}).shape() == Shape{3});
    CHECK(tensor({{1.0, 2, 3}, {4, 5, 6}}).shape() == Shape{2, 3});
    CHECK(tensor({{{1.0}, {2}}, {{3}, {4}}}).shape() == Shape{2, 2, 1});
    CHECK(tensor({{1, 2}, {3, 4}}, int64).to_vector<std::int64_t>() == Integers{1, 2, 3, 4});
    CHECK(tensor({{0, 1}}, boolean).to_vector<bool>() == Booleans{false, true});
}

TEST_CASE("from_vector keeps type, order and bits", "[tensor]") {
    CHECK(from_vector(Floats{1, 2, 3, 4, 5, 6}, {2, 3}).at({1, 0}) == 4);
    CHECK(from_vector(Doubles{0.1}, {}).item() == 0.1);
    const std::int64_t large = (std::int64_t(1) << 62) + 1;
    CHECK(from_vector(Integers{large}, {1}).to_vector<std::int64_t>()[0] == large);
    CHECK(from_vector(Booleans{true, false}, {2}).dtype() == boolean);
}

TEST_CASE("items are read by index, negative ones from the end", "[tensor]") {
    const Tensor x = tensor({{1.0, 2, 3}, {4, 5, 6}});
    CHECK(x.at({1, 2}) == 6);
    CHECK(x.at({-1, -3}) == 4);
    CHECK(x.T().at({2, 1}) == 6);
    CHECK(x[1][0].item() == 4);
    CHECK(x[-1][-1].item() == 6);
    CHECK(x.size(-1) == 3);
    CHECK(x.numel() == 6);
    CHECK(x.data<float>()[4] == 5);
    CHECK(contains(message_of<DTypeError>([&] { x.data<double>(); }), "float32"));
    CHECK(contains(message_of<DTypeError>([&] { x.to_vector<std::int64_t>(); }), "int64"));
    CHECK(contains(message_of<ShapeError>([&] { x.item(); }), "(2, 3)"));
    CHECK(contains(message_of<IndexError>([&] { x.at({1}); }), "1 indices"));
    for (const Shape& index : {Shape{0, 3}, {2, 0}, {0, -4}, {-3, 0}})
        CHECK(contains(message_of<IndexError>([&] { x.at(index); }), "out of range for axis"));
    CHECK(contains(message_of<IndexError>([&] { x.size(2); }), "axis 2"));
}

TEST_CASE("to converts by C++'s rules: fractions cut off, non-zero is true", "[tensor]") {
    const Tensor x = tensor({-1.75, 0, 2.5}, float64);
    CHECK(x.to(int64).to_vector<std::int64_t>() == Integers{-1, 0, 2});
    CHECK(x.to(boolean).to_vector<bool>() == Booleans{true, false, true});
    CHECK(x.to(float32).to(float64).to_vector<double>() == Doubles{-1.75, 0, 2.5});
    CHECK(tensor({NAN}).to(boolean).to_vector<bool>() == Booleans{true});
    CHECK(x.to(boolean).to(float32).to_vector<float>() == Floats{1, 0, 1});
    CHECK(x.to(float64).shares_storage(x));
    CHECK_FALSE(x.clone().shares_storage(x));
    CHECK(tensor({0.1}, float64).to(float32).item() == static_cast<double>(0.1F));
}

TEST_CASE("in place: values change, the version counts, operands broadcast", "[tensor]") {
    Tensor x = tensor({{1, 2}, {3, 4}}, float64);
    const auto start = x.version();
    x.add_(tensor({10, 20}, float64)).mul_(2).add_(tensor(1, float64), -1);
    CHECK(x.to_vector<double>() == Doubles{21, 43, 25, 47});
    CHECK(x.version() == start + 3);
    x.mul_(tensor({{1.0}, {0.0}}, float64));
    CHECK(x.to_vector<double>() == Doubles{21, 43, 0, 0});
    x.copy_(tensor({5, 6}, float64));
    CHECK(x.to_vector<double>() == Doubles{5, 6, 5, 6});
    x.fill_(1.5);
    CHECK(x.to_vector<double>() == Doubles{1.5, 1.5, 1.5, 1.5});
    CHECK(x.zero_().to_vector<double>() == Doubles{0, 0, 0, 0});
    Tensor i = tensor({1, 2}, int64);
    CHECK(i.add_(tensor({3, 4}, int64), 2).mul_(3).to_vector<std::int64_t>() == Integers{21, 30});
}

TEST_CASE("in place on a view touches the view's elements only", "[tensor][views]") {
    Tensor x = zeros({3, 4}, float64);
    x.slice(0, 0, 3, 2).slice(1, 1, 4, 2).add_(ones({2, 2}, float64));
    CHECK(x.to_vector<double>() == Doubles{0, 1, 0, 1, 0, 0, 0, 0, 0, 1, 0, 1});
    x.T().select(0, 0).fill_(7);
    CHECK(x.to_vector<double>() == Doubles{7, 1, 0, 1, 7, 0, 0, 0, 7, 1, 0, 1});
}

TEST_CASE("in place with an operand that overlaps reads the old values", "[tensor][views]") {
    Tensor x = arange(0, 6, 1, float64);
    x.slice(0, 1, 6).copy_(x.slice(0, 0, 5));
    CHECK(x.to_vector<double>() == Doubles{0, 0, 1, 2, 3, 4});
    Tensor m = tensor({{1, 2}, {3, 4}}, float64);
    m.add_(m.T());
    CHECK(m.to_vector<double>() == Doubles{2, 5, 5, 8});
    m.mul_(m);
    CHECK(m.to_vector<double>() == Doubles{4, 25, 25, 64});
    m.add_(m[0]);
    CHECK(m.to_vector<double>() == Doubles{8, 50, 29, 89});
}

TEST_CASE("a shape counts, compares and prints itself", "[tensor]") {
    CHECK(Shape{}.str() == "()");
    CHECK(Shape{4}.str() == "(4,)");
    CHECK((Shape{2, 3}.str() == "(2, 3)"));
    CHECK(Shape{2, 0, 3}.numel() == 0);
    const std::int64_t many = std::int64_t{1} << 40;
    CHECK(Shape{many, many, 0}.numel() == 0);
    CHECK(Shape{0, many, many}.numel() == 0);
    CHECK(contains(message_of<ValueError>([&] {
                       (void)Shape{many, many}.numel();
                   }),
                   "does not fit in 63 bits"));
    CHECK(Shape{}.numel() == 1);
    CHECK(contiguous_strides({2, 3, 4}) == Strides{12, 4, 1});
    CHECK(broadcast_shapes({2, 1, 3}, {4, 1}, "test") == Shape{2, 4, 3});
    CHECK(contains(message_of<ShapeError>([] { return zeros({1, 1, 1, 1, 1, 1, 1, 1, 1}); }), "8"));
}

TEST_CASE("tensors on two handles share values; a moved-from handle is undefined", "[tensor]") {
    Tensor a = ones({2});
    Tensor b = a;
    b.fill_(3);
    CHECK(a.at({0}) == 3);
    const Tensor c = std::move(a);
    CHECK_FALSE(a.defined());  // NOLINT: what moving leaves behind is what is tested
    CHECK(c.defined());
}
