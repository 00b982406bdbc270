// What the files of the binding share: how a function is declared, and how Python's values become Weft's.
#pragma once

#include <pybind11/eval.h>
#include <pybind11/functional.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>
#include <pybind11/stl/filesystem.h>
#include <any>
#include <cstring>

#include "weft/nn.h"
#include "weft/nn/init.h"
#include "weft/optim/schedules.h"

namespace py = pybind11;
using namespace weft;
using I = std::int64_t;
using T = const Tensor&;
using List = std::vector<Tensor>;
using Hook = Tensor::Hook;

// None is an undefined tensor, where a signature has it as its default.
template <>
struct py::detail::type_caster<Tensor> : py::detail::type_caster_base<Tensor> {
    bool load(handle from, bool convert) {
        static Tensor undefined;
        return from.is_none() ? (value = &undefined, true) : type_caster_base::load(from, convert);
    }
    static handle cast(const Tensor& x, return_value_policy, handle parent) {
        return x.defined() ? type_caster_base::cast(x, return_value_policy::copy, parent) : none().release();
    }
};
// A number. A tensor that requires a gradient is none, because the number would lose it, and a bool no integer.
template <class N>
struct Number {
    PYBIND11_TYPE_CASTER(N, py::detail::const_name<std::is_integral_v<N>>("int", "float"));
    bool load(py::handle from, bool convert) {
        if constexpr (std::is_integral_v<N>) {
            const bool is_bool =
                PyBool_Check(from.ptr()) || std::strcmp(Py_TYPE(from.ptr())->tp_name, "numpy.bool_") == 0;
            if (is_bool || !PyIndex_Check(from.ptr())) return false;
            const I whole = PyLong_AsLongLong(from.ptr());
            if (value = static_cast<N>(whole); value != whole) return false;
        } else {
            if (!convert && !PyFloat_Check(from.ptr())) return false;
            if (py::isinstance<Tensor>(from) && from.cast<const Tensor&>().requires_grad()) return false;
            value = PyFloat_AsDouble(from.ptr());
        }
        return PyErr_Occurred() == nullptr || (PyErr_Clear(), false);
    }
    static py::handle cast(N x, py::return_value_policy, py::handle) {
        return std::is_integral_v<N> ? PyLong_FromLongLong(I(x)) : PyFloat_FromDouble(double(x));
    }
};
template <>
struct py::detail::type_caster<double> : Number<double> {};
template <>
struct py::detail::type_caster<int> : Number<int> {};
template <>
struct py::detail::type_caster<I> : Number<I> {};
// A sequence or an iterator of tensors, and not the rows of one.
inline py::object listed(py::handle from) {
    const auto x = py::reinterpret_borrow<py::object>(from);
    return PySequence_Check(x.ptr()) || !py::isinstance<py::iterable>(x) ? x : py::list(x);
}
template <>
struct py::detail::type_caster<List> : py::detail::list_caster<List, Tensor> {
    bool load(handle from, bool convert) {
        return !isinstance<Tensor>(from) && list_caster::load(listed(from), convert);
    }
};
// An item or a sequence of them: Shape, and Axes, where None is every axis.
template <class L, class Item>
struct Listed {
    PYBIND11_TYPE_CASTER(L, py::detail::const_name("int | Sequence[int]"));
    bool load(py::handle from, bool convert) {
        py::detail::make_caster<Item> item;
        py::detail::make_caster<std::vector<Item>> items;
        if (item.load(from, convert)) return value = L(static_cast<Item>(item)), true;
        if (!py::isinstance<Tensor>(from) && items.load(from, convert))
            return value = L(static_cast<std::vector<Item>&>(items)), true;
        return from.is_none() && std::is_same_v<L, Axes>;
    }
    static py::handle cast(const L& list, py::return_value_policy, py::handle) {
        return py::tuple(py::cast(std::vector<Item>(list.begin(), list.end()))).release();
    }
};
template <>
struct py::detail::type_caster<Shape> : Listed<Shape, I> {};
template <>
struct py::detail::type_caster<Axes> : Listed<Axes, int> {};
// A member of an enumeration, by PyTorch's word for it.
template <class E>
struct Known {
    const char* what;
    std::vector<std::pair<const char*, E>> words;
};
inline Known<Reduction> known(Reduction) {
    using R = Reduction;
    return {"reduction", {{"mean", R::mean}, {"sum", R::sum}, {"none", R::none}, {"batchmean", R::batchmean}}};
}
inline Known<Gelu> known(Gelu) { return {"approximate", {{"none", Gelu::exact}, {"tanh", Gelu::tanh}}}; }
inline Known<optim::Anneal> known(optim::Anneal) {
    return {"anneal_strategy", {{"cos", optim::Anneal::cos}, {"linear", optim::Anneal::linear}}};
}
inline Known<nn::init::FanMode> known(nn::init::FanMode) {
    return {"mode", {{"fan_in", nn::init::FanMode::fan_in}, {"fan_out", nn::init::FanMode::fan_out}}};
}
inline Known<nn::init::Nonlinearity> known(nn::init::Nonlinearity) {
    using N = nn::init::Nonlinearity;
    return {"nonlinearity",
            {{"linear", N::linear},
             {"conv1d", N::linear},
             {"conv2d", N::linear},
             {"sigmoid", N::sigmoid},
             {"tanh", N::tanh},
             {"relu", N::relu},
             {"leaky_relu", N::leaky_relu},
             {"selu", N::selu}}};
}
template <class E>
struct Word {
    PYBIND11_TYPE_CASTER(E, py::detail::const_name("str"));
    bool load(py::handle from, bool) {
        const auto [what, words] = known(E());
        const std::string word = py::str(from);
        std::string all;
        for (const auto& [name, member] : words) {
            if (word == name) return value = member, true;
            all += (all.empty() ? "'" : name == words.back().first ? " or '" : ", '") + std::string(name) + "'";
        }
        throw ValueError(what, " is '", word, "'; use ", all);
    }
};
template <>
struct py::detail::type_caster<Reduction> : Word<Reduction> {};
template <>
struct py::detail::type_caster<Gelu> : Word<Gelu> {};
template <>
struct py::detail::type_caster<optim::Anneal> : Word<optim::Anneal> {};
template <>
struct py::detail::type_caster<nn::init::FanMode> : Word<nn::init::FanMode> {};
template <>
struct py::detail::type_caster<nn::init::Nonlinearity> : Word<nn::init::Nonlinearity> {};
// A function's name and arguments as Python writes them, and reads them: "clamp(input, min=None, max=None)".
struct Signature {
    inline static py::object& globals = *new py::object;  // of the module, for defaults such as float32
    std::string name;
    py::object f;
    explicit Signature(const std::string& text) : name(text.substr(0, text.find('('))) {
        static auto* const read = new std::map<std::string, py::object>;  // many functions have the same
        const std::string arguments = text.substr(name.size() + 1, text.size() - name.size() - 2);
        if (!read->contains(arguments)) (*read)[arguments] = py::eval("lambda " + arguments + ": 0", globals);
        f = (*read)[arguments];
    }
};
template <>
struct py::detail::process_attribute<Signature> : py::detail::process_attribute_default<Signature> {
    static void init(const Signature& s, function_record* r) {
        const auto names = s.f.attr("__code__").attr("co_varnames").cast<std::vector<std::string>>();
        const tuple defaults = s.f.attr("__defaults__").is_none() ? tuple() : tuple(s.f.attr("__defaults__"));
        const std::size_t required = names.size() - defaults.size();
        // x + y, where Python asks a y that is no tensor
        r->is_operator = s.name.starts_with("__") && names.size() == 2 && names[1] == "other";
        if (r->is_new_style_constructor) r->args.emplace_back("self", nullptr, handle(), true, false);
        for (std::size_t i = 0; i < names.size(); ++i) {
            object value = i < required ? object() : object(defaults[i - required]);
            r->args.emplace_back(names[i].c_str(), nullptr, value.release(), true, !r->is_operator);
        }
    }
};
// A function of a module, or a method of a class, whose first argument is then the object.
template <class F>
void def(const py::object& scope, const std::string& signature, F f) {
    const Signature s(signature);
    const py::object before = py::getattr(scope, s.name.c_str(), py::none());
    const py::name name(s.name.c_str());
    scope.attr(s.name.c_str()) = PyType_Check(scope.ptr())
                                     ? py::cpp_function(f, name, py::is_method(scope), py::sibling(before), s)
                                     : py::cpp_function(f, name, py::scope(scope), py::sibling(before), s);
}
// Each adds its part to the module; the last two are made by generate.py from the headers, and come first.
using Modules = py::module_&;
void bind_exchange(Modules m, py::class_<Tensor>& t);
void bind_modules(Modules m, Modules nn, py::class_<nn::Module>& type);
void bind_names(Modules m, py::class_<Tensor>& t);
void bind_declared_0(Modules m, py::class_<Tensor>& t, Modules nn, Modules optim);
void bind_declared_1(Modules m, py::class_<Tensor>& t, Modules nn, Modules optim);
// What Python gets for a pair of tensors: max(x, 1).values
inline py::object pair_of(const AttentionResult& y) { return py::make_tuple(y.output, y.weights); }
inline py::object pair_of(const UniqueResult& y) { return py::make_tuple(y.values, y.inverse, y.counts); }
inline py::object pair_of(const ValuesIndices& y) {
    static const py::handle type =
        py::module_::import("collections").attr("namedtuple")("ValuesIndices", "values indices").release();
    return type(y.values, y.indices);
}
