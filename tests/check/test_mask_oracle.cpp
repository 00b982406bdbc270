// The mask oracle against the masking table of the sources, and on rows that do see something.
#include "refusal.h"
#include "source.h"
#include "weft/check/attention.h"

using namespace source;
using check::MaskRule;

namespace {

const std::vector<MaskRule> rules{MaskRule::add, MaskRule::replace, MaskRule::plain, MaskRule::safe};

Tensor table_scores() { return tensor({2.0, 1.5, 0.8, 0.3}, float64); }

Mask everything(std::int64_t T = 1, std::int64_t S = 4) { return Mask::blocked(full({T, S}, 1, boolean)); }

}  // namespace

TEST_CASE("S4.05 the masking table: what each rule makes of a fully masked row, to the printed digits",
          "[S4.05][S3.15][masking table][source]") {
    const auto in_double = check::mask_oracle(table_scores(), everything(), float64);
    const auto in_float = check::mask_oracle(table_scores(), everything(), float32);
    CHECK(printed(in_double[MaskRule::add].weights[0], 3) == "0.478 0.290 0.144 0.087");
    CHECK(printed(in_float[MaskRule::add].weights[0], 2) == "0.25 0.25 0.25 0.25");
    for (const auto* table : {&in_double, &in_float}) {
        CHECK(printed((*table)[MaskRule::replace].weights[0], 2) == "0.25 0.25 0.25 0.25");
        for (const double weight : (*table)[MaskRule::plain].weights.to(float64).to_vector<double>())
            CHECK(std::isnan(weight));
        const auto& safe = (*table)[MaskRule::safe];
        for (const Tensor& zero : {safe.weights, safe.scores_gradient, safe.values_gradient})
            CHECK(max(abs(zero)).item() == 0);
        CHECK(safe.finite());
        CHECK_FALSE((*table)[MaskRule::plain].finite());
    }
    CHECK(in_double[MaskRule::add].verdicts[0] == "the mask has no effect");
    CHECK(in_float[MaskRule::add].verdicts[0] == "blocked keys get up to 0.2500");
    CHECK(in_double[MaskRule::replace].verdicts[0] == "blocked keys get up to 0.2500");
    CHECK(in_double[MaskRule::plain].verdicts[0] == "NaN");
    CHECK(in_double[MaskRule::safe].verdicts[0] == "sees nothing, gives 0");
}

TEST_CASE("the oracle's gradients of a fully masked row are those of the rule", "[mask][oracle]") {
    const auto table = check::mask_oracle(table_scores(), everything(), float64);
    // add: the softmax's own gradient, w_j (j − Σ w·j), as if nothing were masked
    const Tensor w = softmax(table_scores(), 0), j = arange(0, 4, 1, float64);
    CHECK(difference(table[MaskRule::add].scores_gradient[0], w * (j - sum(w * j))) <
          1e-6);  // −1e9 costs 7 digits
    CHECK(difference(table[MaskRule::add].values_gradient, w) < 1e-6);
    // replace, masked_fill: no score is read, so none has a gradient; but the values do, or are poisoned
    CHECK(max(abs(table[MaskRule::replace].scores_gradient)).item() == 0);
    CHECK(printed(table[MaskRule::replace].values_gradient, 2) == "0.25 0.25 0.25 0.25");
    CHECK(max(abs(table[MaskRule::plain].scores_gradient)).item() == 0);
    CHECK(has_nan(table[MaskRule::plain].values_gradient));
}

TEST_CASE("all masking rules agree where no row is fully masked, and blocked keys get exactly 0",
          "[mask][oracle]") {
    for (const DType dtype : {float32, float64}) {
        const auto table = check::mask_oracle(random({5, 5}, 4), Mask::causal(), dtype);
        const auto& safe = table[MaskRule::safe];
        for (const MaskRule rule : rules) {
            CAPTURE(name(rule));
            const double close = dtype == float32 ? 1e-6 : 1e-14;
            CHECK(difference(table[rule].weights, safe.weights) < close);
            CHECK(difference(table[rule].scores_gradient, safe.scores_gradient) < 10 * close);
            CHECK(max(abs(triu(table[rule].weights, 1))).item() == 0);
            CHECK(table[rule].finite());
            CHECK(table[rule].verdicts[0] == "blocked keys get 0");
            CHECK(table[rule].verdicts[4] == "nothing is blocked");
            CHECK(table[rule].weights.dtype() == dtype);
        }
    }
}

