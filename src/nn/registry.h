// What a module knows by name; shared by its copies.
#pragma once

#include "weft/nn/module.h"

namespace weft::nn {

struct Module::Registry {
    struct Buffer {
        std::string name;
        Tensor value;
        bool persistent;
    };
    std::string kind;
    bool training = true;
    NamedTensors parameters;
    std::vector<Buffer> buffers;
    NamedGenerators generators;
    std::vector<std::pair<std::string, std::shared_ptr<Registry>>> children;

    // ValueError unless `name` can be that of one more `what` (a parameter, a child, …).
    void check_name(const std::string& name, const char* what) const;
};

// A tensor that a module has in its state_dict.
struct ExpectedTensor {
    std::string name;
    Shape shape;
    DType dtype;
};
// What load_state_dict refuses, for a module of this kind with these tensors: it need not be there.
void check_state(const std::string& kind, const std::vector<ExpectedTensor>& expected,
                 const NamedTensors& state, bool strict);

}  // namespace weft::nn
