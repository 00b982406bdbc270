// Layer norm, row by row.
#include <cmath>

#include "kernels/reference/element.h"

namespace weft::kernels::reference {
namespace {

void layer_norm(const Array& y, const Array& mean, const Array& rstd, const Array& x, const Array& weight,
                const Array& bias, double eps) {
    const std::int64_t C = x.shape.back(), R = rstd.numel();
    visit_floating(x.dtype, [&]<class T>(T) {
        for (std::int64_t r = 0; r < R; ++r) {
            const T* row = x.data<T>() + r * C;
            double m = 0, var = 0;
            for (std::int64_t j = 0; j < C; ++j) m += static_cast<double>(row[j]) / static_cast<double>(C);
            for (std::int64_t j = 0; j < C; ++j)
                var += std::pow(static_cast<double>(row[j]) - m, 2) / static_cast<double>(C);
            const double s = 1 / std::sqrt(var + eps);
            for (std::int64_t j = 0; j < C; ++j)
                y.data<T>()[r * C + j] = static_cast<T>((static_cast<double>(row[j]) - m) * s *
                                                            static_cast<double>(weight.data<T>()[j]) +
                                                        static_cast<double>(bias.data<T>()[j]));
            mean.data<T>()[2 * r] = static_cast<T>(m);
            mean.data<T>()[2 * r + 1] = static_cast<T>(m - static_cast<double>(mean.data<T>()[2 * r]));
            rstd.data<T>()[r] = static_cast<T>(s);
        }
    });
}

// x̂ = (x − mean)·rstd, g = dy·weight:  dx = rstd·(g − mean(g) − x̂·mean(g·x̂)),  dweight = Σ dy·x̂,  dbias = Σ dy
void layer_norm_backward(const Array& dx, const Array& dweight, const Array& dbias, const Array& dy,
                         const Array& x, const Array& mean, const Array& rstd, const Array& weight) {
    const std::int64_t C = x.shape.back(), R = rstd.numel();
    visit_floating(x.dtype, [&]<class T>(T) {
        std::vector<double> dw(static_cast<std::size_t>(C)), db(dw), x_hat(dw), g(dw);
        for (std::int64_t r = 0; r < R; ++r) {
            const double m = static_cast<double>(mean.data<T>()[2 * r]) +
                             static_cast<double>(mean.data<T>()[2 * r + 1]),
                         s = static_cast<double>(rstd.data<T>()[r]);
            double mean_g = 0, mean_gx = 0;
            for (std::int64_t j = 0; j < C; ++j) {
                const auto k = static_cast<std::size_t>(j);
                const double d = static_cast<double>(dy.data<T>()[r * C + j]);
                x_hat[k] = (static_cast<double>(x.data<T>()[r * C + j]) - m) * s;
                g[k] = d * static_cast<double>(weight.data<T>()[j]);
                mean_g += g[k] / static_cast<double>(C);
                mean_gx += g[k] * x_hat[k] / static_cast<double>(C);
                dw[k] += d * x_hat[k];
                db[k] += d;
            }
            for (std::int64_t j = 0; j < C; ++j) {
                const auto k = static_cast<std::size_t>(j);
                dx.data<T>()[r * C + j] = static_cast<T>(s * (g[k] - mean_g - x_hat[k] * mean_gx));
            }
        }
        for (std::int64_t j = 0; j < C; ++j) {
            if (dweight.storage) dweight.data<T>()[j] = static_cast<T>(dw[static_cast<std::size_t>(j)]);
            if (dbias.storage) dbias.data<T>()[j] = static_cast<T>(db[static_cast<std::size_t>(j)]);
        }
    });
}

}  // namespace

extern const LayerNorm layer_norm_table{layer_norm, layer_norm_backward};

}  // namespace weft::kernels::reference
