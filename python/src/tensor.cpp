// Tensor: properties, operators, indexing, in-place operations and gradients.
#include <set>

#include "bind.h"

namespace {

// What x[…] takes, one step at a time: the axes from `axis` on are still to be indexed.
struct Indexing {
    Tensor x;
    int axis = 0;
    int first = -1;               // the axis of the first index that is a tensor
    std::vector<Tensor> indices;  // int64, for the axes from `first` on

    void step(py::handle index) {
        if (index.is_none()) {
            x = x.unsqueeze(axis++);
        } else if (py::isinstance<py::slice>(index)) {
            Py_ssize_t start, stop, step;
            if (PySlice_Unpack(index.ptr(), &start, &stop, &step) != 0) throw py::error_already_set();
            x = x.slice(axis++, start, stop, step);
        } else if (PyIndex_Check(index.ptr()) && !PyBool_Check(index.ptr())) {
            x = x.select(axis, index.cast<std::int64_t>());
        } else {
            const Tensor t = tensor_of(index);
            if (t.dtype() == boolean) {
                check_mask(t);
                for (const Tensor& column : chunk(nonzero(t), t.rank(), 1)) take(column.reshape({-1}));
            } else {
                take(t.dtype() == float32 && t.numel() == 0 ? t.to(int64) : t);  // x[[]]
            }
        }
    }
    // The rows at the indices: the axes that they are for become one, which they index together.
    Tensor result() const {
        if (indices.empty()) return x;
        Shape merged, sizes = indices[0].shape();
        for (const Tensor& i : indices) sizes = broadcast_shapes(sizes, i.shape(), "index");
        Tensor flat = zeros(sizes, int64);
        std::int64_t rows = 1;
        for (int k = 0; k < static_cast<int>(indices.size()); ++k) {
            const std::int64_t n = x.size(first + k);
            const Tensor& i = indices[static_cast<std::size_t>(k)];
            if (any(i < -n) || any(i >= n))
                throw weft::IndexError("index: an index is out of range for axis ", first + k, " of ",
                                       x.shape());
            flat = flat * n + where(i < 0, i + n, i);
            rows *= n;
        }
        Shape whole;
        for (int k = 0; k < x.rank(); ++k) {
            if (k == first) {
                merged.push_back(rows);
                for (std::int64_t size : sizes) whole.push_back(size);
            }
            if (k >= first && k < first + static_cast<int>(indices.size())) continue;
            merged.push_back(x.size(k));
            whole.push_back(x.size(k));
        }
        return index_select(x.reshape(merged), first, flat.reshape({-1})).reshape(whole);
    }

private:
    void take(const Tensor& index) {
        if (indices.empty()) first = axis;
        if (first + static_cast<int>(indices.size()) != axis)
            throw weft::IndexError(
                "index: tensors index axes that are not neighbours; use them one after the other");
        if (index.dtype() != int64)
            throw DTypeError("index: ", name(index.dtype()), " does not index; use int64 or bool");
        indices.push_back(index);
        ++axis;
    }
    void check_mask(const Tensor& mask) const {
        for (int k = 0; k < mask.rank(); ++k)
            if (axis + k >= x.rank() || x.size(axis + k) != mask.size(k))
                throw ShapeError("index: a mask of shape ", mask.shape(), " does not fit ", x.shape(),
                                 " from axis ", axis, " on; use the sizes of these axes");
    }
};

Indexing indexed(const Tensor& x, const py::object& index) {
    const py::tuple steps = py::isinstance<py::tuple>(index) ? py::tuple(index) : py::make_tuple(index);
    Indexing all{x};
    int used = 0;  // axes that the steps take
    for (py::handle step : steps)
        if (!step.is_none() && !step.is(py::ellipsis()))
            used += py::isinstance<Tensor>(step) && step.cast<Tensor>().dtype() == boolean
                        ? step.cast<Tensor>().rank()
                        : 1;
    if (used > x.rank())
        throw weft::IndexError("index: ", used, " indices for shape ", x.shape(),
                               "; give at most one for each axis");
    for (py::handle step : steps)
        if (step.is(py::ellipsis()))
            all.axis += x.rank() - used, used = x.rank();
        else
            all.step(step);
    return all;
}

// x[index] = value, of a view, or where a mask is true.
void assign(const Tensor& x, const py::object& index, const py::object& value) {
    const auto set = [](Tensor target, const py::object& v) {
        if (py::isinstance<Tensor>(v))
            (void)target.copy_(v.cast<Tensor>());
        else if (PyNumber_Check(v.ptr()) && !py::hasattr(v, "__len__"))
            (void)target.fill_(v.cast<double>());
        else
            (void)target.copy_(tensor_of(v, target.dtype()));
    };
    if (py::isinstance<Tensor>(index) && index.cast<Tensor>().dtype() == boolean &&
        PyFloat_Check(py::float_(value).ptr())) {
        Tensor mask = index.cast<Tensor>();
        while (mask.rank() < x.rank()) mask = mask.unsqueeze(-1);
        return set(x, py::cast(masked_fill(x.detach(), mask, value.cast<double>())));
    }
    const Indexing target = indexed(x, index);
    if (!target.indices.empty())
        throw weft::IndexError(
            "index: x[indices] is a copy, so it cannot be assigned to; use where or scatter_add");
    set(target.x, value);
}

// A list of tensors from one, or from several.
std::vector<Tensor> tensors_of(const py::object& x) {
    if (x.is_none()) return {};
    if (py::isinstance<Tensor>(x)) return {x.cast<Tensor>()};
    std::vector<Tensor> list;
    for (py::handle item : x) list.push_back(or_undefined(item.cast<MaybeTensor>()));
    return list;
}
py::tuple tuple_of(const std::vector<Tensor>& tensors) {
    py::tuple list(tensors.size());
    for (std::size_t i = 0; i < tensors.size(); ++i) list[i] = or_none(tensors[i]);
    return list;
}

struct Hook {  // what register_hook returns
    Tensor x;
    std::uint64_t number;
};

Tensor record_python(const std::string& operation, const Tensor& y, const std::vector<Tensor>& inputs,
                     const py::object& saved, const py::function& vjp) {
    static std::set<std::string> names;  // the graph may outlive the caller's
    return record(names.insert(operation).first->c_str(), y, inputs, tensors_of(saved),
                  [vjp, count = tensors_of(saved).size()](const Saved& s, const Tensor& dy) {
                      std::vector<Tensor> values;
                      for (std::size_t i = 0; i < count; ++i) values.push_back(s[i]);
                      return tensors_of(vjp(tuple_of(values), dy));
                  });
}

}  // namespace

