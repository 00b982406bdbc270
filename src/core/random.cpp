#include "weft/core/random.h"

#include <cmath>
#include <numbers>

#include "weft/core/error.h"

namespace weft {

std::array<std::uint32_t, 4> philox(std::uint64_t key, std::uint64_t counter) {
    const auto word = [](std::uint64_t x) { return static_cast<std::uint32_t>(x); };
    std::uint32_t k0 = word(key), k1 = word(key >> 32);
    std::array<std::uint32_t, 4> c{word(counter), word(counter >> 32), 0, 0};
    for (int round = 0; round < 10; ++round, k0 += 0x9E3779B9, k1 += 0xBB67AE85) {
        const std::uint64_t p0 = std::uint64_t{0xD2511F53} * c[0], p1 = std::uint64_t{0xCD9E8D57} * c[2];
        c = {word(p1 >> 32) ^ c[1] ^ k0, word(p1), word(p0 >> 32) ^ c[3] ^ k1, word(p0)};
    }
    return c;
}

namespace {
double to_unit(std::uint32_t high, std::uint32_t low) {  // 53 bits in [0, 1)
    return static_cast<double>((static_cast<std::uint64_t>(high) << 32 | low) >> 11) * 0x1p-53;
}
}  // namespace

double uniform_at(std::uint64_t seed, std::uint64_t position) {
    const auto bits = philox(seed, position);
    return to_unit(bits[0], bits[1]);
}

double normal_at(std::uint64_t seed, std::uint64_t position) {
    const auto bits = philox(seed, position);
    const double u = 1 - to_unit(bits[0], bits[1]), v = to_unit(bits[2], bits[3]);  // u in (0, 1]
    return std::sqrt(-2 * std::log(u)) * std::cos(2 * std::numbers::pi * v);
}

std::int64_t randint_at(std::uint64_t seed, std::uint64_t position, std::int64_t low, std::int64_t high) {
    const auto bits = philox(seed, position);
    const std::uint64_t draw = static_cast<std::uint64_t>(bits[0]) << 32 | bits[1];
    const std::uint64_t range = static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low);
    __extension__ using Wide = unsigned __int128;  // ⌊draw · range / 2⁶⁴⌋, uniform to one part in 2⁶⁴ / range
    const auto step = static_cast<std::uint64_t>(static_cast<Wide>(draw) * range >> 64);
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(low) + step);
}

Rng Rng::skip_init(std::uint64_t seed) {
    Rng rng(seed);
    rng.zeros_ = true;
    return rng;
}

double Rng::uniform() { return uniform_at(state_.seed, state_.position++); }
double Rng::normal() { return normal_at(state_.seed, state_.position++); }

std::int64_t Rng::randint(std::int64_t low, std::int64_t high) {
    if (low >= high)
        throw ValueError("randint: the range [", low, ", ", high, ") is empty; low must be below high");
    return randint_at(state_.seed, state_.position++, low, high);
}

Rng& default_rng() {
    thread_local Rng rng;
    return rng;
}
void manual_seed(std::uint64_t seed) { default_rng() = Rng(seed); }

std::uint64_t Rng::reserve(std::uint64_t count) {
    const std::uint64_t first = state_.position;
    state_.position += count;
    return first;
}

std::int64_t Rng::categorical(const std::vector<double>& weights) {
    double total = 0;
    for (double w : weights) {
        if (!(w >= 0) || std::isinf(w))
            throw ValueError("categorical: a weight is ", w, "; use finite weights of 0 or more");
        total += w;
    }
    if (!(total > 0)) throw ValueError("categorical: no weight is above 0; give at least one that is");
    const double scale = std::isinf(total) ? 0x1p-64 : 1;  // the proportions stay the same
    total = 0;
    for (double w : weights) total += scale * w;
    double remaining = uniform() * total;
    std::int64_t last = 0;
    for (std::size_t i = 0; i < weights.size(); ++i) {
        if (weights[i] == 0) continue;
        last = static_cast<std::int64_t>(i);
        if (remaining < scale * weights[i]) break;
        remaining -= scale * weights[i];
    }
    return last;
}

}  // namespace weft
