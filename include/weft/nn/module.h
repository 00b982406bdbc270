// Module: named parameters, buffers, generators and children. A module is a handle, as a Tensor is: a copy
// shares them all. Parameters are constructed and registered in one act, in the constructor:
//
//     struct Scale : nn::Module {
//         Tensor weight;
//         explicit Scale(std::int64_t n) : Module("Scale"), weight(register_parameter("weight", ones({n}))) {}
//         Tensor operator()(const Tensor& x) const { return x * weight; }
//     };
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "weft/core/ops.h"

namespace weft::nn {

using NamedTensors = std::vector<std::pair<std::string, Tensor>>;  // in the order of registration
using NamedGenerators = std::vector<std::pair<std::string, std::shared_ptr<Rng>>>;  // in that order

// While one of these lives, every module is in evaluation mode on this thread. No module is changed, so
// several threads can evaluate one model, and afterwards every mode is what it was. They nest.
class [[nodiscard]] EvalMode {
public:
    EvalMode();
    ~EvalMode();
    EvalMode(const EvalMode&) = delete;
    EvalMode& operator=(const EvalMode&) = delete;
};

// What every model and every part of one is.
class Module {
public:
    explicit Module(std::string kind = "Module");  // `kind` is what summary() calls it
    virtual ~Module() = default;

    // Every parameter of this module and its children, "child.name", each tensor once (tied ones under their
    // first name).
    NamedTensors named_parameters() const;
    std::vector<Tensor> parameters() const;  // the same without names
    // Every buffer, persistent or not, each tensor once.
    NamedTensors named_buffers() const;
    // Every generator (of dropout): what a run that is to be resumed exactly keeps beside the state_dict.
    NamedGenerators named_generators() const;
    // Direct children, in the order of registration.
    std::vector<std::pair<std::string, Module>> named_children() const;

    // Parameters and persistent buffers under all their names (tied ones under each), the tensors themselves,
    // not copies.
    NamedTensors state_dict() const;
    // Copies the values in. When strict, refuses with one message that lists every missing, unexpected and
    // repeated name, and every pair of tied names whose values differ (ValueError), every other shape
    // (ShapeError when only shapes and types differ) and every other type (DTypeError when only types do); when
    // not, names that do not meet are left alone. Nothing changes when it throws.
    void load_state_dict(const NamedTensors& state, bool strict = true);

    // Training (the default) or evaluation, recursively: dropout acts in training only.
    void train(bool training = true);
    void eval() { train(false); }  // evaluation
    bool training() const;         // which of the two; evaluation while an EvalMode lives on this thread

    // Every floating parameter and buffer, in place; one that changes loses its gradient. DTypeError unless
    // dtype is floating.
    void to(DType dtype);
    void zero_grad();                     // every parameter's gradient is undefined again
    std::int64_t num_parameters() const;  // elements of all parameters, tied ones once
    const std::string& kind() const;      // "Linear", "GPT", …

    // A table: one row per module and parameter with shape and count, then the totals.
    std::string summary() const;

protected:
    // Each of these is refused with ValueError when the name is empty, holds a dot or is taken already.

    // Registers a tensor that is trained, and returns it, contiguous and requiring a gradient. GraphError on a
    // tensor that an operation made, DTypeError unless floating. One that is a parameter elsewhere is tied:
    // both are the same tensor.
    Tensor register_parameter(const std::string& name, Tensor value);
    // Registers a tensor that is state but not trained; in the state_dict when persistent.
    Tensor register_buffer(const std::string& name, Tensor value, bool persistent = true);
    // The buffer of that name, for those that are made when they are first asked for; undefined when there is
    // none.
    Tensor find_buffer(const std::string& name) const;
    // Registers a random generator of this module's own, its seed drawn from `rng`, which need not outlive this
    // call.
    std::shared_ptr<Rng> register_generator(const std::string& name, Rng& rng);
    // Registers a module under a name and returns it. ValueError also when it holds this module.
    template <class M>
    M register_module(const std::string& name, M module) {
        add_child(name, module);
        return module;
    }

private:
    struct Registry;
    std::shared_ptr<Registry> registry_;
    explicit Module(std::shared_ptr<Registry> registry) : registry_(std::move(registry)) {}
    void add_child(const std::string& name, const Module& module);
};

}  // namespace weft::nn
