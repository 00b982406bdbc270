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
    void claim(const std::string& name, const char* what) const;
};

}  // namespace weft::nn
