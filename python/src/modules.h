// Classes of modules and optimisers, which generate.py declares.
#pragma once

#include "bind.h"
#include "weft/lm/gpt.h"

using Lists = std::vector<std::vector<Tensor>>;  // the parameters of each group

// An optimiser of these groups, with the same options at first; its state numbers the parameters across them.
template <class Options>
optim::Optimizer<Options> grouped(const Lists& lists, const Options& options) {
    std::vector<optim::ParameterGroup<Options>> groups;
    std::size_t number = 0;
    for (const std::vector<Tensor>& list : lists) {
        nn::NamedTensors parameters;
        for (T p : list) parameters.emplace_back(std::to_string(number++), p);
        groups.emplace_back(parameters, options);
    }
    return optim::Optimizer<Options>(std::move(groups));
}

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
    auto type = py::class_<O>(optim, s.name.c_str()).def(py::init(make), s);
    def(type, "step(self)", [](O& o) { o.step(); });
    def(type, "state_dict(self)", [](const O& o) { return dict_of(o.state_dict()); });
    def(type, "load_state_dict(self, state_dict)",
        [](O& o, const py::dict& state) { o.load_state_dict(named(state)); });
}
