// SGD, Adam and AdamW.
#include <algorithm>
#include <cmath>

#include "weft/core/dtype.h"
#include "weft/core/modes.h"
#include "weft/ops.h"
#include "weft/optim/clipping.h"
#include "weft/optim/optimizer.h"

namespace weft::optim {

void check_rate(double value, const char* what) {
    if (!(value >= 0) || !std::isfinite(value))
        throw ValueError("optimiser: ", what, " must be finite and at least 0, not ", value);
}

void check_beta(double value, const char* what) {
    if (!(value >= 0 && value < 1))
        throw ValueError("optimiser: ", what, " must be at least 0 and below 1, not ", value);
}

namespace {

template <class Options>
void check_adam(const Options& options) {
    check_rate(options.lr, "lr");
    check_rate(options.eps, "eps");
    check_rate(options.weight_decay, "weight_decay");
    check_beta(options.beta1, "beta1");
    check_beta(options.beta2, "beta2");
}

// Calls f(parameter, gradient, begin, end), with pointers to the parameter's type, for blocks of elements in
// parallel.
template <class F>
void on_elements(const Update& u, const F& f) {
    parallel_for(u.parameter.numel(), block, [&](std::int64_t begin, std::int64_t end) {
        visit_floating(u.parameter.dtype(),
                       [&]<class T>(T) { f(u.parameter.data<T>(), u.gradient.data<T>(), begin, end); });
    });
}

// Adam (decoupled = false) adds weight_decay·p to the gradient; AdamW shrinks p first.
template <bool decoupled, class Options>
void update_adam(const Update& u, const Options& options) {
    on_elements(u, [&]<class T>(T* p, const T* g, std::int64_t begin, std::int64_t end) {
        T *m = u.moments[0].data<T>(), *v = u.moments[1].data<T>();
        const double correction1 = 1 - std::pow(options.beta1, static_cast<double>(u.t));
        const double correction2 = 1 - std::pow(options.beta2, static_cast<double>(u.t));
        const T step_size = static_cast<T>(options.lr / correction1);
        const T root_correction2 = static_cast<T>(std::sqrt(correction2));
        const T shrink = static_cast<T>(1 - options.lr * options.weight_decay),
                decay = static_cast<T>(options.weight_decay);
        const T rest1 = static_cast<T>(1 - options.beta1);
        const T beta2 = static_cast<T>(options.beta2), rest2 = static_cast<T>(1 - options.beta2);
        const T eps = static_cast<T>(options.eps);
        for (std::int64_t i = begin; i < end; ++i) {
            const T x = decoupled ? p[i] * shrink : p[i];
            const T gradient = decoupled ? g[i] : g[i] + decay * x;
            m[i] += rest1 * (gradient - m[i]);
            v[i] = beta2 * v[i] + rest2 * gradient * gradient;
            p[i] = x - step_size * m[i] / (std::sqrt(v[i]) / root_correction2 + eps);
        }
    });
}

}  // namespace

std::vector<const char*> moment_names(const SGDOptions& options) {
    if (options.momentum == 0) return {};
    return {"momentum_buffer"};
}
std::vector<const char*> moment_names(const AdamOptions&) { return {"exp_avg", "exp_avg_sq"}; }
std::vector<const char*> moment_names(const AdamWOptions&) { return {"exp_avg", "exp_avg_sq"}; }

void check(const SGDOptions& options) {
    check_rate(options.lr, "lr");
    check_rate(options.momentum, "momentum");
    check_rate(options.weight_decay, "weight_decay");
    if (options.nesterov && options.momentum == 0)
        throw ValueError("SGD: Nesterov's momentum needs a momentum above 0");
}
void check(const AdamOptions& options) { check_adam(options); }
void check(const AdamWOptions& options) { check_adam(options); }

void update(const Update& u, const SGDOptions& options) {
    on_elements(u, [&]<class T>(T* p, const T* g, std::int64_t begin, std::int64_t end) {
        const T lr = static_cast<T>(options.lr), decay = static_cast<T>(options.weight_decay);
        if (u.moments.empty()) {
            for (std::int64_t i = begin; i < end; ++i) p[i] -= lr * (g[i] + decay * p[i]);
            return;
        }
        T* b = u.moments[0].data<T>();
        const T momentum = static_cast<T>(options.momentum);
        for (std::int64_t i = begin; i < end; ++i) {
            const T gradient = g[i] + decay * p[i];
            b[i] = momentum * b[i] + gradient;  // initially b = 0
            p[i] -= lr * (options.nesterov ? gradient + momentum * b[i] : b[i]);
        }
    });
}
void update(const Update& u, const AdamOptions& options) { update_adam<false>(u, options); }
void update(const Update& u, const AdamWOptions& options) { update_adam<true>(u, options); }

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
