// Classes of modules and optimisers, which generate.py declares.
#pragma once

#include "bind.h"
#include "weft/lm/gpt.h"

using Groups = std::vector<optim::ParameterGroup>;

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
// What an optimiser takes: a module, or a list or iterator of tensors, named tensors or groups of decay_groups.
template <>
struct py::detail::type_caster<Groups> : py::detail::list_caster<Groups, optim::ParameterGroup> {
    bool load(handle from, bool convert) {
        make_caster<List> tensors;
        make_caster<nn::NamedTensors> pairs;
        if (isinstance<nn::Module>(from)) return value = {{from.cast<nn::Module&>().named_parameters()}}, true;
        const object items = listed(from);
        if (tensors.load(items, convert)) return value = {{optim::numbered(cast_op<List&>(tensors))}}, true;
        if (!pairs.load(items, convert)) return list_caster::load(items, convert);
        return value = {{cast_op<nn::NamedTensors&>(pairs)}}, true;
    }
};

inline py::dict dict_of(const nn::NamedTensors& tensors) { return py::dict(py::cast(tensors)); }
