// Memory shared with NumPy, PyTorch and others: the buffer protocol (PEP 3118) and DLPack.
#include "bind.h"

namespace {

// ---- DLPack (github.com/dmlc/dlpack, dlpack.h), declared here because Debian's is older than version 1
struct Device {
    std::int32_t type, id;
};
struct Described {  // DLTensor
    void* data;
    Device device;
    std::int32_t rank;
    std::uint8_t code, bits;
    std::uint16_t lanes;
    std::int64_t *shape, *strides;
    std::uint64_t byte_offset;
};
struct Unversioned {  // DLManagedTensor
    Described tensor;
    void* owner;
    void (*deleter)(Unversioned*);
};
struct Versioned {  // DLManagedTensorVersioned
    std::uint32_t major = 1, minor = 0;
    void* owner;
    void (*deleter)(Versioned*);
    std::uint64_t flags = 0;  // 1: read-only
    Described tensor;
};
constexpr const char* name_of(Versioned*) { return "dltensor_versioned"; }
constexpr const char* name_of(Unversioned*) { return "dltensor"; }
constexpr std::int32_t cpu = 1, pinned = 3;
constexpr std::uint8_t codes[] = {2, 2, 0, 6};  // of the types in the order of DType

[[noreturn]] void refuse(PyObject* type, const std::string& message) {
    PyErr_SetString(type, message.c_str());
    throw py::error_already_set();
}

const char* const in_graph = "a tensor that requires a gradient is not shared: use x.detach(), as in np.asarray(x.detach())";
const char* const expanded = "elements of an expanded tensor share memory, so it is read-only: clone() it first";
bool is_read_only(const Tensor& x) {
    for (int axis = 0; axis < x.rank(); ++axis)
        if (x.size(axis) > 1 && x.strides()[axis] == 0) return x.numel() > 0;
    return false;
}
void* address_of(const Tensor& x) {
    return x.dtype() == float32   ? static_cast<void*>(x.data<float>())
           : x.dtype() == float64 ? static_cast<void*>(x.data<double>())
           : x.dtype() == int64   ? static_cast<void*>(x.data<std::int64_t>())
                                  : static_cast<void*>(x.data<bool>());
}

// What a consumer holds: the tensor's values, whatever becomes of the handle.
struct Held {
    Tensor values;
    Shape shape, strides;
};

// ---- out: the buffer protocol
int get_buffer(PyObject* self, Py_buffer* view, int flags) {
    static char formats[][2] = {"f", "d", "q", "?"};
    view->obj = nullptr;
    try {
        const Tensor x = py::cast<Tensor>(self);
        const bool read_only = is_read_only(x);
        const char* refusal = x.requires_grad() ? in_graph : read_only && (flags & PyBUF_WRITABLE) ? expanded : nullptr;
        const bool any_strides = (flags & PyBUF_STRIDES) == PyBUF_STRIDES;
        const auto wants = [&](int order) { return (flags & order & ~PyBUF_STRIDES) != 0; };
        if (!x.is_contiguous() && (!any_strides || wants(PyBUF_C_CONTIGUOUS)))
            refusal = "the tensor is not contiguous: use x.contiguous()";
        if (refusal) return PyErr_SetString(PyExc_BufferError, refusal), -1;
        const auto size = static_cast<std::int64_t>(itemsize(x.dtype()));
        auto held = std::make_unique<Held>(Held{x.detach(), x.shape(), x.strides()});
        for (std::int64_t& stride : held->strides) stride *= size;
        view->buf = address_of(x);
        view->len = x.numel() * size;
        view->itemsize = size;
        view->readonly = read_only;
        view->ndim = x.rank();
        view->format = (flags & PyBUF_FORMAT) ? formats[static_cast<int>(x.dtype())] : nullptr;
        view->shape = (flags & PyBUF_ND) ? held->shape.begin() : nullptr;
        view->strides = any_strides ? held->strides.begin() : nullptr;
        view->suboffsets = nullptr;
        if (wants(PyBUF_F_CONTIGUOUS) && !PyBuffer_IsContiguous(view, 'F'))
            return PyErr_SetString(PyExc_BufferError, "the tensor is not contiguous column by column"), -1;
        view->internal = held.release();
        view->obj = py::handle(self).inc_ref().ptr();
        return 0;
    } catch (const std::exception& error) {
        return PyErr_SetString(PyExc_BufferError, error.what()), -1;
    }
}
void release_buffer(PyObject*, Py_buffer* view) { delete static_cast<Held*>(view->internal); }

// ---- out: DLPack
template <class Managed>
py::object capsule_of(const Tensor& x, std::uint64_t flags) {
    struct Owner : Held {
        Managed managed;
    };
    auto owner = new Owner{{x.detach(), x.shape(), x.strides()}, {}};
    owner->managed.owner = owner;
    owner->managed.deleter = [](Managed* m) { delete static_cast<Owner*>(m->owner); };
    const auto type = static_cast<std::size_t>(x.dtype());
    owner->managed.tensor = {address_of(x), {cpu, 0}, x.rank(), codes[type], std::uint8_t(8 * itemsize(x.dtype())), 1,
                             owner->shape.begin(), owner->strides.begin(), 0};
    if constexpr (std::is_same_v<Managed, Versioned>) owner->managed.flags = flags;
    // A capsule that nobody has taken still has its name.
    return py::reinterpret_steal<py::object>(
        PyCapsule_New(&owner->managed, name_of(&owner->managed), [](PyObject* capsule) {
            if (const char* name = name_of(static_cast<Managed*>(nullptr)); PyCapsule_IsValid(capsule, name)) {
                auto* managed = static_cast<Managed*>(PyCapsule_GetPointer(capsule, name));
                managed->deleter(managed);
            }
        }));
}

py::object to_dlpack(const Tensor& x, const py::object& stream, const std::optional<std::pair<int, int>>& max_version,
                     const std::optional<std::pair<int, int>>& device, std::optional<bool> copy) {
    if (x.requires_grad()) refuse(PyExc_BufferError, in_graph);
    if (!stream.is_none() || (device && device->first != cpu))
        refuse(PyExc_BufferError, "Weft's tensors are in the processor's memory: pass no stream and no other device");
    const Tensor y = copy.value_or(false) ? x.detach().clone() : x;
    const bool read_only = is_read_only(y);
    if (max_version && max_version->first >= 1) return capsule_of<Versioned>(y, read_only);
    if (read_only) refuse(PyExc_BufferError, expanded);
    return capsule_of<Unversioned>(y, 0);
}

// ---- in
const char* const other_type =
    ": Weft's types are float32, float64, int64 and bool; convert it first, as in a.astype(np.int64) or t.to(torch.int64)";

// Calls `release`, if Python is still there, when the last tensor of this memory is gone.
template <class Release>
std::function<void(void*)> under_the_lock(Release release) {
    return [release](void*) {
        if (!Py_IsInitialized()) return;
        const py::gil_scoped_acquire lock;
        release();
    };
}

std::optional<DType> type_of(const Py_buffer& view) {
    const std::string format = view.format ? view.format : "B";
    if (format == "f") return float32;
    if (format == "d") return float64;
    if ((format == "l" || format == "q") && view.itemsize == 8) return int64;
    if (format == "?") return boolean;
    return {};
}

struct Close {
    void operator()(Py_buffer* view) const { PyBuffer_Release(view), delete view; }
};
std::unique_ptr<Py_buffer, Close> open_buffer(py::handle array, int flags) {
    auto view = std::make_unique<Py_buffer>();
    if (PyObject_GetBuffer(array.ptr(), view.get(), flags) != 0) throw py::error_already_set();
    return std::unique_ptr<Py_buffer, Close>(view.release());
}
DType checked_type(const char* caller, py::handle array, const Py_buffer& view) {
    if (const auto dtype = type_of(view)) return *dtype;
    const std::string type = py::str(py::getattr(array, "dtype", py::str(view.format ? view.format : "B")));
    throw DTypeError(caller, ": elements of type ", type, other_type);
}

Tensor from_numpy(const py::object& array) {
    if (!PyObject_CheckBuffer(array.ptr()))
        throw DTypeError("from_numpy: ", std::string(py::str(py::type::of(array))),
                         " has no memory to share; weft.tensor copies lists and numbers, weft.from_dlpack takes "
                         "PyTorch's tensors");
    auto view = open_buffer(array, PyBUF_RECORDS_RO);
    const DType dtype = checked_type("from_numpy", array, *view);
    if (view->readonly) throw ValueError("from_numpy: the array is read-only; weft.tensor(a) copies it");
    Shape shape, strides;
    for (int i = 0; i < view->ndim; ++i) {
        shape.push_back(view->shape[i]);
        if (view->strides[i] % view->itemsize != 0)
            throw ValueError("from_numpy: a stride of ", std::int64_t(view->strides[i]), " bytes is no multiple of ",
                             std::int64_t(view->itemsize), ", an element; weft.tensor(a) copies it");
        strides.push_back(view->strides[i] / view->itemsize);
    }
    Tensor x = from_blob(view->buf, shape, strides, under_the_lock([v = view.get()] { Close()(v); }), dtype);
    (void)view.release();  // only now: a refusal closes it
    return x;
}

template <class Managed>
Tensor from_capsule(const py::capsule& capsule) {
    auto* const managed = static_cast<Managed*>(capsule.get_pointer());
    const Described& t = managed->tensor;
    if (t.device.type != cpu && t.device.type != pinned)
        throw ValueError("from_dlpack: the tensor is on device ", t.device.type, "; move it to the processor, as in t.cpu()");
    if constexpr (std::is_same_v<Managed, Versioned>) {
        if (managed->major != 1) throw ValueError("from_dlpack: version ", managed->major, " of DLPack; use version 1");
        if (managed->flags & 1) throw ValueError("from_dlpack: the tensor is read-only; weft.tensor(x) copies it");
    }
    std::optional<DType> dtype;
    for (DType type : {float32, float64, int64, boolean})
        if (t.code == codes[static_cast<int>(type)] && t.bits == 8 * itemsize(type) && t.lanes == 1) dtype = type;
    if (!dtype)
        throw DTypeError("from_dlpack: elements of code ", int(t.code), " and ", int(t.bits), " bits", other_type);
    const Shape shape(std::span<const std::int64_t>(t.shape, static_cast<std::size_t>(t.rank)));
    const Strides strides = t.strides ? Strides(std::span<const std::int64_t>(t.strides, static_cast<std::size_t>(t.rank)))
                                      : contiguous_strides(shape);
    Tensor x = from_blob(static_cast<char*>(t.data) + t.byte_offset, shape, strides, under_the_lock([managed] {
                             if (managed->deleter) managed->deleter(managed);
                         }),
                         *dtype);
    PyCapsule_SetName(capsule.ptr(), std::is_same_v<Managed, Versioned> ? "used_dltensor_versioned" : "used_dltensor");
    return x;
}

Tensor from_dlpack(const py::object& other) {
    py::object capsule = other;
    if (!PyCapsule_CheckExact(other.ptr())) {
        if (!py::hasattr(other, "__dlpack__"))
            throw DTypeError("from_dlpack: ", std::string(py::str(py::type::of(other))),
                             " has no __dlpack__; weft.from_numpy shares an array's memory, weft.tensor copies");
        try {
            capsule = other.attr("__dlpack__")("max_version"_a = py::make_tuple(1, 0));
        } catch (const py::error_already_set& error) {
            if (!error.matches(PyExc_TypeError)) throw;
            capsule = other.attr("__dlpack__")();  // from before version 1
        }
    }
    const auto taken = py::reinterpret_borrow<py::capsule>(capsule);
    if (PyCapsule_IsValid(capsule.ptr(), "dltensor_versioned")) return from_capsule<Versioned>(taken);
    if (PyCapsule_IsValid(capsule.ptr(), "dltensor")) return from_capsule<Unversioned>(taken);
    throw ValueError("from_dlpack: the capsule holds no tensor, or it was taken already; make a new one");
}

// ---- copies: numbers in lists
Nested nested_of(py::handle x) {
    if (PyBool_Check(x.ptr())) return x.ptr() == Py_True;
    if (PyFloat_Check(x.ptr())) return PyFloat_AS_DOUBLE(x.ptr());
    if (PyLong_Check(x.ptr())) return x.cast<std::int64_t>();
    if (PySequence_Check(x.ptr()) && !PyUnicode_Check(x.ptr()) && !PyBytes_Check(x.ptr())) {
        Nested list({});
        for (py::handle item : x) {  // the list's type is that of its items: float32 if one is a fraction
            list.items.push_back(nested_of(item));
            const DType dtype = list.items.back().dtype;
            if (list.items.size() == 1 || dtype == float32 || list.dtype == boolean) list.dtype = dtype;
        }
        return list;
    }
    if (PyIndex_Check(x.ptr())) return py::int_(py::reinterpret_borrow<py::object>(x)).cast<std::int64_t>();
    if (PyNumber_Check(x.ptr())) return py::float_(py::reinterpret_borrow<py::object>(x)).cast<double>();
    throw DTypeError("tensor: ", std::string(py::str(py::type::of(x))),
                     " is no number; pass numbers, lists of them, or an array");
}

}  // namespace

