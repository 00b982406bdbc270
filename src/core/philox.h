// Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011, figure 2 and table 2).
#pragma once

#include <cstdint>

namespace weft {

// out_{4i + w} = word w of philox(key, counter + i) for i < lanes. The words are kept in 64 bits, the size of a
// product, so that compilers find the vectors.
template <int lanes>
void philox_lanes(std::uint64_t key, std::uint64_t counter, std::uint32_t* out) {
    constexpr std::uint64_t low = 0xFFFFFFFF, multiplier0 = 0xD2511F53, multiplier1 = 0xCD9E8D57;
    constexpr std::uint32_t weyl0 = 0x9E3779B9, weyl1 = 0xBB67AE85;
    std::uint64_t c0[lanes], c1[lanes], c2[lanes] = {}, c3[lanes] = {};
    for (int i = 0; i < lanes; ++i) {
        const std::uint64_t c = counter + static_cast<std::uint64_t>(i);
        c0[i] = c & low;
        c1[i] = c >> 32;
    }
    std::uint32_t k0 = static_cast<std::uint32_t>(key), k1 = static_cast<std::uint32_t>(key >> 32);
    for (int round = 0; round < 10; ++round, k0 += weyl0, k1 += weyl1)
        for (int i = 0; i < lanes; ++i) {
            const std::uint64_t p0 = multiplier0 * (c0[i] & low), p1 = multiplier1 * (c2[i] & low);
            c0[i] = (p1 >> 32) ^ c1[i] ^ k0;
            c1[i] = p1 & low;
            c2[i] = (p0 >> 32) ^ c3[i] ^ k1;
            c3[i] = p0 & low;
        }
    for (int i = 0; i < lanes; ++i) {
        out[4 * i] = static_cast<std::uint32_t>(c0[i]);
        out[4 * i + 1] = static_cast<std::uint32_t>(c1[i]);
        out[4 * i + 2] = static_cast<std::uint32_t>(c2[i]);
        out[4 * i + 3] = static_cast<std::uint32_t>(c3[i]);
    }
}

}  // namespace weft
