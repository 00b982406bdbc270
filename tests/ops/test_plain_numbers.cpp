// A plain number beside a tensor: rounded to a floating type, held exactly by int64 and bool or refused;
// compared exactly. Whole numbers that overflow wrap.
#include <cmath>
#include <functional>
#include <limits>

#include "refusal.h"
#include "weft/core.h"

using namespace weft;

namespace {

constexpr std::int64_t lowest = std::numeric_limits<std::int64_t>::min(),
                       highest = std::numeric_limits<std::int64_t>::max(), exact = std::int64_t{1} << 53;
const double infinity = std::numeric_limits<double>::infinity();

Tensor ints(const std::vector<std::int64_t>& values) {
    return from_vector(values, {static_cast<std::int64_t>(values.size())});
}
std::vector<std::int64_t> values_of(const Tensor& x) { return x.to_vector<std::int64_t>(); }

// i ∘ number by long double's 64 digits, which hold every int64 and every double of that size.
bool compared(int op, std::int64_t i, double number) {
    const auto a = static_cast<long double>(i), b = static_cast<long double>(number);
    const bool results[] = {a == b, a != b, a<b, a <= b, a> b, a >= b};
    return results[op];
}
Tensor compared(int op, const Tensor& x, double number) {
    const Tensor results[] = {x == number, x != number, x<number, x <= number, x> number, x >= number};
    return results[op];
}

}  // namespace

TEST_CASE("int64 and bool are compared exactly with any number", "[ops][numbers]") {
    const std::vector<std::int64_t> whole = {lowest, lowest + 1, -exact - 1, -3,        -2,        -1,
                                             0,      1,          2,          exact + 1, exact + 3, highest};
    const double numbers[] = {2,        2.5,       -2.5,   0.1,     -0.1,   std::nan(""),         infinity,
                              0x1p63,   -0x1p63,   0x1p64, -0x1p64, 0x1p53, 0x1p53 + 2,           -0x1p53,
                              infinity, -infinity, 1e300,  -1e300,  -0.0,   0x1.fffffffffffffp62, 1,
                              5e-324,   -5e-324,   -1};
    for (const double number : numbers)
        for (int op = 0; op < 6; ++op) {
            CAPTURE(number, op);
            for (const std::int64_t i : whole) {
                CAPTURE(i);
                if (std::abs(number) >= 0x1p53 && static_cast<double>(i) == number)
                    refuses<DTypeError>("write tensor(n) for the number n",
                                        [&] { (void)compared(op, ints({i}), number); });
                else
                    CHECK(compared(op, ints({i}), number).to_vector<bool>()[0] == compared(op, i, number));
            }
            const auto truths =
                compared(op, from_vector(std::vector{false, true}, {2}), number).to_vector<bool>();
            CHECK(truths == std::vector{compared(op, 0, number), compared(op, 1, number)});
        }
    CHECK(compared(0, ints({}), 2.5).shape() == Shape{0});
}

