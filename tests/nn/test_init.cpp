// nn::init: bounds by formula, moments within their error, and orthogonality.
#include <cmath>

#include "refusal.h"
#include "weft/weft.h"

using namespace weft;
using nn::init::FanMode;
using nn::init::Nonlinearity;

namespace {

double largest(const Tensor& x) { return max(abs(x.detach())).item(); }

// n numbers have these moments, if each is within five of its standard errors. kurtosis: 9/5 of uniform
// numbers, 3 of normal ones.
void check_moments(const Tensor& x, double mean_, double deviation, double kurtosis) {
    const Tensor v = x.detach().to(float64);
    const double n = static_cast<double>(v.numel());
    CHECK(std::abs(mean(v).item() - mean_) < 5 * deviation / std::sqrt(n));
    CHECK(std::abs(var(v).item() / (deviation * deviation) - 1) < 5 * std::sqrt((kurtosis - 1) / n));
    CHECK(std::abs(mean(pow((v - mean_) / deviation, 4)).item() - kurtosis) < 50 / std::sqrt(n));
}

void check_uniform(const Tensor& x, double bound) {
    check_moments(x, 0, bound / std::sqrt(3), 1.8);
    CHECK(largest(x) <= bound * (1 + 1e-6));
    CHECK(largest(x) > bound * 0.999);
}

// Whether the rows of x as a matrix, or its columns if there are more rows, have length `gain` and are
// orthogonal.
double far_from_orthogonal(const Tensor& x, double gain) {
    const Tensor m = x.detach().to(float64).reshape({x.size(0), -1});  // (r, c)
    const Tensor gram = m.size(0) <= m.size(1) ? matmul(m, m.T()) : matmul(m.T(), m);
    return largest(gram - gain * gain * eye(gram.size(0), float64));
}

}  // namespace

TEST_CASE("calculate_gain gives PyTorch's gains", "[nn]") {
    const std::pair<Nonlinearity, double> gains[] = {{Nonlinearity::linear, 1},
                                                     {Nonlinearity::sigmoid, 1},
                                                     {Nonlinearity::tanh, 1.6666666666666667},
                                                     {Nonlinearity::relu, 1.4142135623730951},
                                                     {Nonlinearity::leaky_relu, 1.4141428569978354},
                                                     {Nonlinearity::selu, 0.75}};
    for (const auto& [nonlinearity, gain] : gains)
        CHECK(nn::init::calculate_gain(nonlinearity) == Approx(gain).epsilon(1e-15));
    CHECK(nn::init::calculate_gain(Nonlinearity::leaky_relu, 0.5) == Approx(1.2649110640673518).epsilon(1e-15));
}

TEST_CASE("uniform initial values fill their bounds, and normal ones have their deviation", "[nn]") {
    using namespace nn::init;
    Rng rng(1);
    for (const DType dtype : {float32, float64}) {
        const Tensor w = zeros({200, 300}, dtype), kernel = zeros({50, 20, 3, 7}, dtype);
        check_uniform(uniform_(w, -2, 2, rng), 2);
        check_moments(normal_(w, 3, 0.5, rng), 3, 0.5, 3);
        check_uniform(xavier_uniform_(w, 1, rng), std::sqrt(6.0 / 500));
        check_uniform(xavier_uniform_(kernel, 2, rng), 2 * std::sqrt(6.0 / (70 * 21)));
        check_moments(xavier_normal_(w, 3, rng), 0, 3 * std::sqrt(2.0 / 500), 3);
        check_uniform(kaiming_uniform_(w, {}, rng), std::sqrt(6.0 / 300));
        check_uniform(kaiming_uniform_(w, {.a = 2, .mode = FanMode::fan_out}, rng), std::sqrt(6.0 / 5 / 200));
        check_uniform(kaiming_uniform_(kernel, {.nonlinearity = Nonlinearity::tanh}, rng),
                      5 / std::sqrt(3.0 * 20 * 21));
        check_moments(kaiming_normal_(w, {.nonlinearity = Nonlinearity::relu}, rng), 0, std::sqrt(2.0 / 300),
                      3);
        check_moments(
            kaiming_normal_(kernel, {.mode = FanMode::fan_out, .nonlinearity = Nonlinearity::linear}, rng), 0,
            std::sqrt(1.0 / (50 * 21)), 3);
    }
}

