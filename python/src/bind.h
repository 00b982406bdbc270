// What the files of the binding share: how a function is declared, and how Python's values become Weft's.
#pragma once
#include <pybind11/eval.h>
#include <pybind11/functional.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>
#include <pybind11/stl/filesystem.h>

#include "weft/lm.h"
#include "weft/report/report.h"
#include "weft/viz/figure.h"
#include "weft/viz/pictures.h"

namespace py = pybind11;
using namespace weft;
using nn::NamedTensors, nn::RotaryPairs, nn::init::FanMode, nn::init::Nonlinearity, optim::Anneal, viz::Run;
using I = std::int64_t;
using T = const Tensor&;
using List = std::vector<Tensor>;
using Lists = std::vector<List>;  // the parameters of each group
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
                PyBool_Check(from.ptr()) || std::string_view(Py_TYPE(from.ptr())->tp_name) == "numpy.bool_";
            if (is_bool || !PyIndex_Check(from.ptr())) return false;
            const I whole = PyLong_AsLongLong(from.ptr());
            if (value = static_cast<N>(whole); value != whole) return false;
        } else {
            if (!convert && !PyFloat_Check(from.ptr())) return false;
            if (py::isinstance<Tensor>(from) && from.cast<T>().requires_grad()) return false;
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
template <>
struct py::detail::type_caster<List> : py::detail::list_caster<List, Tensor> {
    bool load(handle from, bool convert) {
        if (isinstance<Tensor>(from)) return false;
        const bool is_iterator = isinstance<iterable>(from) && !PySequence_Check(from.ptr());
        return list_caster::load(is_iterator ? list(reinterpret_borrow<object>(from)) : from, convert);
    }
};
// A dictionary of tensors, or pairs.
template <>
struct py::detail::type_caster<NamedTensors>
    : py::detail::list_caster<NamedTensors, std::pair<std::string, Tensor>> {
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
// A member of an enumeration, by PyTorch's word for it; generate.py lists them, and the argument's name.
template <class E>
using Known = std::pair<std::string, std::vector<std::pair<std::string, E>>>;
template <class E>
struct Words;
template <class E>
struct Word {
    PYBIND11_TYPE_CASTER(E, py::detail::const_name("str"));
    bool load(py::handle from, bool) {
        const auto [argument, words] = Words<E>::all();
        const std::string word = py::str(from);
        std::string all;
        for (const auto& [name, member] : words) {
            if (word == name) return value = member, true;
            all += (all.empty() ? "'" : name == words.back().first ? " or '" : ", '") + name + "'";
        }
        throw ValueError(argument, " is '", word, "'; use ", all);
    }
};
// A function's name and arguments as Python writes them, and reads them: "clamp(input, min=None, max=None)".
struct Signature {
    inline static py::object& globals = *new py::object;  // of the module, for defaults such as float32
    std::string name;
    py::object f;
    explicit Signature(const std::string& text) : name(text.substr(0, text.find('('))) {
        const py::dict read = globals["_signatures"];  // by arguments, which many functions share, and by name
        const py::str arguments(text.substr(name.size() + 1, text.size() - name.size() - 2)), key(name + "(");
        if (!read.contains(arguments))
            read[arguments] = py::eval(py::str("lambda ") + arguments + py::str(": locals()"), globals);
        f = read[arguments];
        read[key] = read.attr("get")(key, py::tuple()) + py::make_tuple(f);
    }
};
template <>
struct py::detail::process_attribute<Signature> : py::detail::process_attribute_default<Signature> {
    static void init(const Signature& s, function_record* r) {
        const auto names = s.f.attr("__code__").attr("co_varnames").cast<std::vector<str>>();  // which live on
        const tuple defaults = s.f.attr("__defaults__").is_none() ? tuple() : tuple(s.f.attr("__defaults__"));
        const std::size_t required = names.size() - defaults.size();
        // x + y, where Python asks a y that is no tensor
        r->is_operator = s.name.starts_with("__") && names.size() == 2 && names[1].equal(str("other"));
        if (r->is_new_style_constructor) r->args.emplace_back("self", nullptr, handle(), true, false);
        for (std::size_t i = 0; i < names.size(); ++i) {
            object value = i < required ? object() : object(defaults[i - required]);
            r->args.emplace_back(PyUnicode_AsUTF8(names[i].ptr()), nullptr, value.release(), true,
                                 !r->is_operator);
        }
    }
};
// A function of a module, or a method of a class, which takes the object first. `dim` is `axis`, too.
template <class F>
void def(const py::object& scope, const std::string& signature, F f) {
    const Signature s(signature);
    const py::object before = py::getattr(scope, s.name.c_str(), py::none());
    const py::name name(s.name.c_str());
    scope.attr(s.name.c_str()) = PyType_Check(scope.ptr())
                                     ? py::cpp_function(f, name, py::is_method(scope), py::sibling(before), s)
                                     : py::cpp_function(f, name, py::scope(scope), py::sibling(before), s);
    const std::size_t dim = signature.find_first_of(" ,)", signature.find(", dim") + 2);
    if (dim != std::string::npos && signature.substr(dim - 5, 5) == ", dim")
        def(scope, std::string(signature).replace(dim - 3, 3, "axis"), f);
}
// Each adds its part to the module; two are made by generate.py from the headers.
void bind_exchange(py::module_& m, py::class_<Tensor>& t);
void bind_declared_0(py::module_& m, py::class_<Tensor>& t);
void bind_declared_1(py::module_& m, py::class_<Tensor>& t);
void bind_language(py::module_& m, const py::object& nn);
// What Python gets for a pair of tensors: max(x, 1).values
inline py::object pair_of(const AttentionResult& y) { return py::make_tuple(y.output, y.weights); }
inline py::object pair_of(const UniqueResult& y) { return py::make_tuple(y.values, y.inverse, y.counts); }
inline py::object pair_of(const ValuesIndices& y) {
    static const py::handle type =
        py::module_::import("collections").attr("namedtuple")("ValuesIndices", "values indices").release();
    return type(y.values, y.indices);
}
inline py::dict dict_of(const NamedTensors& tensors) { return py::dict(py::cast(tensors)); }
// An optimiser of these groups, with the same options at first; its state numbers the parameters across them.
template <class Options>
optim::Optimizer<Options> grouped(const Lists& lists, const Options& options) {
    std::vector<optim::ParameterGroup<Options>> groups;
    std::size_t number = 0;
    for (const List& list : lists) {
        NamedTensors parameters;
        for (T p : list) parameters.emplace_back(std::to_string(number++), p);
        groups.emplace_back(parameters, options);
    }
    return optim::Optimizer<Options>(std::move(groups));
}
