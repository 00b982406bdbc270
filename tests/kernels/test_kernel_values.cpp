// Every branch of an elementwise kernel, and of its gradient, has a value here: each function on numbers from
// one end of its type to the other, against its formula in long double.
#include <cmath>
#include <functional>
#include <limits>
#include <numbers>

#include "catch.h"
#include "weft/core.h"

using namespace weft;

namespace {

using Long = long double;
using Of = std::function<Tensor(const Tensor&)>;
using Formula = std::function<Long(Long)>;

constexpr Long pi = std::numbers::pi_v<Long>;

// Both signs of numbers that straddle the branches of functions, and the ends of the type.
template <class T>
std::vector<T> ends_and_middles() {
    using Limits = std::numeric_limits<T>;
    std::vector<T> values;
    for (const double v : {0.0, 1e-30, 1e-3, 0.25, 0.5, 0.75, 0.999, 1.0, 1.001, 1.5, 2.0, 3.0, 5.0, 10.0, 20.0,
                           50.0, 100.0, 800.0, 1e30})
        values.push_back(static_cast<T>(v)), values.push_back(static_cast<T>(-v));
    for (const T v : {Limits::max(), Limits::infinity(), Limits::quiet_NaN()})
        values.push_back(v), values.push_back(-v);
    return values;
}

// Equal as far as the type goes: NaN with NaN, infinite where the formula leaves the type.
template <class T>
bool close(T found, Long wanted, double ulps, T scale = 0) {
    if (std::isnan(wanted) || std::isnan(found)) return std::isnan(wanted) && std::isnan(found);
    const T rounded = static_cast<T>(wanted);
    if (found == rounded) return true;
    if (std::isinf(rounded) || std::isinf(found)) return false;
    const Long unit = static_cast<Long>(std::numeric_limits<T>::epsilon());
    const Long size = std::max(
        {std::abs(wanted), static_cast<Long>(scale), static_cast<Long>(std::numeric_limits<T>::min()) / unit});
    return std::abs(static_cast<Long>(found) - wanted) <= ulps * unit * size;
}

struct Function {
    const char* name;
    Of of;
    Formula value, slope;
    double scale = 0;  // errors count relative to the value, or to this where it is larger
};

Long phi(Long x) { return std::exp(-x * x / 2) / std::sqrt(2 * pi); }
Long cdf(Long x) { return std::erfc(-x / std::sqrt(Long(2))) / 2; }
Long gate(Long x) { return 1 / (1 + std::exp(-2 * std::sqrt(2 / pi) * (x + 0.044715L * x * x * x))); }

const std::vector<Function> functions = {
    {"negate", [](const Tensor& x) { return -x; }, [](Long x) { return -x; }, [](Long) { return -1; }},
    {"exp", [](const Tensor& x) { return exp(x); }, [](Long x) { return std::exp(x); },
     [](Long x) { return std::exp(x); }},
    {"log", [](const Tensor& x) { return log(x); }, [](Long x) { return std::log(x); },
     [](Long x) { return 1 / x; }},
    {"sqrt", [](const Tensor& x) { return sqrt(x); }, [](Long x) { return std::sqrt(x); },
     [](Long x) { return 1 / (2 * std::sqrt(x)); }},
    {"tanh", [](const Tensor& x) { return tanh(x); }, [](Long x) { return std::tanh(x); },
     [](Long x) { return 1 / (std::cosh(x) * std::cosh(x)); }, 1},
    {"sigmoid", [](const Tensor& x) { return sigmoid(x); }, [](Long x) { return 1 / (1 + std::exp(-x)); },
     [](Long x) { return 1 / (2 + std::exp(x) + std::exp(-x)); }, 1},
    {"relu", [](const Tensor& x) { return relu(x); }, [](Long x) { return x <= 0 ? 0 : x; },
     [](Long x) { return x <= 0 ? 0 : 1; }},
    {"abs", [](const Tensor& x) { return abs(x); }, [](Long x) { return std::abs(x); },
     [](Long x) {
         return x < 0 ? -1 : x == 0 ? 0 : std::isnan(x) ? x : 1;
     }},
    {"sign", [](const Tensor& x) { return sign(x); },
     [](Long x) { return x < 0           ? -1
                         : x == 0        ? 0
                         : std::isnan(x) ? x
                                         : 1; }, [](Long) { return 0; }},
    {"sin", [](const Tensor& x) { return sin(x); }, [](Long x) { return std::sin(x); },
     [](Long x) { return std::cos(x); }},
    {"cos", [](const Tensor& x) { return cos(x); }, [](Long x) { return std::cos(x); },
     [](Long x) { return -std::sin(x); }},
    {"erf", [](const Tensor& x) { return erf(x); }, [](Long x) { return std::erf(x); },
     [](Long x) { return 2 / std::sqrt(pi) * std::exp(-x * x); }, 1},
    {"gelu", [](const Tensor& x) { return gelu(x); },
     [](Long x) { return std::isinf(x) && x < 0 ? NAN : x * cdf(x); },
     [](Long x) { return std::isinf(x) ? NAN : cdf(x) + x * phi(x); }, 10},
    {"gelu_tanh", [](const Tensor& x) { return gelu(x, Gelu::tanh); },
     [](Long x) { return std::isinf(x) && x < 0 ? NAN : x * gate(x); },
     [](Long x) {
         const Long g = gate(x);
         return std::isinf(x) ? NAN : g + x * g * (1 - g) * 2 * std::sqrt(2 / pi) * (1 + 3 * 0.044715L * x * x);
     },
     10},
    {"clamp", [](const Tensor& x) { return clamp(x, -0.5, 0.75); },
     [](Long x) { return x < -0.5L   ? -0.5L
                         : x > 0.75L ? 0.75L
                                     : x; },
     [](Long x) { return x < -0.5L || x > 0.75L ? 0 : 1; }},
    {"scale", [](const Tensor& x) { return x * 3; }, [](Long x) { return 3 * x; }, [](Long) { return 3; }},
    {"1 / x", [](const Tensor& x) { return 1 / x; }, [](Long x) { return 1 / x; },
     [](Long x) { return -1 / (x * x); }},
    {"2 - x", [](const Tensor& x) { return 2 - x; }, [](Long x) { return 2 - x; }, [](Long) { return -1; }},
};

template <class T>
void check_functions() {
    for (const Function& function : functions) {
        // One more than any vector has: the last elements pass through the kernels' other path.
        std::vector<T> values = ends_and_middles<T>();
        while (values.size() % 16 != 1) values.push_back(T(0.3));
        const Tensor x = from_vector(values, {static_cast<std::int64_t>(values.size())}).requires_grad_();
        const Tensor y = function.of(x);
        sum(y).backward();
        const auto found = y.to_vector<T>(), slopes = x.grad().template to_vector<T>();
        for (std::size_t i = 0; i < values.size(); ++i) {
            INFO(function.name << " of " << values[i] << " in " << name(x.dtype()));
            const Long wanted = function.value(values[i]), slope = function.slope(values[i]);
            CAPTURE(found[i], wanted, slopes[i], slope);
            CHECK(close(found[i], wanted, 8, static_cast<T>(function.scale)));
            // Where a square leaves the type, so may the slope; and at a NaN most have none.
            if (std::isnan(values[i]) || std::abs(values[i]) > T(1e15)) continue;
            CHECK(close(slopes[i], slope, 16, static_cast<T>(function.scale)));
        }
    }
}

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
            if constexpr (std::is_floating_point_v<Result>)
                CHECK(close<Result>(found[at], static_cast<Long>(wanted(p, q)), 2));
            else
                CHECK(found[at] == wanted(p, q));
            ++at;
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
void check_floating_pairs() {
    const std::vector<T> values = ends_and_middles<T>();
    const auto check = [&](const char* name, auto f, auto wanted) {
        check_pairs<T, T>(
            name, values, values, [=](const Tensor& a, const Tensor& b) { return f(a, b); }, wanted);
    };
    check(
        "+", [](const Tensor& a, const Tensor& b) { return a + b; }, [](T p, T q) { return p + q; });
    check(
        "-", [](const Tensor& a, const Tensor& b) { return a - b; }, [](T p, T q) { return p - q; });
    check(
        "*", [](const Tensor& a, const Tensor& b) { return a * b; }, [](T p, T q) { return p * q; });
    check(
        "/", [](const Tensor& a, const Tensor& b) { return a / b; }, [](T p, T q) { return p / q; });
    check(
        "pow", [](const Tensor& a, const Tensor& b) { return pow(a, b); },
        [](T p, T q) { return std::pow(p, q); });
    const auto either_nan = [](T p, T q) { return std::isnan(p) || std::isnan(q); };
    check(
        "maximum", [](const Tensor& a, const Tensor& b) { return maximum(a, b); },
        [=](T p, T q) { return either_nan(p, q) ? T(NAN)
                               : p > q          ? p
                                                : q; });
    check(
        "minimum", [](const Tensor& a, const Tensor& b) { return minimum(a, b); },
        [=](T p, T q) { return either_nan(p, q) ? T(NAN)
                               : p < q          ? p
                                                : q; });
    check(
        "add_",
        [](const Tensor& a, const Tensor& b) {
            Tensor y = (a + b * 0).clone();
            return y.add_(b, -0.5);  // a product that does not overflow: the compiler may fuse it with the sum
        },
        [](T p, T q) { return p + q * 0 + T(-0.5) * q; });
    check(
        "where", [](const Tensor& a, const Tensor& b) { return where(a > b, a, b); },
        [](T p, T q) { return p > q ? p : q; });
    check_comparisons(values);
    check_pairs<T, bool>(
        "isfinite", values, {T(0)}, [](const Tensor& a, const Tensor&) { return isfinite(a); },
        [](T p, T) { return std::isfinite(p); });
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

TEST_CASE("every elementwise function and its gradient, from one end of the type to the other", "[ops]") {
    check_functions<double>();
    check_functions<float>();
}

TEST_CASE("every function of two tensors, on all pairs of such numbers", "[ops]") {
    check_floating_pairs<double>();
    check_floating_pairs<float>();
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

TEST_CASE("the gradients of maximum, minimum and pow at every kind of pair", "[ops]") {
    using Doubles = std::vector<double>;
    const auto gradients = [](auto f, const Doubles& a, const Doubles& b) {
        const auto n = static_cast<std::int64_t>(a.size());
        const Tensor x = from_vector(a, {n}).requires_grad_(), y = from_vector(b, {n}).requires_grad_();
        sum(f(x, y)).backward();
        return std::pair{x.grad().to_vector<double>(), y.grad().to_vector<double>()};
    };
    const auto larger =
        gradients([](const Tensor& a, const Tensor& b) { return maximum(a, b); }, {1, 2, 3, 0}, {2, 2, 1, 0});
    CHECK(larger.first == Doubles{0, 0.5, 1, 0.5});
    CHECK(larger.second == Doubles{1, 0.5, 0, 0.5});
    const auto smaller =
        gradients([](const Tensor& a, const Tensor& b) { return minimum(a, b); }, {1, 2, 3, 0}, {2, 2, 1, 0});
    CHECK(smaller.first == Doubles{1, 0.5, 0, 0.5});
    CHECK(smaller.second == Doubles{0, 0.5, 1, 0.5});
    const auto power = gradients([](const Tensor& a, const Tensor& b) { return pow(a, b); }, {0, 0, 2, 2, 1, 4},
                                 {0, 2, 3, 0, 5, -1});
    const Doubles of_base{0, 0, 12, 0, 5, -1.0 / 16},
        of_exponent{0, 0, 8 * std::log(2), std::log(2), 0, std::log(4) / 4};
    for (std::size_t i = 0; i < of_base.size(); ++i) {
        CHECK(power.first[i] == Approx(of_base[i]));
        CHECK(power.second[i] == Approx(of_exponent[i]));
    }
}
