#include "weft/optim/muon.h"

#include <algorithm>
#include <cmath>

#include "weft/ops.h"
#include "weft/optim/norms.h"

namespace weft::optim {

namespace {

// U Vᵀ of u = U S Vᵀ, nearly.
Tensor orthogonalised(const Tensor& u, const MuonOptions& options) {
    const bool tall = u.size(0) > u.size(1);
    const double largest = largest_of(u),
                 unit = std::max(largest, 1e-300);  // squares of u / unit do not overflow
    if (largest == 0) return u;
    const double norm = unit * std::sqrt(sum_of_squares(u, 1 / unit)), least = std::max(norm, options.eps);
    Tensor x = tall ? u.T() : u;  // (r, c), r ≤ c
    const bool overflows = std::isinf(u.dtype() == float32 ? static_cast<float>(1 / least) : 1 / least);
    x = overflows ? x / largest * (largest / least) : x * (1 / least);
    const auto [a, b, c] = options.ns_coefficients;
    for (std::int64_t step = 0; step < options.ns_steps; ++step) {
        const Tensor gram = matmul(x, x.T());                      // (r, r)
        x = a * x + matmul(b * gram + c * matmul(gram, gram), x);  // (r, c)
    }
    return tall ? x.T() : x;
}

}  // namespace

std::vector<const char*> moment_names(const MuonOptions&) { return {"momentum_buffer"}; }

void check(const MuonOptions& options) {
    check_rate(options.lr, "lr");
    check_rate(options.weight_decay, "weight_decay");
    check_beta(options.momentum, "momentum");
    check_rate(options.eps, "eps");
    if (options.eps == 0 || options.ns_steps < 0)
        throw ValueError("Muon: eps is ", options.eps, " and ns_steps ", options.ns_steps,
                         "; use more than 0 and at least 0");
    for (const double factor : options.ns_coefficients)
        if (!std::isfinite(factor)) throw ValueError("Muon: ns_coefficients must be finite, not ", factor);
}

void check(const MuonOptions&, const nn::NamedTensors& parameters) {
    constexpr std::size_t shown = 4;
    std::string names;
    std::size_t count = 0;
    for (const auto& [name, parameter] : parameters)
        if (parameter.rank() != 2 && ++count <= shown)
            names += (count > 1 ? ", '" : "'") + name + "' " + parameter.shape().str();
    if (count > shown) names += " and " + std::to_string(count - shown) + " more";
    if (count > 0)
        throw ShapeError("Muon: not a matrix: ", names, "; give these to an AdamW and the matrices to Muon");
}

void update(const Update& u, const MuonOptions& options) {
    Tensor& b = u.moments[0];
    b.mul_(options.momentum).add_(u.gradient, 1 - options.momentum);
    const Tensor direction = options.nesterov ? b * options.momentum + u.gradient * (1 - options.momentum) : b;
    const double rows = static_cast<double>(b.size(0)), cols = static_cast<double>(b.size(1));
    u.parameter.mul_(1 - options.lr * options.weight_decay)
        .add_(orthogonalised(direction, options), -options.lr * std::sqrt(std::max(1.0, rows / cols)));
}

}  // namespace weft::optim
