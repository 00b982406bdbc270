// What reads and writes by index.
#include "core/element.h"

namespace weft::kernels {
namespace reference {
namespace {

// f(place in `small` (outer, n, inner), place in `big` (outer, V, inner)) for each element of `small`, where
// index i of its axis is indices_i of big's.
template <class F>
void for_slices(const Shape& big, int axis, const Array& indices, const F& f) {
    const Layout l(big, axis, axis + 1);
    const std::int64_t n = indices.numel();
    for (std::int64_t o = 0; o < l.outer; ++o)
        for (std::int64_t i = 0; i < n; ++i)
            for (std::int64_t j = 0; j < l.inner; ++j)
                f((o * n + i) * l.inner + j, (o * l.n + indices.data<std::int64_t>()[i]) * l.inner + j);
}

void index_select(const Array& out, const Array& x, int axis, const Array& indices) {
    visit_any(x.dtype, [&]<class T>(T) {
        for_slices(x.shape, axis, indices,
                   [&](std::int64_t i, std::int64_t at) { out.data<T>()[i] = x.data<T>()[at]; });
    });
}

void index_add(const Array& out, int axis, const Array& indices, const Array& source) {
    visit_wrapping(out.dtype, [&]<class T>(T) {
        for_slices(out.shape, axis, indices,
                   [&](std::int64_t i, std::int64_t at) { out.data<T>()[at] += source.data<T>()[i]; });
    });
}

// The position in `big` of element i of `small`, whose place along the axis an index says.
std::int64_t position(const Array& small, std::int64_t i, const Array& big, int axis, std::int64_t index) {
    std::int64_t offset = index * big.strides[axis];
    for (int a = small.rank() - 1; a >= 0; i /= small.shape[a--])
        if (a != axis) offset += i % small.shape[a] * big.strides[a];
    return offset;
}

void gather(const Array& out, const Array& x, int axis, const Array& index) {
    visit_any(x.dtype, [&]<class T>(T) {
        for (std::int64_t i = 0; i < index.numel(); ++i)
            out.data<T>()[i] = x.data<T>()[position(index, i, x, axis, index.data<std::int64_t>()[i])];
    });
}

void scatter_add(const Array& out, int axis, const Array& index, const Array& source) {
    visit_wrapping(out.dtype, [&]<class T>(T) {
        for (std::int64_t i = 0; i < index.numel(); ++i)
            out.data<T>()[position(index, i, out, axis, index.data<std::int64_t>()[i])] += source.data<T>()[i];
    });
}

}  // namespace
}  // namespace reference

constinit decltype(kernels::index_select) index_select{reference::index_select, installed.index_select};
constinit decltype(kernels::index_add) index_add{reference::index_add, installed.index_add};
constinit decltype(kernels::gather) gather{reference::gather, installed.gather};
constinit decltype(kernels::scatter_add) scatter_add{reference::scatter_add, installed.scatter_add};

}  // namespace weft::kernels
