// Module: named parameters, buffers, generators and children. A Module is a handle: copies share everything.
// Register each member where it is declared, so that it is named beside its name and none is forgotten:
//
//     struct Net : nn::Module {
//         nn::Linear hidden = register_module("hidden", nn::Linear(2, 16));
//         nn::Linear out = register_module("out", nn::Linear(16, 1));
//         nn::Parameter scale = register_parameter("scale", ones({1}));
//         Tensor operator()(const Tensor& x) const { return scale * out(relu(hidden(x))); }  // (B, 2) → (B, 1)
//     };
//
// Members are made in their order, and draw from the generator in that order. Where they depend on arguments of
// the constructor, store those in members above them, or register in the constructor's initialiser list:
//
//     struct Scale : nn::Module {
//         nn::Parameter weight;
//         explicit Scale(std::int64_t n) : Module("Scale"), weight(register_parameter("weight", ones({n}))) {}
//         Tensor operator()(const Tensor& x) const { return x * weight; }
//     };
//
// What is registered stays what it is: neither a module nor its parameters and buffers can be assigned. A
// member of type Tensor can, which leaves the registered one as it was, so declare it as nn::Parameter or
// nn::Buffer. What a layer of Weft is made with, such as eps, is const.
#pragma once

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "weft/core/modes.h"
#include "weft/core/op.h"
#include "weft/nn/clone.h"
#include "weft/ops.h"

namespace weft::nn {

using NamedTensors = std::vector<std::pair<std::string, Tensor>>;                   // in order of registration
using NamedGenerators = std::vector<std::pair<std::string, std::shared_ptr<Rng>>>;  // in order of registration

class RngGuard;  // used by constructors that draw more than once (include/weft/nn/clone.h)

// A tensor that a module has registered. Its values can change, and its shape and type, but it stays the tensor
// that parameters(), state_dict() and to() know: an assignment does not compile.
//
//     nn::Linear layer(2, 2);
//     nn::Parameter w = layer.weight;  // a copy is the same tensor
//     const NoGrad off;
//     w.copy_(eye(2));           // w = eye(2) does not compile
//     w.set_data(ones({2, 3}));  // of another shape: now layer takes (B, 3)
class Parameter : public Tensor {
public:
    Parameter() = default;                         // undefined, such as the bias of a layer without one
    Parameter(const Parameter& other);             // the same tensor; under nn::clone a copy
    Parameter(Parameter&&) noexcept = default;     // leaves the other undefined
    Parameter& operator=(const Tensor&) = delete;  // w.copy_(x) under NoGrad; w.set_data(x) for another shape
    Parameter& operator=(const Parameter&) = delete;  // the same: copy_(x) or set_data(x)

private:
    friend class Module;
    explicit Parameter(Tensor tensor) : Tensor(std::move(tensor)) {}
};
using Buffer = Parameter;  // what register_buffer returns; it is not trained

// A guard: while it is alive, every module is in evaluation mode on this thread. It changes no module, so
// several threads can evaluate one model. Guards nest.
//
//     const nn::EvalMode eval;
//     const Tensor y = net(x);  // without dropout
class [[nodiscard]] EvalMode {
public:
    EvalMode() : mode_(Modes::evaluating, true) {}  // until it goes out of scope

private:
    Modes mode_;
};

// A function of a module's results, as Module::hook makes it; it acts as long as this lives.
//
//     std::vector<Tensor> seen;
//     {
//         const nn::ForwardHook hook = model.hook("0", [&](const Tensor& y) { return seen.emplace_back(y); });
//         (void)model(x);  // seen has what model's first module returned
//     }
//     (void)model(x);  // nothing more
class [[nodiscard]] ForwardHook {
private:
    friend class Module;
    using Function = std::function<Tensor(const Tensor&)>;
    std::shared_ptr<const Function> function_;
    explicit ForwardHook(std::shared_ptr<const Function> function) : function_(std::move(function)) {}
};

// The base class of layers and models. Dots in a name separate modules: "blocks.0.attn.W_out.weight".
//
//     nn::Linear a(4, 3, rng), b(4, 3, rng);
//     b.load_state_dict(a.state_dict());  // copies the values of a
//     for (const auto& [name, value] : b.named_parameters())
//         std::cout << name << " " << value.shape().str() << "\n";
//     // weight (3, 4)
//     // bias (3,)
//     b.to(float64);
class Module {
public:
    explicit Module(std::string kind);  // `kind` is its name in summary()
    Module() : Module("Module") {}      // the kind "Module"
    virtual ~Module() = default;
    Module(const Module& other);  // the same module; under nn::clone a copy
    // A parent's forward pass would use the new module, and its parameters() the old one.
    Module& operator=(const Module&) = delete;  // Net() : a(register_module("a", …)) {}, or load_state_dict
    template <class... X>
    void forward(X&&...) const = delete;  // call the module itself: net(x)

