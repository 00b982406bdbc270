#include "core/kernels/index.h"

#include <cstring>

#include "core/kernels/parallel.h"

namespace weft::kernels {
namespace {

std::int64_t product(const Shape& shape, int from, int to) {
    std::int64_t p = 1;
    for (int i = from; i < to; ++i) p *= shape[i];
    return p;
}

// Calls f(position in `small`, position in `big` with index 0 along axis) for every element of `small`, whose
// sizes are no larger than `big`'s except along the axis.
template <class F>
void walk(const Shape& small, const Shape& big, int axis, const F& f) {
    const Strides strides = contiguous_strides(big);
    Shape at = Shape::filled(small.rank(), 0);
    const std::int64_t n = small.numel();
    std::int64_t base = 0;
    for (std::int64_t i = 0; i < n; ++i) {
        f(i, base);
        for (int a = small.rank() - 1; a >= 0; --a) {
            const std::int64_t step = a == axis ? 0 : strides[a];
            base += step;
            if (++at[a] < small[a]) break;
            base -= step * small[a];
            at[a] = 0;
        }
    }
}

}  // namespace

void index_select(const Array& out, const Array& x, int axis, const Array& indices) {
    const std::int64_t outer = product(x.shape, 0, axis), V = x.shape[axis], n = indices.numel();
    const std::size_t bytes =
        static_cast<std::size_t>(product(x.shape, axis + 1, x.rank())) * itemsize(x.dtype);
    const std::int64_t* index = indices.data<std::int64_t>();
    const auto from =
        static_cast<const char*>(x.storage->data) + static_cast<std::size_t>(x.offset) * itemsize(x.dtype);
    auto to = static_cast<char*>(out.storage->data) + static_cast<std::size_t>(out.offset) * itemsize(x.dtype);
    if (bytes == 0) return;
    parallel_blocks(outer * n, index_bytes / static_cast<std::int64_t>(bytes) + 1,
                    [&](std::int64_t begin, std::int64_t end) {
                        for (std::int64_t i = begin; i < end; ++i)
                            std::memcpy(to + static_cast<std::size_t>(i) * bytes,
                                        from + static_cast<std::size_t>(i / n * V + index[i % n]) * bytes,
                                        bytes);
                    });
}

void index_add(const Array& out, int axis, const Array& indices, const Array& source) {
    const std::int64_t outer = product(out.shape, 0, axis), V = out.shape[axis], n = indices.numel();
    const std::int64_t inner = product(out.shape, axis + 1, out.rank());
    const std::int64_t* index = indices.data<std::int64_t>();
    visit_wrapping(out.dtype, [&](auto zero) {
        using T = decltype(zero);
        // Every task owns a strip of columns, so that the order of the additions is that of the indices.
        const std::int64_t strips = (inner + index_strip - 1) / index_strip;
        parallel_for(outer * strips, [&](std::int64_t task) {
            const std::int64_t o = task / strips, from = task % strips * index_strip,
                               to = std::min(inner, from + index_strip);
            for (std::int64_t i = 0; i < n; ++i) {
                const T* s = source.data<T>() + (o * n + i) * inner;
                T* d = out.data<T>() + (o * V + index[i]) * inner;
                for (std::int64_t j = from; j < to; ++j) d[j] += s[j];
            }
        });
    });
}

void gather(const Array& out, const Array& x, int axis, const Array& index) {
    const std::int64_t stride = contiguous_strides(x.shape)[axis];
    visit_any(x.dtype, [&](auto zero) {
        using T = decltype(zero);
        walk(index.shape, x.shape, axis, [&](std::int64_t i, std::int64_t base) {
            out.data<T>()[i] = x.data<T>()[base + index.data<std::int64_t>()[i] * stride];
        });
    });
}

void scatter_add(const Array& out, int axis, const Array& index, const Array& source) {
    const std::int64_t stride = contiguous_strides(out.shape)[axis];
    visit_wrapping(out.dtype, [&](auto zero) {
        using T = decltype(zero);
        walk(index.shape, out.shape, axis, [&](std::int64_t i, std::int64_t base) {
            out.data<T>()[base + index.data<std::int64_t>()[i] * stride] += source.data<T>()[i];
        });
    });
}

std::int64_t first_outside(const Array& indices, std::int64_t low, std::int64_t high) {
    const std::int64_t* index = indices.data<std::int64_t>();
    for (std::int64_t i = 0; i < indices.numel(); ++i)
        if (index[i] < low || index[i] >= high) return i;
    return -1;
}

}  // namespace weft::kernels
