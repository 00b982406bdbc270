// Sequential: steps that run one after another.
#pragma once

#include <concepts>
#include <functional>
#include <initializer_list>
#include <optional>
#include <type_traits>

#include "weft/nn/module.h"

namespace weft::nn {

// y = step_n(… step_1(step_0(x))). A step is a function such as `relu`, or a module: at step i, the child "i".
//
//     nn::Sequential net{nn::Linear(2, 8, rng), relu, nn::Linear(8, 1, rng)};
//     const Tensor y = net(x);  // (B, 2) → (B, 1)
//     net.at<nn::Linear>(0).weight.requires_grad_(false);
//
// Construct with braces: they evaluate from left to right, so the layers draw from rng in that order.
class Sequential : public Module {
public:
    // One step, converted from what you write in the braces.
    struct Step {
        std::function<Tensor(const Tensor&)> call;  // computes the step
        std::optional<Module> module;               // the child, if the step is a module

        // A function such as relu.
        Step(Tensor (*function)(const Tensor&)) : call(function) {}
        // gelu, in its exact form.
        Step(Tensor (*function)(const Tensor&, Gelu))
            : call([function](const Tensor& x) { return function(x, Gelu::exact); }) {}
        // A module, or anything else that can be called with a tensor and returns one.
        template <class F>
        Step(F step) {
            static_assert(std::is_invocable_v<const F&, const Tensor&>,
                          "a step of Sequential is called with one Tensor; put a module that takes more into a "
                          "function of one: [m](const Tensor& x) { return m(x, x, x); }");
            static_assert(std::is_invocable_r_v<Tensor, const F&, const Tensor&>,
                          "a step of Sequential returns a Tensor, which is the next step's input");
            if constexpr (std::is_invocable_r_v<Tensor, const F&, const Tensor&>) call = step;
            if constexpr (std::derived_from<F, Module>) module.emplace(step);
        }
    };

    Sequential(std::initializer_list<Step> steps);  // registers each step that is a module
    // Applies the steps in order; without steps, returns x. GraphError if a step changes x in place.
    Tensor operator()(const Tensor& x) const;
    template <class A, class B, class... More>
    Sequential(const A&, const B&, const More&...) = delete;  // in braces: Sequential{a, b}
    std::size_t size() const { return steps_.size(); }        // number of steps
    // Step i, as what it is. IndexError unless i < size(); ValueError unless it is an M.
    template <class M>
    M& at(std::size_t i) {
        if (i >= size()) throw IndexError("Sequential: no step ", i, "; it has ", size());
        if (M* step = steps_[i].template target<M>()) return *step;
        throw ValueError("Sequential: step ", i,
                         " is of another type; at<M>(i) takes the type it was made with");
    }

private:
    std::vector<std::function<Tensor(const Tensor&)>> steps_;
};

}  // namespace weft::nn
