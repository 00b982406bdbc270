#include "core/array.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <new>

#include "core/kernels.h"
#include "weft/core/error.h"
#include "weft/core/observer.h"
#include "weft/core/op.h"

namespace weft {

Storage::Storage(std::size_t size) : bytes(std::max<std::size_t>(size, 1)) {
    if (kernels::installed.acquire != nullptr) {
        data = kernels::installed.acquire(bytes);
        return;
    }
    if (bytes > SIZE_MAX - 63) throw std::bad_alloc();
    data = std::aligned_alloc(64, (bytes + 63) / 64 * 64);
    if (data == nullptr) throw std::bad_alloc();
}

Storage::~Storage() {
    if (is_foreign()) {
        if (deleter) deleter(data);
    } else if (kernels::installed.release != nullptr) {
        kernels::installed.release(data, bytes);
    } else {
        std::free(data);
    }
}

bool product_overflows(const Shape& shape) {
    std::int64_t product = 1;
    for (std::int64_t size : shape)
        if (size > 0 && __builtin_mul_overflow(product, size, &product)) return true;
    return false;
}

std::int64_t check_sizes(const Shape& shape, DType dtype, const char* operation) {
    for (std::int64_t size : shape)
        if (size < 0)
            throw ValueError(operation, ": negative size in shape ", shape, "; use sizes of 0 or more");
    const Blocks block = blocks_of(dtype);
    if (const std::int64_t row = shape.rank() == 0 ? 1 : shape[-1]; row % block.length != 0)
        throw ShapeError(operation, ": rows of ", row, " weights do not divide into blocks of ", block.length,
                         ", which ", block.name,
                         " has; keep this matrix as a tensor, of bfloat16 for half the bytes");
    std::int64_t bytes = 0;
    if (product_overflows(shape) || __builtin_mul_overflow(shape.numel() / block.length, block.bytes, &bytes))
        throw ValueError(operation, ": shape ", shape, " of ", name(dtype),
                         " overflows: its bytes do not fit in 63 bits; use a smaller shape");
    return bytes;
}

Array make_array(const Shape& shape, DType dtype, const char* operation) {
    const std::int64_t bytes = check_sizes(shape, dtype, operation);
    auto storage = std::make_shared<Storage>(static_cast<std::size_t>(bytes));
    if (const int watching = Observer::watching(); watching > 0) [[unlikely]]
        Observer::tell(watching, Observer::memory, [&](Observer& one) { one.allocates(bytes); });
    return {std::move(storage), shape, contiguous_strides(shape), 0, dtype};
}

// A plain number was a double before it came here: from 2⁵³ on it may be an integer that C++ has rounded.
void check_holds(const char* operation, double value, DType dtype) {
    if (is_floating_point(dtype)) {
        const End end = end_of(dtype);
        if (std::isfinite(value) && std::abs(value) >= end.infinite)
            throw DTypeError(operation, ": ", value, " would be infinite in ", name(dtype), ", which ends at ",
                             end.largest, "; use ", end.instead);
        return;
    }
    const bool is_representable = dtype == boolean
                                      ? value == 0 || value == 1
                                      : value >= -0x1p63 && value < 0x1p63 && value == std::trunc(value);
    if (!is_representable)
        throw DTypeError(operation, ": ", name(dtype), " does not hold ", value, " exactly; use ",
                         (dtype == boolean ? "0 or 1" : "a whole number of 64 bits"),
                         ", or the floating type of the tensors beside it, as in x.to(float32)");
    if (std::abs(value) >= 0x1p53)
        throw DTypeError(operation, ": ", value,
                         " beside int64 is a double, which from 2^53 on may be a rounded integer; write "
                         "tensor(n) for the number n");
}

namespace {
const char* speaker() { return *Op::name() == '\0' ? "tensor" : Op::name(); }
}  // namespace

void refuse_blocks(DType dtype) {
    throw DTypeError(speaker(), ": a weight in blocks of ", name(dtype),
                     ", which only linear and embedding read; convert it with to(float32)");
}

std::byte* bytes_at(const Array& x) {
    const auto [type, length, bytes] = blocks_of(x.dtype);
    if (length > 1 &&
        (!x.is_contiguous() || x.rank() == 0 || x.shape[-1] % length != 0 || x.offset % length != 0))
        throw DTypeError(speaker(), ": a view ", x.shape, " of blocks of ", type,
                         ", which does not have whole rows; take rows of the weight one after the other, or "
                         "convert it with to(float32) before");
    return x.storage->begin() + x.offset / length * bytes;
}

void check_computes(const char* operation, DType dtype) {
    if (only_stores(dtype))
        throw DTypeError(operation, ": ", name(dtype),
                         " stores, and arithmetic is in float32; convert it with to(float32)");
}

// Infinity begins halfway between the largest number and the next power of two, which is the even one.
End end_of(DType dtype) {
    return dtype == float16 ? End{65520, "65504", "bfloat16, or scale it"}
                            : End{0x1.FFp127, "3.39e38", "float32"};
}

bool Array::is_contiguous() const {
    if (numel() == 0) return true;
    std::int64_t expected = 1;
    for (int i = rank(); i-- > 0; expected *= shape[i])
        if (shape[i] != 1 && strides[i] != expected) return false;
    return true;
}

bool Array::overlaps_itself() const {
    if (numel() == 0) return false;  // contiguous strides are 0 next to a size of 0
    for (int i = 0; i < rank(); ++i)
        if (shape[i] > 1 && strides[i] == 0) return true;
    return false;
}

bool may_share_memory(const Array& a, const Array& b) {
    const auto end_of = [](const Array& x) {
        std::int64_t last = x.offset;
        for (int i = 0; i < x.rank(); ++i) last += (x.shape[i] - 1) * x.strides[i];
        const Blocks block = blocks_of(x.dtype);
        return x.storage->begin() + (last / block.length + 1) * block.bytes;
    };
    const auto begin_of = [](const Array& x) { return x.storage->begin() + bytes_of(x.dtype, x.offset); };
    const std::less<> comes_before;
    return a.numel() > 0 && b.numel() > 0 && comes_before(begin_of(a), end_of(b)) &&
           comes_before(begin_of(b), end_of(a));
}

Array view_of(const Array& x, const Shape& shape, const Strides& strides, std::int64_t offset) {
    return {x.storage, shape, strides, offset, x.dtype};
}

Array broadcast_view(const Array& x, const Shape& shape) {
    Strides strides = Strides::filled(shape.rank(), 0);
    for (int i = 1; i <= x.rank(); ++i)
        if (x.shape.end()[-i] != 1) strides.end()[-i] = x.strides.end()[-i];
    return view_of(x, shape, strides, x.offset);
}

Array transposed_view(const Array& x, int a, int b) {
    Array y = x;
    std::swap(y.shape[a], y.shape[b]);
    std::swap(y.strides[a], y.strides[b]);
    return y;
}

std::optional<Strides> reshaped_strides(const Array& x, const Shape& shape) {
    Strides strides = contiguous_strides(shape);
    if (x.is_contiguous()) return strides;
    Shape sizes, steps;  // x's axes, joined where they are contiguous with each other
    for (int i = 0; i < x.rank(); ++i) {
        if (x.shape[i] == 1) continue;
        if (sizes.empty() || steps[-1] != x.strides[i] * x.shape[i])
            sizes.push_back(x.shape[i]), steps.push_back(x.strides[i]);
        else
            sizes[-1] *= x.shape[i], steps[-1] = x.strides[i];
    }
    // From the last axis on, each must fit into what the axes behind it have left of a joined axis.
    std::int64_t left = 1, stride = 1;
    for (int i = shape.rank() - 1, next = sizes.rank(); i >= 0; --i) {
        if (left == 1 && shape[i] != 1) left = sizes[--next], stride = steps[next];
        if (left % shape[i] != 0) return {};
        strides[i] = stride;
        stride *= shape[i];
        left /= shape[i];
    }
    return strides;
}

}  // namespace weft
