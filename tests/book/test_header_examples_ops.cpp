// The examples in the headers of weft/ops that came later, word for word, with what they say in comments
// checked.
#include <cmath>

#include "catch.h"
#include "weft/core.h"

using namespace weft;

namespace {

using Values = std::vector<double>;

Values values_of(const Tensor& x) { return x.to(float64).to_vector<double>(); }

}  // namespace

TEST_CASE("example: Reduction", "[header-examples]") {
    const Tensor x = tensor({{1.0, 2}, {3, 4}}), target = zeros({2, 2});
    const Tensor mean = mse_loss(x, target);                           // 7.5
    const Tensor total = mse_loss(x, target, Reduction::sum);          // 30
    const Tensor each = mse_loss(x, target, Reduction::none);          // [[1, 4], [9, 16]]
    const Tensor per_row = mse_loss(x, target, Reduction::batchmean);  // 15
    CHECK(mean.item() == 7.5);
    CHECK(total.item() == 30);
    CHECK(each.shape() == Shape{2, 2});
    CHECK(values_of(each) == Values{1, 4, 9, 16});
    CHECK(per_row.item() == 15);
}

TEST_CASE("example: kl_div", "[header-examples]") {
    const Tensor log_p = log_softmax(zeros({1, 4}), -1), target = tensor({{0.5, 0.5, 0, 0}});
    const Tensor divergence = kl_div(log_p, target, Reduction::batchmean);  // ln 2
    CHECK(divergence.item() == Approx(std::log(2.0)));
}

TEST_CASE("example: unique", "[header-examples]") {
    const UniqueResult words = unique(tensor({{3, 1}, {3, 3}}));  // values [1, 3], counts [1, 3]
    const Tensor again = words.values[words.inverse];             // [[3, 1], [3, 3]]
    CHECK(values_of(words.values) == Values{1, 3});
    CHECK(values_of(words.counts) == Values{1, 3});
    CHECK(again.shape() == Shape{2, 2});
    CHECK(values_of(again) == Values{3, 1, 3, 3});
}

TEST_CASE("example: scatter", "[header-examples]") {
    const Tensor y = scatter(zeros({2, 3}), 1, tensor({{2}, {0}}), 1);  // [[0, 0, 1], [1, 0, 0]]
    CHECK(y.shape() == Shape{2, 3});
    CHECK(values_of(y) == Values{0, 0, 1, 1, 0, 0});
}

TEST_CASE("example: repeat_interleave", "[header-examples]") {
    const Tensor twice = repeat_interleave(tensor({1.0, 2}), 2);                     // [1, 1, 2, 2]
    const Tensor some = repeat_interleave(tensor({1.0, 2}), tensor({3, 1}, int64));  // [1, 1, 1, 2]
    CHECK(values_of(twice) == Values{1, 1, 2, 2});
    CHECK(values_of(some) == Values{1, 1, 1, 2});
}

TEST_CASE("example: diagonal", "[header-examples]") {
    const Tensor y = diagonal(arange(0, 12).reshape({2, 2, 3}), 0, -2, -1);  // (2, 2): [[0, 4], [6, 10]]
    CHECK(y.shape() == Shape{2, 2});
    CHECK(values_of(y) == Values{0, 4, 6, 10});
}

TEST_CASE("example: tensordot", "[header-examples]") {
    const Tensor a = ones({2, 3, 4}), b = ones({4, 3, 5});
    const Tensor y = tensordot(a, b, {{1, 2}, {1, 0}});  // (2, 5), of 12
    CHECK(y.shape() == Shape{2, 5});
    CHECK(all(y == 12));
}

TEST_CASE("example: logaddexp", "[header-examples]") {
    const Tensor y = logaddexp(tensor({1000.0}), tensor({1000.0}));  // 1000 + ln 2
    CHECK(y.item() == Approx(1000 + std::log(2.0)));
}

TEST_CASE("example of Mask::window", "[header-examples]") {
    const Mask last_two = Mask::causal() | Mask::window(2);
    const Tensor blocked = last_two.materialize(1, 1, 3, 3)[0][0];  // [[0, 1, 1], [0, 0, 1], [1, 0, 0]]
    CHECK(all(blocked == (tensor({{0, 1, 1}, {0, 0, 1}, {1, 0, 0}}) == 1)));
}
