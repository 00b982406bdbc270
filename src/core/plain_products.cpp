// Matrix products: three loops.
#include "core/element.h"

namespace weft::kernels {
namespace reference {
namespace {

// c (m, n) = Σ_p a (m, k) · b (k, n), in double.
template <class T>
void product(const Array& c, const Array& a, const Array& b) {
    const std::int64_t m = c.shape[0], n = c.shape[1], k = a.shape[1];
    count_multiply_adds(m * n * k);
    for (std::int64_t i = 0; i < m; ++i)
        for (std::int64_t j = 0; j < n; ++j) {
            double total = 0;
            for (std::int64_t p = 0; p < k; ++p) total += value<T>(a, i, p) * value<T>(b, p, j);
            at<T>(c, i, j) = static_cast<T>(total);
        }
}

// Matrix `index` of x (…, rows, columns).
Array matrix(const Array& x, std::int64_t index) {
    const int r = x.rank();
    std::int64_t offset = x.offset;
    for (int axis = r - 3; axis >= 0; index /= x.shape[axis--])
        offset += index % x.shape[axis] * x.strides[axis];
    return view_of(x, {x.shape[r - 2], x.shape[r - 1]}, {x.strides[r - 2], x.strides[r - 1]}, offset);
}

void matmul(const Array& out, const Array& a, const Array& b) {
    const std::int64_t matrices = out.numel() == 0 ? 0 : out.numel() / (out.shape[-2] * out.shape[-1]);
    visit_floating(out.dtype, [&]<class T>(T) {
        for (std::int64_t i = 0; i < matrices; ++i) product<T>(matrix(out, i), matrix(a, i), matrix(b, i));
    });
}

void masked_matmul(const Array& out, const Array& a, const Array& b, const Array& blocked, Pairs pairs) {
    const std::int64_t k = a.shape[3];
    visit_floating(out.dtype, [&]<class T>(T) {
        for (std::int64_t s = 0; s < out.shape[0]; ++s)
            for (std::int64_t h = 0; h < out.shape[1]; ++h)
                for (std::int64_t i = 0; i < out.shape[2]; ++i)
                    for (std::int64_t j = 0; j < out.shape[3]; ++j) {
                        double total = 0;
                        for (std::int64_t p = 0; p < k; ++p)
                            if (pairs == Pairs::in_a ? !at<bool>(blocked, s, h, i, p)
                                                     : !at<bool>(blocked, s, h, p, j))
                                total += value<T>(a, s, h, i, p) * value<T>(b, s, h, p, j);
                        at<T>(out, s, h, i, j) = static_cast<T>(total);
                    }
    });
}

}  // namespace
}  // namespace reference

constinit decltype(kernels::matmul) matmul{reference::matmul, installed.matmul};
constinit decltype(kernels::masked_matmul) masked_matmul{reference::masked_matmul, installed.masked_matmul};

}  // namespace weft::kernels
