// Memory shared with NumPy, PyTorch and others: the buffer protocol (PEP 3118) and DLPack.
#include <dlpack/dlpack.h>

#include "bind.h"
#include "core/array.h"
#include "nn/registry.h"

namespace {

constexpr DType types[] = {float32, float64, int64, boolean, bfloat16, float16};
const char* const formats[] = {"f", "d", "q", "?", "bfloat16", "e"};  // a buffer has no bfloat16
// 6: kDLBool, which Debian's header lacks.
constexpr std::uint8_t codes[] = {kDLFloat, kDLFloat, kDLInt, 6, kDLBfloat, kDLFloat};
const char* const in_graph = "a tensor that requires a gradient shares no memory; share x.detach()";
const char* const others =
    "; Weft has float32, float64, bfloat16, float16, int64 and bool in the processor's "
    "memory: convert it, as in a.astype(np.int64) or t.to(torch.int64)";

void* address_of(T x) {
    return static_cast<char*>(x.array().storage->data) + x.array().offset * I(itemsize(x.dtype()));
}
std::string type_of(const py::object& x, const char* otherwise) {
    return py::str(py::getattr(x, "dtype", py::str(otherwise)));
}

// ---- out. What another library holds is a tensor of its own: set_data() of this one changes no memory of it.
py::buffer_info buffer_of(T x) {
    const auto size = static_cast<I>(itemsize(x.dtype()));
    std::vector<I> shape(x.shape().begin(), x.shape().end()), strides(x.strides().begin(), x.strides().end());
    for (I& stride : strides) stride *= size;
    return {address_of(x), size, formats[int(x.dtype())], x.rank(), shape, strides, nn::is_expanded(x)};
}
int get_buffer(PyObject* self, Py_buffer* view, int flags) try {
    view->obj = nullptr;
    const Tensor x = py::cast<Tensor>(self);
    if (x.dtype() == bfloat16) throw py::buffer_error("a buffer has no bfloat16; share x.to(weft.float32)");
    const int layout = flags & ~(PyBUF_WRITABLE | PyBUF_FORMAT);
    const bool fits = x.is_contiguous() || layout == PyBUF_STRIDES || layout == PyBUF_INDIRECT;
    if (!x.requires_grad() && fits)
        return py::detail::pybind11_getbuffer(py::cast(x.detach()).ptr(), view, flags);
    throw py::buffer_error(fits ? in_graph : "the tensor is not contiguous; share x.contiguous()");
} catch (const py::builtin_exception& error) {  // of an object without __init__, too
    return error.set_error(), -1;
} catch (const Error& error) {  // of a weight in blocks
    return PyErr_SetString(PyExc_BufferError, error.what()), -1;
}

struct Held {
    Tensor x;
    Shape shape = x.shape(), strides = x.strides();
    DLManagedTensor dl = {};
};
py::object to_dlpack(T x, const py::object& stream, const py::object&, const py::object& device, bool copy) {
    if (x.requires_grad()) throw py::buffer_error(in_graph);
    if (nn::is_expanded(x) && !copy)
        throw py::buffer_error("an expanded tensor is read-only, which DLPack cannot say; clone() it");
    if (!stream.is_none() || !(device.is_none() || device.equal(py::make_tuple(int(kDLCPU), 0))))
        throw py::buffer_error("Weft's memory is the processor's; pass no stream and no other device");
    const auto bits = static_cast<std::uint8_t>(8 * itemsize(x.dtype()));
    auto* const held = new Held{copy ? x.clone() : x.detach()};
    held->dl.dl_tensor = {
        address_of(held->x), {kDLCPU, 0},           x.rank(), {codes[int(x.dtype())], bits, 1},
        held->shape.begin(), held->strides.begin(), 0};
    held->dl.manager_ctx = held;
    held->dl.deleter = [](DLManagedTensor* dl) { delete static_cast<Held*>(dl->manager_ctx); };
    return py::capsule(&held->dl, "dltensor", [](PyObject* capsule) {
        if (!PyCapsule_IsValid(capsule, "dltensor")) return;  // it was taken
        auto* const dl = static_cast<DLManagedTensor*>(PyCapsule_GetPointer(capsule, "dltensor"));
        dl->deleter(dl);
    });
}

// ---- in. The last tensor of the memory may go on any thread, and after Python.
template <class F>
std::function<void(void*)> with_python(F release) {
    return [release](void*) {
        if (!Py_IsInitialized()) return;
        const py::gil_scoped_acquire lock;
        release();
    };
}
Tensor from_dlpack(const py::object& x) {
    const py::object capsule = PyCapsule_CheckExact(x.ptr()) ? x : x.attr("__dlpack__")();
    auto* const dl = static_cast<DLManagedTensor*>(PyCapsule_GetPointer(capsule.ptr(), "dltensor"));
    if (dl == nullptr) throw py::error_already_set();
    const DLTensor& t = dl->dl_tensor;
    const auto is_its = [&](DType d) {
        return t.dtype.code == codes[int(d)] && t.dtype.bits == 8 * itemsize(d);
    };
    const auto* const type = std::find_if(types, std::end(types), is_its);
    const int device = t.device.device_type;
    if (device != kDLCPU || type == std::end(types) || t.dtype.lanes != 1)
        throw DTypeError("from_dlpack: ", type_of(x, "unknown"), " on device ", device, others);
    const std::span<const I> shape(t.shape, static_cast<std::size_t>(t.ndim)), strides(t.strides, shape.size());
    Tensor y = from_blob(static_cast<char*>(t.data) + t.byte_offset, Shape(shape),
                         t.strides ? Shape(strides) : contiguous_strides(Shape(shape)),
                         with_python([dl] { dl->deleter(dl); }), *type);
    PyCapsule_SetName(capsule.ptr(), "used_dltensor");  // only now: the capsule of a refused one frees it
    return y;
}

using View = std::unique_ptr<py::buffer_info>;
std::pair<View, DType> memory_of(const std::string& caller, const py::buffer& array) {
    View view = std::make_unique<py::buffer_info>(array.request());
    const std::string letter = view->format.substr(view->format.find_first_not_of("@=<"));  // little-endian
    const auto* const format = std::find(formats, std::end(formats), letter == "l" ? "q" : letter);
    if (format == std::end(formats))
        throw DTypeError(caller, ": ", type_of(array, view->format.c_str()), others);
    return {std::move(view), types[format - formats]};
}
Tensor from_numpy(const py::buffer& array) {
    auto [view, type] = memory_of("from_numpy", array);
    if (view->readonly) throw ValueError("from_numpy: the array is read-only; copy it with weft.tensor(a)");
    Shape strides(view->strides);
    for (I& stride : strides)
        if (std::exchange(stride, stride / view->itemsize) % view->itemsize != 0)
            throw ValueError("from_numpy: strides of ", Shape(view->strides), " bytes cut elements of ",
                             I(view->itemsize), "; copy it with weft.tensor(a)");
    const auto free = with_python([v = view.get()] { delete v; });
    Tensor x = from_blob(view->ptr, Shape(view->shape), strides, free, type);
    (void)view.release();  // only now: a refused one is closed
    return x;
}
Tensor copy_of(const py::buffer& array) {
    const auto [view, type] = memory_of("tensor", array);
    Tensor x = empty(Shape(view->shape), type);
    if (PyBuffer_ToContiguous(address_of(x), view->view(), view->view()->len, 'C') == 0) return x;
    throw py::error_already_set();
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