TEST_CASE("a number that int64 does not hold is refused by every operation it can meet", "[ops][numbers]") {
    Tensor ids = arange(4);
    const auto before = values_of(ids);
    const std::pair<const char*, std::function<void(double)>> operations[] = {
        {"add: ", [&](double v) { (void)(ids + v); }},
        {"add: ", [&](double v) { (void)(v + ids); }},
        {"subtract: ", [&](double v) { (void)(ids - v); }},
        {"subtract: ", [&](double v) { (void)(v - ids); }},
        {"multiply: ", [&](double v) { (void)(ids * v); }},
        {"multiply: ", [&](double v) { (void)(v * ids); }},
        {"full: ", [&](double v) { (void)full({2}, v, int64); }},
        {"tensor: ",
         [&](double v) {
             (void)tensor({1, v}, int64);
         }},
        {"arange: ", [&](double v) { (void)arange(v, v + 1, 1, int64); }},
        {"fill_: ", [&](double v) { ids.fill_(v); }},
        {"mul_: ", [&](double v) { ids.mul_(v); }},
        {"add_: ", [&](double v) { ids.add_(ids, v); }},
        {"masked_fill: ", [&](double v) { (void)masked_fill(ids, ids > 1, v); }},
    };
    for (const auto& [name, operation] : operations) {
        CAPTURE(name);
        for (const auto& [value, text] : std::vector<std::pair<double, std::string>>{
                 {0.5, "0.5"}, {-1e-300, "-1e-300"}, {-0x1.0000000000001p63, "-9223372036854777856"}}) {
            const auto message = message_of<DTypeError>([&, v = value, &run = operation] { run(v); });
            CHECK(message ==
                  name + ("int64 does not hold " + text) +
                      " exactly; use a whole number of 64 bits, or the floating type of the tensors beside "
                      "it, as in x.to(float32)");
        }
        if (std::string(name) != "arange: ")
            for (const double value : {std::nan(""), infinity, 0x1p63})
                refuses<DTypeError>("does not hold", [&, &run = operation] { run(value); });
        for (const double value : {0x1p53, -0x1p53, 0x1p62, -0x1p63})
            refuses<DTypeError>(name + std::string(value < 0 ? "-" : ""),
                                [&, &run = operation] { run(value); });
    }
    CHECK(values_of(ids) == before);
    CHECK(values_of(ids * 2.0) == std::vector<std::int64_t>{0, 2, 4, 6});
    CHECK(values_of(pow(ids - 2, 3)) == std::vector<std::int64_t>{-8, -1, 0, 1});
    CHECK(values_of(pow(ints({3, -1, 0, 2}), ints({39, 5, 0, 63}))) ==
          std::vector<std::int64_t>{4'052'555'153'018'976'267, -1, 1, lowest});
    refuses<ValueError>("pow: int64 has no fractions", [&] { (void)pow(ids, -1); });
    CHECK(values_of(abs(ints({-3, 0, highest, lowest + 1}))) ==
          std::vector<std::int64_t>{3, 0, highest, highest});
    for (const std::uint64_t beyond : {UINT64_MAX, std::uint64_t{1} << 63}) {
        refuses<DTypeError>("tensor: int64 does not hold ", [&] { (void)tensor(beyond); });
        refuses<DTypeError>("tensor: int64 does not hold ", [&] { (void)tensor(std::vector{beyond, beyond}); });
        refuses<DTypeError>("tensor: int64 does not hold ", [&] { (void)from_vector(std::vector{beyond}); });
    }
    CHECK(tensor(std::vector<std::uint64_t>{INT64_MAX}).data<std::int64_t>()[0] == INT64_MAX);
    refuses<DTypeError>("bool does not hold 2 exactly; use 0 or 1", [&] { (void)full({1}, 2, boolean); });
    refuses<DTypeError>("masked_fill: bool", [&] { (void)masked_fill(ids > 1, ids > 1, 0.5); });
    CHECK(masked_fill(ids > 1, ids > 1, 0).to_vector<bool>() == std::vector(4, false));
    CHECK(full({1}, 0.1, float32).item() == static_cast<double>(0.1F));  // floating types round
}

// A plain number is a double. From 2⁵³ on it may be another than the integer that was written, so int64 takes
// none, and what it holds leaves only as a double that it equals.
TEST_CASE("int64 above 2^53 is exact, or refused", "[ops][numbers]") {
    // As a double it would be 2⁵³. Read from memory, because clang itself warns about a constant.
    const std::int64_t odd = *ints({exact + 1}).data<std::int64_t>();
    Tensor x = ints({odd, 1}), scalar = ints({odd}).reshape({});
    const std::function<void()> inexact[] = {
        [&] { (void)full({2}, odd, int64); },
        [&] { (void)full_like(x, odd); },
        [&] { x.fill_(odd); },
        [&] { (void)(x + odd); },
        [&] { (void)(odd - x); },
        [&] { (void)(x * odd); },
        [&] { x += odd; },
        [&] { x -= odd; },
        [&] { x *= odd; },
        [&] { x.add_(x, odd); },
        [&] { (void)masked_fill(x, x > 0, odd); },
        [&] { (void)where(x > 0, odd, x); },
        [&] { (void)where(x > 0, x, odd); },
        [&] {
            (void)pad(x, {1, 0}, odd);
        },
        [&] { (void)arange(odd, odd + 4, 1, int64); },
    };
    for (const auto& action : inexact)
        refuses<DTypeError>(
            " beside int64 is a double, which from 2^53 on may be a rounded integer; write tensor(n) for "
            "the number n",
            action);
    refuses<DTypeError>("==: 9007199254740992 is a double, which from 2^53 on may be a rounded integer",
                        [&] { (void)(x == odd); });
    refuses<DTypeError>("an element rounds to it",
                        [&] { (void)(ints({highest}) < ints({highest}).data<std::int64_t>()[0]); });
    CHECK((ints({0, exact - 1, odd + 2}) < odd).to_vector<bool>() == std::vector{true, true, false});
    for (const auto& [name, read] : std::vector<std::pair<std::string, std::function<double()>>>{
             {"item", [&] { return scalar.item(); }},
             {"at", [&] { return x.at({0}); }},
             {"item", [&] { return ints({highest}).item(); }}})
        refuses<DTypeError>(name + ": the element 9", [&, &run = read] { (void)run(); });
    CHECK(values_of(x) == std::vector<std::int64_t>{odd, 1});  // nothing has changed
    CHECK(ints({exact}).item() == 0x1p53);
    CHECK(ints({lowest}).at({0}) == -0x1p63);

    // exact, as the messages say
    CHECK(values_of(x + tensor(odd)) == std::vector<std::int64_t>{2 * odd, odd + 1});
    CHECK((x == tensor(odd)).to_vector<bool>() == std::vector{true, false});
    CHECK(values_of(where(x > 1, tensor(odd), x)) == std::vector<std::int64_t>{odd, 1});
    CHECK(values_of(x.copy_(tensor(odd + 1))) == std::vector<std::int64_t>{odd + 1, odd + 1});
    CHECK(one_hot(ints({1, 0})).shape() == Shape{2, 2});
    refuses<ValueError>("one_hot: ", [] { (void)one_hot(ints({highest})); });

    // a class that is ignored by a number of that size is no other class
    const Tensor logits = zeros({2, 3});
    CHECK(cross_entropy(logits, ints({odd, 1}), odd).item() == Approx(std::log(3.0)));
    CHECK(nll_loss(logits, ints({odd, 1}), {}, odd).item() == 0);
    refuses<IndexError>("target 9007199254740992", [&] { (void)cross_entropy(logits, ints({exact, 1}), odd); });
}

