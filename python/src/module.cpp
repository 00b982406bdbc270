// The module weft._weft: errors, types, random numbers, modes, Tensor, the base of modules, and files.
#include <any>

#include "bind.h"
#include "core/array.h"
#include "nn/registry.h"

namespace {

// An error of Weft's is one of Python's, too: `except ValueError` catches weft.ShapeError.
template <class E>
void error(py::module_& m, const char* name, PyObject* builtin) {
    py::register_exception<E>(m, name, py::make_tuple(m.attr("Error"), py::handle(builtin)));
}

alignas(GradMode) thread_local char grad_mode[sizeof(GradMode)];  // that of a statement, which stays
using Any = void (*)();
PyCFunction of_pybind = nullptr;  // calls the overload that fits

py::list given(PyObject* args, PyObject* kwargs) {
    py::list all(py::reinterpret_borrow<py::object>(args));
    if (kwargs) all.attr("extend")(py::handle(kwargs).attr("values")());
    return all;
}
py::list given(PyObject* const* args, Py_ssize_t n, PyObject* names) {  // since pybind11 3.1
    py::list all;
    n = PyVectorcall_NARGS(n) + (names ? PyTuple_Size(names) : 0);
    for (const py::handle x : std::span(args, std::size_t(n))) all.append(x);
    return all;
}
// If none does, pybind11 prints all arguments, even a whole state dict; graph.py says what kinds they are.
template <class... Call>
PyObject* dispatch(PyObject* self, Call... call) {
    PyObject* const y = reinterpret_cast<PyObject* (*)(PyObject*, Call...)>(Any(of_pybind))(self, call...);
    if (y != nullptr || !PyErr_ExceptionMatches(PyExc_TypeError)) return y;
    const py::error_already_set error;
    static const auto* const refuse = new py::object(py::module_::import("weft.graph").attr("refuse_call"));
    return PyObject_CallFunctionObjArgs(refuse->ptr(), error.value().ptr(), given(call...).ptr(), nullptr);
}

// What pybind11 leaves open, of everything in a module or class.
void harden(const py::object& scope) {
    for (const auto& [name, item] : py::dict(scope.attr("__dict__"))) {
        const py::object set = py::getattr(item, "fset", py::none());
        for (const py::handle f : {py::detail::get_function(item), py::detail::get_function(set)})
            if (PyCFunction_Check(f.ptr()) && PyCFunction_GetFunction(f.ptr()) == of_pybind) {
                PyMethodDef& called = *reinterpret_cast<PyCFunctionObject*>(f.ptr())->m_ml;
                const Any fast = Any(dispatch<PyObject* const*, Py_ssize_t, PyObject*>);
                called.ml_meth =
                    PyCFunction(called.ml_flags & METH_FASTCALL ? fast : Any(dispatch<PyObject*, PyObject*>));
            }
        if (std::string(py::str(name)).starts_with("__")) continue;
        if (PyModule_Check(item.ptr())) harden(py::reinterpret_borrow<py::object>(item));
        auto* const type = reinterpret_cast<PyTypeObject*>(item.ptr());
        auto* const info = PyType_Check(item.ptr()) ? py::detail::get_type_info(type) : nullptr;
        if (info == nullptr) continue;
        info->operator_new = [](std::size_t) -> void* {  // called for an object without __init__
            throw py::attribute_error("the object is not made yet; call super().__init__() first");
        };
        if (type->tp_traverse == py::detail::pybind11_traverse)
            type->tp_traverse = [](PyObject* self, visitproc visit, void* arg) {
                // Python 3.11 visits the __dict__ itself if the class is written in Python; twice is a leak.
                if (PY_VERSION_HEX >= 0x030C0000 || Py_TYPE(self)->tp_dictoffset >= 0)
                    Py_VISIT(*_PyObject_GetDictPtr(self));
                Py_VISIT(Py_TYPE(self));
                return 0;
            };
        harden(py::reinterpret_borrow<py::object>(item));
    }
}

void bind_tensor(py::module_& autograd, py::class_<Tensor>& t) {
    t.def(py::init<T>(), Signature("Tensor(data)"));
    t.def(py::init([](const py::args& data) {
        return py::module_::import("weft.tensors").attr("made")(*data).cast<Tensor>();
    }));
    def(t, "__hash__(self)", [](T x) { return reinterpret_cast<std::uintptr_t>(x.handle().get()); });
    // whether nothing else, neither a view nor the graph nor a module, has x's memory or x itself
    def(t, "_is_alone(self)",
        [](T x) { return x.handle().use_count() == 1 && x.array().storage.use_count() == 1; });
    def(t, "_become(self, other)", [](Tensor& x, T other) { x = other; });
    def(t, "dequantize(self)", [](T x) { return is_quantized(x.dtype()) ? x.to(float32) : x; });
    def(t, "_set_data(self, other)", [](Tensor& x, T other) { (void)x.set_data(other); });
    def(autograd, "_grad(outputs, inputs, grad_outputs, retain_graph, create_graph, allow_unused)",
        [](const List& y, const List& x, const List& dy, bool retain, bool create, bool unused) {
            return grad(y, x, dy, {create, retain, unused});
        });
}

// The base of modules, which keeps what is assigned to attributes.
void bind_module(const py::object& nn) {
    py::class_<nn::Module> type(nn, "Module", py::dynamic_attr());
    using A = nn::Attributes;
    type.def(py::init<std::string>(), Signature("Module(kind='Module')"));
    def(type, "_kind(self, name)", [](const py::object& self, const std::string& name) {  // "" before __init__
        auto* const instance = reinterpret_cast<py::detail::instance*>(self.ptr());
        return instance->get_value_and_holder().holder_constructed() ? A::kind(self.cast<nn::Module&>(), name)
                                                                     : "";
    });
    def(type, "_set_parameter(self, name, value)", A::set_parameter);
    def(type, "_set_buffer(self, name, value, persistent=None)", A::set_buffer);
    def(type, "_set_child(self, name, value)", A::set_child);
    def(type, "_remove(self, name)", A::remove);
}
// What the headers do not say.
void bind_rest(py::module_& m, const py::object& nn) {
    def(nn.attr("MixtureOfExperts"), "with_routing(self, x)", [](const nn::MixtureOfExperts& f, T x) {
        const nn::RoutingResult y = f.with_routing(x);
        return py::make_tuple(y.output, y.load_balancing_loss, y.tokens_per_expert);
    });
    def(nn.attr("GPT"),
        "generate(self, ids, max_new_tokens, temperature=1.0, top_k=0, top_p=1.0, generator=default_generator)",
        [](lm::GPT& f, T ids, I n, double temperature, I k, double p, Rng& rng) {
            return f.generate(ids, n, {temperature, k, &rng, p});
        });
    using Path = const std::filesystem::path&;
    def(nn, "load_gpt2(folder)", [](Path folder) { return lm::load_gpt2(folder); });
    def(m, "save_safetensors(path, tensors, metadata={})", io::save_safetensors);
    def(m, "_load(path)", [](Path path) {
        const io::SafeTensors file = io::load_safetensors(path);
        return py::make_tuple(dict_of(file.tensors), file.metadata);
    });
    def(m.attr("check"), "_gradcheck(second, func, inputs, eps, tolerance, parameters)",
        [](bool second, const check::Function& f, const List& x, double eps, double tolerance, const List& p) {
            const auto check = second ? check::gradgradcheck : check::gradcheck;
            return check("func", f, x, {.eps = eps, .tolerance = tolerance, .parameters = p}).message;
        });
    def(m.attr("Mask"), "__or__(self, other)", [](const Mask& a, const Mask& b) { return a | b; });
}

}  // namespace

