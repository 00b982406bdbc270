// What the files of the binding share: how functions are declared, and how Python's values become Weft's.
#pragma once

#include <pybind11/functional.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>
#include <pybind11/stl/filesystem.h>

#include "weft/nn.h"

namespace py = pybind11;
using namespace weft;
using I = std::int64_t;

using Maybe = std::optional<Tensor>;  // None for an undefined tensor
inline Maybe or_none(const Tensor& x) { return x.defined() ? Maybe(x) : std::nullopt; }
inline Tensor or_undefined(const Maybe& x) { return x.value_or(Tensor()); }
inline Rng& generator_of(Rng* generator) { return generator ? *generator : default_rng(); }

Tensor tensor_of(py::handle values, std::optional<DType> dtype = {});  // weft.tensor: a copy
// Each adds one file's functions and classes to the module.
void bind_exchange(py::module_& m, py::class_<Tensor>& tensor);
void bind_tensor(py::module_& m, py::class_<Tensor>& tensor);
void bind_ops(py::module_& m, py::class_<Tensor>& tensor);
void bind_functional(py::module_& m, py::module_& functional);
void bind_modules(py::module_& m, py::module_& nn);
void set_buffer_protocol(PyHeapTypeObject* type);

// A function's name and arguments as Python writes them, "clamp(input, min=None, max=None)"; Python reads it.
struct Signature {
    std::string name;
    py::object f;
    explicit Signature(const std::string& text) : name(text.substr(0, text.find('('))) {
        const std::string list = text.substr(name.size() + 1, text.rfind(')') - name.size() - 1);
        f = py::eval("lambda " + list + ": 0", py::module_::import("weft._weft").attr("__dict__"));
    }
};
template <>
struct py::detail::process_attribute<Signature> : py::detail::process_attribute_default<Signature> {
    static void init(const Signature& s, function_record* r) {
        const auto defaults = py::getattr(s.f, "__defaults__"), code = s.f.attr("__code__");
        const auto positional = code.attr("co_argcount").cast<std::size_t>();
        const std::size_t required = positional - (defaults.is_none() ? 0 : py::len(defaults));
        const std::size_t count = positional + code.attr("co_kwonlyargcount").cast<std::size_t>();
        if (r->is_new_style_constructor) r->args.emplace_back("self", nullptr, handle(), true, false);
        for (std::size_t i = 0; i < count; ++i) {
            const py::object name = code.attr("co_varnames")[py::int_(i)];
            py::object value;
            if (i >= positional)
                value = s.f.attr("__kwdefaults__")[name];
            else if (i >= required)
                value = defaults[py::int_(i - required)];
            r->args.emplace_back(PyUnicode_AsUTF8(name.ptr()), nullptr, value.release(), true, true);
        }
        r->is_operator = s.name.starts_with("__") && count == 2;  // for other operands, Python asks their type
    }
};

// A function of a module, or a method of a class, whose first argument is then the object.
template <class F>
void def(const py::object& scope, const std::string& signature, F f) {
    const Signature s(signature);
    const py::name name(s.name.c_str());
    const py::sibling before(py::getattr(scope, s.name.c_str(), py::none()));
    scope.attr(s.name.c_str()) = PyType_Check(scope.ptr())
                                     ? py::cpp_function(f, name, py::is_method(scope), before, s)
                                     : py::cpp_function(f, name, py::scope(scope), before, s);
}

// An item or a sequence of them: Shape, and Axes, where None is every axis.
template <class T, class Item>
struct Listed {
    PYBIND11_TYPE_CASTER(T, py::detail::const_name("int | Sequence[int]"));
    bool load(py::handle from, bool convert) {
        py::detail::make_caster<Item> item;
        py::detail::make_caster<std::vector<Item>> items;
        if (item.load(from, convert)) return value = T(static_cast<Item>(item)), true;
        if (items.load(from, convert)) return value = T(static_cast<std::vector<Item>&>(items)), true;
        return from.is_none() && std::is_same_v<T, Axes>;
    }
    static py::handle cast(const T& list, py::return_value_policy, py::handle) {
        return py::tuple(py::cast(std::vector<Item>(list.begin(), list.end()))).release();
    }
};
template <>
struct py::detail::type_caster<Shape> : Listed<Shape, I> {};
template <>
struct py::detail::type_caster<Axes> : Listed<Axes, int> {};
inline Shape shape_of(const py::args& sizes) {  // of f(2, 3) and f((2, 3))
    return sizes.size() == 1 ? sizes[0].cast<Shape>() : sizes.cast<Shape>();
}
