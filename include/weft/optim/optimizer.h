// Groups of parameters, each with options of its own.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "weft/nn/module.h"

namespace weft::optim {

// Names each parameter by its position: "0", "1", …
//
//     const nn::NamedTensors named = optim::numbered({ones({2}), ones({3})});
//     const std::string second = named[1].first;  // "1"
nn::NamedTensors numbered(const std::vector<Tensor>& parameters);

// Parameters and their options. Groups with learning rates of their own, as for fine-tuning:
//
//     optim::AdamW optimizer({{model.body, {.lr = 1e-5}}, {model.head, {.lr = 1e-3, .beta2 = 0.95}}});
//
// A group by itself:
//
//     const optim::ParameterGroup<optim::SGDOptions> head{model.head, {.lr = 0.1}};
//     // head.parameters.size() is 2, head.options.lr is 0.1
template <class Options>
struct ParameterGroup {
    nn::NamedTensors parameters;  // names and tensors
    Options options;              // those of these parameters

    // Takes named parameters, a module or a list of parameters, which are named "0", "1", …
    ParameterGroup(nn::NamedTensors named, Options of_group)
        : parameters(std::move(named)), options(std::move(of_group)) {}
    ParameterGroup(const nn::Module& module, Options of_group)
        : ParameterGroup(module.named_parameters(), std::move(of_group)) {}
    ParameterGroup(const std::vector<Tensor>& list, Options of_group)
        : ParameterGroup(numbered(list), std::move(of_group)) {}
};

// Returns two groups: matrices (rank ≥ 2), with these options, and vectors (biases, norms), with these but no
// weight decay. Each parameter is there once.
//
//     optim::AdamW optimizer(optim::decay_groups(model, optim::AdamWOptions{.lr = 3e-4, .weight_decay = 0.1}));
template <class Options>
std::vector<ParameterGroup<Options>> decay_groups(const nn::Module& module, const Options& options) {
    static_assert(
        requires { options.weight_decay; },
        "decay_groups takes the optimiser's options: "
        "decay_groups(model, optim::AdamWOptions{.lr = 3e-4, .weight_decay = 0.1})");
    std::vector<ParameterGroup<Options>> groups(2, {nn::NamedTensors(), options});
    groups[1].options.weight_decay = 0;
    for (const auto& named : module.named_parameters())
        groups[named.second.rank() >= 2 ? 0 : 1].parameters.push_back(named);
    return groups;
}

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

// An optimiser with the rule of Options. SGD, Adam and AdamW are below, Muon in weft/optim/optimizer.h;
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

// Muon, an optimiser of matrices.

// b ← momentum·b + (1 − momentum)·g;  u = momentum·b + (1 − momentum)·g, or b without Nesterov;
// p ← (1 − lr·weight_decay)·p − lr·√max(1, rows/cols) · O(u), where O brings the singular values of u near 1:
// X ← u/max(‖u‖, eps), then ns_steps times X ← aX + (bA + cA²)X with A = XXᵀ (Jordan, "Muon: An optimizer for
// hidden layers in neural networks", 2024). PyTorch's Muon rounds X to bfloat16; this one keeps p's type.
struct MuonOptions {
    double lr = 1e-3;                                                   // learning rate
    double weight_decay = 0.1;                                          // each step shrinks p by lr times this
    double momentum = 0.95;                                             // factor on b in each step
    bool nesterov = true;                                               // one more step of b in u
    std::array<double, 3> ns_coefficients = {3.4445, -4.7750, 2.0315};  // a, b and c
    double eps = 1e-7;                                                  // the smallest divisor of u, above 0
    std::int64_t ns_steps = 5;  // number of Newton–Schulz steps, at least 0
};

// Returns {"momentum_buffer"}. This and the next three are what Optimizer asks of a rule: see optim::Update.
//
//     Tensor w = zeros({2, 2});
//     const Tensor g = eye(2);
//     std::vector<Tensor> moments{zeros({2, 2})};  // one for each name below
//     const optim::MuonOptions options{.lr = 0.1};
//     optim::check(options);
//     optim::check(options, {{"w", w}});
//     optim::update({w, g, moments, 1}, options);
//     const std::vector<const char*> names = optim::moment_names(options);  // names.size() is 1
std::vector<const char*> moment_names(const MuonOptions& options);
// Throws ValueError when an option is out of range.
void check(const MuonOptions& options);
// Throws ShapeError, with their names, when parameters are no matrices.
void check(const MuonOptions& options, const nn::NamedTensors& parameters);
// Updates one parameter and its moment by the formula at MuonOptions.
void update(const Update& u, const MuonOptions& options);

// For matrices inside a model; embeddings, the layer that computes the logits, biases and norms get an AdamW:
//
//     nn::NamedTensors matrices, others;
//     for (const auto& [name, p] : model.named_parameters())
//         (p.rank() == 2 && name != "embedding.weight" ? matrices : others).emplace_back(name, p);
//     optim::Muon muon(matrices, {.lr = 0.02});
//     optim::AdamW adamw(others, {.lr = 3e-4});
//     loss_of(batch()).backward();
//     muon.step(), adamw.step();
using Muon = Optimizer<MuonOptions>;

}  // namespace weft::optim
