#include "core/kernels.h"
#include "fast/sizes.h"

#include <cstring>
#include <vector>

namespace weft::kernels::fast {
namespace {

// Calls f(position in `small`, position in `big` with index 0 along the axis) for every element of `small`,
// whose sizes are at most `big`'s except along the axis. Elements that differ along the axis alone belong to
// one task, in their order.
template <class F>
void walk(const Shape& small, const Shape& big, int axis, const F& f) {
    const Layout l(small, axis, axis + 1);
    const Strides strides = contiguous_strides(big);
    const auto base = [&](std::int64_t line) {
        std::int64_t at = 0;
        for (int a = small.rank() - 1; a >= 0; --a) {
            if (a == axis) continue;
            at += line % small[a] * strides[a];
            line /= small[a];
        }
        return at;
    };
    const std::int64_t lines = l.outer * l.inner,
                       grain = std::max<std::int64_t>(1, index_grain / std::max<std::int64_t>(l.n, 1));
    parallel_blocks(lines, grain, [&](std::int64_t begin, std::int64_t end) {
        std::vector<std::int64_t> bases;
        for (std::int64_t line = begin; line < end; line += static_cast<std::int64_t>(bases.size())) {
            const std::int64_t first = line / l.inner * l.n * l.inner + line % l.inner;
            bases.clear();
            for (std::int64_t i = line; i < std::min(end, (line / l.inner + 1) * l.inner); ++i)
                bases.push_back(base(i));
            for (std::int64_t i = 0; i < l.n; ++i)
                for (std::size_t j = 0; j < bases.size(); ++j)
                    f(first + i * l.inner + static_cast<std::int64_t>(j), bases[j]);
        }
    });
}

}  // namespace

void index_select(const Array& out, const Array& x, int axis, const Array& indices) {
    const Layout l(x.shape, axis, axis + 1);
    if (l.inner == 0) return;
    const std::int64_t n = indices.numel(), size = static_cast<std::int64_t>(itemsize(x.dtype)),
                       bytes = l.inner * size;
    const std::int64_t* index = indices.data<std::int64_t>();
    const auto* source = static_cast<const char*>(x.storage->data) + x.offset * size;
    auto* target = static_cast<char*>(out.storage->data) + out.offset * size;
    parallel_for(l.outer * n, bytes, index_bytes, [&](std::int64_t i) {
        std::memcpy(target + i * bytes, source + (i / n * l.n + index[i % n]) * bytes,
                    static_cast<std::size_t>(bytes));
    });
}

void index_add(const Array& out, int axis, const Array& indices, const Array& source) {
    const Layout l(out.shape, axis, axis + 1);
    const std::int64_t n = indices.numel(), inner = l.inner;
    const std::int64_t* index = indices.data<std::int64_t>();
    visit_wrapping(out.dtype, [&]<class T>(T) {
        // Every task owns a strip of columns, so the additions are in the order of the indices.
        const std::int64_t strips = (inner + index_strip - 1) / index_strip;
        parallel_for(l.outer * strips, n * index_strip, index_grain, [&](std::int64_t task) {
            const std::int64_t o = task / strips, begin = task % strips * index_strip,
                               end = std::min(inner, begin + index_strip);
            for (std::int64_t i = 0; i < n; ++i) {
                const T* s = source.data<T>() + (o * n + i) * inner;
                T* d = out.data<T>() + (o * l.n + index[i]) * inner;
                for (std::int64_t j = begin; j < end; ++j) d[j] += s[j];
            }
        });
    });
}

void gather(const Array& out, const Array& x, int axis, const Array& index) {
    const std::int64_t stride = contiguous_strides(x.shape)[axis];
    visit_any(x.dtype, [&]<class T>(T) {
        walk(index.shape, x.shape, axis, [&](std::int64_t i, std::int64_t base) {
            out.data<T>()[i] = x.data<T>()[base + index.data<std::int64_t>()[i] * stride];
        });
    });
}

void scatter_add(const Array& out, int axis, const Array& index, const Array& source) {
    const std::int64_t stride = contiguous_strides(out.shape)[axis];
    visit_wrapping(out.dtype, [&]<class T>(T) {
        walk(index.shape, out.shape, axis, [&](std::int64_t i, std::int64_t base) {
            out.data<T>()[base + index.data<std::int64_t>()[i] * stride] += source.data<T>()[i];
        });
    });
}

}  // namespace weft::kernels::fast