    // Returns all parameters, also the children's ("child.name"), tied ones once, under their first name.
    NamedTensors named_parameters() const;
    std::vector<Tensor> parameters() const;  // the tensors of named_parameters()
    // Returns every buffer, persistent or not, each tensor once.
    NamedTensors named_buffers() const;
    // Returns every generator (of dropout): to resume a run exactly, save their states beside the state_dict.
    NamedGenerators named_generators() const;
    // Returns the direct children in order of registration.
    std::vector<std::pair<std::string, Module>> named_children() const;

    // Returns parameters and persistent buffers, tied ones under each name: the tensors themselves, no copies.
    NamedTensors state_dict() const;
    // Copies the values of `state` into this module. If strict, one message lists every missing, unexpected and
    // repeated name, every pair of tied names with different values and every expanded tensor, which cannot be
    // written to (ValueError), every wrong shape
    // (ShapeError if only shapes and types differ) and every wrong type (DTypeError if only types do). If not,
    // missing and unexpected names are ignored. A weight in blocks never changes: it may be missing, and is
    // refused in a state (DTypeError), as are blocks for another tensor. Nothing has changed when it throws.
    void load_state_dict(const NamedTensors& state, bool strict = true);

    // Sets training mode (the default) or evaluation mode, recursively. Dropout is active in training only.
    void train(bool training = true);
    void eval() { train(false); }  // the same as train(false)
    bool training() const;         // whether in training mode; false while an EvalMode is active

    // Converts every floating parameter and buffer in place; a converted parameter loses its gradient. With
    // bfloat16 or float16 only the weights of Linear and Embedding become half, which takes no gradient, and
    // all else float32, in which they are computed; a weight that was half or in blocks becomes whole again
    // with float32 or float64, and is trained if it was. DTypeError unless dtype is floating; GraphError if a
    // buffer was made by an operation in the graph; ValueError for a value that float16 does not hold. Nothing
    // has changed when it throws.
    void to(DType dtype);
    // Rounds the weights of Linear and Embedding to blocks, which take no gradient (weft::pack). What pack
    // refuses is refused for all of them at once, with their names, and nothing has changed.
    //
    //     lm::GPT model({.d_model = 64}, rng);
    //     model.pack(DType::Q8_0);  // model.head.weight.dtype() == DType::Q8_0
    void pack(BlockFormat format);
    void zero_grad();                     // makes every parameter's gradient undefined
    std::int64_t num_parameters() const;  // elements of all parameters, tied ones once
    // Returns where it is in the model that it was first registered in, "GPT.blocks[3].attn"; its kind() if in
    // none.
    //
    //     const nn::Sequential model{nn::Linear(4, 3), nn::Linear(3, 2)};
    //     const std::string path = model.named_children()[1].second.path();  // "Sequential[1]"
    std::string path() const;
    // Calls f(y) with what the module at `path` within this one returns, whenever it runs, and goes on with the
    // result instead of y: return y to only look. `path` is as path() writes it, "blocks[3].attn", and "" this
    // module itself. Several act in the order in which they were added, none on what it calls itself. A
    // module's hooks are those of all copies, not of clones; it has them if it is one of Weft's or calls
    // located(), and returns a tensor, or a struct of which they get the `output`, as AttentionResult.
    // IndexError if there is no such module, ValueError if it is a ModuleList; when it runs, ShapeError or
    // DTypeError if f's result is not like y, GraphError if f changes y in place, which may be the module's
    // input. (torch.nn.Module.register_forward_hook.)
    //
    //     const auto zeros = [](const Tensor& y) { return zeros_like(y); };
    //     const nn::ForwardHook off = gpt.hook("blocks[0].attn", zeros);
    ForwardHook hook(const std::string& path, std::function<Tensor(const Tensor&)> f) const;
    Tensor hooked(Tensor y) const;    // y after this module's hooks; located() calls it
    const std::string& kind() const;  // "Linear", "GPT", …

