// Classes of modules and optimisers, which generate.py declares.
#pragma once

#include "bind.h"
#include "weft/models/gpt.h"

using Groups = std::vector<optim::ParameterGroup>;

// What an optimiser takes: a module, tensors, named tensors, or the groups of decay_groups.
template <>
struct py::detail::type_caster<Groups> {
    PYBIND11_TYPE_CASTER(Groups, const_name("Module | Iterable[Tensor]"));
    bool load(handle from, bool) {
        if (isinstance<nn::Module>(from)) return value = {{from.cast<nn::Module&>().named_parameters()}}, true;
        const list all(reinterpret_borrow<object>(from));
        if (all.empty() || isinstance<Tensor>(all[0]))
            return value = {{optim::numbered(all.cast<std::vector<Tensor>>())}}, true;
        if (isinstance<tuple>(all[0])) return value = {{all.cast<nn::NamedTensors>()}}, true;
        for (handle group : all) value.push_back(group.cast<optim::ParameterGroup>());
        return true;
    }
    static handle cast(const Groups& groups, return_value_policy, handle) {
        list all;
        for (const auto& group : groups) all.append(group);
        return all.release();
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
    return py::list(tensors.attr("items")()).cast<nn::NamedTensors>();
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
