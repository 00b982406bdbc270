// Modules whose intermediate values are computed again in backward.
#pragma once

#include "weft/derive/checkpoint.h"
#include "weft/nn/module.h"

namespace weft::nn {

// module(x), with the tensors in between computed again in backward: weft::checkpoint with the module's
// parameters and generators. x and the result have the shapes of the module's. A module that changes a buffer
// in its forward pass (BatchNorm in training) changes it a second time in backward. Refusals as
// weft::checkpoint's.
//
//     const Tensor y = nn::checkpoint(block, x);  // all(y == block(x))
template <class M>
Tensor checkpoint(const M& module, const Tensor& x) {
    std::vector<std::shared_ptr<Rng>> generators;
    for (const auto& [name, rng] : module.named_generators()) generators.push_back(rng);
    return weft::checkpoint([module](const std::vector<Tensor>& in) { return module(in[0]); }, {x},
                            module.parameters(), generators);
}

}  // namespace weft::nn
