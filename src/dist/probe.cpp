#include "dist/probe.h"

#include <bit>
#include <cstdio>
#include <cstring>

#include "dist/transport.h"
#include "models/io/raw.h"
#include "weft/core/ops.h"
#include "weft/models/gpt.h"
#include "weft/train/checkpoint.h"

namespace weft::dist {

std::uint64_t checksum(const Tensor& x, std::uint64_t hash) {
    const Tensor dense = x.contiguous();
    std::string_view rest = io::raw_values(dense);
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
    const nn::GPT model({.vocab_size = 65, .block_size = 48, .num_layers = 1, .num_heads = 3, .d_model = 96},
                        rng);
    const Tensor ids = randint(0, 65, {4, 49}, rng);
    const Tensor loss = cross_entropy(model(ids.slice(1, 0, 48)), ids.slice(1, 1, 49));
    std::uint64_t hash = checksum(loss);
    for (const Tensor& g : grad({loss}, model.parameters())) hash = checksum(g, hash);
    return words("Weft ", WEFT_VERSION, ", arithmetic ", training::arithmetic_version, ", compiler ",
                 __VERSION__, ", rounding ", text::chars(hash, 16));
}

}  // namespace weft::dist
