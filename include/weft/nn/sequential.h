// Sequential: one step after another.
#pragma once

#include <concepts>
#include <functional>
#include <initializer_list>
#include <optional>

#include "weft/nn/module.h"

namespace weft::nn {

// y = step_n(… step_1(step_0(x))). A step is a module, or a function such as `relu`; step i that is a module is
// the child "i".
//
//     nn::Sequential net{nn::Linear(2, 8, rng), relu, nn::Linear(8, 1, rng)};
//
// Braces, because they build the steps from left to right, and so draw from rng in the same order with every
// compiler.
class Sequential : public Module {
public:
    // A module or a function, as it is written in the braces.
    struct Step {
        std::function<Tensor(const Tensor&)> call;  // what it does
        std::optional<Module> module;               // the child, where it is one

        // A function such as relu.
        Step(Tensor (*function)(const Tensor&)) : call(function) {}
        // A module, or anything else that is called with a tensor and returns one.
        template <class F>
        requires std::invocable<const F&, const Tensor&> Step(F step) : call(step) {
            if constexpr (std::derived_from<F, Module>) module = step;
        }
    };

    Sequential(std::initializer_list<Step> steps);      // the steps in their order
    Tensor operator()(const Tensor& x) const;           // through all of them
    std::size_t size() const { return steps_.size(); }  // how many

private:
    std::vector<std::function<Tensor(const Tensor&)>> steps_;
};

}  // namespace weft::nn
