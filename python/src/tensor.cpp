// Tensor: its properties, operators that change it, and gradients.
#include "bind.h"

namespace {

using List = std::vector<Tensor>;
List list_of(const py::object& x) {  // one tensor, several or none
    return x.is_none() ? List() : py::isinstance<Tensor>(x) ? List{x.cast<Tensor>()} : py::list(x).cast<List>();
}
struct Hook {  // what register_hook returns
    Tensor x;
    std::uint64_t number;
};

}  // namespace

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

    py::class_<Hook>(autograd, "RemovableHandle").def("remove", [](Hook& hook) {
        hook.x.remove_hook(hook.number);
    });
    def(t, "register_hook(self, hook)", [](Tensor x, const py::function& hook) {
        return Hook{x, x.register_hook([hook](T g) { return hook(g).cast<Tensor>(); })};
    });
    def(autograd,
        "grad(outputs, inputs, grad_outputs=None, retain_graph=None, create_graph=False, allow_unused=False)",
        [](const py::object& y, const py::object& x, const py::object& dy, std::optional<bool> retain,
           bool create, bool unused) {
            return py::tuple(
                py::cast(grad(list_of(y), list_of(x), list_of(dy), {create, retain.value_or(create), unused})));
        });
}
