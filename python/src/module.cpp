// The module weft._weft: errors, types, modes and random numbers; the other files add the rest.
#include "bind.h"

#include <pybind11/stl/filesystem.h>

#include "weft/models/io.h"
#include "weft/nn.h"

namespace {

// An error of Weft's is one of Python's too: `except ValueError` catches weft.ShapeError.
template <class E>
void error(py::module_& m, const char* name, PyObject* builtin) {
    py::register_exception<E>(m, name, py::make_tuple(m.attr("Error"), py::handle(builtin)));
}

// A guard as `with weft.no_grad():` or as a decorator.
template <class Guard, class... Args>
void guard(py::module_& m, const char* name, const Args&... args) {
    struct Context {
        std::function<std::unique_ptr<Guard>()> make;
        std::vector<std::unique_ptr<Guard>> active = {};
    };
    const auto init = [](auto... values) {
        return std::make_unique<Context>(Context{[=] { return std::make_unique<Guard>(values...); }});
    };
    py::class_<Context> context(m, name);
    if constexpr (sizeof...(Args) == 0)
        context.def(py::init([init] { return init(); }));
    else
        context.def(py::init([init](bool mode) { return init(mode); }), args...);
    context.def("__enter__", [](Context& self) { self.active.push_back(self.make()); })
        .def("__exit__", [](Context& self, const py::args&) { self.active.pop_back(); })
        .def("__call__", [](const Context& self, const py::function& f) {
            return py::cpp_function([make = self.make, f](const py::args& args, const py::kwargs& kwargs) {
                const auto active = make();
                return py::object(f(*args, **kwargs));
            });
        });
}

}  // namespace

Shape shape_of(const py::args& sizes) {
    return sizes.size() == 1 ? sizes[0].cast<Shape>() : sizes.cast<Shape>();
}

PYBIND11_MODULE(_weft, m) {
    py::register_exception<Error>(m, "Error");
    error<ShapeError>(m, "ShapeError", PyExc_ValueError);
    error<DTypeError>(m, "DTypeError", PyExc_TypeError);
    error<IndexError>(m, "IndexError", PyExc_IndexError);
    error<ValueError>(m, "ValueError", PyExc_ValueError);
    error<GraphError>(m, "GraphError", PyExc_RuntimeError);
    error<IoError>(m, "IoError", PyExc_OSError);

    py::enum_<DType> dtype(m, "dtype");
    for (DType type : {float32, float64, int64, boolean}) {
        dtype.value(name(type), type);
        m.attr(name(type)) = type;
    }
    const auto named = [](DType type) { return std::string("weft.") + name(type); };
    for (const char* method : {"__repr__", "__str__"})
        dtype.attr(method) = py::cpp_function(named, py::name(method), py::is_method(dtype));
    dtype.def_property_readonly("itemsize", itemsize)
        .def_property_readonly("is_floating_point", is_floating_point);

    py::class_<Rng>(m, "Generator")
        .def(py::init<std::uint64_t>(), "seed"_a = 0)
        .def(
            "manual_seed", [](Rng& rng, std::uint64_t seed) { return &(rng = Rng(seed)); },
            py::return_value_policy::reference)
        .def("get_state", [](const Rng& rng) { return std::pair(rng.state().seed, rng.state().position); })
        .def("set_state", [](Rng& rng, std::pair<std::uint64_t, std::uint64_t> s) {
            rng.set_state({s.first, s.second});
        });
    m.def("manual_seed", manual_seed, "seed"_a);
    m.def("set_num_threads", set_num_threads, "n"_a);
    m.def("get_num_threads", get_num_threads);

    guard<NoGrad>(m, "no_grad");
    guard<EnableGrad>(m, "enable_grad");
    guard<GradMode>(m, "set_grad_enabled", "mode"_a);
    guard<Composed>(m, "composed", "composed"_a = true);
    guard<nn::EvalMode>(m, "eval_mode");
    m.def("is_grad_enabled", is_grad_enabled);

    TensorClass tensor(m, "Tensor", buffer_of_tensor());
    bind_tensor(m, tensor);
    bind_exchange(m, tensor);
    bind_ops(m, tensor);
    bind_neural(m, tensor);
    bind_modules(m);
}
