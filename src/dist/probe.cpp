#include "dist/probe.h"

#include <bit>
#include <cstring>

#include "dist/transport.h"
#include "weft/base/numbers.h"
#include "weft/core/grad.h"
#include "weft/core/raw.h"
#include "weft/nn/layers.h"
#include "weft/nn/transformer.h"
#include "weft/ops.h"

namespace weft::dist {

std::uint64_t checksum(const Tensor& x, std::uint64_t hash) {
    const Tensor dense = x.contiguous();
    std::string_view rest = raw_values(dense);
    while (!rest.empty()) {
        std::uint64_t word = 0;
        const std::size_t n = std::min(sizeof word, rest.size());
        std::memcpy(&word, rest.data(), n);
        hash = std::rotl((hash ^ word) * 0x100000001b3, 23);
        rest.remove_prefix(n);
    }
    return hash;
}

std::string arithmetic() {
    Rng rng(7);
    const nn::Sequential model{nn::Embedding(65, 96, rng),
                               nn::TransformerBlock(96, 3, rng, {.max_seq_len = 48}), nn::LayerNorm(96),
                               nn::Linear(96, 65, rng)};
    const Tensor ids = randint(0, 65, {4, 49}, rng);
    const Tensor loss = cross_entropy(model(ids.slice(1, 0, 48)), ids.slice(1, 1, 49));
    std::uint64_t hash = checksum(loss);
    for (const Tensor& g : grad({loss}, model.parameters())) hash = checksum(g, hash);
    return words("Weft ", WEFT_VERSION, ", compiler ", __VERSION__, ", rounding ", to_chars(hash, 16));
}

}  // namespace weft::dist
