// Memory shared with NumPy, PyTorch and others: the buffer protocol (PEP 3118) and DLPack.
#include <dlpack/dlpack.h>

#include <numeric>

#include "bind.h"

namespace {

constexpr DType types[] = {float32, float64, int64, boolean};
const char* const formats[] = {"f", "d", "q", "?"};
constexpr std::uint8_t codes[] = {kDLFloat, kDLFloat, kDLInt, 6};  // 6: kDLBool, which Debian's header lacks
const char* const in_graph = "a tensor that requires a gradient shares no memory; share x.detach()";
const char* const expanded =
    "the elements of an expanded tensor share memory, so they are read-only; clone() it";

void* address_of(T x) {
    if (x.dtype() == float32) return x.data<float>();
    if (x.dtype() == float64) return x.data<double>();
    if (x.dtype() == int64) return x.data<I>();
    return x.data<bool>();
}
bool is_expanded(T x) {
    const auto stretched = [](I size, I stride) { return size > 1 && stride == 0; };
    return x.numel() > 0 && std::inner_product(x.shape().begin(), x.shape().end(), x.strides().begin(), false,
                                               std::logical_or<>(), stretched);
}

// What another library holds is a tensor of its own: set_data() of the first changes no memory of this one.
py::buffer_info buffer_of(T x) {
    const auto size = static_cast<I>(itemsize(x.dtype()));
    std::vector<I> shape(x.shape().begin(), x.shape().end()), strides(x.strides().begin(), x.strides().end());
    for (I& stride : strides) stride *= size;
    return {address_of(x), size,          formats[static_cast<int>(x.dtype())], x.rank(), shape,
            strides,       is_expanded(x)};
}
int get_buffer(PyObject* self, Py_buffer* view, int flags) {
    const Tensor x = py::cast<Tensor>(self);
    const bool any_strides =
        (flags & ~(PyBUF_WRITABLE | PyBUF_FORMAT)) == PyBUF_STRIDES || flags == PyBUF_FULL_RO;
    if (const char* why = x.requires_grad() ? in_graph
                          : !any_strides && !x.is_contiguous()
                              ? "the tensor is not contiguous; use contiguous()"
                              : nullptr)
        return view->obj = nullptr, PyErr_SetString(PyExc_BufferError, why), -1;
    return py::detail::pybind11_getbuffer(py::cast(x.detach()).ptr(), view, flags);
}

struct Held {
    Tensor x;
    Shape shape, strides;
    DLManagedTensor dl = {};
};
py::object to_dlpack(T x, const py::object& stream, const py::object&, const py::object& device, bool copy) {
    const bool elsewhere =
        !stream.is_none() || !(device.is_none() || device.equal(py::make_tuple(int(kDLCPU), 0)));
    if (const char* why = x.requires_grad()         ? in_graph
                          : is_expanded(x) && !copy ? expanded
                          : elsewhere ? "Weft's memory is the processor's; pass no stream or device"
                                      : nullptr)
        throw py::buffer_error(why);
    const Tensor y = copy ? x.clone() : x.detach();
    auto* const held = new Held{y, y.shape(), y.strides()};
    const auto bits = static_cast<std::uint8_t>(8 * itemsize(y.dtype()));
    held->dl = {{address_of(y),
                 {kDLCPU, 0},
                 y.rank(),
                 {codes[static_cast<int>(y.dtype())], bits, 1},
                 held->shape.begin(),
                 held->strides.begin(),
                 0},
                held,
                [](DLManagedTensor* dl) { delete static_cast<Held*>(dl->manager_ctx); }};
    return py::reinterpret_steal<py::object>(PyCapsule_New(&held->dl, "dltensor", [](PyObject* capsule) {
        if (PyCapsule_IsValid(capsule, "dltensor"))  // nobody took it
            delete static_cast<Held*>(
                static_cast<DLManagedTensor*>(PyCapsule_GetPointer(capsule, "dltensor"))->manager_ctx);
    }));
}

// A deleter: the last tensor of the memory may go on any thread, and after Python.
std::function<void(void*)> with_python(std::function<void()> release) {
    return [release](void*) {
        if (!Py_IsInitialized()) return;
        const py::gil_scoped_acquire lock;
        release();
    };
}

Tensor from_dlpack(const py::object& x) {
    if (!PyCapsule_CheckExact(x.ptr()) && !py::hasattr(x, "__dlpack__"))
        throw DTypeError("from_dlpack: ", std::string(py::str(py::type::of(x))),
                         " has no __dlpack__; weft.tensor copies lists");
    const py::object capsule = PyCapsule_CheckExact(x.ptr()) ? x : x.attr("__dlpack__")();
    auto* const dl = static_cast<DLManagedTensor*>(PyCapsule_GetPointer(capsule.ptr(), "dltensor"));
    if (dl == nullptr) throw py::error_already_set();
    const DLTensor& t = dl->dl_tensor;
    const auto type = std::find_if(types, types + 4, [&](DType d) {
        return t.dtype.code == codes[static_cast<int>(d)] && t.dtype.bits == 8 * itemsize(d) &&
               t.dtype.lanes == 1;
    });
    if (t.device.device_type != kDLCPU || type == types + 4)
        throw DTypeError("from_dlpack: elements of ", std::string(py::str(py::getattr(x, "dtype", capsule))),
                         " on device ", int(t.device.device_type),
                         "; Weft has float32, float64, int64 and bool in memory: convert, as in "
                         "a.astype(np.int64), t.to(torch.int64) or t.cpu()");
    const Shape shape(std::span<const I>(t.shape, static_cast<std::size_t>(t.ndim)));
    const Shape strides = t.strides ? Shape(std::span<const I>(t.strides, static_cast<std::size_t>(t.ndim)))
                                    : contiguous_strides(shape);
    const auto release = with_python([dl] { dl->deleter ? dl->deleter(dl) : void(); });
    Tensor y = from_blob(static_cast<char*>(t.data) + t.byte_offset, shape, strides, release, *type);
    PyCapsule_SetName(capsule.ptr(), "used_dltensor");  // only now: the capsule of a refused one frees it
    return y;
}

// An array's memory and its type.
std::pair<std::shared_ptr<py::buffer_info>, DType> memory_of(const std::string& caller,
                                                             const py::object& array) {
    if (!PyObject_CheckBuffer(array.ptr()))
        throw DTypeError(caller, ": ", std::string(py::str(py::type::of(array))),
                         " is no array; weft.tensor copies lists");
    const auto view = std::make_shared<py::buffer_info>(py::buffer(array).request());
    const auto format = std::find(formats, formats + 4, view->format == "l" ? "q" : view->format);
    if (format == formats + 4)
        throw DTypeError(caller, ": elements of ",
                         std::string(py::str(py::getattr(array, "dtype", py::str(view->format)))),
                         "; Weft has float32, float64, int64 and bool: convert, as in a.astype(np.int64)");
    return {view, types[format - formats]};
}
Tensor from_numpy(const py::object& array) {
    auto [view, type] = memory_of("from_numpy", array);
    Shape strides(view->strides);
    const bool cut = std::any_of(strides.begin(), strides.end(),
                                 [&](I& s) { return std::exchange(s, s / view->itemsize) % view->itemsize; });
    if (view->readonly || cut)
        throw ValueError("from_numpy: the array is ", cut ? "cut out of larger elements" : "read-only",
                         "; copy it with weft.tensor(a)");
    return from_blob(view->ptr, Shape(view->shape), strides, with_python([view]() mutable { view.reset(); }),
                     type);
}

Tensor copy_of(const py::object& array) {
    const auto [view, type] = memory_of("tensor", array);
    Tensor x = empty(Shape(view->shape), type);
    if (PyBuffer_ToContiguous(address_of(x), view->view(), view->size * view->itemsize, 'C') != 0)
        throw py::error_already_set();
    return x;
}

}  // namespace

void bind_exchange(py::module_& m, py::class_<Tensor>& t) {
    t.def_buffer(buffer_of);
    reinterpret_cast<PyTypeObject*>(t.ptr())->tp_as_buffer->bf_getbuffer = get_buffer;
    def(m, "from_numpy(ndarray)", from_numpy);
    def(m, "from_dlpack(ext_tensor)", from_dlpack);
    def(m, "_copy(array)", copy_of);
    def(t, "__dlpack__(self, stream=None, max_version=None, dl_device=None, copy=False)", to_dlpack);
    def(t, "__dlpack_device__(self)", [](T) { return std::pair(int(kDLCPU), 0); });
    def(t, "data_ptr(self)", [](T x) { return reinterpret_cast<std::uintptr_t>(address_of(x)); });
}
