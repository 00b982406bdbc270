// Optimisers and their groups of parameters. A training loop, with a schedule and clipping:
//
//     optim::AdamW optimizer(model, {.lr = 3e-4, .weight_decay = 0.1});
//     for (int step = 0; step < steps; ++step) {
//         optimizer.set_lr(optim::cosine_lr(step, {.lr = 3e-4, .warmup_steps = 100, .steps = steps}));
//         optimizer.zero_grad();
//         loss_of(batch()).backward();
//         optim::clip_grad_norm(model, 1.0);
//         optimizer.step();
//     }
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "weft/nn/module.h"

namespace weft::optim {

// g ← g + weight_decay·p;  b ← momentum·b + g (initially b = g);  p ← p − lr·b, or with Nesterov's momentum
// p ← p − lr·(g + momentum·b)  (Sutskever et al., "On the importance of initialization and momentum in deep
// learning", 2013, §2).
struct SGDOptions {
    double lr = 1e-3;         // learning rate
    double momentum = 0;      // factor on b in each step
    double weight_decay = 0;  // factor of p in g
    bool nesterov = false;    // ValueError without momentum
};

// g ← g + weight_decay·p;  m ← β₁m + (1 − β₁)g;  v ← β₂v + (1 − β₂)g²;
// p ← p − lr/(1 − β₁ᵗ) · m / (√v/√(1 − β₂ᵗ) + eps)  (Kingma and Ba, "Adam", 2015, algorithm 1).
struct AdamOptions {
    double lr = 1e-3;                   // learning rate
    double beta1 = 0.9, beta2 = 0.999;  // factors on m and v in each step
    double eps = 1e-8;                  // avoids a division by 0
    double weight_decay = 0;            // factor of p in g
};

// p ← (1 − lr·weight_decay)·p, then Adam's update without decay in g (Loshchilov and Hutter, "Decoupled weight
// decay regularization", 2019, algorithm 2).
struct AdamWOptions {
    double lr = 1e-3;                   // learning rate
    double beta1 = 0.9, beta2 = 0.999;  // factors on m and v in each step
    double eps = 1e-8;                  // avoids a division by 0
    double weight_decay = 0.01;         // each step shrinks p by lr times this
};

// Parameters that share a weight decay.
struct ParameterGroup {
    nn::NamedTensors parameters;              // names and tensors, for example those of named_parameters()
    std::optional<double> weight_decay = {};  // for these parameters; by default that of the options
};

// Names each parameter by its position: "0", "1", …
//
//     const nn::NamedTensors named = optim::numbered({ones({2}), ones({3})});
//     const std::string second = named[1].first;  // "1"
nn::NamedTensors numbered(const std::vector<Tensor>& parameters);

// Returns two groups: matrices (rank ≥ 2), with that weight decay, and vectors (biases, norms), without. Each
// parameter is there once. ValueError unless weight_decay is finite and at least 0.
//
//     optim::AdamW optimizer(optim::decay_groups(model, 0.1), {.lr = 3e-4});
std::vector<ParameterGroup> decay_groups(const nn::Module& module, double weight_decay);

// What an update of one parameter reads and changes. A rule of your own is an Options struct with `lr` and
// `weight_decay`, and three functions in its namespace: moment_names names the tensors to save for each
// parameter, check throws on bad options, and update, which must not throw, changes one parameter, under
// NoGrad. This rule steps by lr in the direction of each gradient's sign (examples/lion.cpp has a moment too):
//
//     struct SignOptions {
//         double lr = 1e-3, weight_decay = 0;
//     };
//     std::vector<const char*> moment_names(const SignOptions&) { return {}; }
//     void check(const SignOptions& options) { optim::check_rate(options.lr, "lr"); }
//     void update(const optim::Update& u, const SignOptions& options) {
//         u.parameter.add_(sign(u.gradient), -options.lr);
//     }
//     using SignDescent = optim::Optimizer<SignOptions>;
struct Update {
    Tensor& parameter;             // contiguous; change it in place
    const Tensor& gradient;        // contiguous
    std::vector<Tensor>& moments;  // one per moment name, of the parameter's shape; initially zeros
    std::int64_t t;                // number of this parameter's updates, including this one
    double weight_decay;           // weight decay of this parameter's group
};

// The parameters of an optimiser and their state, whatever the rule. For Optimizer.
class ParameterSlots {
public:
    // `weight_decay` is that of groups without their own. Refuses what Optimizer refuses.
    ParameterSlots(const std::vector<ParameterGroup>& groups, double weight_decay,
                   std::vector<const char*> moment_names);
    ParameterSlots(ParameterSlots&&) noexcept = default;             // empties the other
    ParameterSlots& operator=(ParameterSlots&&) noexcept = default;  // empties the other
    const ParameterSlots& checked() const;  // returns itself; ValueError if it was moved from

