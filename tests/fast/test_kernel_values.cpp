// Quotients and square roots are rounded correctly, and functions of integers and truths are those of C++.
// Floating functions at the ends of their types are compared in test_hostile.cpp.
// The choice by type: total, and an error where a type is not among those that are asked for.
#include <cmath>
#include <functional>
#include <limits>

#include "catch.h"
#include "weft/core.h"
#include "weft/core/dtype.h"

using namespace weft;

namespace {

// f over every pair of values against the formula.
template <class T, class Result, class Wanted>
void check_pairs(const char* name, const std::vector<T>& values, const std::vector<T>& others,
                 const std::function<Tensor(const Tensor&, const Tensor&)>& f, const Wanted& wanted) {
    const auto n = static_cast<std::int64_t>(values.size()), m = static_cast<std::int64_t>(others.size());
    const Tensor a = from_vector(values, {n, 1}), b = from_vector(others, {m});
    const std::vector<Result> found = f(a, b).to_vector<Result>();
    REQUIRE(found.size() == values.size() * others.size());
    std::size_t at = 0;
    for (const T p : values)
        for (const T q : others) {
            INFO(name << " of " << p << " and " << q << ": " << found[at]);
            CHECK(found[at++] == wanted(p, q));
        }
}

template <class T>
void check_comparisons(const std::vector<T>& values) {
    const auto check = [&](const char* name, auto f) {
        check_pairs<T, bool>(
            name, values, values, [=](const Tensor& a, const Tensor& b) { return f(a, b); },
            [=](T p, T q) { return f(p, q); });
        check_pairs<T, bool>(
            name, values, {T(1)}, [=](const Tensor& a, const Tensor&) { return f(a, 1.0); },
            [=](T p, T q) { return f(p, q); });
    };
    check("==", [](const auto& a, const auto& b) { return a == b; });
    check("!=", [](const auto& a, const auto& b) { return a != b; });
    check("<", [](const auto& a, const auto& b) { return a < b; });
    check("<=", [](const auto& a, const auto& b) { return a <= b; });
    check(">", [](const auto& a, const auto& b) { return a > b; });
    check(">=", [](const auto& a, const auto& b) { return a >= b; });
}

template <class T>
void check_rounding() {
    Rng rng(1);
    std::vector<T> p, q;
    for (int i = 0; i < 4099; ++i)  // over all exponents, those of subnormal numbers among them
        for (auto* values : {&p, &q}) {
            const int exponent = static_cast<int>(randint(std::numeric_limits<T>::min_exponent - 20,
                                                          std::numeric_limits<T>::max_exponent, {}, rng)
                                                      .item());
            values->push_back(static_cast<T>(std::ldexp(1 + rand({}, rng, float64).item(), exponent)));
        }
    const auto quotients = (from_vector(p) / from_vector(q)).template to_vector<T>();
    const auto ones = (from_vector(p) / from_vector(p)).template to_vector<T>();
    const auto inverses = (1 / from_vector(q)).template to_vector<T>();
    const auto roots = sqrt(from_vector(p)).template to_vector<T>();
    for (std::size_t i = 0; i < p.size(); ++i) {
        INFO(p[i] << ", " << q[i]);
        CHECK(quotients[i] == p[i] / q[i]);
        CHECK(ones[i] == 1);
        CHECK(inverses[i] == 1 / q[i]);
        CHECK(roots[i] == std::sqrt(p[i]));
    }
}

}  // namespace

TEST_CASE("quotients and square roots are rounded correctly", "[ops]") {
    check_rounding<double>();
    check_rounding<float>();
}

TEST_CASE("every function of two integers and of two truths", "[ops]") {
    using I = std::int64_t;
    using U = std::uint64_t;
    constexpr I least = std::numeric_limits<I>::min(), most = std::numeric_limits<I>::max();
    const std::vector<I> values{least, least + 1, -7, -1, 0, 1, 2, 7, most - 1, most};
    const auto check = [&](const char* name, auto f, auto wanted) {
        check_pairs<I, I>(
            name, values, values, [=](const Tensor& a, const Tensor& b) { return f(a, b); }, wanted);
    };
    check(
        "+", [](const Tensor& a, const Tensor& b) { return a + b; }, [](I p, I q) { return I(U(p) + U(q)); });
    check(
        "-", [](const Tensor& a, const Tensor& b) { return a - b; }, [](I p, I q) { return I(U(p) - U(q)); });
    check(
        "*", [](const Tensor& a, const Tensor& b) { return a * b; }, [](I p, I q) { return I(U(p) * U(q)); });
    check(
        "maximum", [](const Tensor& a, const Tensor& b) { return maximum(a, b); },
        [](I p, I q) { return std::max(p, q); });
    check(
        "minimum", [](const Tensor& a, const Tensor& b) { return minimum(a, b); },
        [](I p, I q) { return std::min(p, q); });
    check(
        "negate", [](const Tensor& a, const Tensor& b) { return -(a + b * 0); },
        [](I p, I) { return I(0 - U(p)); });
    check_comparisons(values);

    const std::vector<bool> truths{false, true};
    const auto check_truths = [&](const char* name, auto f, auto wanted) {
        const Tensor a = from_vector(truths, {2, 1}), b = from_vector(truths, {2});
        const std::vector<bool> found = f(a, b).template to_vector<bool>();
        INFO(name);
        for (std::size_t i = 0; i < 4; ++i) CHECK(found[i] == wanted(truths[i / 2], truths[i % 2]));
    };
    check_truths(
        "&&", [](const Tensor& a, const Tensor& b) { return a && b; }, [](bool p, bool q) { return p && q; });
    check_truths(
        "||", [](const Tensor& a, const Tensor& b) { return a || b; }, [](bool p, bool q) { return p || q; });
    check_truths(
        "==", [](const Tensor& a, const Tensor& b) { return a == b; }, [](bool p, bool q) { return p == q; });
    check_truths(
        "!=", [](const Tensor& a, const Tensor& b) { return a != b; }, [](bool p, bool q) { return p != q; });
    CHECK((!from_vector(truths, {2})).to_vector<bool>() == std::vector<bool>{true, false});
}

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
