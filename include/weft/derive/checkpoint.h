// Less memory for more arithmetic: what lies between is computed again in backward.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "weft/core/random.h"
#include "weft/core/tensor.h"

namespace weft {

// Returns f(inputs), and keeps the inputs, the parameters and the result for backward: the tensors in between
// are computed again there (Chen et al., "Training deep nets with sublinear memory cost", 2016, §4;
// torch.utils.checkpoint). Values and gradients have the bits that they have without it; gradients of gradients
// are equal to rounding.
//
//     const auto block = [&](const std::vector<Tensor>& in) { return tanh(matmul(in[0], w)); };
//     const Tensor y = checkpoint(block, {x}, {w});  // as block({x})
//
// `parameters` are what f uses besides its inputs and what is to have a gradient, and `generators` what it
// draws from besides default_rng(): they draw the same numbers again, and are left as they were. A module's own
// are in nn::checkpoint. f's result is new, not an input, and f changes no input in place: GraphError
// otherwise. Backward throws GraphError if f depends on a tensor of the graph that was not named (checkpoint
// itself does if nothing that was named requires a gradient), or if what it computes the second time has other
// bits: a mode (nn::EvalMode, Plain) or a generator has changed. If f throws, the generators are as before.
Tensor checkpoint(const std::function<Tensor(const std::vector<Tensor>& inputs)>& f,
                  const std::vector<Tensor>& inputs, const std::vector<Tensor>& parameters = {},
                  const std::vector<std::shared_ptr<Rng>>& generators = {});

}  // namespace weft
