// Internal: Whether a state_dict fits a module.
#pragma once

#include "weft/nn/module.h"

namespace weft::nn {

// One entry of a module's state_dict.
struct ExpectedTensor {
    std::string name;
    Shape shape;
    DType dtype;
};
// Throws what load_state_dict of a module with these tensors throws; the module need not exist.
void check_state(const std::string& kind, const std::vector<ExpectedTensor>& expected,
                 const NamedTensors& state, bool strict);
// Throws what module.load_state_dict(state, strict) throws, and changes nothing.
void check_load(const Module& module, const NamedTensors& state, bool strict = true);

}  // namespace weft::nn