    // Returns a table: a row per module and parameter with shape and count, then the totals.
    std::string summary() const;

protected:
    // Each register function throws ValueError when the name is empty, contains a dot or is taken.

    // Registers a trainable tensor and returns it, contiguous and requiring a gradient. GraphError on the
    // result of an operation, DTypeError unless floating. A parameter of another module becomes tied.
    Parameter register_parameter(const std::string& name, Tensor value);
    // The same for a matrix that `linear` and `embedding` alone read, so that to() may keep it in half and
    // pack() in blocks. A value that is so already is not trained.
    Parameter register_weight(const std::string& name, Tensor value);
    // Registers a tensor that is state but not trained, and returns it. It is in the state_dict if persistent.
    Buffer register_buffer(const std::string& name, Tensor value, bool persistent = true);
    // Returns the buffer of that name, undefined if there is none: for buffers made on first use.
    Tensor find_buffer(const std::string& name) const;
    // Registers a random generator of this module, with a seed drawn from `rng`, and returns it.
    Shared<Rng> register_generator(const std::string& name, Rng& rng);
    // Registers a child and returns it. ValueError also when the child contains this module.
    template <class M>
    M register_module(const std::string& name, M module) {
        add_child(name, module);
        return module;
    }

    // The same of what make() returns, if it is wanted; else none.
    template <class Make>
    auto register_module_if(bool wanted, const std::string& name, const Make& make) {
        return wanted ? std::optional(register_module(name, make())) : std::nullopt;
    }

private:
    friend struct Ownership;   // src/nn/registry.h
    friend struct Attributes;  // src/nn/registry.h
    struct Registry;
    std::shared_ptr<Registry> registry_;
    explicit Module(std::shared_ptr<Registry> registry) : registry_(std::move(registry)) {}
    void add_child(const std::string& name, const Module& module);
};

// Returns f(). An error of Weft's that passes through has module.path() before its message, unless a module
// within has put its own there, or this module is in no other: "GPT.blocks[3].attn: …". A Profile counts what f
// calls as the module's, and the module's hooks act. Weft's layers call their operations so; a module of your
// own does where it calls operations itself.
//
//     struct Scale : nn::Module {
//         nn::Parameter weight = register_parameter("weight", ones({3}));
//         Tensor operator()(const Tensor& x) const {
//             return nn::located(*this, [&] { return x * weight; });
//         }
//     };
template <class F>
decltype(auto) located(const Module& module, const F& f) {
    const std::string path = Observer::watching() > 0 ? module.path() : std::string();
    const Op::Apart apart;
    const Watched call({Observer::Part::module, path.c_str()});
    try {
        using Result = std::remove_cvref_t<decltype(f())>;
        if constexpr (std::is_same_v<Result, Tensor>) {
            return module.hooked(f());
        } else if constexpr (requires(Result result) { result.output; }) {
            Result result = f();
            result.output = module.hooked(std::move(result.output));
            return result;
        } else {
            return f();
        }
    } catch (Error& error) {
        if (const std::string at = module.path(); at != module.kind()) error.locate(at);
        throw;
    }
}

// Returns a module of its own, equal in parameters, buffers, generators and modes, which shares none of them:
// "deep copy". What is tied in the module is tied in the clone, to nothing outside. Gradients and hooks stay
// behind. A member that is a plain Tensor or pointer, not registered nor a Shared, is the same in both.
//
//     const nn::Linear average = nn::clone(layer);  // of the weights over time, for example
//     const NoGrad off;
//     Tensor w = average.weight;
//     w.mul_(0.99).add_(layer.weight, 0.01);
template <class M>
M clone(const M& module) {
    static_assert(std::is_base_of_v<Module, M>, "nn::clone copies a Module; a tensor has its own clone()");
    const Cloning copies;
    return M(module);
}

// Writes module.summary().
std::ostream& operator<<(std::ostream& out, const Module& module);

}  // namespace weft::nn
