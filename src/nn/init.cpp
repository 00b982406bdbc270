#include "weft/nn/init.h"

#include <cmath>
#include <functional>

#include "weft/core/modes.h"
#include "weft/ops.h"

namespace weft::nn {

Tensor uniform(const Shape& shape, double low, double high, Rng& rng) {
    if (rng.skips_init()) return zeros(shape);
    return rand(shape, rng) * (high - low) + low;
}

Tensor normal(const Shape& shape, double mean, double deviation, Rng& rng) {
    if (rng.skips_init()) return zeros(shape);
    Tensor x = randn(shape, rng);  // scaled in place: an embedding may be the largest tensor of a model
    x.mul_(deviation);
    return mean == 0 ? x : x + mean;
}

namespace init {

namespace {

const Tensor& filled(const char* function, const Tensor& x, const Rng& rng,
                     const std::function<Tensor()>& values) {
    if (!takes_gradient(x.dtype()))
        throw DTypeError(function, ": x is ", name(x.dtype()), "; fill a float32 or float64 tensor");
    if (rng.skips_init() || x.numel() == 0) return x;
    const NoGrad off;
    Tensor(x).copy_(values());
    return x;
}

void check_range(const char* function, double low, double high) {
    if (!std::isfinite(low) || !std::isfinite(high) || low > high)
        throw ValueError(function, ": low ", low, " and high ", high, " must be finite, and low at most high");
}

void check_size(const char* function, const char* what, double value) {
    if (!(value >= 0) || !std::isfinite(value))
        throw ValueError(function, ": ", what, " must be finite and at least 0, not ", value);
}

struct Fans {
    double in, out;
};

Fans fans_of(const char* function, const Tensor& x) {
    if (x.rank() < 2)
        throw ShapeError(function, ": x ", x.shape(),
                         " has no inputs and outputs; give a weight (out, in, ...), and fill vectors with "
                         "uniform_, normal_ or zeros_");
    const double each = x.numel() == 0 ? 0 : static_cast<double>(x.numel() / (x.size(0) * x.size(1)));
    return {static_cast<double>(x.size(1)) * each, static_cast<double>(x.size(0)) * each};
}

const Tensor& filled_uniform(const char* function, const Tensor& x, double low, double high, Rng& rng) {
    return filled(function, x, rng, [&] { return rand(x.shape(), rng, x.dtype()) * (high - low) + low; });
}

const Tensor& filled_normal(const char* function, const Tensor& x, double mean, double std, Rng& rng) {
    return filled(function, x, rng, [&] { return randn(x.shape(), rng, x.dtype()) * std + mean; });
}

double xavier_deviation(const char* function, const Tensor& x, double gain) {
    check_size(function, "gain", gain);
    const Fans fans = fans_of(function, x);
    return gain * std::sqrt(2 / (fans.in + fans.out));
}

double kaiming_deviation(const char* function, const Tensor& x, const KaimingOptions& options) {
    if (!std::isfinite(options.a)) throw ValueError(function, ": a must be finite, not ", options.a);
    const Fans fans = fans_of(function, x);
    return calculate_gain(options.nonlinearity, options.a) /
           std::sqrt(options.mode == FanMode::fan_in ? fans.in : fans.out);
}

// rows (r, n) minus their parts along `others` (k, n), whose rows are orthonormal.
void subtract_parts(Tensor rows, const Tensor& others) {
    if (others.size(0) > 0) rows.add_(matmul(matmul(rows, others.T()), others), -1);
}

// Makes the rows of q (k, n), k ≤ n, orthonormal: each minus its parts along those before it, divided by its
// length (Gram–Schmidt). In blocks, because products of large matrices are fast, and twice, because rounding
// leaves parts where little is left of a row.
void orthonormalise(const Tensor& q) {
    const std::int64_t block = 32;
    for (std::int64_t begin = 0; begin < q.size(0); begin += block) {
        const std::int64_t end = std::min(begin + block, q.size(0));
        for (int pass = 0; pass < 2; ++pass) {
            subtract_parts(q.slice(0, begin, end), q.slice(0, 0, begin));
            for (std::int64_t i = begin; i < end; ++i) {
                Tensor row = q.slice(0, i, i + 1);  // (1, n)
                subtract_parts(row, q.slice(0, begin, i));
                row.mul_(1 / std::sqrt(sum(row * row).item()));
            }
        }
    }
}

}  // namespace

const Tensor& constant_(const Tensor& x, double value) {
    const NoGrad off;
    Tensor(x).fill_(value);
    return x;
}

const Tensor& uniform_(const Tensor& x, double low, double high, Rng& rng) {
    check_range("uniform_", low, high);
    return filled_uniform("uniform_", x, low, high, rng);
}

const Tensor& normal_(const Tensor& x, double mean, double std, Rng& rng) {
    if (!std::isfinite(mean)) throw ValueError("normal_: mean must be finite, not ", mean);
    check_size("normal_", "std", std);
    return filled_normal("normal_", x, mean, std, rng);
}

const Tensor& trunc_normal_(const Tensor& x, double mean, double std, double low, double high, Rng& rng) {
    check_range("trunc_normal_", low, high);
    check_size("trunc_normal_", "std", std);
    const auto below = [&](double bound) { return std::erfc((mean - bound) / (std * std::sqrt(2.0))) / 2; };
    if (!(below(high) - below(low) >= 0.01))
        throw ValueError("trunc_normal_: fewer than one in a hundred numbers of mean ", mean, " and std ", std,
                         " are in [", low, ", ", high, "]; move the bounds towards the mean");
    return filled("trunc_normal_", x, rng, [&] {
        std::vector<double> values(static_cast<std::size_t>(x.numel()));
        for (double& value : values) {
            value = mean + std * rng.normal();
            while (value < low || value > high) value = mean + std * rng.normal();
        }
        return from_vector(values, x.shape()).to(x.dtype());
    });
}

double calculate_gain(Nonlinearity nonlinearity, double a) {
    switch (nonlinearity) {
        case Nonlinearity::tanh:
            return 5.0 / 3;
        case Nonlinearity::relu:
            return std::sqrt(2.0);
        case Nonlinearity::leaky_relu:
            return std::sqrt(2 / (1 + a * a));
        case Nonlinearity::selu:
            return 0.75;
        default:
            return 1;
    }
}

const Tensor& xavier_uniform_(const Tensor& x, double gain, Rng& rng) {
    const double bound = std::sqrt(3.0) * xavier_deviation("xavier_uniform_", x, gain);
    return filled_uniform("xavier_uniform_", x, -bound, bound, rng);
}

const Tensor& xavier_normal_(const Tensor& x, double gain, Rng& rng) {
    return filled_normal("xavier_normal_", x, 0, xavier_deviation("xavier_normal_", x, gain), rng);
}

const Tensor& kaiming_uniform_(const Tensor& x, const KaimingOptions& options, Rng& rng) {
    const double bound = std::sqrt(3.0) * kaiming_deviation("kaiming_uniform_", x, options);
    return filled_uniform("kaiming_uniform_", x, -bound, bound, rng);
}

const Tensor& kaiming_normal_(const Tensor& x, const KaimingOptions& options, Rng& rng) {
    return filled_normal("kaiming_normal_", x, 0, kaiming_deviation("kaiming_normal_", x, options), rng);
}

const Tensor& orthogonal_(const Tensor& x, double gain, Rng& rng) {
    check_size("orthogonal_", "gain", gain);
    fans_of("orthogonal_", x);  // refuses what is no matrix
    return filled("orthogonal_", x, rng, [&] {
        const std::int64_t rows = x.size(0), cols = x.numel() / rows;
        const Tensor q = randn({std::min(rows, cols), std::max(rows, cols)}, rng, float64);
        orthonormalise(q);
        return (gain * (rows <= cols ? q : q.T())).reshape(x.shape()).to(x.dtype());
    });
}

}  // namespace init

}  // namespace weft::nn
