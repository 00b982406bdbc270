// The weights of the small models whose keys llama.cpp and transformers were given: `values` of
// tests/golden/make_gguf_keys_golden.py and of make_config_keys_golden.py.
#pragma once

#include <cmath>
#include <string>
#include <vector>

#include "catch.h"
#include "weft/core.h"

inline weft::Tensor golden_weights(const std::string& name, const weft::Shape& shape) {
    std::int64_t seed = 0;
    for (const char c : name) seed += c;
    const bool is_embedding = contains(name, "emb") || contains(name, "wte") || contains(name, "wpe");
    const double scale = shape.rank() == 1 ? 0.4
                         : is_embedding    ? 0.5
                                           : std::sqrt(6.0 / static_cast<double>(shape[1]));
    const double middle = shape.rank() == 1 && !name.ends_with("bias") ? 1 : 0;
    std::vector<double> all;
    for (std::int64_t i = 0; i < shape.numel(); ++i) {
        const std::int64_t u = (i * i * 31 + i * 17 + i / 7 * 53 + seed * 101) % 997;
        all.push_back((static_cast<double>(u) / 498.5 - 1) * scale + middle);
    }
    return weft::from_vector(all, shape).to(weft::float32);
}
