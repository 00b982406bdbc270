// Layer norm and RMS norm, row by row.
#include <algorithm>
#include <cmath>

#include "kernels/reference/element.h"

namespace weft::kernels::reference {
namespace {

// √(Σ d(j)² / C + eps); numbers whose squares would overflow are first divided by the largest.
template <class D>
double root_mean_square(std::int64_t C, double eps, const D& d) {
    double largest = 0, squares = 0;
    for (std::int64_t j = 0; j < C; ++j) largest = std::max(largest, std::abs(d(j)));
    const double unit = largest > 1e100 && std::isfinite(largest) ? largest : 1;
    for (std::int64_t j = 0; j < C; ++j) squares += std::pow(d(j) / unit, 2) / static_cast<double>(C);
    return unit * std::sqrt(squares + eps / unit / unit);
}

void layer_norm(const Array& out, const Array& mean, const Array& rstd, const Array& in, const Array& weight,
                const Array& bias, double eps) {
    const Array x = rows_of(in), y = rows_of(out);
    const std::int64_t C = x.shape[1];
    const auto per = 1 / static_cast<double>(C);
    visit_floating(x.dtype, [&]<class T>(T) {
        for (std::int64_t r = 0; r < x.shape[0]; ++r) {
            double m = 0;
            for (std::int64_t j = 0; j < C; ++j) m += value<T>(x, r, j) * per;
            const double s =
                1 / root_mean_square(C, eps, [&](std::int64_t j) { return value<T>(x, r, j) - m; });
            for (std::int64_t j = 0; j < C; ++j)
                at<T>(y, r, j) =
                    static_cast<T>((value<T>(x, r, j) - m) * s * value<T>(weight, j) + value<T>(bias, j));
            at<T>(mean, r, 0) = static_cast<T>(m);
            at<T>(mean, r, 1) = static_cast<T>(m - value<T>(mean, r, 0));
            rstd.data<T>()[r] = static_cast<T>(s);
        }
    });
}

// x̂ = (x − mean)·rstd, g = dy·weight:  dx = rstd·(g − mean(g) − x̂·mean(g·x̂)),  dweight = Σ dy·x̂,  dbias = Σ dy
void layer_norm_backward(const Array& of_x, const Array& dweight, const Array& dbias, const Array& of_y,
                         const Array& in, const Array& mean, const Array& rstd, const Array& weight) {
    const Array x = rows_of(in), dx = rows_of(of_x), dy = rows_of(of_y);
    const std::int64_t C = x.shape[1];
    const auto per = 1 / static_cast<double>(C);
    visit_floating(x.dtype, [&]<class T>(T) {
        std::vector<double> dw(static_cast<std::size_t>(C)), db(dw);
        for (std::int64_t r = 0; r < x.shape[0]; ++r) {
            const double m = value<T>(mean, r, 0) + value<T>(mean, r, 1),
                         s = static_cast<double>(rstd.data<T>()[r]);
            const auto x_hat = [&](std::int64_t j) { return (value<T>(x, r, j) - m) * s; };
            const auto g = [&](std::int64_t j) { return value<T>(dy, r, j) * value<T>(weight, j); };
            double mean_g = 0, mean_gx = 0;
            for (std::int64_t j = 0; j < C; ++j) {
                mean_g += g(j) * per;
                mean_gx += g(j) * x_hat(j) * per;
                dw[static_cast<std::size_t>(j)] += value<T>(dy, r, j) * x_hat(j);
                db[static_cast<std::size_t>(j)] += value<T>(dy, r, j);
            }
            for (std::int64_t j = 0; j < C; ++j)
                at<T>(dx, r, j) = static_cast<T>(s * (g(j) - mean_g - x_hat(j) * mean_gx));
        }
        for (std::int64_t j = 0; j < C; ++j) {
            if (dweight.storage) at<T>(dweight, j) = static_cast<T>(dw[static_cast<std::size_t>(j)]);
            if (dbias.storage) at<T>(dbias, j) = static_cast<T>(db[static_cast<std::size_t>(j)]);
        }
    });
}

void rms_norm(const Array& out, const Array& in, const Array& weight, double eps) {
    const Array x = rows_of(in), y = rows_of(out);
    const std::int64_t C = x.shape[1];
    visit_floating(x.dtype, [&]<class T>(T) {
        for (std::int64_t r = 0; r < x.shape[0]; ++r) {
            const double root = root_mean_square(C, eps, [&](std::int64_t j) { return value<T>(x, r, j); });
            for (std::int64_t j = 0; j < C; ++j)
                at<T>(y, r, j) = static_cast<T>(value<T>(x, r, j) / root * value<T>(weight, j));
        }
    });
}

}  // namespace

extern const LayerNorm layer_norm_table{layer_norm, layer_norm_backward, rms_norm};

}  // namespace weft::kernels::reference
