#pragma once

#include <memory>

#include "core/array/array.h"
#include "core/autograd/node.h"
#include "core/kernels/elementwise.h"

namespace weft {

struct TensorImpl {
    Array array;
    std::shared_ptr<Node> node;  // null outside the graph
    // Of a leaf after requires_grad_(false), for the next requires_grad_().
    std::shared_ptr<Node> disabled_node = {};
};

// A contiguous copy in storage of its own.
inline Array copy_of(const Array& x) {
    Array copy = make_array(x.shape, x.dtype);
    kernels::copy(copy, x);
    return copy;
}

}  // namespace weft
