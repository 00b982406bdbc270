// The elements of strided arrays, one at a time.
#pragma once

#include "core/formula.h"
#include "core/kernels.h"
#include "weft/core/random.h"

namespace weft::kernels::reference {

// Element (i, j, …) of x.
template <class T, class... Index>
T& at(const Array& x, Index... index) {
    std::int64_t offset = 0;
    [[maybe_unused]] int axis = 0;  // without an index
    ((offset += index * x.strides[axis++]), ...);
    return x.data<T>()[offset];
}

// Its value, to compute with.
template <class T, class... Index>
double value(const Array& x, Index... index) {
    return static_cast<double>(at<T>(x, index...));
}

// Element i of x in row-major order, and how far it lies from the first.
inline std::int64_t offset_of(const Array& x, std::int64_t i) {
    std::int64_t offset = 0;
    for (int axis = x.rank() - 1; axis >= 0; i /= x.shape[axis--])
        offset += i % x.shape[axis] * x.strides[axis];
    return offset;
}
template <class T>
T& element(const Array& x, std::int64_t i) {
    return x.data<T>()[offset_of(x, i)];
}

// What sums and products are accumulated in: double for floating elements.
template <class T>
using Wide = std::conditional_t<std::is_floating_point_v<T>, double, T>;

// f(start, T{}) for the start of each row along the axis of a contiguous x, whose elements are l.inner apart.
template <class F>
void for_lines(const Array& x, const Layout& l, const F& f) {
    visit_wrapping(x.dtype, [&]<class T>(T) {
        for_items(l.outer * l.inner, l.n, 1 << 13,
                  [&](std::int64_t row) { f(row / l.inner * l.n * l.inner + row % l.inner, T{}); });
    });
}

// A contiguous x (…, C) as (R, C).
inline Array rows_of(const Array& x) {
    const std::int64_t C = x.shape.back(), R = C == 0 ? 0 : x.numel() / C;
    return view_of(x, {R, C}, {C, 1}, x.offset);
}

// What element e of a tensor is multiplied with in dropout (fill_dropout).
inline double dropout_factor(const Dropout& dropout, std::uint64_t e) {
    const std::uint32_t word = philox(dropout.seed, dropout.first + e / 4)[e % 4];
    return word >= static_cast<std::uint32_t>(dropout.p * 0x1p32) ? 1 / (1 - dropout.p) : 0;
}

}  // namespace weft::kernels::reference
