// Memory shared with NumPy, PyTorch and others: the buffer protocol (PEP 3118) and DLPack.
#include <dlpack/dlpack.h>

#include "bind.h"

namespace {

constexpr DType types[] = {float32, float64, int64, boolean};
const char* const formats[] = {"f", "d", "q", "?"};
constexpr int codes[] = {kDLFloat, kDLFloat, kDLInt, 6};  // 6: kDLBool, which Debian's header lacks
const char* const in_graph = "a tensor that requires a gradient shares its values as x.detach()";
const char* const expanded =
    "elements of an expanded tensor share memory, so it is read-only: clone() it first";
const char* const others = ": Weft has float32, float64, int64 and bool; convert it, as in a.astype(np.int64)";

void* address_of(const Tensor& x) {
    if (x.dtype() == float32) return x.data<float>();
    if (x.dtype() == float64) return x.data<double>();
    if (x.dtype() == int64) return x.data<I>();
    return x.data<bool>();
}
bool is_expanded(const Tensor& x) {
    const auto stretched = [](I size, I stride) { return size > 1 && stride == 0; };
    return x.numel() > 0 && std::inner_product(x.shape().begin(), x.shape().end(), x.strides().begin(), false,
                                               std::logical_or<>(), stretched);
}
std::string type_name(py::handle x) { return py::str(py::type::of(x)); }

// What another library holds: the values, whatever becomes of the handle.
struct Held {
    Tensor values;
    Shape shape, strides;
    DLManagedTensor dl = {};
};

int get_buffer(PyObject* self, Py_buffer* view, int flags) {
    view->obj = nullptr;
    const auto refuse = [](const char* why) { return PyErr_SetString(PyExc_BufferError, why), -1; };
    const Tensor x = py::cast<Tensor>(self);
    if (x.requires_grad()) return refuse(in_graph);
    if ((flags & PyBUF_WRITABLE) && is_expanded(x)) return refuse(expanded);
    const auto size = static_cast<I>(itemsize(x.dtype()));
    auto held = std::make_unique<Held>(Held{x.detach(), x.shape(), x.strides()});
    for (I& stride : held->strides) stride *= size;
    *view = {address_of(x),
             nullptr,
             x.numel() * size,
             size,
             is_expanded(x),
             x.rank(),
             const_cast<char*>(formats[static_cast<int>(x.dtype())]),
             held->shape.begin(),
             held->strides.begin(),
             nullptr,
             nullptr};
    const bool any_strides = (flags & PyBUF_STRIDES) == PyBUF_STRIDES;
    const auto asked = [&](int order) { return (flags & order & ~PyBUF_STRIDES) != 0; };
    if (((!any_strides || asked(PyBUF_C_CONTIGUOUS)) && !PyBuffer_IsContiguous(view, 'C')) ||
        (asked(PyBUF_F_CONTIGUOUS) && !PyBuffer_IsContiguous(view, 'F')))
        return refuse("the tensor is not contiguous in this order: use x.contiguous()");
    if (!(flags & PyBUF_FORMAT)) view->format = nullptr;
    if (!(flags & PyBUF_ND)) view->shape = nullptr;
    if (!any_strides) view->strides = nullptr;
    view->internal = held.release();
    view->obj = Py_NewRef(self);
    return 0;
}

py::object to_dlpack(const Tensor& x, const py::object& stream, const py::object&, const py::object& device,
                     bool copy) {
    const bool elsewhere = !stream.is_none() || !(device.is_none() || device.equal(py::make_tuple(kDLCPU, 0)));
    if (const char* why = x.requires_grad()         ? in_graph
                          : is_expanded(x) && !copy ? expanded
                          : elsewhere ? "Weft's memory is the processor's: pass no stream or device"
                                      : nullptr)
        throw py::buffer_error(why);
    auto held = std::make_unique<Held>(Held{copy ? x.detach().clone() : x.detach(), x.shape(), {}});
    held->strides = held->values.strides();
    const auto type = static_cast<std::size_t>(x.dtype());
    held->dl = {
        {address_of(held->values),
         {kDLCPU, 0},
         x.rank(),
         {static_cast<std::uint8_t>(codes[type]), static_cast<std::uint8_t>(8 * itemsize(x.dtype())), 1},
         held->shape.begin(),
         held->strides.begin(),
         0},
        held.get(),
        [](DLManagedTensor* dl) { delete static_cast<Held*>(dl->manager_ctx); }};
    return py::capsule(&held.release()->dl, "dltensor", [](PyObject* capsule) {  // of one that nobody took
        if (auto* dl = static_cast<DLManagedTensor*>(PyCapsule_GetPointer(capsule, "dltensor")))
            dl->deleter(dl);
        PyErr_Clear();
    });
}

// The deleter of foreign memory, which may die on any thread, and after Python.
std::function<void(void*)> with_python(std::function<void()> release) {
    return [release](void*) {
        if (!Py_IsInitialized()) return;
        const py::gil_scoped_acquire lock;
        release();
    };
}

Tensor from_capsule(const py::object& capsule) {
    auto* const dl = static_cast<DLManagedTensor*>(PyCapsule_GetPointer(capsule.ptr(), "dltensor"));
    if (dl == nullptr) throw py::error_already_set();
    const DLTensor& t = dl->dl_tensor;
    if (t.device.device_type != kDLCPU)
        throw ValueError("from_dlpack: it is on device ", int(t.device.device_type),
                         "; move it, as in t.cpu()");
    const auto type = std::find_if(types, types + 4, [&](DType d) {
        return t.dtype.code == codes[static_cast<int>(d)] && t.dtype.bits == 8 * itemsize(d) &&
               t.dtype.lanes == 1;
    });
    if (type == types + 4)
        throw DTypeError("from_dlpack: type ", int(t.dtype.code), " of ", int(t.dtype.bits), " bits", others);
    const Shape shape(std::span<const I>(t.shape, static_cast<std::size_t>(t.ndim)));
    const auto strides = t.strides ? Shape(std::span<const I>(t.strides, shape.end() - shape.begin())) : shape;
    Tensor x = from_blob(static_cast<char*>(t.data) + t.byte_offset, shape,
                         t.strides ? strides : contiguous_strides(shape),
                         with_python([dl] { dl->deleter(dl); }), *type);
    PyCapsule_SetName(capsule.ptr(), "used_dltensor");  // only now: the capsule of a refused one frees it
    return x;
}
Tensor from_dlpack(const py::object& x) {
    if (PyCapsule_CheckExact(x.ptr())) return from_capsule(x);
    if (py::hasattr(x, "__dlpack__")) return from_capsule(x.attr("__dlpack__")());
    throw DTypeError("from_dlpack: ", type_name(x),
                     " has no __dlpack__; weft.tensor copies numbers and arrays");
}

struct Close {
    void operator()(Py_buffer* view) const { PyBuffer_Release(view), delete view; }
};
struct Buffer : std::unique_ptr<Py_buffer, Close> {
    DType dtype = boolean;
    Shape shape, strides;
    Buffer(const char* caller, py::handle array) : unique_ptr(new Py_buffer()) {
        if (PyObject_GetBuffer(array.ptr(), get(), PyBUF_FULL_RO) != 0) throw py::error_already_set();
        const std::string format = get()->format ? get()->format : "B", one = format == "l" ? "q" : format;
        const auto type = std::find(formats, formats + 4, one);
        if (type == formats + 4)
            throw DTypeError(caller, ": elements of ",
                             std::string(py::str(py::getattr(array, "dtype", py::str(one)))), others);
        dtype = types[type - formats];
        shape = Shape(std::span<const I>(get()->shape, static_cast<std::size_t>(get()->ndim)));
        strides = Shape(std::span<const I>(get()->strides, static_cast<std::size_t>(get()->ndim)));
    }
};

Tensor from_numpy(const py::object& array) {
    if (!PyObject_CheckBuffer(array.ptr()))
        throw DTypeError("from_numpy: ", type_name(array),
                         " shares no memory this way; use weft.from_dlpack or weft.tensor");
    Buffer view("from_numpy", array);
    if (view->readonly) throw ValueError("from_numpy: the array is read-only; copy it with weft.tensor(a)");
    for (I& stride : view.strides) {
        if (stride % view->itemsize)
            throw ValueError("from_numpy: strides ", view.strides,
                             " of bytes cut elements; copy it with weft.tensor(a)");
        stride /= view->itemsize;
    }
    Tensor x = from_blob(view->buf, view.shape, view.strides, with_python([v = view.get()] { Close()(v); }),
                         view.dtype);
    (void)view.release();  // only now: a refused one is closed
    return x;
}

Nested nested_of(py::handle x) {
    if (PyBool_Check(x.ptr())) return x.ptr() == Py_True;
    if (PyIndex_Check(x.ptr())) return py::int_(py::reinterpret_borrow<py::object>(x)).cast<I>();
    if (PyNumber_Check(x.ptr())) return py::float_(py::reinterpret_borrow<py::object>(x)).cast<double>();
    if (!PySequence_Check(x.ptr()) || py::isinstance<py::str>(x))
        throw DTypeError("tensor: ", type_name(x), " is no number; pass numbers, lists of them, or an array");
    Nested list({});
    for (py::handle item : x) {  // a list with a fraction is one of fractions
        list.items.push_back(nested_of(item));
        const DType dtype = list.items.back().dtype;
        if (list.items.size() == 1 || dtype == float32 || list.dtype == boolean) list.dtype = dtype;
    }
    return list;
}

}  // namespace

