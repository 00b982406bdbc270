#include "weft/core/creation.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/common.h"
#include "core/kernels.h"

namespace weft {

namespace {

template <class T>
Tensor from_values(const std::vector<T>& values, const Shape& shape) {
    Array x = make_array(shape, dtype_of<T>(), "from_vector");
    if (static_cast<std::int64_t>(values.size()) != shape.numel())
        throw ShapeError("from_vector: ", values.size(), " values for shape ", shape, ", which holds ",
                         shape.numel());
    std::copy(values.begin(), values.end(), x.data<T>());
    return Tensor(std::move(x));
}

// start, start + step, … before end, which lies in the direction of the step. Differences of int64 are computed
// unsigned, because they may need the sign bit.
Tensor integers(std::int64_t start, std::int64_t end, std::int64_t step) {
    using U = std::uint64_t;
    const U distance = step > 0 ? U(end) - U(start) : U(start) - U(end), stride = step > 0 ? U(step) : -U(step);
    const U count = distance / stride + (distance % stride != 0);
    Array x = make_array({static_cast<std::int64_t>(std::min(count, U(INT64_MAX)))}, int64, "arange");
    kernels::fill_integers(x, start, step);
    return Tensor(std::move(x));
}

}  // namespace

Tensor empty(const Shape& shape, DType dtype) { return Tensor(make_array(shape, dtype, "empty")); }

Tensor full(const Shape& shape, double value, DType dtype) {
    check_representable("full", value, dtype);
    return Tensor(kernels::filled(shape, value, dtype));
}

Tensor zeros(const Shape& shape, DType dtype) { return Tensor(kernels::filled(shape, 0, dtype, "zeros")); }
Tensor ones(const Shape& shape, DType dtype) { return Tensor(kernels::filled(shape, 1, dtype, "ones")); }
Tensor zeros_like(const Tensor& x) { return zeros(x.shape(), x.dtype()); }
Tensor ones_like(const Tensor& x) { return ones(x.shape(), x.dtype()); }

Tensor arange(double start, double end, double step, DType dtype) {
    const double count = std::ceil((end - start) / step);
    if (!(step != 0) || !std::isfinite(count) || (end - start) / step < 0)
        throw ValueError("arange: steps of ", step, " do not lead from ", start, " to ", end,
                         "; the step must be non-zero and point towards the end");
    if (!takes_gradient(dtype) && dtype != int64)
        throw DTypeError("arange: counts in float32, float64 or int64, not ", name(dtype),
                         "; convert the result with to()");
    if (dtype == int64) {
        const double last = step > 0 ? std::ceil(end) : std::floor(end);
        for (double number : {start, step, last}) check_representable("arange", number, int64);
        return integers(static_cast<std::int64_t>(start), static_cast<std::int64_t>(last),
                        static_cast<std::int64_t>(step));
    }
    Array x = make_array({count < 0x1p63 ? static_cast<std::int64_t>(count) : INT64_MAX}, dtype, "arange");
    kernels::fill_range(x, start, step);
    return Tensor(std::move(x));
}

Tensor arange(std::int64_t end) {
    return end < 0 ? arange(0, static_cast<double>(end), 1, int64) : integers(0, end, 1);
}

Tensor from_vector(const std::vector<float>& values, const Shape& shape) { return from_values(values, shape); }
Tensor from_vector(const std::vector<double>& values, const Shape& shape) { return from_values(values, shape); }
Tensor from_vector(const std::vector<std::int64_t>& values, const Shape& shape) {
    return from_values(values, shape);
}
Tensor from_vector(const std::vector<bool>& values, const Shape& shape) { return from_values(values, shape); }
Tensor from_vector(const std::vector<BFloat16>& values, const Shape& shape) {
    return from_values(values, shape);
}
Tensor from_vector(const std::vector<Float16>& values, const Shape& shape) {
    return from_values(values, shape);
}

}  // namespace weft
