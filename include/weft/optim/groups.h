// Groups of parameters, each with options of its own.
#pragma once

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

}  // namespace weft::optim
