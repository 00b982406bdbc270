#include "fast/masked_gemm.h"

namespace weft::kernels::fast {
namespace {

// Element (b, h, i, j) of x (B, H, m, n).
template <class T>
T& at(const Array& x, std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t j) {
    return x.data<T>()[b * x.strides[0] + h * x.strides[1] + i * x.strides[2] + j * x.strides[3]];
}

// f(x, b, h, i, j) for every element of x (B, H, m, n). The strides inside a matrix stay, because the product
// of another layout may round differently.
template <class T, class F>
Array rewritten(const Array& x, const F& f) {
    const Shape& s = x.shape;
    if (x.numel() == 0) return x;
    const std::int64_t row = x.strides[2], column = x.strides[3],
                       extent = (s[2] - 1) * row + (s[3] - 1) * column + 1;
    Array y = view_of(make_array({s[0], s[1], extent}, x.dtype), s, {s[1] * extent, extent, row, column}, 0);
    for (std::int64_t b = 0; b < s[0]; ++b)
        for (std::int64_t h = 0; h < s[1]; ++h)
            for (std::int64_t i = 0; i < s[2]; ++i)
                for (std::int64_t j = 0; j < s[3]; ++j)
                    at<T>(y, b, h, i, j) = f(at<T>(x, b, h, i, j), b, h, i, j);
    return y;
}

}  // namespace

void masked_matmul(const Array& out, const Array& left, const Array& right, const Array& blocked, Pairs pairs) {
    const Array a = operand(left), b = operand(right);
    const std::int64_t m = out.shape[2], n = out.shape[3], k = a.shape[3];
    visit_product(a.dtype, [&]<class T, class E>(T, E) {
        const Array weights = rewritten<E>(pairs == Pairs::in_a ? a : b, [&](E x, auto... where) {
            return at<bool>(blocked, where...) ? E(0) : x;
        });
        const Array finite =
            rewritten<E>(pairs == Pairs::in_a ? b : a, [](E x, auto...) { return finite_or_one(x); });
        const auto matrix = [](const Array& x, std::int64_t s, std::int64_t h) {
            return Matrix<E>{&at<E>(x, s, h, 0, 0), x.strides[2], x.strides[3]};
        };
        if (pairs == Pairs::in_a)
            matmul(out, weights, finite);
        else
            matmul(out, finite, weights);
        for (std::int64_t s = 0; s < out.shape[0]; ++s)
            for (std::int64_t h = 0; h < out.shape[1]; ++h) {
                const auto w = matrix(weights, s, h);
                const Matrix<T> y{&at<T>(out, s, h, 0, 0), out.strides[2], out.strides[3]};
                if (pairs == Pairs::in_a)
                    add_not_finite<T, E>(m, n, k, T(1), w, matrix(b, s, h), y,
                                         [&](auto i, auto j) { return !at<bool>(blocked, s, h, i, j); });
                else  // yᵀ = bᵀ aᵀ
                    add_not_finite<T, E>(n, m, k, T(1), w.transposed(), matrix(a, s, h).transposed(),
                                         y.transposed(),
                                         [&](auto j, auto i) { return !at<bool>(blocked, s, h, i, j); });
            }
    });
}

}  // namespace weft::kernels::fast
