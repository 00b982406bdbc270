#include "weft/ops/creation.h"

#include <algorithm>
#include <utility>

#include "core/common.h"

namespace weft {

namespace {

// Appends the numbers of nested braces to `out`. Returns their shape; ShapeError if they are ragged.
Shape flatten(const Nested& values, std::vector<const Nested*>& out) {
    Shape shape;
    if (!values.is_list) {
        out.push_back(&values);
        return shape;
    }
    for (std::size_t i = 0; i < values.items.size(); ++i) {
        const Shape row = flatten(values.items[i], out);
        if (i > 0 && row != shape)
            throw ShapeError("tensor: ragged rows: row 0 has shape ", shape, ", row ", i, " has ", row,
                             "; all rows must have the same shape");
        shape = row;
    }
    shape.insert(0, static_cast<std::int64_t>(values.items.size()));
    return shape;
}

}  // namespace

Nested::Nested(std::initializer_list<Nested> list) : items(list), is_list(true) {
    for (std::size_t i = 0; i < items.size(); ++i)
        if (i == 0 || items[i].dtype == float32 || dtype == boolean) dtype = items[i].dtype;
}

std::int64_t Nested::to_int64() const {
    if (dtype != float32 && value == static_cast<double>(integer)) return integer;
    check_representable("tensor", value, int64);
    return static_cast<std::int64_t>(value);
}

Tensor tensor(const Nested& values, std::optional<DType> wanted) {
    const DType dtype = wanted.value_or(values.dtype);
    std::vector<const Nested*> flat;
    const Shape shape = flatten(values, flat);
    std::vector<std::int64_t> integers;
    std::vector<double> numbers;
    for (const Nested* number : flat) {
        if (dtype == int64) {
            integers.push_back(number->to_int64());
        } else {
            if (number->dtype == float32 || dtype == boolean)
                check_representable("tensor", number->value, dtype);
            numbers.push_back(number->value);
        }
    }
    return dtype == int64 ? from_vector(integers, shape) : from_vector(numbers, shape).to(dtype);
}

Tensor eye(std::int64_t n, DType dtype) { return eye(n, n, dtype); }
Tensor eye(std::int64_t n, std::int64_t m, DType dtype) {
    const Array x = kernels::filled({n, m}, 0, dtype, "eye");
    kernels::fill(view_of(x, {std::min(n, m)}, {m + 1}, 0), 1);
    return Tensor(x);
}

Tensor full_like(const Tensor& x, double value) {
    const Op op("full_like", Op::of_others);
    return full(x.shape(), value, x.dtype());
}

Tensor linspace(double start, double end, std::int64_t steps, DType dtype) {
    if (steps < 0) throw ValueError("linspace: ", steps, " steps; use 0 or more");
    if (!takes_gradient(dtype))
        throw DTypeError("linspace: makes float32 or float64, not ", name(dtype),
                         "; use arange for integers, or convert the result with to()");
    // From the nearer end, so that both ends are exact; by half steps, because end − start may overflow.
    const double last = static_cast<double>(steps - 1), half = steps > 1 ? (end / 2 - start / 2) / last : 0;
    const Tensor i = arange(steps).to(float64);
    return where(i <= last / 2, start + half * (2 * i), end - half * (2 * (last - i))).to(dtype);
}

Tensor from_blob(void* data, const Shape& shape, const Strides& strides, std::function<void(void*)> deleter,
                 DType dtype) {
    if (strides.rank() != shape.rank())
        throw ShapeError("from_blob: strides ", strides, " for shape ", shape, "; give one for each axis");
    check_sizes(shape, dtype, "from_blob");
    Array x{nullptr, shape, contiguous_strides(shape), 0, dtype};
    std::vector<std::pair<std::int64_t, std::int64_t>> steps;  // stride and size of the axes that take steps
    for (int axis = 0; axis < shape.rank() && shape.numel() > 0; ++axis)
        if (shape[axis] > 1) steps.emplace_back(x.strides[axis] = strides[axis], shape[axis]);
    std::sort(steps.begin(), steps.end());
    std::int64_t last = 0, end = 0;  // the largest distance from the first element so far; in bytes
    for (const auto& [stride, size] : steps) {
        if (stride < 0 || (stride > 0 && stride <= last))
            throw ValueError("from_blob: strides ", strides, " of shape ", shape,
                             (stride < 0 ? " run backwards" : " put two elements at one address"),
                             "; copy the values into an array of their own");
        if (__builtin_mul_overflow(stride, size - 1, &end) || __builtin_add_overflow(last, end, &last) ||
            __builtin_mul_overflow(last + 1, static_cast<std::int64_t>(itemsize(dtype)), &end))
            throw ValueError("from_blob: strides ", strides, " of shape ", shape,
                             " reach further than 63 bits count; use those of the memory, in elements");
    }
    static std::int64_t nothing = 0;  // the address of no elements
    if (data == nullptr && shape.numel() == 0) data = &nothing;
    if (data == nullptr || reinterpret_cast<std::uintptr_t>(data) % itemsize(dtype) != 0)
        throw ValueError("from_blob: an address of ", reinterpret_cast<std::uintptr_t>(data), " for shape ",
                         shape, " of ", name(dtype), "; give one that is not null, and a multiple of ",
                         itemsize(dtype));
    x.storage = std::make_shared<Storage>(data);
    Storage& storage = *x.storage;
    Tensor tensor(std::move(x));
    storage.deleter = std::move(deleter);  // last, because a call that throws leaves the memory to its owner
    return tensor;
}

Tensor from_blob(void* data, const Shape& shape, DType dtype) {
    return from_blob(data, shape, contiguous_strides(shape), {}, dtype);
}

}  // namespace weft
