#pragma once

#include <memory>

#include "core/array/array.h"
#include "core/autograd/node.h"

namespace weft {

struct TensorImpl {
    Array array;
    std::shared_ptr<Node> node;  // null outside the graph
    // Of a leaf after requires_grad_(false), for the next requires_grad_().
    std::shared_ptr<Node> disabled_node = {};
};

}  // namespace weft