TEST_CASE("to int64 refuses NaN and what is out of range, by its position", "[tensor][numbers]") {
    for (const DType dtype : {float32, float64}) {
        Tensor x = zeros({2, 3}, dtype);
        x[1][2].fill_(-2.7);
        CHECK(values_of(x.to(int64)) == std::vector<std::int64_t>{0, 0, 0, 0, 0, -2});
        for (const double bad : {std::nan(""), infinity, -infinity, 0x1p63, -0x1.1p63}) {
            x[1][0].fill_(bad);
            refuses<ValueError>(" at position (1, 0) does not fit in int64", [&] { (void)x.to(int64); });
            refuses<ValueError>(" at position (0, 1) does not fit in int64", [&] { (void)x.T().to(int64); });
        }
        CHECK(full({1}, -0x1p63, dtype).to(int64).to_vector<std::int64_t>()[0] == lowest);
        CHECK(full({1}, std::nan(""), dtype).to(boolean).to_vector<bool>()[0]);
    }
}

TEST_CASE("sums and products of int64 wrap, contiguous or strided", "[ops][numbers]") {
    const Tensor x = ints({highest, 1, highest, 2}).reshape({2, 2});
    for (const Tensor& rows : {x, x.T().contiguous().T()}) {
        CHECK(values_of(sum(rows, 0)) == std::vector<std::int64_t>{-2, 3});
        CHECK(values_of(sum(rows, 1)) == std::vector<std::int64_t>{lowest, lowest + 1});
        CHECK(values_of(cumsum(rows, 0)) == std::vector<std::int64_t>{highest, 1, -2, 3});
        CHECK(values_of(rows + rows) == std::vector<std::int64_t>{-2, 2, -2, 4});
        Tensor y = rows.clone();
        y.T().add_(rows.T(), -2);
        CHECK(values_of(y) == std::vector<std::int64_t>{lowest + 1, -1, lowest + 1, -2});
        y = rows.clone();
        y.T().mul_(-3);
        CHECK(values_of(y) == std::vector<std::int64_t>{lowest + 3, -3, lowest + 3, -6});
    }
    const Tensor index = ints({0, 0});
    CHECK(values_of(scatter_add({1}, 0, index, ints({highest, 2}))) == std::vector<std::int64_t>{lowest + 1});
    CHECK(values_of(-ints({lowest})) == std::vector<std::int64_t>{lowest});
}

TEST_CASE("numbers at the ends of int64 are counted, or refused", "[ops][numbers]") {
    const Tensor x = arange(3);
    refuses<ShapeError>("is not 3, the size of axis 0 of (3,); the sizes must add up to it", [&] {
        (void)split(x, {highest, highest, 5});
    });
    CHECK(chunk(x, highest).size() == 3);
    CHECK(split(x, highest).size() == 1);
    refuses<ValueError>("use a smaller shape", [] { (void)arange(highest); });
    refuses<ValueError>("use a smaller shape", [] { (void)arange(0, 1e30, 1, float32); });
    refuses<DTypeError>("arange: int64", [] { (void)arange(0, 0x1p63, 1, int64); });
    CHECK(values_of(arange(0, 2.5, 1, int64)) == std::vector<std::int64_t>{0, 1, 2});
    CHECK(values_of(arange(2, -1.5, -2, int64)) == std::vector<std::int64_t>{2, 0});
    CHECK(values_of(arange(3, 10, 2, int64)) == std::vector<std::int64_t>{3, 5, 7, 9});
    CHECK(values_of(arange(-4, 3, 3, int64)) == std::vector<std::int64_t>{-4, -1, 2});
    const Tensor long_axis = zeros({1}).expand({highest});
    CHECK(long_axis.slice(0, 1, highest, highest).shape() == Shape{1});
    CHECK(long_axis.slice(0, 0, highest, 2).shape() == Shape{highest / 2 + 1});
    refuses<ValueError>("add up to more than 63 bits", [&] { (void)cat({long_axis, long_axis}); });
    CHECK(values_of(tril(ints({1, 2, 3, 4}).reshape({2, 2}), highest)) ==
          std::vector<std::int64_t>{1, 2, 3, 4});
    CHECK(values_of(tril(ints({1, 2, 3, 4}).reshape({2, 2}), lowest)) == std::vector<std::int64_t>{0, 0, 0, 0});
}
