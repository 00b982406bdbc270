// Classes of modules and optimisers, which generate.py declares.
#pragma once

#include "bind.h"
#include "weft/lm/gpt.h"

// Parameters, and their weight decay if it is not that of the optimiser.
struct DecayGroup {
    nn::NamedTensors parameters;
    std::optional<double> weight_decay = {};
};
using Groups = std::vector<DecayGroup>;

// The groups of an optimiser with these options.
template <class Options>
auto with_options(const Groups& groups, const Options& options) {
    std::vector<optim::ParameterGroup<Options>> all;
    for (const DecayGroup& group : groups) {
        all.emplace_back(group.parameters, options);
        if (group.weight_decay) all.back().options.weight_decay = *group.weight_decay;
    }
    return all;
}

// What an optimiser takes: a module, tensors, named tensors, or the groups of decay_groups.
template <>
struct py::detail::type_caster<Groups> : py::detail::list_caster<Groups, DecayGroup> {
    bool load(handle from, bool convert) {
        make_caster<std::vector<Tensor>> tensors;
        make_caster<nn::NamedTensors> pairs;
        if (isinstance<nn::Module>(from)) return value = {{from.cast<nn::Module&>().named_parameters()}}, true;
        if (pairs.load(from, convert)) return value = {{cast_op<nn::NamedTensors&>(pairs)}}, true;
        if (!tensors.load(from, convert)) return list_caster::load(from, convert);
        return value = {{optim::numbered(cast_op<std::vector<Tensor>&>(tensors))}}, true;
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
    auto type = py::class_<O>(optim, s.name.c_str()).def(py::init(make), s);
    type.def_property(
        "lr", [](const O& o) { return o.lr(); }, [](O& o, double lr) { o.set_lr(lr); });
    def(type, "step(self)", [](O& o) { o.step(); });
    def(type, "zero_grad(self)", [](O& o) { o.zero_grad(); });
    def(type, "state_dict(self)", [](const O& o) { return dict_of(o.state_dict()); });
    def(type, "load_state_dict(self, state_dict)",
        [](O& o, const py::dict& state) { o.load_state_dict(named(state)); });
}
