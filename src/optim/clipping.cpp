// Passes over all values of a tensor, and gradient clipping.
#include "weft/optim/clipping.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <set>

#include "weft/core/dtype.h"
#include "weft/core/modes.h"
#include "weft/core/op.h"
#include "weft/optim/optimizer.h"

namespace weft::optim {

namespace {

// Eight partial sums, so no addition waits for the previous one.
template <class T>
double squares(const T* x, std::int64_t n, double scale) {
    std::array<double, 8> sums{};
    std::int64_t i = 0;
    for (; i + 8 <= n; i += 8)
        for (std::size_t lane = 0; lane < 8; ++lane) {
            const double value = scale * static_cast<double>(x[i + static_cast<std::int64_t>(lane)]);
            sums[lane] += value * value;
        }
    for (; i < n; ++i) {
        const double value = scale * static_cast<double>(x[i]);
        sums[0] += value * value;
    }
    double total = 0;
    for (const double sum : sums) total += sum;
    return total;
}

// NaN and infinities are the numbers whose exponent bits are all ones.
template <class T>
bool finite(const T* x, std::int64_t n) {
    using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
    constexpr Bits exponent = sizeof(T) == 4 ? Bits{0x7f800000u} : static_cast<Bits>(0x7ff0000000000000ull);
    Bits bad = 0;
    for (std::int64_t i = 0; i < n; ++i)
        bad |= (std::bit_cast<Bits>(x[i]) & exponent) == exponent ? Bits{1} : Bits{0};
    return bad == 0;
}

// f(pointer, n) of each block of x's values, in parallel.
template <class F>
auto of_blocks(const Tensor& x, const F& f) {
    const Tensor flat = x.detach().contiguous();
    const std::int64_t n = flat.numel();
    std::vector<double> results(static_cast<std::size_t>((n + block - 1) / block));
    parallel_for(n, block, [&](std::int64_t begin, std::int64_t end) {
        results[static_cast<std::size_t>(begin / block)] = visit_floating(
            flat.dtype(), [&]<class T>(T) -> double { return f(flat.data<T>() + begin, end - begin); });
    });
    return results;
}

}  // namespace

double sum_of_squares(const Tensor& x, double scale) {
    double total = 0;
    for (const double part :
         of_blocks(x, [=](auto values, std::int64_t n) { return squares(values, n, scale); }))
        total += part;
    return total;
}

double largest_of(const Tensor& x) {
    double largest = 0;
    for (const double part : of_blocks(x, [](auto values, std::int64_t n) {
             double most = 0;
             for (std::int64_t i = 0; i < n; ++i)
                 most = std::max(most, std::abs(static_cast<double>(values[i])));
             return most;
         }))
        largest = std::max(largest, part);
    return largest;
}

bool all_finite(const Tensor& x) {
    const auto parts =
        of_blocks(x, [](const auto* values, std::int64_t n) { return finite(values, n) ? 1.0 : 0.0; });
    return std::find(parts.begin(), parts.end(), 0.0) == parts.end();
}

double clip_grad_norm(const std::vector<Tensor>& parameters, double max_norm) {
    const Op here("clip_grad_norm");
    if (!(max_norm >= 0)) throw ValueError("clip_grad_norm: max_norm must be at least 0, not ", max_norm);
    std::vector<Tensor> gradients;
    std::set<const TensorImpl*> seen;
    for (const Tensor& parameter : parameters)
        if (seen.insert(&parameter.impl()).second && parameter.grad().defined())
            gradients.push_back(parameter.grad());

    const auto squares_of = [&](double scale) {
        double total = 0;
        for (const Tensor& gradient : gradients) total += sum_of_squares(gradient, scale);
        return total;
    };
    double unit = 1, squares = squares_of(1);
    if (!(squares > 1e-280 &&
          std::isfinite(squares))) {  // squares left the range: of the quotients by the largest
        double largest = 0;
        for (const Tensor& gradient : gradients) largest = std::max(largest, largest_of(gradient));
        if (largest > 1e-300 && std::isfinite(largest)) unit = largest, squares = squares_of(1 / unit);
    }
    const double root = std::sqrt(squares), norm = unit * root;
    const double factor = std::isfinite(norm) ? max_norm / (norm + 1e-6) : max_norm / unit / root;
    if (std::isfinite(squares) && factor < 1) {
        NoGrad off;
        for (Tensor& gradient : gradients) gradient.mul_(factor);
    }
    return norm;
}

double clip_grad_norm(const nn::Module& module, double max_norm) {
    return clip_grad_norm(module.parameters(), max_norm);
}

}  // namespace weft::optim