    void step(const std::function<void(const Update&)>& update);  // the same as Optimizer's
    void zero_grad();                                             // the same as Optimizer's
    std::int64_t steps() const { return checked().steps_; }       // the same as Optimizer's
    nn::NamedTensors state_dict() const;                          // the same as Optimizer's
    void load_state_dict(const nn::NamedTensors& state);          // the same as Optimizer's

private:
    struct Slot {
        std::string name;
        Tensor parameter;
        double weight_decay;
        std::int64_t updates = 0;
        std::vector<Tensor> moments = {};  // empty before the first update
    };
    std::vector<const char*> moment_names_;
    std::vector<Slot> slots_;
    std::int64_t steps_ = 0;
};

// Throws ValueError, naming `what`, unless the value is finite and at least 0.
void check_rate(double value, const char* what);

// Returns {"momentum_buffer"} for SGD with momentum, {} without, and {"exp_avg", "exp_avg_sq"} for the others.
std::vector<const char*> moment_names(const SGDOptions& options);
std::vector<const char*> moment_names(const AdamOptions& options);
std::vector<const char*> moment_names(const AdamWOptions& options);
// Throws ValueError when an option is out of range.
void check(const SGDOptions& options);
void check(const AdamOptions& options);
void check(const AdamWOptions& options);
// Updates one parameter and its moments by the formula at its options.
void update(const Update& u, const SGDOptions& options);
void update(const Update& u, const AdamOptions& options);
void update(const Update& u, const AdamWOptions& options);

// An optimiser with the rule of Options. SGD, Adam and AdamW are below; examples/lion.cpp adds another.
//
//     optim::SGD optimizer(model, {.lr = 0.1, .momentum = 0.9});
//     loss_of(batch()).backward();
//     optimizer.step();
//     const nn::NamedTensors state = optimizer.state_dict();  // to save, and to resume with load_state_dict
template <class Options>
class Optimizer {
public:
    // Takes groups, named parameters, a module or a list of parameters. ValueError when there is no parameter,
    // one is in two groups or an expanded tensor, two share a name, or an option is out of range (lr, eps,
    // weight_decay, momentum ≥ 0 and finite, 0 ≤ β < 1); GraphError on the result of an operation; DTypeError
    // unless floating. A tensor that occurs twice in one group is one parameter, under its first name.
    explicit Optimizer(const std::vector<ParameterGroup>& groups, Options options = {})
        : options_((check(options), options)), slots_(groups, options.weight_decay, moment_names(options)) {}
    explicit Optimizer(const nn::NamedTensors& parameters, Options options = {})
        : Optimizer(std::vector<ParameterGroup>{{parameters}}, options) {}
    explicit Optimizer(const nn::Module& module, Options options = {})
        : Optimizer(module.named_parameters(), options) {}
    explicit Optimizer(const std::vector<Tensor>& parameters, Options options = {})  // named "0", "1", …
        : Optimizer(numbered(parameters), options) {}
    // Not copyable: two would write to the same moments. A moved-from optimiser throws ValueError when used.
    Optimizer(Optimizer&&) noexcept = default;
    Optimizer& operator=(Optimizer&&) noexcept = default;  // the same

    // Updates every parameter that has a gradient, or none: ValueError, naming the parameter, when a gradient
    // holds NaN or an infinity, and DTypeError when a parameter has changed its type since its first update.
    void step() {
        slots_.step([this](const Update& u) { update(u, options_); });
    }
    void zero_grad() { slots_.zero_grad(); }  // makes every parameter's gradient undefined

    const Options& options() const { return slots_.checked(), options_; }  // the current options
    double lr() const { return options().lr; }                             // the current learning rate
    // Sets the learning rate. ValueError unless finite and at least 0.
    void set_lr(double lr) {
        slots_.checked();
        check_rate(lr, "lr");
        options_.lr = lr;
    }
    std::int64_t steps() const { return slots_.steps(); }  // number of calls of step()

    // Returns copies of what step() remembers, without the options: "step" and, for each parameter that was
    // updated, "name.step" and "name.moment" for each of the rule's moments.
    nn::NamedTensors state_dict() const { return slots_.state_dict(); }
    // Restores such a state. ValueError, ShapeError or DTypeError, naming the entry, when one is missing,
    // unexpected or does not fit; then nothing has changed.
    void load_state_dict(const nn::NamedTensors& state) { slots_.load_state_dict(state); }

private:
    Options options_;
    ParameterSlots slots_;
};

using SGD = Optimizer<SGDOptions>;      // stochastic gradient descent, see SGDOptions
using Adam = Optimizer<AdamOptions>;    // see AdamOptions
using AdamW = Optimizer<AdamWOptions>;  // Adam with decoupled weight decay, see AdamWOptions

}  // namespace weft::optim