TEST_CASE("truncated normal numbers stay inside and have the moments of the formula", "[nn]") {
    Rng rng(1);
    const Tensor w = nn::init::trunc_normal_(zeros({60000}, float64), 1, 0.5, 0.5, 2, rng);
    CHECK(min(w).item() >= 0.5);
    CHECK(min(w).item() < 0.501);
    CHECK(max(w).item() <= 2);
    CHECK(max(w).item() > 1.99);
    // From −1 to 2 deviations: φ(−1) = 0.241971, φ(2) = 0.053991, Φ(2) − Φ(−1) = 0.818595.
    const double m = (0.24197072451914337 - 0.05399096651318806) / 0.8185946141203637;
    const double v = 1 + (-0.24197072451914337 - 2 * 0.05399096651318806) / 0.8185946141203637 - m * m;
    CHECK(mean(w).item() == Approx(1 + 0.5 * m).margin(5 * 0.5 * std::sqrt(v / 60000)));
    CHECK(var(w).item() == Approx(0.25 * v).epsilon(0.03));
}

TEST_CASE("orthogonal initial values are orthogonal, at every shape", "[nn]") {
    Rng rng(1);
    for (const Shape& shape : {Shape{1, 1}, Shape{1, 7}, Shape{40, 40}, Shape{33, 70}, Shape{70, 33},
                               Shape{200, 200}, Shape{8, 2, 3, 3}})
        for (const double gain : {1.0, 2.5}) {
            INFO(shape.str() << " times " << gain);
            CHECK(far_from_orthogonal(nn::init::orthogonal_(zeros(shape, float64), gain, rng), gain) < 1e-12);
            CHECK(far_from_orthogonal(nn::init::orthogonal_(zeros(shape), gain, rng), gain) < 1e-5);
        }
}

TEST_CASE("each orthogonal matrix is as likely", "[nn]") {
    Rng rng(1);
    const int n = 4000;
    double trace = 0, squares = 0, positive = 0, first = 0;  // of n matrices (2, 2)
    for (int i = 0; i < n; ++i) {
        const Tensor q = nn::init::orthogonal_(zeros({2, 2}, float64), 1, rng);
        const double t = q.at(0, 0) + q.at(1, 1), a = q.at(0, 0);
        trace += t, squares += t * t, first += a * a;
        positive += q.at(0, 0) * q.at(1, 1) - q.at(0, 1) * q.at(1, 0) > 0;
    }
    CHECK(std::abs(trace / n) < 5 / std::sqrt(n));           // the mean trace is 0
    CHECK(std::abs(squares / n - 1) < 10 / std::sqrt(n));    // its mean square 1
    CHECK(std::abs(first / n - 0.5) < 5 / std::sqrt(n));     // and a column's is 1
    CHECK(std::abs(positive / n - 0.5) < 5 / std::sqrt(n));  // rotations and reflections
}

TEST_CASE(
    "initial values are drawn in place, from the default generator without another, and outside the graph",
    "[nn]") {
    using namespace nn::init;
    nn::Linear layer(5, 4);
    const Tensor weight = layer.weight;
    manual_seed(7);
    const Tensor same = kaiming_uniform_(layer.weight);
    CHECK(same.shares_storage(weight));
    CHECK(weight.is_leaf());
    CHECK(weight.requires_grad());
    const std::vector<float> drawn = weight.to_vector<float>();
    Rng rng(7);
    kaiming_uniform_(layer.weight, {}, rng);
    CHECK(weight.to_vector<float>() == drawn);
    CHECK(zeros_(layer.bias).to_vector<float>() == std::vector<float>(4, 0));
    CHECK(ones_(layer.bias).to_vector<float>() == std::vector<float>(4, 1));
    CHECK(constant_(layer.bias, 0.25).to_vector<float>() == std::vector<float>(4, 0.25f));
    CHECK(trunc_normal_(layer.bias, 0.5, 0, -2, 2, rng).to_vector<float>() == std::vector<float>(4, 0.5f));
    const Tensor columns = zeros({6, 4});
    orthogonal_(columns.T(), 1, rng);  // through a view
    CHECK(far_from_orthogonal(columns, 1) < 1e-5);

    Rng none = Rng::skip_init();
    CHECK(largest(normal_(zeros({2, 2}), 5, 1, none)) == 0);
    CHECK(xavier_normal_(zeros({0, 3})).numel() == 0);
    CHECK(orthogonal_(zeros({0, 3})).numel() == 0);
}
