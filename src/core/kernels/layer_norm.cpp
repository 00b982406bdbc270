#include <vector>

#include "core/kernels/normalize.h"
#include "core/kernels/parallel.h"
#include "core/kernels/rows.h"

namespace weft::kernels {

void layer_norm(const Array& y, const Array& mean, const Array& rstd, const Array& x, const Array* weight,
                const Array* bias, double eps) {
    const std::int64_t C = x.shape.back(), R = mean.numel();
    const double per = 1 / static_cast<double>(C);
    visit_floating(x.dtype, [&](auto zero) {
        using T = decltype(zero);
        using Batch = xsimd::batch<T>;
        const std::vector<T> ones(weight ? 0 : static_cast<std::size_t>(C), T(1)),
            zeros(bias ? 0 : static_cast<std::size_t>(C), T(0));
        const T* w = weight ? weight->data<T>() : ones.data();
        const T* b = bias ? bias->data<T>() : zeros.data();
        parallel_blocks(R, row_grain / std::max<std::int64_t>(C, 1) + 1,
                        [&](std::int64_t begin, std::int64_t end) {
                            for (std::int64_t r = begin; r < end; ++r) {
                                const T* row = x.data<T>() + r * C;
                                const T m = static_cast<T>(row_sum(C, row) * per);
                                const Batch mb(m);
                                const double var = row_sum_of<T>(
                                                       C, [=](auto v) { return (v - mb) * (v - mb); }, row) *
                                                   per;
                                const T s = static_cast<T>(1 / std::sqrt(var + eps));
                                const Batch sb(s);
                                simd_run(
                                    C, y.data<T>() + r * C,
                                    [=](auto v, auto p, auto q) { return (v - mb) * sb * p + q; }, row, w, b);
                                mean.data<T>()[r] = m;
                                rstd.data<T>()[r] = s;
                            }
                        });
    });
}

void layer_norm_backward(const Array& dx, const Array* dweight, const Array* dbias, const Array& dy,
                         const Array& x, const Array& mean, const Array& rstd, const Array* weight) {
    const std::int64_t C = x.shape.back(), R = mean.numel(), groups = (R + norm_group - 1) / norm_group;
    const double per = 1 / static_cast<double>(C);
    visit_floating(x.dtype, [&](auto zero) {
        using T = decltype(zero);
        using Batch = xsimd::batch<T>;
        const std::vector<T> ones(weight ? 0 : static_cast<std::size_t>(C), T(1));
        const T* w = weight ? weight->data<T>() : ones.data();
        std::vector<T> parts(static_cast<std::size_t>(2 * groups * C),
                             T(0));  // each group's own dweight and dbias
        const auto rows_of = [&](std::int64_t g) {
            T* dw = parts.data() + 2 * g * C;
            T* db = dw + C;
            for (std::int64_t r = g * norm_group; r < std::min(R, (g + 1) * norm_group); ++r) {
                const T* dyr = dy.data<T>() + r * C;
                const T* xr = x.data<T>() + r * C;
                const Batch m(mean.data<T>()[r]), s(rstd.data<T>()[r]);
                // x̂ = (x − mean)·rstd, g = dy·weight:  dx = rstd·(g − mean(g) − x̂·mean(g·x̂))
                const double mean_g = row_sum_of<T>(
                                          C, [](auto d, auto p) { return d * p; }, dyr, w) *
                                      per;
                const double mean_gx =
                    row_sum_of<T>(
                        C, [=](auto d, auto p, auto v) { return d * p * (v - m) * s; }, dyr, w, xr) *
                    per;
                const Batch a(static_cast<T>(mean_g)), b(static_cast<T>(mean_gx));
                simd_run(
                    C, dx.data<T>() + r * C,
                    [=](auto d, auto p, auto v) { return s * (d * p - a - (v - m) * s * b); }, dyr, w, xr);
                if (dweight)
                    simd_run(
                        C, dw, [=](auto sum, auto d, auto v) { return sum + d * (v - m) * s; },
                        static_cast<const T*>(dw), dyr, xr);
                if (dbias)
                    simd_run(
                        C, db, [](auto sum, auto d) { return sum + d; }, static_cast<const T*>(db), dyr);
            }
        };
        parallel_blocks(groups, row_grain / std::max<std::int64_t>(norm_group * C, 1) + 1,
                        [&](std::int64_t begin, std::int64_t end) {
                            for (std::int64_t g = begin; g < end; ++g) rows_of(g);
                        });
        auto total = [&](const Array& out, std::int64_t which) {
            T* y = out.data<T>();
            std::fill(y, y + C, T(0));
            for (std::int64_t g = 0; g < groups; ++g) {
                const T* part = parts.data() + (2 * g + which) * C;
                for (std::int64_t j = 0; j < C; ++j) y[j] += part[j];
            }
        };
        if (dweight) total(*dweight, 0);
        if (dbias) total(*dbias, 1);
    });
}

}  // namespace weft::kernels
