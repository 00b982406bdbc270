// Tensor: its properties, operators that change it, and gradients.
#include "bind.h"

void bind_tensor(py::module_& autograd, py::class_<Tensor>& t) {
    t.def_property_readonly("shape", [](T x) { return x.shape(); })
        .def_property_readonly("dtype", &Tensor::dtype)
        .def_property_readonly("T", &Tensor::T)
        .def_property_readonly("is_leaf", &Tensor::is_leaf)
        .def_property("requires_grad", &Tensor::requires_grad,
                      [](Tensor x, bool on) { (void)x.requires_grad_(on); })
        .def_property("grad", &Tensor::grad,
                      [](Tensor x, const py::object& g) { x.set_grad(g.cast<Tensor>()); });
    def(t, "stride(self)", [](T x) { return x.strides(); });
    def(t, "__float__(self)", [](T x) { return x.item(); });
    def(t, "__hash__(self)", [](T x) { return reinterpret_cast<std::uintptr_t>(x.handle().get()); });
    def(t, "__str__(self)", [](T x) { return x.str(); });
    const auto in_place = [&](const char* name, auto f) {
        def(t, std::string(name) + "(self, other)", [f](Tensor x, T y) { return f(x, y); });
        def(t, std::string(name) + "(self, other)", [f](Tensor x, double y) { return f(x, y); });
    };
    in_place("__iadd__", [](Tensor& x, const auto& y) { return x += y; });
    in_place("__isub__", [](Tensor& x, const auto& y) { return x -= y; });
    in_place("__imul__", [](Tensor& x, const auto& y) { return x *= y; });
    in_place("__itruediv__", [](Tensor& x, const auto& y) { return x /= y; });
    using List = std::vector<Tensor>;
    def(autograd, "_grad(outputs, inputs, grad_outputs, retain_graph, create_graph, allow_unused)",
        [](const List& y, const List& x, const List& dy, bool retain, bool create, bool unused) {
            return grad(y, x, dy, {create, retain, unused});
        });
}