Tensor tensor_of(py::handle values, std::optional<DType> dtype) {
    Tensor x;
    if (py::isinstance<Tensor>(values)) {
        x = values.cast<Tensor>().detach().clone();
    } else if (PyObject_CheckBuffer(values.ptr())) {
        const auto view = open_buffer(values, PyBUF_FULL_RO);
        Shape shape;
        for (int i = 0; i < view->ndim; ++i) shape.push_back(view->shape[i]);
        x = empty(shape, checked_type("tensor", values, *view));
        if (PyBuffer_ToContiguous(address_of(x), view.get(), view->len, 'C') != 0) throw py::error_already_set();
    } else if (py::hasattr(values, "__dlpack__")) {
        x = from_dlpack(py::reinterpret_borrow<py::object>(values)).clone();
    } else {
        return tensor(nested_of(values), dtype);
    }
    return x.to(dtype.value_or(x.dtype()));
}

py::custom_type_setup buffer_of_tensor() {
    return py::custom_type_setup([](PyHeapTypeObject* type) {
        type->as_buffer.bf_getbuffer = get_buffer;
        type->as_buffer.bf_releasebuffer = release_buffer;
        type->ht_type.tp_as_buffer = &type->as_buffer;
    });
}

void bind_exchange(py::module_& m, TensorClass& tensor) {
    const auto numpy = [](const py::object& self) {
        if (self.cast<Tensor>().requires_grad()) throw GraphError("numpy: ", in_graph);
        return py::module_::import("numpy").attr("asarray")(py::memoryview(self));
    };
    tensor.def("numpy", numpy)
        .def("__array__",
             [numpy](const py::object& self, const py::args& args, const py::kwargs& kwargs) {
                 return numpy(self).attr("__array__")(*args, **kwargs);
             })
        .def("tolist", [](const Tensor& x) { return py::memoryview(py::cast(x.detach())).attr("tolist")(); })
        .def("data_ptr", [](const Tensor& x) { return reinterpret_cast<std::uintptr_t>(address_of(x)); })
        .def("__dlpack__", to_dlpack, py::kw_only(), "stream"_a = py::none(), "max_version"_a = py::none(),
             "dl_device"_a = py::none(), "copy"_a = py::none())
        .def("__dlpack_device__", [](const Tensor&) { return py::make_tuple(cpu, 0); });
    tensor.attr("__array_ufunc__") = py::none();  // NumPy's scalars leave operators to Weft
    m.def("from_numpy", from_numpy, "ndarray"_a);
    m.def("from_dlpack", from_dlpack, "ext_tensor"_a);
}
