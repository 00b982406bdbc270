// Sums and extremes.
#include "core/element.h"

namespace weft::kernels {
namespace reference {
namespace {

Array sum(const Array& x, const std::vector<bool>& reduced) {
    Shape shape = x.shape;
    for (int axis = 0; axis < x.rank(); ++axis)
        if (reduced[static_cast<std::size_t>(axis)]) shape[axis] = 1;
    Array y = make_array(shape, x.dtype);
    const Array target = broadcast_view(y, x.shape);  // a stride of 0 where elements are added up
    visit_wrapping(x.dtype, [&]<class T>(T) {
        std::vector<Wide<T>> totals(static_cast<std::size_t>(y.numel()));
        for (std::int64_t i = 0; i < x.numel(); ++i)
            totals[static_cast<std::size_t>(&element<T>(target, i) - y.data<T>())] += element<T>(x, i);
        for (std::int64_t i = 0; i < y.numel(); ++i)
            y.data<T>()[i] = static_cast<T>(totals[static_cast<std::size_t>(i)]);
    });
    return y;
}

MinMax min_max(const Array& x, int axis, bool largest) {
    Shape shape = x.shape;
    shape[axis] = 1;
    MinMax result{make_array(shape, x.dtype), make_array(shape, int64)};
    visit_numeric(x.dtype, [&]<class T>(T) {
        for (std::int64_t i = 0; i < result.values.numel(); ++i) {
            const T* row = &element<T>(view_of(x, shape, x.strides, x.offset), i);
            std::int64_t best = 0;
            for (std::int64_t j = 1; j < x.shape[axis]; ++j) {
                const T v = row[j * x.strides[axis]], b = row[best * x.strides[axis]];
                const bool is_better = largest ? v > b : v < b, is_first_nan = v != v && b == b;
                if (is_better || is_first_nan) best = j;
            }
            result.values.data<T>()[i] = row[best * x.strides[axis]];
            result.indices.data<std::int64_t>()[i] = best;
        }
    });
    return result;
}

}  // namespace
}  // namespace reference

constinit decltype(kernels::sum) sum{reference::sum, installed.sum};
constinit decltype(kernels::min_max) min_max{reference::min_max, installed.min_max};

}  // namespace weft::kernels
