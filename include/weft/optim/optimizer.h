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
#include <string>
#include <utility>
#include <vector>

#include "weft/optim/groups.h"

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

// What an update of one parameter reads and changes. A rule of your own is an Options struct with `lr`, and
// three functions in its namespace: moment_names names the tensors to save for each parameter, check throws on
// bad options, and update, which must not throw, changes one parameter, under NoGrad, by the options of its
// group. A fourth, check(options, parameters), may refuse parameters, as Muon does. This rule steps by lr in
// the direction of each gradient's sign (examples/lion.cpp has a moment too):
//
//     struct SignOptions {
//         double lr = 1e-3;
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
};

// The parameters of an optimiser and their state, whatever the rule. For Optimizer.
class ParameterSlots {
public:
    using Names = std::vector<const char*>;  // of a group's moments

    // The parameters of each group, and the names of its moments. Refuses what Optimizer refuses.
    ParameterSlots(const std::vector<nn::NamedTensors>& groups, const std::vector<Names>& moment_names);
    ParameterSlots(ParameterSlots&&) noexcept = default;             // empties the other
    ParameterSlots& operator=(ParameterSlots&&) noexcept = default;  // empties the other
    const ParameterSlots& checked() const;  // returns itself; ValueError if it was moved from

    // Throws IndexError unless there is such a group, and returns its position.
    std::size_t index(std::int64_t group) const;
    // Names a group's moments; if the names are others than before, the moments start anew.
    void set_moments(std::size_t group, const Names& names);

    // The same as Optimizer's; update(what to change, its group).
    void step(const std::function<void(const Update&, std::size_t)>& update);
    void zero_grad();                                        // the same as Optimizer's
    std::int64_t steps() const { return checked().steps_; }  // the same as Optimizer's
    nn::NamedTensors state_dict() const;                     // the same as Optimizer's
    void load_state_dict(const nn::NamedTensors& state);     // the same as Optimizer's

private:
    struct Slot {
        std::string name;
        Tensor parameter;
        std::size_t group;
        std::int64_t updates = 0;
        std::vector<Tensor> moments = {};  // empty before the first update
    };
    std::vector<std::vector<std::string>> moment_names_;  // of each group
    std::vector<Slot> slots_;
    std::int64_t steps_ = 0;
};

// Throws ValueError, naming `what`, unless the value is finite and at least 0.
void check_rate(double value, const char* what);
// Throws ValueError, naming `what`, unless 0 ≤ value < 1.
//
//     optim::check_beta(0.9, "beta1");  // throws nothing
void check_beta(double value, const char* what);
// Returns `lr` and, for the other groups, the rates that have the ratios of `rates` to it. ValueError unless lr
// is finite and at least 0, or if the first of `rates` is 0 and another is not.
//
//     const std::vector<double> rates = optim::in_ratio({0.5, 0.25}, 0.1);  // {0.1, 0.05}
std::vector<double> in_ratio(const std::vector<double>& rates, double lr);

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

// An optimiser with the rule of Options. SGD, Adam and AdamW are below, Muon in weft/optim/muon.h;
// examples/lion.cpp adds another.
//
//     optim::SGD optimizer(model, {.lr = 0.1, .momentum = 0.9});
//     loss_of(batch()).backward();
//     optimizer.step();
//     const nn::NamedTensors state = optimizer.state_dict();  // to save, and to resume with load_state_dict
template <class Options>
class Optimizer {
public:
    using Group = ParameterGroup<Options>;  // AdamW::Group, of parameters and their options

    // Takes groups, or named parameters, a module or a list of parameters, which form one group. ValueError
    // when there is no parameter, one is in two groups or an expanded tensor, two of a group share a name, or
    // an option is out of range (lr, eps, weight_decay, momentum ≥ 0 and finite, 0 ≤ β < 1); GraphError on the
    // result of an operation; DTypeError unless floating. A tensor that occurs twice in one group is one
    // parameter, under its first name. A name that an earlier group has gets the group's number in the state:
    // "1.weight".
    explicit Optimizer(std::vector<Group> groups)
        : groups_(std::move(groups)), slots_(parameters(), moments()), rates_(rates()) {}
    explicit Optimizer(const nn::NamedTensors& parameters, Options options = {})
        : Optimizer(std::vector<Group>{{parameters, options}}) {}
    explicit Optimizer(const nn::Module& module, Options options = {})
        : Optimizer(module.named_parameters(), options) {}
    explicit Optimizer(const std::vector<Tensor>& parameters, Options options = {})  // named "0", "1", …
        : Optimizer(numbered(parameters), options) {}
    template <class Parameters, is_number Rate, class... More>
    Optimizer(const Parameters&, Rate, More...) = delete;  // name the options: {.lr = 1e-3}
    // Not copyable: two would write to the same moments. A moved-from optimiser throws ValueError when used.
    Optimizer(Optimizer&&) noexcept = default;
    Optimizer& operator=(Optimizer&&) noexcept = default;  // the same

