#pragma once

#include <memory>

#include "core/array/array.h"
#include "core/autograd/node.h"

namespace weft {

struct TensorImpl {
    Array array;
    std::shared_ptr<Node> node;  // null outside the graph
    std::shared_ptr<Node> disabled_node =
        {};  // of a leaf that requires_grad_(false) took out, for when it comes back
};

}  // namespace weft
