// Tensor: its properties, operators that change it, and gradients.
#include "bind.h"

void bind_tensor(py::module_& autograd, py::class_<Tensor>& t) {
    t.def_property_readonly("shape", [](T x) { return x.shape(); })
        .def_property_readonly("dtype", &Tensor::dtype)
        .def_property_readonly("T", &Tensor::T)
        .def_property_readonly("is_leaf", &Tensor::is_leaf)
        .def_property("requires_grad", &Tensor::requires_grad,
                      [](Tensor x, bool on) { (void)x.requires_grad_(on); })
        .def_property("grad", &Tensor::grad, [](Tensor x, T g) { x.set_grad(g); })
        .def(py::init<T>(), Signature("Tensor(data)"));
    def(t, "stride(self)", [](T x) { return x.strides(); });
    def(t, "__float__(self)", [](T x) { return x.item(); });
    def(t, "__hash__(self)", [](T x) { return reinterpret_cast<std::uintptr_t>(x.handle().get()); });
    def(t, "__str__(self)", [](T x) { return x.str(); });
    using List = std::vector<Tensor>;
    def(autograd, "_grad(outputs, inputs, grad_outputs, retain_graph, create_graph, allow_unused)",
        [](const List& y, const List& x, const List& dy, bool retain, bool create, bool unused) {
            return grad(y, x, dy, {create, retain, unused});
        });
}
