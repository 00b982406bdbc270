#include <string>

#include "core/autograd/tensor_impl.h"
#include "weft/core/autograd.h"

namespace weft {
namespace {
thread_local bool enabled = true;
thread_local bool composed = false;
}  // namespace

bool is_grad_enabled() { return enabled; }
GradMode::GradMode(bool on) : before_(enabled) { enabled = on; }
GradMode::~GradMode() { enabled = before_; }

bool composed_mode() { return composed; }
Composed::Composed(bool on) : before_(composed) { composed = on; }
Composed::~Composed() { composed = before_; }

Tensor record(const char* operation, Tensor y, const std::vector<Tensor>& inputs,
              const std::vector<Tensor>& save_for_backward, Vjp vjp) {
    TensorImpl& result = y.impl();
    if (!enabled || !is_floating_point(result.array.dtype)) return y;
    bool takes_part = false;
    for (const Tensor& x : inputs) takes_part = takes_part || (x.defined() && x.requires_grad());
    if (!takes_part) return y;
    for (const Tensor& x : inputs)
        if (x.handle() == y.handle())
            throw GraphError(operation,
                             ": record needs a new tensor, but y is one of the inputs; clone() it first");
    if (result.node)
        throw GraphError(operation,
                         ": record needs a new tensor, but y is already in the graph; compute it under NoGrad");

    auto node = Node::make(operation, result.array);
    node->is_leaf = false;
    node->retains_gradient = false;
    node->vjp = std::move(vjp);
    node->inputs.reserve(inputs.size());
    for (const Tensor& x : inputs) node->inputs.push_back(x.defined() ? x.impl().node : nullptr);
    node->saved.reserve(save_for_backward.size());
    for (const Tensor& x : save_for_backward) {
        if (!x.defined()) {
            node->saved.emplace_back();
            continue;
        }
        const bool is_output = x.handle() == y.handle();
        node->saved.push_back({x.array(), x.version(), is_output ? nullptr : x.impl().node, is_output});
    }
    result.node = std::move(node);
    return y;
}

const char* operation_of(const Tensor& x) { return x.impl().node ? x.impl().node->operation : ""; }

}  // namespace weft
