#pragma once

#include <memory>

#include "array/array.h"
#include "autograd/node.h"

namespace weft {

struct TensorImpl {
    Array array;
    std::shared_ptr<Node> node;  // null outside the graph
};

}  // namespace weft
