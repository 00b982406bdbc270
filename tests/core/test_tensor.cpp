// Creation, items, types and in-place operations.
#include <cmath>
#include <limits>

#include "golden/golden.h"
#include "refusal.h"
#include "weft/core.h"

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
    refuses<DTypeError>("float32", [&] { x.data<double>(); });
    refuses<DTypeError>("int64", [&] { x.to_vector<std::int64_t>(); });
    refuses<ShapeError>("(2, 3)", [&] { x.item(); });
    refuses<IndexError>("1 indices", [&] { x.at({1}); });
    for (const Shape& index : {Shape{0, 3}, {2, 0}, {0, -4}, {-3, 0}})
        refuses<IndexError>("out of range for axis", [&] { x.at(index); });
    refuses<IndexError>("axis 2", [&] { x.size(2); });
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
    refuses<ValueError>("does not fit in 63 bits", [&] { (void)Shape{many, many}.numel(); });
    CHECK(Shape{}.numel() == 1);
    CHECK(contiguous_strides({2, 3, 4}) == Strides{12, 4, 1});
    CHECK(broadcast_shapes({2, 1, 3}, {4, 1}, "test") == Shape{2, 4, 3});
    refuses<ShapeError>("8", [] { return zeros({1, 1, 1, 1, 1, 1, 1, 1, 1}); });
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

TEST_CASE("foreign memory is read and written where it lies", "[tensor][from_blob]") {
    Doubles theirs = {1, 2, 3, 4, 5, 6};
    Tensor x = from_blob(theirs.data(), {2, 3}, float64);
    CHECK(x.data<double>() == theirs.data());
    CHECK(x.is_contiguous());
    theirs[1] = 20;
    CHECK(x.at({0, 1}) == 20);
    x.mul_(2);
    x.T().select(0, 2).fill_(-1);
    CHECK(theirs == Doubles{2, 40, -1, 8, 10, -1});
    CHECK(x.version() == 2);
    Tensor y = from_blob(theirs.data() + 1, {2, 2}, {3, 1}, {}, float64);  // the last two columns
    CHECK(y.to_vector<double>() == Doubles{40, -1, 10, -1});
    CHECK(matmul(y, eye(2, float64)).to_vector<double>() == y.to_vector<double>());
    Tensor stretched = from_blob(theirs.data(), {2, 3}, {0, 1}, {}, float64);
    CHECK(stretched.to_vector<double>() == Doubles{2, 40, -1, 2, 40, -1});
    refuses<GraphError>("share memory", [&] { stretched.fill_(0); });
    bool flags[] = {true, false};
    CHECK(from_blob(flags, {2}, boolean).to_vector<bool>() == Booleans{true, false});
}

TEST_CASE("in-place operations see that foreign memory overlaps under two storages", "[tensor][from_blob]") {
    Doubles theirs = {0, 1, 2, 3, 4, 5};
    Tensor target = from_blob(theirs.data() + 1, {5}, float64);
    target.copy_(from_blob(theirs.data(), {5}, float64));
    CHECK(theirs == Doubles{0, 0, 1, 2, 3, 4});
    Tensor ours = arange(0, 6, 1, float64);
    ours.slice(0, 1, 6).copy_(from_blob(ours.data<double>(), {5}, float64));
    CHECK(ours.to_vector<double>() == Doubles{0, 0, 1, 2, 3, 4});
}

TEST_CASE("the owner of foreign memory is told once, when the last tensor of it is gone",
          "[tensor][from_blob]") {
    Doubles theirs(4096, 1);
    std::vector<void*> released;
    {
        Tensor view, result;
        {
            const Tensor x = from_blob(
                                 theirs.data(), {4096}, {1}, [&](void* p) { released.push_back(p); }, float64)
                                 .requires_grad_();
            view = x.detach().slice(0, 0, 2);
            result = (x * x).sum();  // saves x
        }
        view = Tensor();
        CHECK(released.empty());
        result.backward();
        result = Tensor();
    }
    CHECK(released == std::vector<void*>{theirs.data()});
    // The block is not taken for another tensor, as one of ours of this size would be.
    CHECK(empty({4096}, float64).data<double>() != theirs.data());
    CHECK(theirs == Doubles(4096, 1));
}

