// What happens where two types meet, and what does not compile.
#include <functional>
#include <string>

#include "refusal.h"
#include "source.h"
#include "weft/nn.h"

using namespace weft;

namespace {

using Binary = std::function<Tensor(const Tensor&, const Tensor&)>;
struct Named {
    const char* name;
    Binary f;
    bool divides = false;
};
const std::vector<Named> binaries = {
    {"add", [](const Tensor& a, const Tensor& b) { return a + b; }},
    {"subtract", [](const Tensor& a, const Tensor& b) { return a - b; }},
    {"multiply", [](const Tensor& a, const Tensor& b) { return a * b; }},
    {"divide", [](const Tensor& a, const Tensor& b) { return a / b; }, true},
    {"pow", [](const Tensor& a, const Tensor& b) { return pow(a, b); }, true},
    {"maximum", [](const Tensor& a, const Tensor& b) { return maximum(a, b); }},
    {"minimum", [](const Tensor& a, const Tensor& b) { return minimum(a, b); }},
    {"where",
     [](const Tensor& a, const Tensor& b) {
         return where(tensor({true, false, true}), a, b);
     }},
    {"==", [](const Tensor& a, const Tensor& b) { return a == b; }},
    {"!=", [](const Tensor& a, const Tensor& b) { return a != b; }},
    {"<", [](const Tensor& a, const Tensor& b) { return a < b; }},
    {"<=", [](const Tensor& a, const Tensor& b) { return a <= b; }},
    {">", [](const Tensor& a, const Tensor& b) { return a > b; }},
    {">=", [](const Tensor& a, const Tensor& b) { return a >= b; }},
};

const Tensor truths = tensor({true, false, true}), numbers = tensor({3, 0, 2}), values = tensor({2.5, 0.75, 2});

bool same(const Tensor& a, const Tensor& b) {
    return a.dtype() == b.dtype() && same_bits(a.to(float64), b.to(float64));
}

template <class T>
concept sums_over_a_number = requires(const T& x) {
    x.sum(1, 2);
};
template <class T>
concept keeps_by_a_number = requires(const T& x) {
    sum(x, 1, 2);
};
template <class T>
concept counts_in = requires(T size) {
    zeros(2, size);
};

}  // namespace

TEST_CASE("of two types the operand of the smaller takes the larger one", "[ops][promotion]") {
    for (const Named& row : binaries)
        for (const DType type : {int64, float32, float64})
            for (const Tensor& small : {truths, numbers}) {
                if (small.dtype() == type || (row.divides && type == int64)) continue;
                const Binary& f = row.f;
                INFO(row.name << " of " << weft::name(small.dtype()) << " and " << weft::name(type));
                const Tensor large = values.to(type), converted = small.to(type);
                CHECK(same(f(small, large), f(converted, large)));
                CHECK(same(f(large, small), f(large, converted)));
                if (!is_floating_point(f(small, large).dtype())) continue;
                for (const bool first : {true, false}) {
                    const auto gradient = [&](const Tensor& other) {
                        const Tensor x = large.clone().requires_grad_();
                        sum(first ? f(x, other) : f(other, x)).backward();
                        return x.grad();
                    };
                    CHECK(same(gradient(small), gradient(converted)));
                }
            }
}

TEST_CASE("promotion loses nothing", "[ops][promotion]") {
    constexpr std::int64_t beyond32 = (1 << 24) + 1, beyond64 = (std::int64_t{1} << 53) + 1;
    const Tensor x = zeros({2}), y = zeros({2}, float64);
    for (const Named& row : binaries) {
        const Binary& f = row.f;
        const std::string name = row.name;
        if (name == "where") continue;
        INFO(name);
        const std::string message = message_of<DTypeError>([&] { f(x, tensor({1, beyond32})); });
        CHECK(message ==
              name +
                  ": float32 does not hold the int64 16777217; convert it with to(), which rounds, or "
                  "use float64");
        CHECK_NOTHROW(f(y, tensor({1, beyond32})));
        refuses<DTypeError>("9007199254740993", [&] { f(tensor({1, beyond64}), y); });
        CHECK_NOTHROW(f(x, tensor({beyond32 - 1, 2 * (beyond32 - 1)})));
    }
    Tensor changed = ones({2});
    CHECK_THROWS_AS(changed += tensor({1, beyond32}), DTypeError);
    CHECK(same_bits(changed, ones({2})));
    const std::int64_t highest = INT64_MAX;  // rounds to 2⁶³
    CHECK_THROWS_AS(y + tensor({highest, highest}), DTypeError);
}