    // Updates every parameter that has a gradient, or none: ValueError, naming the parameter, when a gradient
    // holds NaN or an infinity, and DTypeError when a parameter has changed its type since its first update.
    // GraphError if no parameter has a gradient.
    void step() {
        slots_.step([this](const Update& u, std::size_t group) { update(u, groups_[group].options); });
    }
    void zero_grad() { slots_.zero_grad(); }  // makes every parameter's gradient undefined

    // The groups, with their current options; without groups of your own there is one.
    //
    //     optimizer.set_lr(1, 1e-4);  // of the second group
    //     optim::AdamWOptions options = optimizer.options(1);
    //     options.weight_decay = 0;
    //     optimizer.set_options(1, options);
    const std::vector<Group>& groups() const { return slots_.checked(), groups_; }
    // The current options of a group; IndexError unless there is such a group.
    const Options& options(std::int64_t group = 0) const { return groups_[slots_.index(group)].options; }
    double lr(std::int64_t group = 0) const { return options(group).lr; }  // its learning rate
    // Sets the learning rate of the first group. The others keep the ratio to it that they had when rates were
    // last set by group, so a schedule acts on them, too. ValueError unless finite and at least 0, or if the
    // first rate was 0 and another was not.
    void set_lr(double lr) {
        slots_.checked();
        const std::vector<double> rates = in_ratio(rates_, lr);
        for (std::size_t i = 0; i < groups_.size(); ++i) groups_[i].options.lr = rates[i];
    }
    // Sets that of one group; IndexError unless there is such a group.
    void set_lr(std::int64_t group, double lr) {
        Options options = this->options(group);
        options.lr = lr;
        set_options(group, options);
        rates_ = rates();
    }
    // Replaces a group's options and refuses what the constructor refuses. Another lr is as set_lr(group, lr).
    // If the rule then saves other moments, as SGD with momentum instead of without, they start at 0.
    void set_options(std::int64_t group, const Options& options) {
        Group& changed = groups_[slots_.index(group)];
        check_group({changed.parameters, options});
        slots_.set_moments(static_cast<std::size_t>(group), moment_names(options));
        const bool is_rate_new = options.lr != changed.options.lr;
        changed.options = options;
        if (is_rate_new) rates_ = rates();  // else a schedule, now at 0, would lose the ratios
    }
    std::int64_t steps() const { return slots_.steps(); }  // number of calls of step()

    // Returns copies of what step() remembers, without the options: "step" and, for each parameter that was
    // updated, "name.step" and "name.moment" for each of the rule's moments.
    nn::NamedTensors state_dict() const { return slots_.state_dict(); }
    // Restores such a state. ValueError, ShapeError or DTypeError, naming the entry, when one is missing,
    // unexpected or does not fit; then nothing has changed.
    void load_state_dict(const nn::NamedTensors& state) { slots_.load_state_dict(state); }

private:
    std::vector<Group> groups_;
    ParameterSlots slots_;
    std::vector<double> rates_;  // of each group when one was last set by itself

    static void check_group(const Group& group) {
        check(group.options);
        if constexpr (requires { check(group.options, group.parameters); })
            check(group.options, group.parameters);
    }
    template <class F>
    auto of_groups(const F& f) const {
        std::vector<decltype(f(groups_.front()))> all;
        for (const Group& group : groups_) all.push_back(f(group));
        return all;
    }
    auto parameters() const {
        return of_groups([](const Group& group) { return check_group(group), group.parameters; });
    }
    auto moments() const {
        return of_groups([](const Group& group) { return moment_names(group.options); });
    }
    auto rates() const {
        return of_groups([](const Group& group) { return group.options.lr; });
    }
};

using SGD = Optimizer<SGDOptions>;      // stochastic gradient descent, see SGDOptions
using Adam = Optimizer<AdamOptions>;    // see AdamOptions
using AdamW = Optimizer<AdamWOptions>;  // Adam with decoupled weight decay, see AdamWOptions

}  // namespace weft::optim