void bind_tensor(py::module_& m, TensorClass& t) {
    t.def_property_readonly("shape", [](const Tensor& x) { return x.shape(); })
        .def_property_readonly("dtype", &Tensor::dtype)
        .def_property_readonly("ndim", &Tensor::rank)
        .def_property_readonly("T", &Tensor::T)
        .def_property_readonly("mT", [](const Tensor& x) { return x.transpose(-2, -1); })
        .def("size", [](const Tensor& x) { return x.shape(); })
        .def(
            "size", [](const Tensor& x, int dim) { return x.size(dim); }, "dim"_a)
        .def("stride", [](const Tensor& x) { return x.strides(); })
        .def("dim", &Tensor::dim)
        .def("numel", &Tensor::numel)
        .def("is_contiguous", &Tensor::is_contiguous)
        .def("shares_storage", &Tensor::shares_storage, "other"_a)
        .def("item",
             [](const py::object& x) {
                 const Tensor one = x.cast<Tensor>();
                 return one.numel() == 1 ? x.attr("detach")().attr("reshape")(py::tuple()).attr("tolist")()
                                         : py::float_(one.item());  // refuses
             })
        .def("__float__", &Tensor::item)
        .def("__int__", [](const py::object& x) { return py::int_(x.attr("item")()); })
        .def("__bool__", [](const Tensor& x) { return x.item() != 0; })
        .def("__len__", [](const Tensor& x) { return x.size(0); })
        .def("__hash__", [](const Tensor& x) { return std::hash<const void*>()(x.handle().get()); })
        .def("__str__", &Tensor::str)
        .def("__repr__",
             [](const Tensor& x) {
                 return "tensor(" + x.str() + ", dtype=weft." + name(x.dtype()) +
                        (x.requires_grad() ? ", requires_grad=True)" : ")");
             })
        .def("__getitem__", [](const Tensor& x, const py::object& index) { return indexed(x, index).result(); })
        .def("__setitem__", assign)
        .def("__iter__",
             [](const Tensor& x) { return py::iter(py::cast(std::vector<Tensor>(x.begin(), x.end()))); })
        .def("to", &Tensor::to, "dtype"_a)
        .def("detach", &Tensor::detach)
        .def("clone", &Tensor::clone)
        .def("contiguous", &Tensor::contiguous);
    for (const auto& [method, type] :
         {std::pair{"float", float32}, {"double", float64}, {"long", int64}, {"bool", boolean}})
        t.def(method, [type = type](const Tensor& x) { return x.to(type); });
    m.def(
        "tensor",
        [](const py::object& data, std::optional<DType> dtype, bool requires_grad) {
            return tensor_of(data, dtype).requires_grad_(requires_grad);
        },
        "data"_a, "dtype"_a = py::none(), "requires_grad"_a = false);

    // ---- in place
    const auto same = [](const py::object& self, auto change) { return change(self.cast<Tensor>()), self; };
    const auto in_place = [&](const char* method, auto f, auto... args) {
        t.def(
            method,
            [same, f](const py::object& x, decltype(args.first)... v) {
                return same(x, [&](Tensor self) { (void)f(self, v...); });
            },
            args.second...);
    };
    in_place(
        "fill_", [](Tensor& x, double v) { x.fill_(v); }, std::pair{double(), "value"_a});
    in_place("zero_", [](Tensor& x) { x.zero_(); });
    in_place(
        "copy_", [](Tensor& x, const Tensor& y) { x.copy_(y); }, std::pair{Tensor(), "src"_a});
    in_place(
        "add_", [](Tensor& x, const Tensor& y, double a) { x.add_(y, a); }, std::pair{Tensor(), "other"_a},
        std::pair{double(), "alpha"_a = 1.0});
    in_place(
        "mul_", [](Tensor& x, const Tensor& y) { x.mul_(y); }, std::pair{Tensor(), "other"_a});
    in_place(
        "mul_", [](Tensor& x, double y) { x.mul_(y); }, std::pair{double(), "other"_a});
    in_place(
        "__iadd__", [](Tensor& x, const Tensor& y) { x += y; }, std::pair{Tensor(), py::is_operator()});
    in_place(
        "__iadd__", [](Tensor& x, double y) { x += y; }, std::pair{double(), py::is_operator()});
    in_place(
        "__isub__", [](Tensor& x, const Tensor& y) { x -= y; }, std::pair{Tensor(), py::is_operator()});
    in_place(
        "__isub__", [](Tensor& x, double y) { x -= y; }, std::pair{double(), py::is_operator()});
    in_place(
        "__imul__", [](Tensor& x, const Tensor& y) { x *= y; }, std::pair{Tensor(), py::is_operator()});
    in_place(
        "__imul__", [](Tensor& x, double y) { x *= y; }, std::pair{double(), py::is_operator()});
    in_place(
        "__itruediv__", [](Tensor& x, const Tensor& y) { x /= y; }, std::pair{Tensor(), py::is_operator()});
    in_place(
        "__itruediv__", [](Tensor& x, double y) { x /= y; }, std::pair{double(), py::is_operator()});
    in_place("bump_version", [](Tensor& x) { x.bump_version(); });
    in_place(
        "requires_grad_", [](Tensor& x, bool wanted) { x.requires_grad_(wanted); },
        std::pair{bool(), "requires_grad"_a = true});

    // ---- the graph
    py::class_<Hook>(m, "RemovableHandle").def("remove", [](Hook& hook) { hook.x.remove_hook(hook.number); });
    t.def_property("requires_grad", &Tensor::requires_grad,
                   [](Tensor& x, bool wanted) { x.requires_grad_(wanted); })
        .def_property_readonly("is_leaf", &Tensor::is_leaf)
        .def_property_readonly("grad_fn", [](const Tensor& x) { return std::string(operation_of(x)); })
        .def_property(
            "grad", [](const Tensor& x) { return or_none(x.grad()); },
            [](Tensor& x, const MaybeTensor& g) { x.set_grad(or_undefined(g)); })
        .def("retain_grad", &Tensor::retain_grad)
        .def(
            "register_hook",
            [](Tensor& x, const py::function& hook) {
                return Hook{x, x.register_hook([hook](const Tensor& g) {
                                return or_undefined(hook(g).cast<MaybeTensor>());
                            })};
            },
            "hook"_a)
        .def(
            "backward",
            [](const Tensor& x, const MaybeTensor& gradient, bool retain_graph) {
                x.backward(or_undefined(gradient), retain_graph);
            },
            "gradient"_a = py::none(), "retain_graph"_a = false);
    py::module_ autograd = m.def_submodule("autograd");
    autograd.def(
        "grad",
        [](const py::object& outputs, const py::object& inputs, const py::object& grad_outputs,
           std::optional<bool> retain_graph, bool create_graph, bool allow_unused) {
            return tuple_of(weft::grad(tensors_of(outputs), tensors_of(inputs), tensors_of(grad_outputs),
                                       {.create_graph = create_graph,
                                        .retain_graph = retain_graph.value_or(create_graph),
                                        .allow_unused = allow_unused}));
        },
        "outputs"_a, "inputs"_a, "grad_outputs"_a = py::none(), "retain_graph"_a = py::none(),
        "create_graph"_a = false, "allow_unused"_a = false);
    autograd.def("record", record_python, "operation"_a, "y"_a, "inputs"_a, "save_for_backward"_a, "vjp"_a);
}
