// Classes of modules and optimisers, which generate.py declares.
#pragma once

#include "bind.h"
#include "weft/lm/gpt.h"

using Groups = std::vector<optim::ParameterGroup>;

// What an optimiser takes: a module, tensors, named tensors, or the groups of decay_groups; or iterators of
// them.
template <>
struct py::detail::type_caster<Groups> : py::detail::list_caster<Groups, optim::ParameterGroup> {
    bool load(handle from, bool convert) {
        make_caster<std::vector<Tensor>> tensors;
        make_caster<nn::NamedTensors> pairs;
        if (isinstance<nn::Module>(from)) return value = {{from.cast<nn::Module&>().named_parameters()}}, true;
        if (isinstance<Tensor>(from)) return false;
        const object items = listed(from);
        if (pairs.load(items, convert)) return value = {{cast_op<nn::NamedTensors&>(pairs)}}, true;
        if (!tensors.load(items, convert)) return list_caster::load(items, convert);
        return value = {{optim::numbered(cast_op<std::vector<Tensor>&>(tensors))}}, true;
    }
};

template <>
struct py::detail::type_caster<optim::Anneal> {
    PYBIND11_TYPE_CASTER(optim::Anneal, const_name("'cos' | 'linear'"));
    bool load(handle from, bool) {
        const std::string text = py::str(from);
        value = text == "linear" ? optim::Anneal::linear : optim::Anneal::cos;
        return text == "linear" || text == "cos";
    }
};

// Calls with x, and with a mask for what takes one.
template <class M, class F>
void layer(py::module_& nn, const std::string& signature, F make) {
    const Signature s(signature);
    if (!py::hasattr(nn, s.name.c_str())) py::class_<M, nn::Module>(nn, s.name.c_str());
    auto type = py::reinterpret_borrow<py::class_<M, nn::Module>>(nn.attr(s.name.c_str()));
    type.def(py::init(make), s);
    for (const std::string call : {"__call__", "forward"}) {
        if constexpr (std::is_invocable_v<const M&, T, const Mask&>)
            def(type, call + "(self, x, mask=Mask())",
                [](const M& f, T x, const Mask& mask) { return f(x, mask); });
        else if constexpr (std::is_invocable_v<const M&, T>)
            def(type, call + "(self, x)", [](const M& f, T x) { return f(x); });
    }
}

inline py::dict dict_of(const nn::NamedTensors& tensors) { return py::dict(py::cast(tensors)); }
inline nn::NamedTensors named(const py::dict& tensors) {
    nn::NamedTensors result;
    for (const auto& [name, x] : tensors) {
        if (!py::isinstance<Tensor>(x))
            throw DTypeError("'", std::string(py::str(name)), "' is a ", Py_TYPE(x.ptr())->tp_name,
                             ", and no Tensor; make one of it with weft.tensor");
        result.emplace_back(py::str(name), x.cast<Tensor>());
    }
    return result;
}

template <class Options, class F>
void optimizer(py::module_& optim, const std::string& signature, F make) {
    using O = optim::Optimizer<Options>;
    const Signature s(signature);
    auto type =
        py::class_<O>(optim, s.name.c_str()).def(py::init(make), s).def_property("lr", &O::lr, &O::set_lr);
    def(type, "step(self)", [](O& o) { o.step(); });
    def(type, "zero_grad(self)", [](O& o) { o.zero_grad(); });
    def(type, "state_dict(self)", [](const O& o) { return dict_of(o.state_dict()); });
    def(type, "load_state_dict(self, state_dict)",
        [](O& o, const py::dict& state) { o.load_state_dict(named(state)); });
}