TEST_CASE("gradients flow into and through foreign memory, and never change it", "[tensor][from_blob]") {
    Doubles theirs = {1, 2, 3}, seed = {1, 10, 100};
    const Tensor x = from_blob(theirs.data(), {3}, float64).requires_grad_();
    (x * x).backward(from_blob(seed.data(), {3}, float64));
    CHECK(x.grad().to_vector<double>() == Doubles{2, 40, 600});
    // A gradient that a hook returns belongs to somebody else: adding to the next one leaves it alone.
    Tensor y = ones({3}, float64).requires_grad_();
    y.register_hook([&](const Tensor&) { return from_blob(seed.data(), {3}, float64); });
    sum(y).backward();
    CHECK(y.grad().data<double>() != seed.data());
    CHECK(y.grad().to_vector<double>() == Doubles{1, 10, 100});
    y.grad().mul_(0);
    CHECK(seed == Doubles{1, 10, 100});
    CHECK(theirs == Doubles{1, 2, 3});
}

TEST_CASE("foreign memory without elements, or with a stride that no step takes", "[tensor][from_blob]") {
    int deleted = 0;
    {
        const Tensor none = from_blob(nullptr, {0, 3}, {-7, 5}, [&](void*) { ++deleted; });
        CHECK((none.shape() == Shape{0, 3}));
        CHECK(sum(none).item() == 0);
    }
    CHECK(deleted == 1);
    float one = 4;
    const Tensor single = from_blob(&one, {1, 1}, {-3, 999});
    CHECK(single.is_contiguous());
    CHECK(single.item() == 4);
    CHECK(from_blob(&one, {}).item() == 4);
}

TEST_CASE("from_blob refuses memory that a tensor cannot be, and leaves it to its owner",
          "[tensor][from_blob]") {
    Floats theirs(8);
    bool deleted = false;
    const auto refusal = [&](void* data, const Shape& shape, const Strides& strides, DType dtype = float32) {
        return message_of<ValueError>([&] {
            return from_blob(
                data, shape, strides, [&](void*) { deleted = true; }, dtype);
        });
    };
    float* const data = theirs.data();
    CHECK(contains(refusal(nullptr, {2}, {1}),
                   "an address of 0 for shape (2,) of float32; give one that is not null"));
    CHECK(contains(refusal(reinterpret_cast<char*>(data) + 1, {2}, {1}), "a multiple of 4"));
    CHECK(contains(refusal(data + (reinterpret_cast<std::uintptr_t>(data) % 8 == 0), {2}, {1}, float64),
                   "a multiple of 8"));
    CHECK(contains(refusal(data, {2, 3}, {3, -1}), "strides (3, -1) of shape (2, 3) run backwards"));
    CHECK(contains(refusal(data, {3, 2}, {1, 1}), "put two elements at one address"));
    CHECK(contains(refusal(data, {2, 3}, {2, 1}), "put two elements at one address"));
    CHECK(contains(refusal(data, {3, 3}, {INT64_MAX / 2, 1}), "reach further than 63 bits"));
    CHECK(contains(refusal(data, {2}, {INT64_MAX / 2}), "reach further than 63 bits"));
    CHECK(contains(refusal(data, {-1}, {1}), "from_blob: negative size"));
    CHECK(contains(refusal(data, {INT64_MAX}, {0}), "overflows"));
    refuses<ShapeError>("from_blob: strides (1,) for shape (2, 3); give one for each axis", [&] {
        return from_blob(data, {2, 3}, {1});
    });
    CHECK_FALSE(deleted);
}
