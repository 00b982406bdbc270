// Optimisers, and what goes with them: a schedule of learning rates, clipping of gradients.
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

#include <functional>
#include <optional>
#include <vector>

#include "weft/nn/module.h"

namespace weft::optim {

// Names, defaults and arithmetic are PyTorch's. p parameter, g gradient, t the number of this parameter's
// updates so far, the present one included.

// g ← g + weight_decay·p;  b ← momentum·b + g (at first b = g);  p ← p − lr·b, or with Nesterov's momentum
// p ← p − lr·(g + momentum·b)  (Sutskever et al., "On the importance of initialization and momentum", 2013,
// §2).
struct SGDOptions {
    double lr = 1e-3;         // the learning rate
    double momentum = 0;      // how much of b stays
    double weight_decay = 0;  // added to g, times p
    bool nesterov = false;    // ValueError without momentum
};

// g ← g + weight_decay·p;  m ← β₁m + (1 − β₁)g;  v ← β₂v + (1 − β₂)g²;
// p ← p − lr/(1 − β₁ᵗ) · m / (√v/√(1 − β₂ᵗ) + eps)  (Kingma and Ba, "Adam", 2015, algorithm 1).
struct AdamOptions {
    double lr = 1e-3;                   // the learning rate
    double beta1 = 0.9, beta2 = 0.999;  // how much of m and of v stays
    double eps = 1e-8;                  // keeps the division from one by 0
    double weight_decay = 0;            // λ, added to g as λ·p
};

// p ← (1 − lr·weight_decay)·p, then Adam's update with no decay in g (Loshchilov and Hutter, "Decoupled weight
// decay regularization", 2019, algorithm 2).
struct AdamWOptions {
    double lr = 1e-3;                   // the learning rate
    double beta1 = 0.9, beta2 = 0.999;  // how much of m and of v stays
    double eps = 1e-8;                  // keeps the division from one by 0
    double weight_decay = 0.01;         // the share of p that goes, times lr
};

// Parameters that share a weight decay; the optimiser's own when it is not given.
struct ParameterGroup {
    nn::NamedTensors parameters;              // as named_parameters() gives them
    std::optional<double> weight_decay = {};  // of all of them
};

nn::NamedTensors numbered(const std::vector<Tensor>& parameters);  // each with its position as its name

// Two groups: matrices (rank ≥ 2) decay by weight_decay, vectors (biases, norms) not at all. Each parameter
// once.
std::vector<ParameterGroup> decay_groups(const nn::Module& module, double weight_decay);

// What an update of one parameter sees and changes. A rule of your own is an Options struct with `lr` and
// `weight_decay`, and three functions in its namespace (examples/lion.cpp is one):
//
//     std::vector<const char*> moment_names(const Options&);   // what is kept for each parameter: "exp_avg"
//     void check(const Options&);                              // throws if the options make no sense
//     void update(const optim::Update&, const Options&);       // one step of one parameter, under NoGrad
struct Update {
    Tensor& parameter;             // contiguous; to be changed in place
    const Tensor& gradient;        // contiguous
    std::vector<Tensor>& moments;  // by moment_names, shaped as the parameter; zeros at first
    std::int64_t t;                // the number of this parameter's updates, this one included
    double weight_decay;           // of this parameter's group
};

// The parameters of an optimiser and what it keeps for each; every rule's.
class ParameterSlots {
public:
    ParameterSlots(const std::vector<ParameterGroup>& groups, double weight_decay);
    ParameterSlots(ParameterSlots&&) noexcept = default;
    ParameterSlots& operator=(ParameterSlots&&) noexcept = default;
    const ParameterSlots& checked() const;  // itself; ValueError when it was moved from

