// What the files of the binding share: how a function is declared, and how Python's values become Weft's.
#pragma once

#include <pybind11/eval.h>
#include <pybind11/functional.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>
#include <pybind11/stl/filesystem.h>

#include "weft/nn.h"

namespace py = pybind11;
using namespace weft;
using I = std::int64_t;
using T = const Tensor&;
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
        if (py::isinstance<Tensor>(from)) {
            const Tensor x = from.cast<const Tensor&>();
            if (!convert || x.numel() != 1 || x.requires_grad()) return false;
            if (std::is_integral_v<N>) return x.dtype() == int64 && (value = N(*x.data<I>()), true);
            return value = N(x.item()), true;
        }
        if constexpr (std::is_integral_v<N>) {
            if (PyBool_Check(from.ptr()) || !PyIndex_Check(from.ptr())) return false;
            const auto whole = py::reinterpret_steal<py::object>(PyNumber_Index(from.ptr()));
            const I number = whole ? PyLong_AsLongLong(whole.ptr()) : -1;
            if (value = static_cast<N>(number); value != number) return false;
        } else if (convert || PyFloat_Check(from.ptr())) {
            value = PyFloat_AsDouble(from.ptr());
        } else {
            return false;
        }
        const bool failed = PyErr_Occurred() != nullptr;
        return PyErr_Clear(), !failed;
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
    const bool is_read_once = PySequence_Check(from.ptr()) == 0 && py::isinstance<py::iterable>(from);
    return is_read_once ? py::list(py::reinterpret_borrow<py::object>(from))
                        : py::reinterpret_borrow<py::object>(from);
}
template <>
struct py::detail::type_caster<std::vector<Tensor>> : py::detail::list_caster<std::vector<Tensor>, Tensor> {
    bool load(handle from, bool convert) {
        return !isinstance<Tensor>(from) &&
               list_caster::load(convert ? listed(from) : py::reinterpret_borrow<py::object>(from), convert);
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
        if (items.load(from, convert)) return value = L(static_cast<std::vector<Item>&>(items)), true;
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
// PyTorch's word for it.
template <>
struct py::detail::type_caster<Reduction> {
    PYBIND11_TYPE_CASTER(Reduction, const_name("str"));
    bool load(handle from, bool) {
        const std::string word = str(from);
        for (const auto& [name, reduction] :
             std::initializer_list<std::pair<const char*, Reduction>>{{"mean", Reduction::mean},
                                                                      {"sum", Reduction::sum},
                                                                      {"none", Reduction::none},
                                                                      {"batchmean", Reduction::batchmean}})
            if (word == name) return value = reduction, true;
        throw ValueError("reduction is '", word, "'; use 'mean', 'sum', 'none' or 'batchmean'");
    }
};
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
        const object code = s.f.attr("__code__"), names = code.attr("co_varnames");
        const tuple defaults = s.f.attr("__defaults__").is_none() ? tuple() : tuple(s.f.attr("__defaults__"));
        const auto positional = code.attr("co_argcount").cast<std::size_t>();
        const auto count = positional + code.attr("co_kwonlyargcount").cast<std::size_t>();
        // x + y, where Python asks a y that is no tensor
        r->is_operator =
            s.name.starts_with("__") && count == 2 && std::string(py::str(names[int_(1)])) == "other";
        if (r->is_new_style_constructor) r->args.emplace_back("self", nullptr, handle(), true, false);
        for (std::size_t i = 0; i < count; ++i) {
            const object key = names[int_(i)];
            object value;
            if (i >= positional) value = s.f.attr("__kwdefaults__")[key];
            if (i < positional && i + defaults.size() >= positional)
                value = defaults[i + defaults.size() - positional];
            r->args.emplace_back(PyUnicode_AsUTF8(key.ptr()), nullptr, value.release(), true, !r->is_operator);
        }
    }
};
// A function of a module, or a method of a class, whose first argument is then the object.
template <class F>
void def(const py::object& scope, const std::string& signature, F f) {
    const Signature s(signature);
    const py::sibling before(py::getattr(scope, s.name.c_str(), py::none()));
    const py::name name(s.name.c_str());
    scope.attr(s.name.c_str()) = PyType_Check(scope.ptr())
                                     ? py::cpp_function(f, name, py::is_method(scope), before, s)
                                     : py::cpp_function(f, name, py::scope(scope), before, s);
}
// Each adds its part to the module; the last two are made by generate.py from the headers.
using Modules = py::module_&;
void bind_exchange(Modules m, py::class_<Tensor>& t);
void bind_tensor(Modules autograd, py::class_<Tensor>& t);
void bind_modules(Modules m, Modules nn);
void bind_attention(Modules m, Modules nn);
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