Tensor tensor_of(py::handle values, std::optional<DType> dtype) {
    Tensor x;
    if (py::isinstance<Tensor>(values)) {
        x = values.cast<Tensor>().detach().clone();
    } else if (PyObject_CheckBuffer(values.ptr())) {
        const Buffer view("tensor", values);
        x = empty(view.shape, view.dtype);
        if (PyBuffer_ToContiguous(address_of(x), view.get(), view->len, 'C') != 0)
            throw py::error_already_set();
    } else if (py::hasattr(values, "__dlpack__")) {
        x = from_dlpack(py::reinterpret_borrow<py::object>(values)).clone();
    } else {
        return tensor(nested_of(values), dtype);
    }
    return x.to(dtype.value_or(x.dtype()));
}

void set_buffer_protocol(PyHeapTypeObject* type) {
    type->as_buffer = {get_buffer,
                       [](PyObject*, Py_buffer* view) { delete static_cast<Held*>(view->internal); }};
    type->ht_type.tp_as_buffer = &type->as_buffer;
}

void bind_exchange(py::module_& m, py::class_<Tensor>& t) {
    def(m, "from_numpy(ndarray)", from_numpy);
    def(m, "from_dlpack(ext_tensor)", from_dlpack);
    def(m, "tensor(data, dtype=None, requires_grad=False)",
        [](py::object data, std::optional<DType> dtype, bool grad) {
            return tensor_of(data, dtype).requires_grad_(grad);
        });
    def(t, "__dlpack__(self, stream=None, max_version=None, dl_device=None, copy=False)", to_dlpack);
    def(t, "__dlpack_device__(self)", [](const Tensor&) { return std::pair(int(kDLCPU), 0); });
    def(t, "data_ptr(self)", [](const Tensor& x) { return reinterpret_cast<std::uintptr_t>(address_of(x)); });
    def(t, "tolist(self)",
        [](const Tensor& x) { return py::memoryview(py::cast(x.detach())).attr("tolist")(); });
    const auto numpy = [](const py::object& x) {  // NumPy asks __array__ where the buffer is refused
        if (x.cast<Tensor>().requires_grad()) throw GraphError("numpy: ", in_graph);
        return py::module_::import("numpy").attr("asarray")(x);
    };
    def(t, "numpy(self)", numpy);
    def(t, "__array__(self, dtype=None, copy=None)",
        [numpy](const py::object& x, const py::object& dtype, const py::object&) {
            return numpy(x).attr("astype")(dtype.is_none() ? numpy(x).attr("dtype") : dtype);
        });
    t.attr("__array_ufunc__") = py::none();  // operators with NumPy's numbers and arrays are Weft's
}
