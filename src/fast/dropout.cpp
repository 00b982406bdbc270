#include <algorithm>
#include <cmath>

#include "core/philox.h"
#include "fast/dropout.h"
#include "fast/sizes.h"
#include "weft/core/random.h"

namespace weft::kernels::fast {

template <class T>
void dropout_factors(const Dropout& dropout, std::int64_t e, std::int64_t n, T* factors) {
    const auto limit = static_cast<std::uint32_t>(dropout.p * 0x1p32);
    const T scale = static_cast<T>(1 / (1 - dropout.p));
    std::uint64_t counter = dropout.first + static_cast<std::uint64_t>(e) / 4;
    constexpr int lanes = 32;
    std::uint32_t words[4 * lanes];
    for (std::int64_t skipped = e % 4; n > 0; skipped = 0, counter += lanes) {
        philox_lanes<lanes>(dropout.seed, counter, words);
        const std::int64_t here = std::min(n, 4 * lanes - skipped);
        for (std::int64_t i = 0; i < here; ++i) factors[i] = words[skipped + i] >= limit ? scale : T(0);
        factors += here;
        n -= here;
    }
}

template void dropout_factors(const Dropout&, std::int64_t, std::int64_t, float*);
template void dropout_factors(const Dropout&, std::int64_t, std::int64_t, double*);

void fill_dropout(const Array& out, const Dropout& dropout) {
    visit_floating(out.dtype, [&]<class T>(T) {
        parallel_blocks(out.numel(), parallel_grain, [&](std::int64_t begin, std::int64_t end) {
            dropout_factors(dropout, begin, end - begin, out.data<T>() + begin);
        });
    });
}

}  // namespace weft::kernels::fast