    void step(const std::vector<const char*>& moment_names, const std::function<void(const Update&)>& update);
    void zero_grad();
    std::int64_t steps() const { return checked().steps_; }
    nn::NamedTensors state_dict(const std::vector<const char*>& moment_names) const;
    void load_state_dict(const std::vector<const char*>& moment_names, const nn::NamedTensors& state);

private:
    struct Slot {
        std::string name;
        Tensor parameter;
        double weight_decay;
        std::int64_t updates = 0;
        std::vector<Tensor> moments = {};  // empty before the first update
    };
    std::vector<Slot> slots_;
    std::int64_t steps_ = 0;
};

// ValueError, naming `what`, unless the value is finite and at least 0.
void check_rate(double value, const char* what);

std::vector<const char*> moment_names(const SGDOptions& options);  // "momentum_buffer" with momentum
std::vector<const char*> moment_names(const AdamOptions& options);
std::vector<const char*> moment_names(const AdamWOptions& options);
void check(const SGDOptions& options);
void check(const AdamOptions& options);
void check(const AdamWOptions& options);
void update(const Update& u, const SGDOptions& options);
void update(const Update& u, const AdamOptions& options);
void update(const Update& u, const AdamWOptions& options);

// One rule over a set of parameters; SGD, Adam and AdamW below, and any of your own.
template <class Options>
class Optimizer {
public:
    // Parameters with weight decays of their own. ValueError when there is no parameter, one is in two groups,
    // a name is there twice, or an option is out of range (lr, eps, weight_decay, momentum ≥ 0 and finite, 0 ≤
    // β < 1); GraphError on a tensor that an operation made. A tensor that one group names twice is one
    // parameter, under its first name.
    explicit Optimizer(const std::vector<ParameterGroup>& groups, Options options = {})
        : options_((check(options), options)), slots_(groups, options.weight_decay) {}
    explicit Optimizer(const nn::NamedTensors& parameters, Options options = {})
        : Optimizer(std::vector<ParameterGroup>{{parameters}}, options) {}
    explicit Optimizer(const nn::Module& module, Options options = {})
        : Optimizer(module.named_parameters(), options) {}
    explicit Optimizer(const std::vector<Tensor>& parameters, Options options = {})  // named "0", "1", …
        : Optimizer(numbered(parameters), options) {}
    // Not copied: two would write in the same moments. One that was moved from is of no further use: its
    // members throw a ValueError.
    Optimizer(Optimizer&&) noexcept = default;
    Optimizer& operator=(Optimizer&&) noexcept = default;

    // Updates every parameter that has a gradient. ValueError, naming the parameter, when a gradient holds NaN
    // or an infinity, and DTypeError when a parameter has changed its type since its first update: then nothing
    // at all has changed.
    void step() {
        slots_.step(moment_names(options_), [this](const Update& u) { update(u, options_); });
    }
    void zero_grad() { slots_.zero_grad(); }  // every parameter's gradient is undefined again

    const Options& options() const { return slots_.checked(), options_; }  // as they are now
    double lr() const { return options().lr; }                             // the learning rate
    void set_lr(double lr) {  // ValueError when negative or not finite
        slots_.checked();
        check_rate(lr, "lr");
        options_.lr = lr;
    }
    std::int64_t steps() const { return slots_.steps(); }  // how often step() was done

    // Copies of all that step() remembers: "step", and for each parameter that was updated "name.step" and, as
    // the rule needs, "name.momentum_buffer" or "name.exp_avg" and "name.exp_avg_sq". Options are not in it.
    nn::NamedTensors state_dict() const { return slots_.state_dict(moment_names(options_)); }
    // Takes it up again, so that the next step() is what it would have been. ValueError, ShapeError or
    // DTypeError, naming the entry, when one is missing, unexpected or does not fit; then nothing has changed.
    void load_state_dict(const nn::NamedTensors& state) {
        slots_.load_state_dict(moment_names(options_), state);
    }

private:
    Options options_;
    ParameterSlots slots_;
};

using SGD = Optimizer<SGDOptions>;      // optim::SGD(model, {.lr = 0.1})
using Adam = Optimizer<AdamOptions>;    // optim::Adam(model, {.lr = 1e-3})
using AdamW = Optimizer<AdamWOptions>;  // optim::AdamW(model, {.lr = 3e-4})

// The course of a learning rate.
struct CosineOptions {
    double lr = 1e-3;               // the highest
    double min_lr = 0;              // the last
    std::int64_t warmup_steps = 0;  // steps of a rising rate
    std::int64_t steps = 1;         // from here on min_lr
};
// The rate of step 0, 1, …: lr·(step + 1)/(warmup_steps + 1) while step < warmup_steps, then half a cosine from
// lr at step = warmup_steps down to min_lr at step = steps, and min_lr from there on (Loshchilov and Hutter,
// "SGDR", 2017, eq. 5, without restarts). ValueError when a number is negative, not finite, or min_lr > lr.
double cosine_lr(std::int64_t step, const CosineOptions& options);

// Returns n = ‖all gradients together‖₂ and multiplies each gradient by min(1, max_norm / (n + 1e-6)), as
// PyTorch. Parameters without a gradient are left out, tied ones count once; n = 0 changes nothing. Where n is
// NaN or infinite gradients are left as they are, for step() to refuse by name. ValueError when max_norm is
// negative or NaN.
double clip_grad_norm(const std::vector<Tensor>& parameters, double max_norm);
double clip_grad_norm(const nn::Module& module, double max_norm);

}  // namespace weft::optim
