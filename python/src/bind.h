// What the files of the binding share: how values of Python become Weft's, and the other way round.
#pragma once

#include <pybind11/functional.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "weft/core.h"

namespace py = pybind11;
using namespace py::literals;
using namespace weft;

using MaybeTensor = std::optional<Tensor>;  // None for an undefined tensor
inline MaybeTensor or_none(const Tensor& x) { return x.defined() ? MaybeTensor(x) : std::nullopt; }
inline Tensor or_undefined(const MaybeTensor& x) { return x.value_or(Tensor()); }
inline Rng& generator_of(Rng* generator) { return generator ? *generator : default_rng(); }

using TensorClass = py::class_<Tensor>;
// Each adds one file's functions and classes.
void bind_tensor(py::module_& m, TensorClass& tensor);
void bind_exchange(py::module_& m, TensorClass& tensor);
void bind_ops(py::module_& m, TensorClass& tensor);
void bind_neural(py::module_& m, TensorClass& tensor);
void bind_modules(py::module_& m);

Tensor tensor_of(py::handle values, std::optional<DType> dtype = {});  // a copy: weft.tensor
py::custom_type_setup buffer_of_tensor();                              // the buffer protocol
Shape shape_of(const py::args& sizes);                                 // f(2, 3) and f((2, 3))

namespace pybind11::detail {

template <>
struct type_caster<Shape> {
    PYBIND11_TYPE_CASTER(Shape, const_name("Sequence[int]"));
    bool load(handle from, bool convert) {
        make_caster<std::int64_t> size;
        make_caster<std::vector<std::int64_t>> sizes;
        if (size.load(from, convert))
            value = Shape(cast_op<std::int64_t>(size));
        else if (sizes.load(from, convert))
            value = Shape(cast_op<std::vector<std::int64_t>&>(sizes));
        else
            return false;
        return true;
    }
    static handle cast(const Shape& shape, return_value_policy, handle) {
        tuple sizes(static_cast<std::size_t>(shape.rank()));
        for (int i = 0; i < shape.rank(); ++i) sizes[static_cast<std::size_t>(i)] = shape[i];
        return sizes.release();
    }
};

// None for every axis, an axis, or several.
template <>
struct type_caster<Axes> {
    PYBIND11_TYPE_CASTER(Axes, const_name("int | Sequence[int] | None"));
    bool load(handle from, bool convert) {
        make_caster<int> axis;
        make_caster<std::vector<int>> axes;
        if (axis.load(from, convert))
            value = Axes(cast_op<int>(axis));
        else if (axes.load(from, convert))
            value = Axes(cast_op<std::vector<int>&>(axes));
        else
            return from.is_none();
        return true;
    }
};

}  // namespace pybind11::detail
