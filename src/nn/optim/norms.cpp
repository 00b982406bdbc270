#include "norms.h"

#include <array>
#include <bit>
#include <cstdint>
#include <type_traits>

namespace weft::optim {

namespace {

// Eight partial sums, so no addition waits for the previous one.
template <class T>
double squares(const T* x, std::int64_t n) {
    std::array<double, 8> sums{};
    std::int64_t i = 0;
    for (; i + 8 <= n; i += 8)
        for (std::size_t lane = 0; lane < 8; ++lane) {
            const double value = static_cast<double>(x[i + static_cast<std::int64_t>(lane)]);
            sums[lane] += value * value;
        }
    for (; i < n; ++i) sums[0] += static_cast<double>(x[i]) * static_cast<double>(x[i]);
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

}  // namespace

double sum_of_squares(const Tensor& x) {
    const Tensor flat = x.detach().contiguous();
    if (flat.dtype() == float32) return squares(flat.data<float>(), flat.numel());
    return squares(flat.data<double>(), flat.numel());
}

bool all_finite(const Tensor& x) {
    const Tensor flat = x.detach().contiguous();
    if (flat.dtype() == float32) return finite(flat.data<float>(), flat.numel());
    return finite(flat.data<double>(), flat.numel());
}

}  // namespace weft::optim
