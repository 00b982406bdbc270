// The module weft._weft: errors, types, random numbers and modes; the other files add the rest.
#include "bind.h"

namespace {

// An error of Weft's is one of Python's, too: `except ValueError` catches weft.ShapeError.
template <class E>
void error(py::module_& m, const char* name, PyObject* builtin) {
    py::register_exception<E>(m, name, py::make_tuple(m.attr("Error"), py::handle(builtin)));
}

struct Mode {  // until it is deleted
    std::shared_ptr<void> guard;
};

// How CPython stores functions of any type.
template <class F>
PyCFunction stored(F f) {
    return reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(f));
}
PyCFunctionWithKeywords of_pybind = nullptr;  // calls the overload that fits

// If none does, pybind11 prints all arguments, even a whole state dict; forms.py says what kinds they are.
PyObject* dispatch(PyObject* self, PyObject* args, PyObject* kwargs) {
    PyObject* const y = of_pybind(self, args, kwargs);
    if (y != nullptr || !PyErr_ExceptionMatches(PyExc_TypeError)) return y;
    py::error_already_set error;
    try {
        const py::object given = kwargs ? py::reinterpret_borrow<py::object>(kwargs) : py::dict();
        py::module_::import("weft.forms").attr("refuse")(error.value(), py::handle(args), given);
    } catch (py::error_already_set& better) {
        better.restore();
    }
    return nullptr;
}

// pybind11's visits the __dict__ of an object, which Python 3.11 does again if its class is written in Python;
// the object is then never freed.
int traverse(PyObject* self, visitproc visit, void* arg) {
    PyTypeObject *const type = Py_TYPE(self), *base = type;
    while (base->tp_traverse != traverse) base = base->tp_base;
    if (type->tp_dictoffset == base->tp_dictoffset) Py_VISIT(*_PyObject_GetDictPtr(self));
    Py_VISIT(type);
    return 0;
}

// What pybind11 leaves open, of everything in a module or class.
void harden(const py::object& scope) {
    for (const auto& [name, item] : py::dict(scope.attr("__dict__"))) {
        const py::object set = py::getattr(item, "fset", py::none());
        for (const py::handle f : {py::detail::get_function(item), py::detail::get_function(set)})
            if (PyCFunction_Check(f.ptr()) && PyCFunction_GetFunction(f.ptr()) == stored(of_pybind))
                reinterpret_cast<PyCFunctionObject*>(f.ptr())->m_ml->ml_meth = stored(dispatch);
        if (std::string(py::str(name)).starts_with("__")) continue;
        if (PyModule_Check(item.ptr())) harden(py::reinterpret_borrow<py::object>(item));
        auto* const type = reinterpret_cast<PyTypeObject*>(item.ptr());
        auto* const info = PyType_Check(item.ptr()) ? py::detail::get_type_info(type) : nullptr;
        if (info == nullptr) continue;
        info->operator_new = [](std::size_t) -> void* {  // is called for an object that was not made
            throw py::attribute_error("the object is not made yet; call super().__init__() first");
        };
        if (type->tp_traverse == py::detail::pybind11_traverse) type->tp_traverse = traverse;
        harden(py::reinterpret_borrow<py::object>(item));
    }
}

}  // namespace

PYBIND11_MODULE(_weft, m) {
    Signature::globals = m.attr("__dict__");
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
    for (const char* text : {"__repr__", "__str__"})
        dtype.attr(text) = py::cpp_function(named, py::is_method(dtype));

    py::class_<Rng> generator(m, "Generator");
    generator.def(py::init<std::uint64_t>(), Signature("Generator(seed=0)"));
    def(generator, "manual_seed(self, seed)",
        [](py::object self, std::uint64_t seed) { return self.cast<Rng&>() = Rng(seed), self; });
    m.attr("default_generator") = py::cast(&default_rng(), py::return_value_policy::reference);
    def(m, "manual_seed(seed)", manual_seed);
    def(m, "set_num_threads(n)", set_num_threads);
    def(m, "get_num_threads()", get_num_threads);
    def(m, "is_grad_enabled()", is_grad_enabled);
    py::class_<Mode>(m, "Mode");
    def(m, "_set_grad_enabled(enabled)", [](bool on) {
        alignas(GradMode) static thread_local char stays[sizeof(GradMode)];
        new (stays) GradMode(on);
    });
    def(m, "_grad_mode(enabled)", [](bool on) { return Mode{std::make_shared<GradMode>(on)}; });
    def(m, "_composed()", [] { return Mode{std::make_shared<Composed>()}; });
    def(m, "_eval_mode()", [] { return Mode{std::make_shared<nn::EvalMode>()}; });

    py::enum_<Gelu>(m, "Gelu").value("exact", Gelu::exact).value("tanh", Gelu::tanh);
    py::class_<Mask> mask(m, "Mask");
    mask.def(py::init()).def_static("causal", &Mask::causal).def_static("padding", &Mask::padding);
    mask.def_static("blocked", &Mask::blocked).def_static("allowed", &Mask::allowed);
    def(mask, "__or__(self, other)", [](const Mask& a, const Mask& b) { return a | b; });
    def(mask, "materialize(self, B, H, T, S)",
        [](const Mask& f, I B, I H, I T, I S) { return f.materialize(B, H, T, S); });

    py::class_<Tensor> tensor(m, "Tensor", py::buffer_protocol());
    py::module_ autograd = m.def_submodule("autograd"), nn = m.def_submodule("nn"),
                optim = m.def_submodule("optim");
    (void)nn.def_submodule("utils");
    bind_tensor(autograd, tensor);
    bind_exchange(m, tensor);
    bind_modules(m, nn);
    bind_declared_0(m, tensor, nn, optim);
    bind_declared_1(m, tensor, nn, optim);
    bind_attention(m, nn);
    bind_names(m, tensor);
    void (*const any)() =
        reinterpret_cast<void (*)()>(PyCFunction_GetFunction(py::object(m.attr("manual_seed")).ptr()));
    of_pybind = reinterpret_cast<PyCFunctionWithKeywords>(any);
    harden(m);
}
