// Classes of modules and optimisers, which generate.py declares.
#pragma once

#include "bind.h"
#include "weft/lm/gpt.h"

using nn::init::FanMode, nn::init::Nonlinearity, optim::Anneal;
using Lists = std::vector<List>;  // the parameters of each group

// A dictionary of tensors, or pairs.
template <>
struct py::detail::type_caster<nn::NamedTensors>
    : py::detail::list_caster<nn::NamedTensors, std::pair<std::string, Tensor>> {
    bool load(handle from, bool convert) {
        if (!PyDict_Check(from.ptr())) return list_caster::load(from, convert);
        for (const auto& [name, x] : reinterpret_borrow<dict>(from)) {
            if (!isinstance<Tensor>(x))
                throw DTypeError("'", std::string(str(name)), "' is a ", Py_TYPE(x.ptr())->tp_name,
                                 " and no Tensor; make one with weft.tensor");
            value.emplace_back(str(name), x.cast<Tensor>());
        }
        return true;
    }
};
// An optimiser of these groups, with the same options at first; its state numbers the parameters across them.
template <class Options>
optim::Optimizer<Options> grouped(const Lists& lists, const Options& options) {
    std::vector<optim::ParameterGroup<Options>> groups;
    std::size_t number = 0;
    for (const List& list : lists) {
        nn::NamedTensors parameters;
        for (T p : list) parameters.emplace_back(std::to_string(number++), p);
        groups.emplace_back(parameters, options);
    }
    return optim::Optimizer<Options>(std::move(groups));
}

inline py::dict dict_of(const nn::NamedTensors& tensors) { return py::dict(py::cast(tensors)); }