TEST_CASE("an operand that does not fit is named", "[ops][promotion]") {
    const Tensor x = zeros({2, 3}), y = zeros({3}, float64), ids = zeros({3, 2}, int64);
    CHECK(message_of<DTypeError>([&] { x + y; }) ==
          "add: float32 and float64 do not mix; convert the float64 one, of shape (3,), with to(float32)");
    CHECK(message_of<DTypeError>([&] { y + x; }) ==
          "add: float64 and float32 do not mix; convert the float64 one, of shape (3,), with to(float32)");
    // A number beside a tensor is what to convert, whatever its type.
    for (const auto& f : std::vector<std::function<void()>>{[&] { y* tensor(0.5); }, [&] { tensor(0.5) * y; }})
        CHECK(contains(message_of<DTypeError>(f),
                       " do not mix; convert the float32 one, of shape (), with to(float64)"));
    CHECK(message_of<DTypeError>([&] { x + y[0]; }) ==
          "add: float32 and float64 do not mix; convert the float64 one, of shape (), with to(float32)");
    CHECK(message_of<DTypeError>([&] { matmul(x, ids); }) ==
          "matmul: float32 and int64 do not mix; convert the int64 one, of shape (3, 2), with to(float32)");
    CHECK(message_of<DTypeError>([&] { Tensor(ones({3}, int64)) += y; }) ==
          "add_: a tensor of int64 does not take float64; convert the operand with to(int64)");
}

TEST_CASE("in place the tensor's type stays", "[ops][promotion]") {
    Tensor x = values.clone();
    x += numbers;
    x -= truths;
    x *= numbers;
    x /= numbers + 1;
    CHECK(same(x, (values + numbers.to(float32) - truths.to(float32)) * numbers.to(float32) /
                      (numbers + 1).to(float32)));
    Tensor ids = numbers.clone();
    ids += truths;
    CHECK(same(ids, tensor({4, 0, 3})));
    ids.copy_(truths);
    CHECK(same(ids, tensor({1, 0, 1})));
    CHECK_THROWS_AS(ids -= values, DTypeError);
    CHECK_THROWS_AS(ids.copy_(values), DTypeError);
}

TEST_CASE("what would not do what it seems to does not compile", "[ops][promotion]") {
    STATIC_REQUIRE_FALSE(sums_over_a_number<Tensor>);
    STATIC_REQUIRE_FALSE(keeps_by_a_number<Tensor>);
    STATIC_REQUIRE_FALSE(counts_in<double>);
    STATIC_REQUIRE_FALSE(std::is_assignable_v<Tensor, Tensor>);    // x[0] = y
    STATIC_REQUIRE_FALSE(std::is_assignable_v<Tensor, double>);    // x[0] = 3.0
    STATIC_REQUIRE(std::is_assignable_v<Tensor&, const Tensor&>);  // x = y
    STATIC_REQUIRE_FALSE(std::is_convertible_v<int, KeepDim>);
    CHECK(ones(2, 3, 4).sum({1, 2}, true).shape() == Shape{2, 1, 1});
}

TEST_CASE("repr says what str leaves out", "[ops][promotion]") {
    CHECK(tensor({1, 2}).repr() == "tensor([1 2], shape=(2,), dtype=int64)");
    CHECK(ones({2, 1}, float64).requires_grad_().repr() ==
          "tensor([[1.]\n        [1.]], shape=(2, 1), dtype=float64, requires_grad=true)");
    CHECK(Tensor().repr() == "Tensor()");
}

TEST_CASE("sizes may be written one by one", "[ops][promotion]") {
    CHECK(same(zeros(2, 3), zeros({2, 3})));
    CHECK(same(ones(2, 3), ones({2, 3})));
    manual_seed(1);
    const Tensor normal = randn(2, 3), uniform = rand(4, 1, 2);
    manual_seed(1);
    CHECK(same(normal, randn({2, 3})));
    CHECK(same(uniform, rand({4, 1, 2})));
    CHECK(message_of<ValueError>([] { zeros(2, -3); }) == message_of<ValueError>([] { zeros({2, -3}); }));
}

TEST_CASE("a bound that clamp does not get bounds nothing", "[ops][promotion]") {
    const Tensor x = tensor({-INFINITY, -2.0, 0.5, 3, INFINITY}, float64);
    CHECK(same(clamp(x, 0), tensor({0.0, 0, 0.5, 3, INFINITY}, float64)));
    CHECK(same(x.clamp({}, 1), tensor({-INFINITY, -2.0, 0.5, 1, 1}, float64)));
    const Tensor leaf = tensor({-2.0, 0.5, 3}).requires_grad_();
    sum(clamp(leaf, 0)).backward();
    CHECK(same(leaf.grad(), tensor({0.0, 1, 1})));
    CHECK(message_of<ValueError>([&] { clamp(x); }) ==
          "clamp: no bound; give a lower one, an upper one, or both");
}
