// Optimisers, and what goes with them: a schedule of learning rates, clipping of gradients.
//
//     optim::AdamW optimizer(model, {.lr = 3e-4, .weight_decay = 0.1});
//     for (int step = 0; step < steps; ++step) {
//         optimizer.set_lr(optim::cosine_lr(step, {.lr = 3e-4, .warmup = 100, .steps = steps}));
//         optimizer.zero_grad();
//         loss_of(batch()).backward();
//         optim::clip_grad_norm(model, 1.0);
//         optimizer.step();
//     }
#pragma once

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

// Two groups: matrices (rank ≥ 2) decay by weight_decay, vectors (biases, norms) not at all. Each parameter
// once.
std::vector<ParameterGroup> decay_groups(const nn::Module& module, double weight_decay);

// One rule over a set of parameters; SGD, Adam and AdamW below.
template <class Options>
class Optimizer {
public:
    // ValueError when there is no parameter, one is in two groups, a name is there twice, or an option is out
    // of range (lr, eps, weight_decay, momentum ≥ 0 and finite, 0 ≤ β < 1); GraphError on a tensor that an
    // operation made. A tensor that one group names twice is one parameter, under its first name.
    explicit Optimizer(const nn::Module& module, Options options = {});
    explicit Optimizer(const nn::NamedTensors& parameters, Options options = {});
    explicit Optimizer(const std::vector<Tensor>& parameters, Options options = {});  // named "0", "1", …
    // Parameters with weight decays of their own.
    explicit Optimizer(const std::vector<ParameterGroup>& groups, Options options = {});
    // Not copied: two would write in the same moments. One that was moved from is of no further use: its
    // members throw a ValueError.
    Optimizer(Optimizer&&) noexcept = default;
    Optimizer& operator=(Optimizer&&) noexcept = default;  // likewise

    // Updates every parameter that has a gradient. ValueError, naming the parameter, when a gradient holds NaN
    // or an infinity, and DTypeError when a parameter has changed its type since its first update: then nothing
    // at all has changed.
    void step();
    void zero_grad();  // every parameter's gradient is undefined again

    const Options& options() const { return present().options_; }  // as they are now
    double lr() const { return options().lr; }                     // the learning rate
    void set_lr(double lr);                                        // ValueError when negative or not finite
    std::int64_t steps() const { return present().steps_; }        // how often step() was done

    // Copies of all that step() remembers: "step", and for each parameter that was updated "name.step" and, as
    // the rule needs, "name.momentum_buffer" or "name.exp_avg" and "name.exp_avg_sq". Options are not in it.
    nn::NamedTensors state_dict() const;
    // Takes it up again, so that the next step() is what it would have been. ValueError, ShapeError or
    // DTypeError, naming the entry, when one is missing, unexpected or does not fit; then nothing has changed.
    void load_state_dict(const nn::NamedTensors& state);

private:
    struct Slot {
        std::string name;
        Tensor parameter;
        double weight_decay;
        std::int64_t updates = 0;
        std::vector<Tensor> moments = {};  // empty before the first update
    };
    std::vector<Slot> slots_;
    Options options_;
    std::int64_t steps_ = 0;

    const Optimizer& present() const;  // itself; ValueError when it was moved from
};

using SGD = Optimizer<SGDOptions>;      // optim::SGD(model, {.lr = 0.1})
using Adam = Optimizer<AdamOptions>;    // optim::Adam(model, {.lr = 1e-3})
using AdamW = Optimizer<AdamWOptions>;  // optim::AdamW(model, {.lr = 3e-4})
extern template class Optimizer<SGDOptions>;
extern template class Optimizer<AdamOptions>;
extern template class Optimizer<AdamWOptions>;

// The course of a learning rate.
struct CosineOptions {
    double lr = 1e-3;         // the highest
    double min_lr = 0;        // the last
    std::int64_t warmup = 0;  // steps of a rising rate
    std::int64_t steps = 1;   // from here on min_lr
};
// The rate of step 0, 1, …: lr·(step + 1)/(warmup + 1) while step < warmup, then half a cosine from lr at step
// = warmup down to min_lr at step = steps, and min_lr from there on (Loshchilov and Hutter, "SGDR", 2017, eq.
// 5, without restarts). ValueError when a number is negative, not finite, or min_lr > lr.
double cosine_lr(std::int64_t step, const CosineOptions& options);

// Returns n = ‖all gradients together‖₂ and multiplies each gradient by min(1, max_norm / (n + 1e-6)), as
// PyTorch. Parameters without a gradient are left out, tied ones count once; n = 0 changes nothing. Where n is
// NaN or infinite gradients are left as they are, for step() to refuse by name. ValueError when max_norm is
// negative or NaN.
double clip_grad_norm(const std::vector<Tensor>& parameters, double max_norm);
double clip_grad_norm(const nn::Module& module, double max_norm);

}  // namespace weft::optim
