// Rotary positions. T tokens, d width of a head.
#include "weft/nn/rotary.h"

#include <cmath>

#include "weft/ops.h"

namespace weft::nn {

Tensor rotary(const Tensor& x, std::int64_t first_position, double base) {
    const int rank = x.rank();
    if (rank < 2 || rank >= Shape::max_rank || x.size(-1) < 2 || x.size(-1) % 2 != 0)
        throw ShapeError("rotary: takes (…, T, d) with d even, not ", x.shape());
    if (!takes_gradient(x.dtype())) throw DTypeError("rotary: takes float32 or float64, not ", name(x.dtype()));
    if (first_position < 0) throw ValueError("rotary: first_position must be at least 0, not ", first_position);
    if (!(base > 0) || !std::isfinite(base))
        throw ValueError("rotary: the base must be finite and above 0, not ", base);
    const std::int64_t T = x.size(-2), d = x.size(-1);

    // Angles in float64: float32 would lose the fractions of large angles.
    std::vector<double> rates;  // base^(−2i/d)
    for (std::int64_t i = 0; i < d; i += 2)
        rates.push_back(std::pow(base, -static_cast<double>(i) / static_cast<double>(d)));
    const Tensor positions = (arange(T) + static_cast<double>(first_position)).to(float64);  // (T,)
    const Tensor angle = positions.unsqueeze(1) * from_vector(rates, {d / 2});               // (T, d/2)
    const Tensor c = cos(angle).to(x.dtype()), s = sin(angle).to(x.dtype());                 // (T, d/2)

    Shape in_pairs = x.shape();
    in_pairs[rank - 1] = d / 2;
    in_pairs.push_back(2);
    const Tensor pairs = x.reshape(in_pairs);                                       // (…, T, d/2, 2)
    const Tensor even = pairs.select(-1, 0), odd = pairs.select(-1, 1);             // (…, T, d/2)
    return stack({even * c - odd * s, even * s + odd * c}, -1).reshape(x.shape());  // (…, T, d)
}

}  // namespace weft::nn
