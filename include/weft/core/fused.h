// How to write an operation that is computed at once, beside its definition in small operations.
#pragma once

#include <functional>
#include <vector>

#include "weft/core/record.h"

namespace weft {

// What a kernel has computed: the result, and what its rule needs besides the inputs.
struct FusedResult {
    Tensor y;                        // new, outside the graph
    std::vector<Tensor> saved = {};  // saved for backward, after the inputs; y may be one of them
};

// Returns y, the result of an operation on `inputs`, in the graph. Its definition, its kernel and its fast rule
// stand in one place, and this function alone chooses between them:
//
//     Tensor square_sum(const Tensor& x) {
//         const auto definition = [](const std::vector<Tensor>& in) { return sum(in[0] * in[0]); };
//         const auto kernel = [&] { return FusedResult{dot(x, x)}; };  // the same at once
//         return fused("square_sum", {x}, definition, kernel,
//                      [](const Saved& saved, const Tensor& dy) { return Grads{2 * dy * saved[0]}; });
//     }
//
// Under Plain(Plain::operations) `reference` runs on the inputs, and its small operations are what is recorded.
// Otherwise `kernel` runs, under NoGrad, and backward calls `rule` with the saved inputs, then
// FusedResult::saved, and dy (see record). Under create_graph, and where there is no rule, the gradient
// is that of `reference`, which is called again with the saved inputs: so gradients of any order agree.
// `reference` must not depend on anything that changes; an operation that draws keeps the state of its
// generator. Undefined inputs come back undefined. Refusals as record's.
Tensor fused(const char* operation, const std::vector<Tensor>& inputs,
             std::function<Tensor(const std::vector<Tensor>& inputs)> reference,
             const std::function<FusedResult()>& kernel, Vjp rule = nullptr);

}  // namespace weft