PYBIND11_MODULE(_weft, m) {
    Signature::globals = m.attr("__dict__"), m.attr("_signatures") = py::dict();
    py::register_exception<Error>(m, "Error");
    error<ShapeError>(m, "ShapeError", PyExc_ValueError), error<DTypeError>(m, "DTypeError", PyExc_TypeError);
    error<IndexError>(m, "IndexError", PyExc_IndexError), error<ValueError>(m, "ValueError", PyExc_ValueError);
    error<GraphError>(m, "GraphError", PyExc_RuntimeError), error<IoError>(m, "IoError", PyExc_OSError);
    py::enum_<DType> dtype(m, "dtype");
    for (int i = 0; i <= int(DType::Q6_K); ++i)
        dtype.value(name(DType(i)), DType(i)), m.attr(name(DType(i))) = DType(i);
    py::class_<Rng> generator(m, "Generator");
    generator.def(py::init<std::uint64_t>(), Signature("Generator(seed=0)"));
    def(generator, "manual_seed(self, seed)",
        [](py::object self, std::uint64_t seed) { return self.cast<Rng&>() = Rng(seed), self; });
    m.attr("default_generator") = py::cast(&default_rng(), py::return_value_policy::reference);
    def(m, "manual_seed(seed)", manual_seed);
    def(m, "set_num_threads(n)", set_num_threads);
    def(m, "set_float32_matmul_precision(precision)", set_float32_matmul_precision);
    def(m, "get_float32_matmul_precision()", get_float32_matmul_precision);
    def(m, "get_num_threads()", get_num_threads);
    def(m, "is_grad_enabled()", is_grad_enabled);
    py::class_<std::any>(m, "Mode");  // until it is deleted
    def(m, "_set_grad_enabled(enabled)", [](bool on) { new (grad_mode) GradMode(on); });
    def(m, "_grad_mode(enabled)", [](bool on) { return std::any(std::make_shared<GradMode>(on)); });
    def(m, "_composed()", [] { return std::any(std::make_shared<Plain>(Plain::operations)); });
    def(m, "_eval_mode()", [] { return std::any(std::make_shared<nn::EvalMode>()); });

    py::class_<Tensor> tensor(m, "Tensor", py::buffer_protocol());
    py::module_ autograd = m.def_submodule("autograd"), nn = m.def_submodule("nn");
    for (const char* name : {"optim", "viz", "check"}) (void)m.def_submodule(name);
    (void)nn.def_submodule("utils"), (void)nn.def_submodule("init");
    bind_tensor(autograd, tensor);
    bind_exchange(m, tensor);
    bind_module(nn);
    bind_declared_0(m, tensor);
    bind_declared_1(m, tensor);
    bind_rest(m, nn);
    bind_language(m, nn);
    of_pybind = PyCFunction_GetFunction(py::object(m.attr("manual_seed")).ptr());
    harden(m);
}