TEST_CASE("one fully masked row among others poisons every value's gradient under plain softmax alone",
          "[mask][oracle]") {
    const Mask mask = Mask::causal() | Mask::blocked(tensor({{0, 0, 0}, {1, 1, 1}, {0, 0, 0}}, boolean));
    const auto table = check::mask_oracle(random({3, 3}), mask, float64);
    for (const double g : table[MaskRule::plain].values_gradient.to_vector<double>()) CHECK(std::isnan(g));
    CHECK(table[MaskRule::plain].verdicts ==
          std::vector<std::string>{"blocked keys get 0", "NaN", "nothing is blocked"});
    CHECK(table[MaskRule::safe].verdicts[1] == "sees nothing, gives 0");
    CHECK(table[MaskRule::safe].finite());
    CHECK(max(abs(table[MaskRule::safe].weights[1])).item() == 0);
}

TEST_CASE("adding −1e9 does not block a key whose score is larger still; replacing does", "[mask][oracle]") {
    const auto table =
        check::mask_oracle(tensor({1, 3e9}, float64), Mask::blocked(tensor({{0, 1}}, boolean)), float64);
    CHECK(table[MaskRule::add].weights.to_vector<double>() == std::vector<double>{0, 1});
    CHECK(table[MaskRule::replace].weights.to_vector<double>() == std::vector<double>{1, 0});
    CHECK(table[MaskRule::safe].weights.to_vector<double>() == std::vector<double>{1, 0});
}

TEST_CASE("the oracle prints a line per rule and query, and one for the values' gradient", "[mask][oracle]") {
    const std::string text = check::mask_oracle(table_scores(), everything(), float64).str();
    CHECK(text ==
          "rule                 type     query  weights                          scores' gradient\n"
          "add -1e9             float64  0       0.4784  0.2901  0.1441  0.0874  -0.4021  0.0463  0.1671  "
          "0.1887  "
          "the mask has no effect\n"
          "                                      0.4784  0.2901  0.1441  0.0874  is the values' gradient\n"
          "replace by -1e9      float64  0       0.2500  0.2500  0.2500  0.2500   0.0000  0.0000  0.0000  "
          "0.0000  "
          "blocked keys get up to 0.2500\n"
          "                                      0.2500  0.2500  0.2500  0.2500  is the values' gradient\n"
          "-inf, plain softmax  float64  0          nan     nan     nan     nan   0.0000  0.0000  0.0000  "
          "0.0000  NaN\n"
          "                                         nan     nan     nan     nan  is the values' gradient\n"
          "-inf, safe softmax   float64  0       0.0000  0.0000  0.0000  0.0000   0.0000  0.0000  0.0000  "
          "0.0000  "
          "sees nothing, gives 0\n"
          "                                      0.0000  0.0000  0.0000  0.0000  is the values' gradient\n");
}

TEST_CASE("the oracle refuses scores of another rank, masks that do not fit and types that do not float",
          "[mask][oracle]") {
    for (const Shape& wrong : {Shape{}, Shape{1, 2, 3}})
        refuses<ShapeError>("mask_oracle: takes scores (S,) or (T, S), not " + wrong.str(),
                            [&] { check::mask_oracle(zeros(wrong), {}); });
    refuses<ShapeError>("(1, 4)", [] { check::mask_oracle(zeros({3}), everything(1, 4)); });
    refuses<DTypeError>("int64", [] { check::mask_oracle(zeros({3}), {}, int64); });
    CHECK_THROWS_AS(check::mask_oracle(zeros({3}, int64), {}), DTypeError);
}
