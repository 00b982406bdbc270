// Module: named parameters, buffers and children. A module is a handle, as a Tensor is: a copy shares its parameters.
// Parameters are constructed and registered in one act, in the constructor:
//
//     struct Scale : nn::Module {
//         Tensor weight;
//         explicit Scale(std::int64_t n) : weight(parameter("weight", ones({n}))) {}
//         Tensor operator()(const Tensor& x) const { return x * weight; }
//     };
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "weft/ops.h"

namespace weft::nn {

using NamedTensors = std::vector<std::pair<std::string, Tensor>>;  // in the order of registration

class Module {
public:
    explicit Module(std::string kind = "Module");
    virtual ~Module() = default;

    // Every parameter of this module and its children, "child.name", each tensor once (tied ones under their first name).
    NamedTensors named_parameters() const;
    std::vector<Tensor> parameters() const;
    NamedTensors named_buffers() const;
    // Direct children, in the order of registration.
    std::vector<std::pair<std::string, Module>> named_children() const;

    // Parameters and persistent buffers under all their names (tied ones under each).
    NamedTensors state_dict() const;
    // Copies the values in. When strict, ShapeError/DTypeError/ValueError listing every missing and unexpected name and every
    // shape and type that differs; when not, names that do not meet are left alone. Nothing changes when it throws.
    void load_state_dict(const NamedTensors& state, bool strict = true);

    // Training (the default) or evaluation, recursively: dropout acts in training only.
    void train(bool training = true);
    void eval() { train(false); }
    bool training() const;

    void to(DType dtype);  // every floating parameter and buffer, in place; DTypeError unless floating
    void zero_grad();      // every parameter's gradient is undefined again
    std::int64_t parameter_count() const;  // elements of all parameters, tied ones once
    const std::string& kind() const;       // "Linear", "GPT", …

    // A table: one row per module and parameter with shape and count, then the totals.
    std::string summary() const;

protected:
    // Registers a tensor that is trained; returns it with requires_grad. ValueError when the name is empty, holds a dot or is taken.
    Tensor parameter(const std::string& name, Tensor value);
    // Registers a tensor that is state but not trained; in the state_dict when persistent.
    Tensor buffer(const std::string& name, Tensor value, bool persistent = true);
    // Registers a module under a name and returns it.
    template <class M>
    M child(const std::string& name, M module) {
        adopt(name, module);
        return module;
    }

private:
    struct Registry;
    std::shared_ptr<Registry> registry_;
    void adopt(const std::string& name, const Module& module);
};

}  // namespace weft::nn
